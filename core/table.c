// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "table.h"

#include "err.h"

#define GALLOP    8 /* blocks */
#define CHECK_OFF offsetof(struct ow_table_head, check)

static uint64_t mix(uint64_t lane, uint64_t word)
{
	lane = (lane ^ word) * 0x9e3779b97f4a7c15ULL;
	return lane ^ lane >> 29;
}

static uint64_t word_at(const uint8_t *bytes, uint64_t off, uint64_t size)
{
	uint64_t word = 0;

	if (off < size)
		memcpy(&word, bytes + off, size - off < 8 ? size - off : 8);
	return word;
}

uint64_t ow_table_checksum(const uint8_t *bytes, uint64_t size)
{
	uint64_t lane[4] = { size, 1, 2, 3 };
	uint64_t off, w[4];
	unsigned int i;

	/* The first ones, but for the check itself. */
	memcpy(w, bytes, sizeof(w));
	w[CHECK_OFF / 8] = 0;
	for (i = 0; i < 4; i++)
		lane[i] = mix(lane[i], w[i]);
	/* Four lanes, as a multiplication takes longer than a load. */
	for (off = 32; off + 32 <= size; off += 32) {
		memcpy(w, bytes + off, sizeof(w));
#pragma GCC unroll 4
		for (i = 0; i < 4; i++)
			lane[i] = mix(lane[i], w[i]);
	}
	for (i = 0; i < 4; i++)
		lane[i] = mix(lane[i], word_at(bytes, off + 8 * i, size));
	return mix(mix(mix(lane[0], lane[1]), lane[2]), lane[3]);
}

int ow_table_open(struct ow_table *t, const uint8_t *bytes, uint64_t size)
{
	struct ow_table_head head;
	struct ow_table n;
	uint64_t need;

	if (size < sizeof(head))
		return -OW_EFORMAT;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != OW_TABLE_MAGIC)
		return -OW_EFORMAT;
	if (head.version != OW_TABLE_VERSION)
		return -OW_EUNSUPPORTED;
	n = (struct ow_table){
		.arch = ow_arch_find(head.machine, head.word == 8),
		.base = head.base,
		.ra = head.ra,
		.nr_blocks = head.rows_size / OW_TABLE_BLOCK +
			     (head.rows_size % OW_TABLE_BLOCK != 0),
		.nr_sets = head.nr_sets,
		.nr_codes = head.nr_codes,
		.rows_size = head.rows_size,
		.saves_size = head.saves_size,
		.seqs_size = head.seqs_size,
		.blocks = (const void *)(bytes + sizeof(head)),
	};
	need = sizeof(head) + (uint64_t)n.nr_blocks * sizeof(*n.blocks) +
	       (uint64_t)n.nr_sets * sizeof(*n.sets) + n.rows_size +
	       3 * (uint64_t)n.nr_codes + n.saves_size + n.seqs_size;
	if (need != size)
		return -OW_EFORMAT;
	n.sets = (const void *)(n.blocks + n.nr_blocks);
	n.rows = (const void *)(n.sets + n.nr_sets);
	n.codes = n.rows + n.rows_size;
	n.saves = n.codes + 3 * n.nr_codes;
	n.seqs = n.saves + n.saves_size;
	if (!n.arch || n.arch->word != head.word || head.ra >= n.arch->nr_regs)
		return -OW_EUNSUPPORTED;
	if (n.nr_blocks)
		n.scale = ((uint64_t)n.nr_blocks << 32) /
			  ((uint64_t)n.blocks[n.nr_blocks - 1] + 1);
	*t = n;
	return 0;
}

static bool block_rows(const struct ow_table *t, uint32_t block,
		       struct ow_tablerows *ret)
{
	return ow_tablerows_at(t->rows, t->rows_size, block * OW_TABLE_BLOCK,
			       ret);
}

static bool seq_rows(const struct ow_table *t, uint32_t code,
		     struct ow_tablerows *ret)
{
	return ow_tablerows_at(t->seqs, t->seqs_size,
			       OW_TABLE_CODE_SEQ(ow_table_meaning(t, code)),
			       ret);
}

/*
 * The last block of [low, low + nr) that begins at or below off, or the first
 * one.  Without a branch on what was read, half of which would be predicted
 * wrongly.
 */
static uint32_t search_some(const struct ow_table *t, uint32_t off,
			    uint32_t low, uint32_t nr)
{
	uint32_t half;

	while (nr > 1) {
		half = nr / 2;
		low = t->blocks[low + half] <= off ? low + half : low;
		nr -= half;
	}
	return low;
}

static uint32_t guess(const struct ow_table *t, uint32_t off)
{
	uint64_t block = (off * t->scale) >> 32;

	block = block < t->nr_blocks ? (uint32_t)block : t->nr_blocks - 1;
	return (uint32_t)ow_index(block, t->nr_blocks);
}

/*
 * The same of all blocks, from where off should be if rows were spread evenly:
 * that is near enough to spare probes all over the table, each a cache miss.
 */
static uint32_t search(const struct ow_table *t, uint32_t off)
{
	uint32_t low = guess(t, off), high = low, step = GALLOP;

	if (t->blocks[low] <= off) {
		do {
			low = high;
			high = t->nr_blocks - low > step ? low + step :
							   t->nr_blocks;
			step *= 4;
		} while (high < t->nr_blocks && t->blocks[high] <= off);
		return search_some(t, off, low, high - low);
	}
	do {
		high = low;
		low = high > step ? high - step : 0;
		step *= 4;
	} while (low > 0 && t->blocks[low] > off);
	return search_some(t, off, low, high - low);
}

