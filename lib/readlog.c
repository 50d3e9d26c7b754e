// SPDX-License-Identifier: BSD-2-Clause
#include "readlog.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "grow.h"

#define MANY 32768

static struct ow_readlog_entry *new_entry(struct ow_readlog *log)
{
	if (!ow_grow(&log->list, &log->room, log->nr + 1, sizeof(*log->list))) {
		log->failed = true;
		return NULL;
	}
	return &log->list[log->nr++];
}

static int entry_order(const void *a, const void *b)
{
	const struct ow_readlog_entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr > y->addr ? 1 : -1;
	if (x->size != y->size)
		return x->size > y->size ? 1 : -1;
	if (x->state != y->state)
		return x->state > y->state ? 1 : -1;
	return memcmp(x->bytes, y->bytes, x->size);
}

void ow_readlog_sort(struct ow_readlog *log)
{
	if (log->nr)
		qsort(log->list, log->nr, sizeof(*log->list), entry_order);
}

static void settle(struct ow_readlog *log)
{
	size_t i, nr = 0;

	if (log->nr / 2 < log->settled + MANY)
		return;
	ow_readlog_sort(log);
	for (i = 0; i < log->nr; i++)
		if (nr == 0 ||
		    entry_order(&log->list[nr - 1], &log->list[i]) != 0)
			log->list[nr++] = log->list[i];
	log->nr = log->settled = nr;
}

void ow_readlog_add(struct ow_readlog *log, uint64_t addr, const void *bytes,
		    size_t size)
{
	const uint8_t *from = bytes;
	struct ow_readlog_entry *e;
	size_t n;

	for (; size > 0; addr += n, from += n, size -= n) {
		n = size < OW_READLOG_SIZE ? size : OW_READLOG_SIZE;
		e = new_entry(log);
		if (!e)
			return;
		*e = (struct ow_readlog_entry){
			addr, (uint8_t)n, OW_READLOG_KEPT, { 0 }
		};
		memcpy(e->bytes, from, n);
	}
	settle(log);
}

void ow_readlog_clear(struct ow_readlog *log)
{
	log->nr = log->settled = 0;
}

void ow_readlog_deinit(struct ow_readlog *log)
{
	free(log->list);
	*log = (struct ow_readlog){ 0 };
}

/* Append what of the entry isn't there yet. */
static uint8_t *join_entry(struct ow_pieces *p,
			   const struct ow_readlog_entry *e, uint8_t *to)
{
	struct ow_region *r = p->nr ? &p->list[p->nr - 1] : NULL;
	uint64_t shared;

	if (!r || e->addr - r->start > r->size) {
		r = &p->list[p->nr++];
		*r = (struct ow_region){ .start = e->addr,
					 .size = 0,
					 .bytes = to };
	}
	shared = r->size - (e->addr - r->start);
	if (shared >= e->size)
		return to;
	memcpy(to, e->bytes + shared, e->size - shared);
	r->size += e->size - shared;
	return to + e->size - shared;
}

bool ow_pieces_join(struct ow_pieces *ret, const struct ow_readlog *log)
{
	size_t i, nr = 0, size = 0;
	uint8_t *to;

	ow_pieces_deinit(ret);
	for (i = 0; i < log->nr; i++)
		if (log->list[i].state == OW_READLOG_KEPT) {
			size += log->list[i].size;
			nr++;
		}
	ret->list = calloc(nr + 1, sizeof(*ret->list));
	ret->bytes = malloc(size + 1);
	if (!ret->list || !ret->bytes)
		return false;
	to = ret->bytes;
	for (i = 0; i < log->nr; i++)
		if (log->list[i].state == OW_READLOG_KEPT)
			to = join_entry(ret, &log->list[i], to);
	return true;
}

int ow_pieces_read(const struct ow_pieces *p, uint64_t addr, void *buf,
		   size_t size)
{
	size_t low = 0, high = p->nr, mid;
	const struct ow_region *r;

	while (low < high) {
		mid = low + (high - low) / 2;
		r = &p->list[mid];
		if (addr < r->start) {
			high = mid;
		} else if (addr - r->start >= r->size) {
			low = mid + 1;
		} else {
			if (r->size - (addr - r->start) < size)
				return -OW_EFAULT;
			memcpy(buf, r->bytes + (addr - r->start), size);
			return 0;
		}
	}
	return -OW_EFAULT;
}

void ow_pieces_deinit(struct ow_pieces *p)
{
	free(p->list);
	free(p->bytes);
	*p = (struct ow_pieces){ 0 };
}
