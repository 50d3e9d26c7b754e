// SPDX-License-Identifier: BSD-2-Clause
#include "xenpages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define SLOTS        (4 * OW_XENPAGES_MOST) /* a power of two */
#define MOST_SLOTS   (2 * OW_XENPAGES_MOST)
#define MOST_BATCHES 256

enum state {
	EMPTY,
	WANTED, /* asked for, in this take if its number says so */
	MAPPED,
	BAD, /* could not be mapped in its take */
};

struct ow_xenpages_slot {
	uint64_t frame;
	const uint8_t *at; /* where MAPPED */
	uint32_t take;
	uint8_t state; /* enum state */
};

struct ow_xenpages_batch {
	const uint8_t *at;
	size_t nr;
};

/* The slot of a frame, or the empty one where it belongs. */
static struct ow_xenpages_slot *slot_of(const struct ow_xenpages *p,
					uint64_t frame)
{
	size_t i = ow_hash_word(frame) & (SLOTS - 1);

	while (p->slots[i].state && p->slots[i].frame != frame)
		i = (i + 1) & (SLOTS - 1);
	return &p->slots[i];
}

static void want(struct ow_xenpages *p, struct ow_xenpages_slot *s,
		 uint64_t frame)
{
	if (!s->state && p->nr_slots == MOST_SLOTS)
		return;
	p->is_pending = true;
	if (p->nr_wanted == OW_XENPAGES_BATCH)
		return;
	p->nr_slots += !s->state;
	*s = (struct ow_xenpages_slot){ frame, NULL, p->take, WANTED };
	p->wanted[p->nr_wanted++] = frame;
}

static const uint8_t *at(const struct ow_physmem *mem, uint64_t addr,
			 size_t size)
{
	struct ow_xenpages *p = (struct ow_xenpages *)mem;
	struct ow_xenpages_slot *s = slot_of(p, addr / OW_XEN_PAGE);

	if (size > OW_XEN_PAGE - addr % OW_XEN_PAGE)
		return NULL; /* a table that is not where tables may be */
	if (s->state == MAPPED)
		return s->at + addr % OW_XEN_PAGE;
	/* Once a take is enough for what is bad or asked for. */
	if (s->state == EMPTY || s->take != p->take)
		want(p, s, addr / OW_XEN_PAGE);
	else
		p->is_pending = s->state == WANTED;
	return NULL;
}

int ow_xenpages_init(struct ow_xenpages *p, struct ow_xen_seam *seam)
{
	*p = (struct ow_xenpages){ .mem = { at }, .seam = seam };
	p->slots = calloc(SLOTS, sizeof(*p->slots));
	p->batches = calloc(MOST_BATCHES, sizeof(*p->batches));
	p->wanted = calloc(OW_XENPAGES_BATCH, sizeof(*p->wanted));
	p->errors = calloc(OW_XENPAGES_BATCH, sizeof(*p->errors));
	return p->slots && p->batches && p->wanted && p->errors ? 0 : -ENOMEM;
}

void ow_xenpages_free(struct ow_xenpages *p)
{
	ow_xenpages_drop(p);
	free(p->slots);
	free(p->batches);
	free(p->wanted);
	free(p->errors);
	*p = (struct ow_xenpages){ 0 };
}

void ow_xenpages_drop(struct ow_xenpages *p)
{
	size_t i;

	for (i = 0; i < p->nr_batches; i++)
		p->seam->ops->unmap(p->seam, p->batches[i].at,
				    p->batches[i].nr);
	if (p->nr_slots)
		memset(p->slots, 0, SLOTS * sizeof(*p->slots));
	p->nr_batches = p->nr_slots = p->nr_wanted = 0;
}

void ow_xenpages_begin(struct ow_xenpages *p)
{
	p->take++;
	p->nr_wanted = 0;
	/* Room for one sample of the largest size has to be left. */
	if (p->nr_slots > MOST_SLOTS / 2 || p->nr_batches > MOST_BATCHES / 2)
		ow_xenpages_drop(p);
}

int ow_xenpages_map(struct ow_xenpages *p)
{
	size_t nr = p->nr_wanted, i;
	struct ow_xenpages_slot *s;
	const uint8_t *bytes;

	p->nr_wanted = 0;
	if (nr == 0 || p->nr_batches == MOST_BATCHES)
		return nr ? -ENOMEM : 0;
	errno = 0;
	bytes = p->seam->ops->map(p->seam, p->wanted, nr, p->errors);
	p->seam->nr_maps++;
	if (bytes)
		p->batches[p->nr_batches++] =
			(struct ow_xenpages_batch){ bytes, nr };
	for (i = 0; i < nr; i++) {
		s = slot_of(p, p->wanted[i]);
		s->state = bytes && !p->errors[i] ? MAPPED : BAD;
		s->at = s->state == MAPPED ? bytes + i * OW_XEN_PAGE : NULL;
	}
	if (bytes)
		return 0;
	return errno ? -errno : -EIO;
}

const uint8_t *ow_xenpages_find(struct ow_xenpages *p,
				const struct ow_paging *paging, uint64_t addr,
				size_t *avail_ret)
{
	uint64_t physical, run;

	p->is_pending = false;
	if (ow_paging_find(paging, &p->mem, addr, &physical, &run))
		return NULL;
	*avail_ret = OW_XEN_PAGE - physical % OW_XEN_PAGE;
	return at(&p->mem, physical, 1);
}

int ow_xenpages_read(struct ow_xenpages *p, const struct ow_paging *paging,
		     uint64_t addr, void *buf, size_t size)
{
	unsigned int rounds = 0;
	uint8_t *to = buf;
	const uint8_t *from;
	size_t avail;
	int err;

	while (size > 0) {
		from = ow_xenpages_find(p, paging, addr, &avail);
		if (!from &&
		    (p->nr_wanted == 0 || rounds++ == OW_XENPAGES_ROUNDS))
			return -EFAULT;
		if (!from) {
			err = ow_xenpages_map(p);
			if (err)
				return err;
			continue;
		}
		rounds = 0;
		if (avail > size)
			avail = size;
		memcpy(to, from, avail);
		to += avail;
		addr += avail;
		size -= avail;
	}
	return 0;
}
