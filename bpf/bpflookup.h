/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finding a row in the compact table of an object, as core/table.c does. */
#ifndef OW_BPF_LOOKUP_H
#define OW_BPF_LOOKUP_H

#include "bpfmaps.h"

#define MOST_STEPS 32 /* of a search: any number of blocks */
#define GALLOP     4
#define MOST_ROWS  (OW_TABLE_BLOCK / 2)

/* Room for one look-up; a row found is in rule. */
struct lookup {
	struct ow_bpf_object object;
	__u32 number; /* of the object */
	__u32 off;    /* what is looked up, less the table's base */
	/* A row of a block or sequence, as struct ow_tablerow. */
	__u32 start, code, next, last;
	/* Of find_loaded(); in memory, whatever the compiler would rather. */
	volatile __u32 nr, row, nr_long, left, distance;
	__u8 bytes[OW_TABLE_BLOCK];
	struct ow_bpf_rule rule;
};

static __always_inline struct chunk *chunk_at(void *table, __u32 off)
{
	__u32 i = off / OW_BPF_CHUNK;

	return bpf_map_lookup_elem(table, &i);
}

static __always_inline __u32 block_start(void *t, struct lookup *l, __u32 block)
{
	__u32 off = l->object.blocks + 4 * block;
	struct chunk *c = chunk_at(t, off);

	return c ? ((__u32 *)c->words)[off / 4 % (OW_BPF_CHUNK / 4)] : ~0U;
}

/* Bounds of blocks around off, from where it should be. */
static __always_inline void gallop(void *t, struct lookup *l, __u32 *low,
				   __u32 *high)
{
	__u32 nr = l->object.nr_blocks, step = GALLOP, i, at;
	__u64 guess = (l->off * l->object.scale) >> 32;

	at = guess < nr ? guess : nr - 1;
	if (block_start(t, l, at) <= l->off) {
		*low = at;
		for (i = 0; i < MOST_STEPS; i++) {
			at = nr - *low > step ? *low + step : nr;
			if (at >= nr || block_start(t, l, at) > l->off)
				break;
			*low = at;
			step *= 4;
		}
		*high = at < nr ? at : nr;
		return;
	}
	*high = at;
	for (i = 0; i < MOST_STEPS; i++) {
		at = *high > step ? *high - step : 0;
		if (at == 0 || block_start(t, l, at) <= l->off)
			break;
		*high = at;
		step *= 4;
	}
	*low = at;
}

/* The last block that begins at or below off, or the first one. */
static __always_inline __u32 find_block(void *t, struct lookup *l)
{
	__u32 low, high, half, i;

	gallop(t, l, &low, &high);
	for (i = 0; i < MOST_STEPS && high - low > 1; i++) {
		half = low + (high - low) / 2;
		if (half >= high)
			break;
		if (block_start(t, l, half) <= l->off)
			low = half;
		else
			high = half;
	}
	return low;
}

/* Copy the 64 bytes at off; behind a table there are so many to spare. */
static __always_inline int load_rows(void *t, struct lookup *l, __u32 off)
{
	struct chunk *c = chunk_at(t, off);

	if (!c || bpf_probe_read_kernel(l->bytes, sizeof(l->bytes),
					(char *)c->words + off % OW_BPF_CHUNK))
		return -1;
	return 0;
}

static __always_inline __u32 byte_at(const struct lookup *l, __u32 i)
{
	return l->bytes[i % OW_TABLE_BLOCK];
}

/*
 * The number whose first byte stands at i: that goes on behind distances and
 * codes, after all that do so before it.  What loops count is kept in memory,
 * which the verifier doesn't follow: else it would walk every way through them.
 */
__noinline int number_at(struct lookup *l, __u32 i)
{
	__u32 first, k;

	if (!l)
		return 0;
	first = byte_at(l, i);
	if (first < OW_TABLE_LONG)
		return (int)first;
	l->nr_long = 0;
	for (k = 1; k < OW_TABLE_BLOCK; k++) {
		if (k >= i)
			break;
		l->nr_long += byte_at(l, k) >> 6 == OW_TABLE_LONG >> 6;
	}
	return (int)(OW_TABLE_LONG + ((first - OW_TABLE_LONG) << 8) +
		     byte_at(l, 2 * l->nr + l->nr_long));
}

/*
 * Among the rows that were loaded, which begin at l->start, the last one up to
 * off: its start, its code, and what begins right behind off.
 */
__noinline int find_loaded(struct lookup *l)
{
	__u32 i, first;

	if (!l)
		return -1;
	l->nr = byte_at(l, 0);
	if (l->nr == 0 || l->nr > MOST_ROWS)
		return -1;
	l->left = l->off - l->start;
	l->row = 1;
	l->nr_long = 0;
	l->last = 0;
	for (i = 1; i < MOST_ROWS; i++) {
		if (i >= l->nr)
			break;
		first = byte_at(l, i);
		l->distance = first;
		if (first >= OW_TABLE_LONG) {
			l->distance = OW_TABLE_LONG +
				      ((first - OW_TABLE_LONG) << 8) +
				      byte_at(l, 2 * l->nr + l->nr_long);
			l->nr_long++;
		}
		if (l->distance > l->left) {
			l->last = l->distance == l->left + 1;
			break;
		}
		l->left -= l->distance;
		l->row = i + 1;
	}
	l->start = l->off - l->left;
	l->code = (__u32)number_at(l, l->nr + l->row - 1);
	if (l->last)
		l->next = (__u32)number_at(l, l->nr + l->row);
	return 0;
}

