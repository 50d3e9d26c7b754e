// SPDX-License-Identifier: BSD-2-Clause
#include "tablemap.h"

#include <stdlib.h>

#include "bpfrule.h"
#include "bytebuf.h"
#include "error.h"
#include "escapes.h"
#include "fderows.h"

#define MOST_EXTRAS (1U << 16)

/* What is being laid out. */
struct making {
	const struct ow_table *t;
	const bool *stop; /* or NULL */
	struct ow_bpf_object *out;
	struct ow_bytebuf bytes;
};

/* Up to the next whole chunk; where that is. */
static uint32_t align(struct making *m)
{
	static const uint8_t zeros[OW_BPF_CHUNK];
	size_t over = m->bytes.size % OW_BPF_CHUNK;

	if (over)
		ow_bytebuf_add(&m->bytes, zeros, OW_BPF_CHUNK - over);
	return (uint32_t)m->bytes.size;
}

static uint32_t put_part(struct making *m, const void *bytes, size_t size)
{
	uint32_t at = align(m);

	ow_bytebuf_add(&m->bytes, bytes, size);
	return at;
}

/*
 * Which block each page of code begins in, so that a search begins near its end;
 * pages are about as many as blocks.
 */
static void put_pages(struct making *m)
{
	uint32_t nr = m->t->nr_blocks, block = 0, page, shift = 0, last;

	m->out->pages = align(m);
	if (nr == 0)
		return;
	last = m->t->blocks[nr - 1];
	while (last >> shift > nr)
		shift++;
	m->out->page_shift = shift;
	m->out->nr_pages = (last >> shift) + 1;
	for (page = 0; page < m->out->nr_pages; page++) {
		while (block + 1 < nr &&
		       m->t->blocks[block + 1] <= (uint64_t)page << shift)
			block++;
		ow_bytebuf_add(&m->bytes, &block, sizeof(block));
	}
	block = nr - 1;
	ow_bytebuf_add(&m->bytes, &block, sizeof(block));
}

/* The row that one of codes[] stands for. */
static void put_code(struct making *m, uint32_t i)
{
	const uint8_t *at = m->t->codes + 3 * (size_t)i;
	uint32_t code = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
	struct ow_bpf_rule r = { .kind = OW_BPF_ESCAPE };
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row;

	if (OW_TABLE_CODE_IS_SEQ(code)) {
		r.kind = OW_BPF_SEQ;
		r.cfa_off = (int32_t)OW_TABLE_CODE_SEQ(code);
	} else if (!ow_table_rule(m->t, OW_TABLE_FIRST + i, &row, rules)) {
		ow_bpfrule_make(m->t->arch, &row, &r);
	}
	align(m);
	ow_bytebuf_add(&m->bytes, &r, sizeof(r));
}

/* A row that the table leaves to the CFI; false: there is no room, or time, for more. */
static bool put_extra(void *arg, const struct ow_escape *from)
{
	struct making *m = arg;
	uint64_t last = from->fde_end - 1 - m->t->base;
	struct ow_bpf_extra e = {
		.off = (uint32_t)(from->start - m->t->base),
		.last = last <= UINT32_MAX ? (uint32_t)last : UINT32_MAX,
		.rule.kind = OW_BPF_ESCAPE,
	};

	if (from->row)
		ow_bpfrule_make(m->t->arch, from->row, &e.rule);
	ow_bytebuf_add(&m->bytes, &e, sizeof(e));
	return ++m->out->nr_extras < MOST_EXTRAS && !ow_is_given_up(m->stop);
}

uint8_t *ow_tablemap_make(const struct ow_object *obj, const struct ow_table *t,
			  const bool *stop, struct ow_bpf_object *ret,
			  size_t *size_ret)
{
	static const uint8_t spare[2 * OW_BPF_CHUNK];
	_cleanup_(ow_freep) struct making *m = calloc(1, sizeof(*m));
	uint32_t i;

	if (!m)
		return NULL;
	*ret = (struct ow_bpf_object){
		.base = t->base,
		.nr_blocks = t->nr_blocks,
		.nr_codes = t->nr_codes,
		.word = t->arch->word,
	};
	m->t = t;
	m->stop = stop;
	m->out = ret;
	put_part(m, t->rows, t->rows_size);
	ret->blocks = put_part(m, t->blocks, 4 * (size_t)t->nr_blocks);
	put_pages(m);
	ret->seqs = put_part(m, t->seqs, t->seqs_size);
	ret->codes = align(m);
	for (i = 0; i < t->nr_codes; i++)
		put_code(m, i);
	ret->extras = align(m);
	if (!ow_escapes_list(obj, t, put_extra, m) || ow_is_given_up(stop))
		m->bytes.failed = true;
	align(m);
	/* Rows are read 64 bytes at a time, the last ones too. */
	ow_bytebuf_add(&m->bytes, spare, sizeof(spare));
	*size_ret = m->bytes.size;
	if (!m->bytes.failed)
		return m->bytes.bytes;
	ow_bytebuf_deinit(&m->bytes);
	return NULL;
}
