// SPDX-License-Identifier: BSD-2-Clause
#include "bpfhaste.h"

#include <stdlib.h>

#include "grow.h"
#include "monotonic.h"

#define MOST     1024      /* processes */
#define SHARE_NS 100000000 /* of each */

struct ow_bpfhurried {
	struct ow_recorded_loss loss;
	uint64_t ns; /* that its events took */
};

void ow_bpfhaste_begin(struct ow_bpfhaste *h, uint64_t ns)
{
	if (!h->until)
		h->until = ow_now_ns() + ns;
}

/* NULL: there is no room for it. */
static struct ow_bpfhurried *find(struct ow_bpfhaste *h, pid_t pid)
{
	size_t i;

	for (i = h->nr; i-- > 0;)
		if (h->of[i].loss.pid == pid)
			return &h->of[i];
	if (h->nr == MOST ||
	    !ow_grow(&h->of, &h->room, h->nr + 1, sizeof(*h->of)))
		return NULL;
	h->of[h->nr] = (struct ow_bpfhurried){ .loss = { .pid = pid } };
	return &h->of[h->nr++];
}

bool ow_bpfhaste_may_take(struct ow_bpfhaste *h, pid_t pid)
{
	struct ow_bpfhurried *p = find(h, pid);

	if (p && p->ns < SHARE_NS && ow_now_ns() < h->until)
		return true;
	if (p)
		p->loss.lost++;
	return false;
}

void ow_bpfhaste_spend(struct ow_bpfhaste *h, pid_t pid, uint64_t ns)
{
	struct ow_bpfhurried *p = find(h, pid);

	if (p)
		p->ns += ns;
}

bool ow_bpfhaste_loss(const struct ow_bpfhaste *h, size_t i,
		      struct ow_recorded_loss *ret)
{
	if (i >= h->nr)
		return false;
	*ret = h->of[i].loss;
	return true;
}

void ow_bpfhaste_deinit(struct ow_bpfhaste *h)
{
	free(h->of);
	*h = (struct ow_bpfhaste){ 0 };
}