/*
 * The code of the row that holds at off, of those read, the first of which begins
 * at start; and of what begins right behind it.
 */
OW_TEMPLATE bool find_code(struct ow_table_look *l, uint64_t start)
{
	if (!ow_tablerows_find(&l->rows, start, l->off) ||
	    !ow_tablerows_code(&l->rows, l->rows.row, &l->code))
		return false;
	if (l->last || !l->rows.last)
		return true;
	l->last = true;
	return ow_tablerows_code(&l->rows, l->rows.row + 1, &l->next);
}

/* Find the row of a block, and what is behind it in the next one. */
static bool find_row(const struct ow_table *t, struct ow_table_look *l)
{
	l->last = false;
	if (!block_rows(t, l->block, &l->rows) ||
	    !find_code(l, t->blocks[l->block]))
		return false;
	l->block++;
	if (l->last || l->block == t->nr_blocks ||
	    t->blocks[l->block] != l->off + 1)
		return true;
	l->last = true;
	return block_rows(t, l->block, &l->rows) &&
	       ow_tablerows_code(&l->rows, 0, &l->next);
}

/* Replace a row that is a sequence by the part of it that holds at off. */
static bool find_part(const struct ow_table *t, struct ow_table_look *l)
{
	if (l->last && ow_table_is_seq(t, l->next) &&
	    (!seq_rows(t, l->next, &l->rows) ||
	     !ow_tablerows_code(&l->rows, 0, &l->next)))
		return false;
	return !ow_table_is_seq(t, l->code) ||
	       (seq_rows(t, l->code, &l->rows) && find_code(l, l->rows.start));
}

/* Find the block that off is in; false: no row is there. */
OW_APART bool find_block(const struct ow_table *t, struct ow_table_look *l)
{
	if (l->off > UINT32_MAX || t->nr_blocks == 0)
		return false;
	l->block = search(t, (uint32_t)l->off);
	return t->blocks[l->block] <= l->off;
}

int ow_table_code(const struct ow_table *t, uint64_t vaddr,
		  struct ow_table_look *l)
{
	l->off = vaddr - t->base;
	if (vaddr < t->base || !find_block(t, l))
		return -OW_ENOENT;
	if (!find_row(t, l) || !find_part(t, l))
		return -OW_EFORMAT;
	l->last = l->last && l->next == OW_TABLE_NONE;
	return 0;
}

int ow_table_row(const struct ow_table *t, uint64_t vaddr, struct ow_row *row,
		 struct ow_rule *rules)
{
	struct ow_table_look l;
	int err = ow_table_code(t, vaddr, &l);

	if (!err)
		err = ow_table_rule(t, l.code, row, rules);
	if (!err && l.last)
		row->flags |= OW_ROW_LAST;
	return err;
}

/* The next part of the sequence that is listed, or 0 after its last one. */
static int next_part(const struct ow_table *t, struct ow_table_pos *pos)
{
	struct ow_tablerows r;

	if (pos->seq == 0)
		return 0;
	if (!seq_rows(t, pos->seq, &r))
		return -OW_EFORMAT;
	if (pos->part < r.nr)
		return ow_tablerows_step(&r, pos->part++, &pos->off,
					 &pos->code) ?
			       1 :
			       -OW_EFORMAT;
	pos->seq = 0;
	return 0;
}

static int next_row(const struct ow_table *t, struct ow_table_pos *pos)
{
	struct ow_tablerows r;

	if (pos->block == t->nr_blocks)
		return 0;
	if (!block_rows(t, pos->block, &r))
		return -OW_EFORMAT;
	if (pos->row == 0)
		pos->row_off = t->blocks[pos->block];
	if (!ow_tablerows_step(&r, pos->row, &pos->row_off, &pos->code))
		return -OW_EFORMAT;
	if (++pos->row == r.nr) {
		pos->row = 0;
		pos->block++;
	}
	return 1;
}

int ow_table_next(const struct ow_table *t, struct ow_table_pos *pos)
{
	int more = next_part(t, pos);

	if (more == 0) {
		more = next_row(t, pos);
		pos->off = pos->row_off;
		if (more <= 0 || !ow_table_is_seq(t, pos->code))
			return more;
		pos->seq = pos->code;
		pos->part = 0;
		more = next_part(t, pos);
	}
	return more;
}

/* Rows in order, those of sequences ending before the next one. */
int ow_table_verify_rows(const struct ow_table *t, struct ow_table_check *check,
			 uint32_t max)
{
	struct ow_table_pos *pos = &check->pos;
	int more = 1;

	while (max-- > 0 && (more = ow_table_next(t, pos)) > 0) {
		if (pos->off < check->least || pos->off > UINT32_MAX ||
		    pos->off > UINT64_MAX - t->base ||
		    !ow_table_is_code(t, pos->code) ||
		    ow_table_is_seq(t, pos->code))
			return -OW_EFORMAT;
		check->least = pos->off + 1;
	}
	return more;
}

int ow_table_verify(const struct ow_table *t)
{
	struct ow_table_check check = { .least = 0 };
	int err = ow_table_verify_rules(t);

	while (!err && (err = ow_table_verify_rows(t, &check, UINT32_MAX)) > 0)
		err = 0;
	return err;
}
