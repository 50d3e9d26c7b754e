// SPDX-License-Identifier: BSD-2-Clause
#include "bpfhaste.h"

#include <stdlib.h>

#include "grow.h"
#include "hash.h"
#include "monotonic.h"

#define MOST      1024      /* processes, and users */
#define SHARE_NS  100000000 /* of a process */
#define USER_PART 2         /* of what other users leave over is one user's */

struct ow_bpfhurried {
	uint32_t id; /* of a process, or of a user */
	uint64_t ns; /* that its events took */
	uint64_t lost;
};

void ow_bpfhaste_begin(struct ow_bpfhaste *h, uint64_t ns)
{
	if (h->until)
		return;
	h->ns = ns;
	h->until = ow_now_ns() + ns;
}

/* Where the number of one is, plus 1; or 0, where it belongs. */
static uint16_t *slot_of(struct ow_bpfhurries *all, uint32_t id)
{
	size_t i = ow_hash_word(id) & (OW_BPF_HASTE_SLOTS - 1);

	while (all->slots[i] && all->of[all->slots[i] - 1].id != id)
		i = (i + 1) & (OW_BPF_HASTE_SLOTS - 1);
	return &all->slots[i];
}

/* NULL: there is no room for it. */
static struct ow_bpfhurried *find(struct ow_bpfhurries *all, uint32_t id)
{
	uint16_t *slot = slot_of(all, id);

	if (*slot)
		return &all->of[*slot - 1];
	if (all->nr == MOST ||
	    !ow_grow(&all->of, &all->room, all->nr + 1, sizeof(*all->of)))
		return NULL;
	all->of[all->nr] = (struct ow_bpfhurried){ .id = id };
	*slot = (uint16_t)++all->nr;
	return &all->of[all->nr - 1];
}

static bool has_process_share(const struct ow_bpfhurried *process)
{
	return process && process->ns < SHARE_NS;
}

static bool has_user_share(const struct ow_bpfhaste *h,
			   const struct ow_bpfhurried *user)
{
	uint64_t own = user ? user->ns : 0, others = h->spent - own;

	return user && others < h->ns && own < (h->ns - others) / USER_PART;
}

/* Processes that have no share of their own have their user's together. */
static bool has_share(struct ow_bpfhaste *h,
		      const struct ow_bpfhurried *process, uid_t uid)
{
	if (process && !has_process_share(process))
		return false;
	return (process && uid == 0) || has_user_share(h, find(&h->users, uid));
}

bool ow_bpfhaste_may_take(struct ow_bpfhaste *h, pid_t pid, uid_t uid)
{
	struct ow_bpfhurried *process = find(&h->processes, (uint32_t)pid);

	return has_share(h, process, uid) && ow_now_ns() < h->until;
}

void ow_bpfhaste_lose(struct ow_bpfhaste *h, pid_t pid)
{
	struct ow_bpfhurried *process = find(&h->processes, (uint32_t)pid);

	if (process)
		process->lost++;
}

void ow_bpfhaste_spend(struct ow_bpfhaste *h, pid_t pid, uid_t uid, uint64_t ns)
{
	struct ow_bpfhurried *process = find(&h->processes, (uint32_t)pid);
	struct ow_bpfhurried *user = find(&h->users, uid);

	if (process)
		process->ns += ns;
	if (user)
		user->ns += ns;
	h->spent += ns;
}

bool ow_bpfhaste_loss(const struct ow_bpfhaste *h, size_t i,
		      struct ow_recorded_loss *ret)
{
	const struct ow_bpfhurried *process;

	if (i >= h->processes.nr)
		return false;
	process = &h->processes.of[i];
	*ret = (struct ow_recorded_loss){ (pid_t)process->id, process->lost };
	return true;
}

void ow_bpfhaste_deinit(struct ow_bpfhaste *h)
{
	free(h->processes.of);
	free(h->users.of);
	*h = (struct ow_bpfhaste){ 0 };
}