/* The code of the first one of the rows that were loaded. */
static __always_inline __u32 first_code(struct lookup *l)
{
	l->nr = byte_at(l, 0);
	return (__u32)number_at(l, l->nr);
}

/* What a code stands for. */
static __always_inline int load_rule(void *t, struct lookup *l, __u32 code,
				     struct ow_bpf_rule *ret)
{
	struct chunk *c;

	ret->kind = code == OW_TABLE_NONE ? OW_BPF_NONE : OW_BPF_ESCAPE;
	if (code < OW_TABLE_FIRST)
		return 0;
	code -= OW_TABLE_FIRST;
	if (code >= l->object.nr_codes)
		return -1;
	c = chunk_at(t, l->object.codes + code * OW_BPF_CHUNK);
	if (!c)
		return -1;
	*ret = *(struct ow_bpf_rule *)c->words;
	return 0;
}

/* The first code of what follows, if that is a sequence. */
static __always_inline void first_of_next(void *t, struct lookup *l)
{
	if (load_rule(t, l, l->next, &l->rule) || l->rule.kind != OW_BPF_SEQ ||
	    load_rows(t, l, l->object.seqs + (__u32)l->rule.cfa_off))
		return;
	l->next = first_code(l);
}

/* What begins right behind a block is the next one's first row. */
static __always_inline void look_behind(void *t, struct lookup *l, __u32 block)
{
	block++;
	if (l->last || block >= l->object.nr_blocks ||
	    block_start(t, l, block) != l->off + 1 ||
	    load_rows(t, l, l->object.rows + block * OW_TABLE_BLOCK))
		return;
	l->last = 1;
	l->next = first_code(l);
}

/* Replace a row that is a sequence by the part of it that holds at off. */
static __always_inline int find_part(void *t, struct lookup *l)
{
	__u32 last = l->last, next = l->next;

	if (load_rule(t, l, l->code, &l->rule))
		return -1;
	if (l->rule.kind != OW_BPF_SEQ)
		return 0;
	if (load_rows(t, l, l->object.seqs + (__u32)l->rule.cfa_off) ||
	    find_loaded(l))
		return -1;
	if (last) {
		l->last = last;
		l->next = next;
	}
	return load_rule(t, l, l->code, &l->rule);
}

/* A row that the table leaves to the CFI: by the list of those. */
static __always_inline void find_extra(void *t, struct lookup *l)
{
	__u32 low = 0, high = l->object.nr_extras, half, i;
	struct ow_bpf_extra *e;

	for (i = 0; i < MOST_STEPS && low < high; i++) {
		half = low + (high - low) / 2;
		e = (void *)chunk_at(t, l->object.extras + half * OW_BPF_CHUNK);
		if (!e)
			return;
		if (e->off <= l->off)
			low = half + 1;
		else
			high = half;
	}
	if (low == 0)
		return;
	e = (void *)chunk_at(t, l->object.extras + (low - 1) * OW_BPF_CHUNK);
	if (!e)
		return;
	l->rule = e->rule;
	if (l->off == e->last)
		l->rule.flags |= OW_BPF_RULE_LAST;
}

/*
 * The rule that holds at vaddr of the object whose number is l->number, into
 * l->rule.  Return 0, its kind OW_BPF_NONE or OW_BPF_ESCAPE where it has none
 * to tell; 1 if the table isn't there; or -1: it makes no sense.
 */
__noinline int find_rule(struct lookup *l, __u64 vaddr)
{
	struct ow_bpf_object *o;
	__u32 block, n, code, start;
	__u64 *when, off;
	void *t;

	if (!l)
		return -1;
	n = l->number;
	l->rule.kind = OW_BPF_NONE;
	l->rule.flags = 0;
	o = bpf_map_lookup_elem(&objects, &n);
	if (!o || o->state == OW_BPF_NO_TABLE)
		return 0;
	if (o->state == OW_BPF_EVICTED)
		return 1;
	l->object = *o;
	t = bpf_map_lookup_elem(&tables, &n);
	when = bpf_map_lookup_elem(&used, &n);
	if (when)
		*when = bpf_ktime_get_ns();
	off = vaddr - l->object.base;
	if (!t)
		return 1;
	if (vaddr < l->object.base || off > 0xffffffffU ||
	    l->object.nr_blocks == 0)
		return 0;
	l->off = (__u32)off;
	block = find_block(t, l);
	l->start = block_start(t, l, block);
	if (l->start > l->off)
		return 0;
	if (load_rows(t, l, l->object.rows + block * OW_TABLE_BLOCK) ||
	    find_loaded(l))
		return -1;
	code = l->code;
	start = l->start;
	look_behind(t, l, block);
	if (l->last)
		first_of_next(t, l);
	l->code = code;
	l->start = start;
	if (find_part(t, l))
		return -1;
	if (l->rule.kind == OW_BPF_ESCAPE)
		find_extra(t, l);
	else if (l->last && l->next == OW_TABLE_NONE)
		l->rule.flags |= OW_BPF_RULE_LAST;
	return 0;
}

#endif /* OW_BPF_LOOKUP_H */
