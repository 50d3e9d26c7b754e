// SPDX-License-Identifier: BSD-2-Clause
#include "escapes.h"

#include <stdlib.h>

#include "err.h"
#include "error.h"
#include "find.h"
#include "tablerows.h"
#include "worktime.h"

/*
 * Bytes of instructions that are run in all: a hostile file could have one FDE of
 * megabytes run for each of its rows.
 */
#define MOST_WORK (1u << 27)
/* Steps (worktime.h) of each, beside one for each byte. */
#define ROW_STEPS 128

/* Bytes of padding that an FDE may be followed by. */
#define MOST_PADDING 63

struct listing {
	const struct ow_table *t;
	bool (*each)(void *arg, const struct ow_escape *e);
	void *arg;
	uint64_t work;
	struct ow_finder finder;
	struct ow_target target;
	struct ow_module module;
	/* By code: it is an escape, or a sequence that has one. */
	bool has_escape[OW_TABLE_MAX_NUMBER + 1];
};

static int find(struct listing *l, uint64_t vaddr, struct ow_row *row)
{
	int err = ow_find_row(&l->finder, &l->target, &l->module, vaddr, row);
	const struct ow_cursor *insns = &l->finder.fde.insns;
	const struct ow_cie *cie = &l->finder.fde.cie;
	uint64_t bytes = (uint64_t)(insns->end - insns->pos);

	l->work += bytes + 1;
	ow_worktime_step(ROW_STEPS + bytes +
			 (uint64_t)(cie->insns_end - cie->insns));
	return err;
}

/* Does the table leave what this code stands for to the CFI? */
static bool is_left(uint32_t code)
{
	return code == OW_TABLE_ESCAPE || code == OW_TABLE_SIGNAL;
}

/* Hand over the row at vaddr, or that there is none; false: no more. */
static bool take(struct listing *l, uint64_t vaddr, uint64_t end,
		 const struct ow_row *row, uint64_t *next)
{
	struct ow_escape e = { vaddr, end, end, row };

	if (row) {
		e.fde_end = l->finder.fde.end;
		if (l->finder.cfa.next < e.end)
			e.end = l->finder.cfa.next;
		if (e.fde_end < e.end)
			e.end = e.fde_end;
	}
	*next = e.end;
	return e.end > vaddr && l->each(l->arg, &e);
}

/* Rows of the CFI in [vaddr, end), of one run of the table's escapes. */
static bool list_run(struct listing *l, uint64_t vaddr, uint64_t end)
{
	unsigned int padding = 0;
	struct ow_row row;
	int err;

	while (vaddr < end) {
		if (l->work >= MOST_WORK)
			return false;
		err = find(l, vaddr, &row);
		/* FDEs of such rows make one row of the table. */
		if (err == -OW_ENOENT && padding++ < MOST_PADDING) {
			vaddr++;
			continue;
		}
		if (!err)
			padding = 0;
		if (!take(l, vaddr, end, err ? NULL : &row, &vaddr))
			return false;
	}
	return true;
}

/* Is one of the rows' codes marked so?  What can't be read is. */
static bool has(const struct ow_tablerows *r, const bool *marked)
{
	uint32_t i, code;

	for (i = 0; i < r->nr; i++)
		if (!ow_tablerows_code(r, i, &code) || marked[code])
			return true;
	return false;
}

static void mark_sequences(struct listing *l)
{
	const struct ow_table *t = l->t;
	struct ow_tablerows r;
	uint32_t code, meaning;

	for (code = 0; code < OW_TABLE_FIRST; code++)
		l->has_escape[code] = is_left(code);
	for (; ow_table_is_code(t, code) && code < OW_TABLE_MAX_NUMBER;
	     code++) {
		meaning = ow_table_meaning(t, code);
		if (OW_TABLE_CODE_IS_SEQ(meaning))
			l->has_escape[code] =
				!ow_tablerows_at(t->seqs, t->seqs_size,
						 OW_TABLE_CODE_SEQ(meaning),
						 &r) ||
				has(&r, l->has_escape);
	}
}

/* Most blocks have none, and are passed over. */
static bool has_escape(const struct listing *l, uint32_t block)
{
	struct ow_tablerows r;

	return !ow_tablerows_at(l->t->rows, l->t->rows_size,
				block * OW_TABLE_BLOCK, &r) ||
	       has(&r, l->has_escape);
}

static void list_all(struct listing *l)
{
	struct ow_table_pos pos = { .block = 0 };
	const struct ow_table *t = l->t;
	uint64_t from = 0;
	bool open = false;

	while (pos.block < t->nr_blocks || pos.seq) {
		if (!open && pos.row == 0 && pos.seq == 0 &&
		    !has_escape(l, pos.block)) {
			pos.block++;
			continue;
		}
		if (ow_table_next(t, &pos) <= 0)
			break;
		if (open && !list_run(l, from, t->base + pos.off))
			return;
		open = is_left(pos.code);
		from = t->base + pos.off;
	}
	if (open)
		list_run(l, from, t->base + UINT32_MAX);
}

bool ow_escapes_list(const struct ow_object *obj, const struct ow_table *t,
		     bool (*each)(void *arg, const struct ow_escape *e),
		     void *arg)
{
	_cleanup_(ow_freep) struct listing *l = calloc(1, sizeof(*l));

	if (!l)
		return false;
	l->t = t;
	l->each = each;
	l->arg = arg;
	l->target.arch = t->arch;
	l->module.cfi = &obj->cfi;
	mark_sequences(l);
	list_all(l);
	return true;
}
