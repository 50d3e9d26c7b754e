/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finding a row in the compact table of an object, as core/table.c does.  Each
 * function is verified by itself, and what loops count and searches narrow down
 * is kept in memory, which the verifier doesn't follow: else it would walk every
 * way through them.
 */
#ifndef OW_BPF_LOOKUP_H
#define OW_BPF_LOOKUP_H

#include "bpfmaps.h"

#define MOST_STEPS 32 /* of a search: any number of blocks */
#define MOST_ROWS  (OW_TABLE_BLOCK / 2)

/* Room for one look-up; a row found is in rule. */
struct lookup {
	struct ow_bpf_object object;
	__u32 number; /* of the object */
	__u32 off;    /* what is looked up, less the table's base */
	__u32 block;
	/* A row of a block or sequence, as core/table.c finds it. */
	__u32 start, code, next, last;
	__u32 at;      /* of the chunk that rule is from, or 0 */
	__u32 in_list; /* it is a struct ow_bpf_extra */
	volatile __u32 nr, row, nr_long, left, distance, low, high;
	__u8 bytes[OW_TABLE_BLOCK];
	struct ow_bpf_rule rule;
	__u32 is_late; /* there may be a rule later */
};

static __always_inline void *table_of(const struct lookup *l)
{
	__u32 n = l->number;

	return bpf_map_lookup_elem(&tables, &n);
}

static __always_inline struct chunk *chunk_at(void *table, __u32 off)
{
	__u32 i = off / OW_BPF_CHUNK;

	return bpf_map_lookup_elem(table, &i);
}

/* The word at off, or ~0 if there is none. */
static __always_inline __u32 word_at(void *table, __u32 off)
{
	struct chunk *c = chunk_at(table, off);

	return c ? ((__u32 *)c->words)[off / 4 % (OW_BPF_CHUNK / 4)] : ~0U;
}

static __always_inline __u32 block_start(void *t, const struct lookup *l,
					 __u32 block)
{
	return word_at(t, l->object.blocks + 4 * block);
}

/*
 * The last block that begins at or below l->off, or the first one, into
 * l->block, and where it begins.
 */
__noinline int find_block(struct lookup *l)
{
	__u32 page, half, i;
	void *t;

	if (!l)
		return -1;
	t = table_of(l);
	if (!t)
		return -1;
	page = l->off >> (l->object.page_shift & 31);
	if (page >= l->object.nr_pages)
		page = l->object.nr_pages;
	l->low = word_at(t, l->object.pages + 4 * page);
	l->high = page < l->object.nr_pages ?
			  word_at(t, l->object.pages + 4 * page + 4) + 1 :
			  l->object.nr_blocks;
	for (i = 0; i < MOST_STEPS; i++) {
		if (l->high - l->low <= 1 || l->low >= l->high)
			break;
		half = l->low + (l->high - l->low) / 2;
		if (block_start(t, l, half) <= l->off)
			l->low = half;
		else
			l->high = half;
	}
	l->block = l->low;
	l->start = block_start(t, l, l->block);
	return l->block < l->object.nr_blocks ? 0 : -1;
}

