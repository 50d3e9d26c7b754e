// SPDX-License-Identifier: BSD-2-Clause
#include "tablecode.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

#define SYMBOLS  (OW_TABLE_MAX_NUMBER + 1)
#define MAX_ROWS (OW_TABLE_BLOCK / 2) /* of a chunk */

/* Rules and sequences, by the numbers that rows have for them so far. */
struct coder {
	const struct ow_flat_row *flat;
	const struct ow_seqs *seqs;
	const uint32_t *rules;
	uint32_t first_seq, nr;  /* numbers of the sequences; all numbers */
	uint64_t order[SYMBOLS]; /* how often, and what; the most often first */
	uint16_t codes[SYMBOLS]; /* that they get */
};

static bool reserve(struct ow_bytes *b, size_t more)
{
	return ow_grow(&b->at, &b->room, b->size + more, 1);
}

/* Add a little-endian integer; there is room. */
static void put(struct ow_bytes *b, unsigned int size, uint32_t value)
{
	for (; size; size--, value >>= 8)
		b->at[b->size++] = (uint8_t)value;
}

/* A block or a sequence, while rows come in. */
struct chunk {
	uint8_t nr, size;
	uint32_t off; /* of the last row */
	uint32_t distances[MAX_ROWS], codes[MAX_ROWS];
};

static bool is_long(uint32_t number)
{
	return number >= OW_TABLE_LONG;
}

/* Add a row, or say that there is no room for it. */
static bool add(struct chunk *c, uint32_t off, uint32_t code)
{
	uint32_t distance = c->nr ? off - c->off : 0;
	size_t size = c->nr ? c->size + 1u : 1;

	if (distance > OW_TABLE_MAX_NUMBER || c->nr == MAX_ROWS)
		return false;
	size += 1u + is_long(distance) + is_long(code);
	if (size > OW_TABLE_BLOCK)
		return false;
	c->distances[c->nr] = distance;
	c->codes[c->nr++] = code;
	c->size = (uint8_t)size;
	c->off = off;
	return true;
}

static uint8_t first_byte(uint32_t number)
{
	return (uint8_t)(is_long(number) ?
				 OW_TABLE_LONG +
					 ((number - OW_TABLE_LONG) >> 8) :
				 number);
}

static void put_seconds(struct ow_bytes *b, const uint32_t *numbers, uint8_t nr)
{
	uint8_t i;

	for (i = 0; i < nr; i++)
		if (is_long(numbers[i]))
			b->at[b->size++] =
				(uint8_t)(numbers[i] - OW_TABLE_LONG);
}

/* Write a chunk as it is so far. */
static bool put_chunk(struct ow_bytes *b, const struct chunk *c)
{
	uint8_t i;

	if (!reserve(b, OW_TABLE_BLOCK))
		return false;
	b->at[b->size++] = c->nr;
	for (i = 1; i < c->nr; i++)
		b->at[b->size++] = first_byte(c->distances[i]);
	for (i = 0; i < c->nr; i++)
		b->at[b->size++] = first_byte(c->codes[i]);
	put_seconds(b, c->distances, c->nr);
	put_seconds(b, c->codes, c->nr);
	return true;
}

static const struct ow_flat_row *seq_rows(const struct coder *c, uint32_t i)
{
	return c->flat + c->seqs->seqs[i].first;
}

static void count(struct coder *c)
{
	uint32_t i, k;
	size_t row;

	for (row = 0; row < c->seqs->nr_rows; row++)
		c->order[c->seqs->rows[row].rule] += SYMBOLS;
	for (i = 0; i < c->seqs->nr_seqs; i++)
		for (k = 0; k < c->seqs->seqs[i].size; k++)
			c->order[seq_rows(c, i)[k].rule] += SYMBOLS;
}

static int more_often(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Give what occurs most often the lowest codes, from OW_TABLE_FIRST on. */
static void number(struct coder *c)
{
	uint32_t i;

	for (i = 0; i < c->nr; i++)
		c->order[i] = i;
	count(c);
	qsort(c->order + OW_TABLE_FIRST, c->nr - OW_TABLE_FIRST,
	      sizeof(*c->order), more_often);
	for (i = 0; i < c->nr; i++)
		c->codes[c->order[i] % SYMBOLS] = (uint16_t)i;
}

/* One sequence.  It has room: its rows are few and close to each other. */
static bool write_seq(const struct coder *c, uint32_t i, struct ow_bytes *out)
{
	const struct ow_flat_row *row = seq_rows(c, i);
	struct chunk chunk = { .nr = 0 };
	uint8_t k;

	for (k = 0; k < c->seqs->seqs[i].size; k++)
		add(&chunk, row[k].off, c->codes[row[k].rule]);
	return put_chunk(out, &chunk);
}

/* What all codes stand for, in their order. */
static bool write_codes(const struct coder *c, struct ow_coded *ret)
{
	uint32_t i, what, seq;

	if (!reserve(&ret->codes, 3 * (size_t)c->nr))
		return false;
	for (i = OW_TABLE_FIRST; i < c->nr; i++) {
		what = (uint32_t)(c->order[i] % SYMBOLS);
		if (what < c->first_seq) {
			put(&ret->codes, 3, c->rules[what - OW_TABLE_FIRST]);
			continue;
		}
		seq = OW_TABLE_SEQ(ret->seqs.size);
		if (!write_seq(c, what - c->first_seq, &ret->seqs))
			return false;
		put(&ret->codes, 3, seq);
	}
	return true;
}

/* Fill up the block before, and have one begin here. */
static bool begin_block(struct ow_coded *ret, uint32_t off)
{
	size_t left = -ret->rows.size % OW_TABLE_BLOCK;

	if (!reserve(&ret->rows, left) || !reserve(&ret->blocks, 4))
		return false;
	if (left)
		memset(ret->rows.at + ret->rows.size, 0, left);
	ret->rows.size += left;
	put(&ret->blocks, 4, off);
	return true;
}

static bool write_rows(const struct coder *c, struct ow_coded *ret)
{
	const struct ow_flat_row *row = c->seqs->rows;
	const struct ow_flat_row *end = row + c->seqs->nr_rows;
	uint32_t first = row->off;
	struct chunk chunk;

	while (row < end) {
		if (!begin_block(ret, row->off - first))
			return false;
		chunk.nr = 0;
		while (row < end && add(&chunk, row->off, c->codes[row->rule]))
			row++;
		if (!put_chunk(&ret->rows, &chunk))
			return false;
	}
	return true;
}

int ow_coded_make(struct ow_coded *ret, const struct ow_flat_row *flat,
		  const uint32_t *rules, uint32_t nr_rules,
		  const struct ow_seqs *seqs)
{
	struct coder *c = malloc(sizeof(*c));
	bool good;

	memset(ret, 0, sizeof(*ret));
	if (!c)
		return -1;
	c->flat = flat;
	c->seqs = seqs;
	c->rules = rules;
	c->first_seq = OW_TABLE_FIRST + nr_rules;
	c->nr = c->first_seq + seqs->nr_seqs;
	number(c);
	good = write_codes(c, ret) && write_rows(c, ret);
	free(c);
	return good ? 0 : -1;
}

void ow_coded_free(struct ow_coded *c)
{
	free(c->blocks.at);
	free(c->rows.at);
	free(c->codes.at);
	free(c->seqs.at);
}