/* Copy the 64 bytes at off; behind a table there are so many to spare. */
__noinline int load_rows(struct lookup *l, __u32 off)
{
	struct chunk *c;
	void *t;

	if (!l)
		return -1;
	t = table_of(l);
	c = t ? chunk_at(t, off) : NULL;
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
 * codes, after all that do so before it.
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

/* The rule that stands at l->at. */
__noinline int load_rule(struct lookup *l)
{
	struct chunk *c;
	void *t;

	if (!l)
		return -1;
	t = table_of(l);
	c = t ? chunk_at(t, l->at) : NULL;
	if (!c)
		return -1;
	l->rule = l->in_list ? ((struct ow_bpf_extra *)c->words)->rule :
			       *(struct ow_bpf_rule *)c->words;
	return 0;
}

/* What a code stands for. */
__noinline int load_code(struct lookup *l, __u32 code)
{
	if (!l)
		return -1;
	l->in_list = 0;
	l->at = 0;
	l->rule.kind = code == OW_TABLE_NONE ? OW_BPF_NONE : OW_BPF_ESCAPE;
	l->rule.flags = 0;
	if (code < OW_TABLE_FIRST)
		return 0;
	code -= OW_TABLE_FIRST;
	if (code >= l->object.nr_codes)
		return -1;
	l->at = l->object.codes + code * OW_BPF_CHUNK;
	return load_rule(l);
}

/* What begins right behind a block is the next one's first row. */
static __always_inline void look_behind(struct lookup *l)
{
	__u32 block = l->block + 1;
	void *t = table_of(l);

	if (l->last || block >= l->object.nr_blocks || !t ||
	    block_start(t, l, block) != l->off + 1 ||
	    load_rows(l, block * OW_TABLE_BLOCK))
		return;
	l->last = 1;
	l->next = first_code(l);
}

/*
 * The first code of what follows, also where that is in the next block, or a
 * sequence.
 */
__noinline int find_next(struct lookup *l)
{
	if (!l)
		return -1;
	look_behind(l);
	if (!l->last || load_code(l, l->next) || l->rule.kind != OW_BPF_SEQ ||
	    load_rows(l, l->object.seqs + (__u32)l->rule.cfa_off))
		return 0;
	l->next = first_code(l);
	return 0;
}

/* Replace a row that is a sequence by the part of it that holds at off. */
__noinline int find_part(struct lookup *l)
{
	__u32 last, next;

	if (!l || load_code(l, l->code))
		return -1;
	if (l->rule.kind != OW_BPF_SEQ)
		return 0;
	last = l->last;
	next = l->next;
	if (load_rows(l, l->object.seqs + (__u32)l->rule.cfa_off) ||
	    find_loaded(l))
		return -1;
	if (last) {
		l->last = last;
		l->next = next;
	}
	return load_code(l, l->code);
}

/* A row that the table leaves to the CFI: by the list of those. */
__noinline int find_extra(struct lookup *l)
{
	struct ow_bpf_extra *e;
	__u32 half, i;
	void *t;

	if (!l)
		return -1;
	t = table_of(l);
	if (!t)
		return -1;
	l->low = 0;
	l->high = l->object.nr_extras;
	for (i = 0; i < MOST_STEPS; i++) {
		if (l->low >= l->high)
			break;
		half = l->low + (l->high - l->low) / 2;
		e = (void *)chunk_at(t, l->object.extras + half * OW_BPF_CHUNK);
		if (!e)
			return 0;
		if (e->off <= l->off)
			l->low = half + 1;
		else
			l->high = half;
	}
	if (l->low == 0)
		return 0;
	l->at = l->object.extras + (l->low - 1) * OW_BPF_CHUNK;
	e = (void *)chunk_at(t, l->at);
	if (!e)
		return 0;
	l->in_list = 1;
	l->rule = e->rule;
	if (l->off == e->last)
		l->rule.flags |= OW_BPF_RULE_LAST;
	return 0;
}

/* The rule at l->off, which the object's blocks reach. */
__noinline int find_row(struct lookup *l)
{
	__u32 code, start;

	if (!l || find_block(l))
		return -1;
	if (l->start > l->off)
		return 0;
	if (load_rows(l, l->block * OW_TABLE_BLOCK) || find_loaded(l))
		return -1;
	code = l->code;
	start = l->start;
	find_next(l);
	l->code = code;
	l->start = start;
	if (find_part(l))
		return -1;
	if (l->rule.kind == OW_BPF_ESCAPE)
		find_extra(l);
	else if (l->last && l->next == OW_TABLE_NONE)
		l->rule.flags |= OW_BPF_RULE_LAST;
	return 0;
}

/*
 * The rule that holds at vaddr of the object whose number is l->number, into
 * l->rule; now is the loader's time.  Return 0, the rule's kind OW_BPF_NONE or
 * OW_BPF_ESCAPE where there is none to tell; 1 if the table isn't there; or -1:
 * it makes no sense.
 */
__noinline int find_rule(struct lookup *l, __u64 vaddr, __u32 now)
{
	struct ow_bpf_object *o;
	__u64 off;
	__u32 n;

	if (!l)
		return -1;
	n = l->number;
	l->at = 0;
	l->rule.kind = OW_BPF_NONE;
	l->rule.flags = 0;
	o = bpf_map_lookup_elem(&objects, &n);
	l->is_late = o && o->state == OW_BPF_LATE;
	if (!o || o->state == OW_BPF_NO_TABLE || l->is_late)
		return 0;
	if (o->state == OW_BPF_EVICTED)
		return 1;
	l->object = *o;
	if (!table_of(l))
		return 1; /* it is just being entered */
	if (o->used != now)
		o->used = now;
	off = vaddr - l->object.base;
	if (vaddr < l->object.base || off > 0xffffffffU ||
	    l->object.nr_blocks == 0)
		return 0;
	l->off = (__u32)off;
	if (find_row(l))
		return table_of(l) ? -1 : 1;
	return 0;
}

#endif /* OW_BPF_LOOKUP_H */
