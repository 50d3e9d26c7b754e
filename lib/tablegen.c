// SPDX-License-Identifier: BSD-2-Clause
#include "tablegen.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "error.h"
#include "fdeindex.h"
#include "object.h"
#include "padding.h"
#include "table.h"
#include "tablecode.h"
#include "tableseq.h"
#include "tableset.h"

#define SLOTS 8192 /* of the hash of rules; a power of two */

/* An FDE of one of the sections. */
struct listed {
	struct ow_fde_ref ref;
	bool is_debug;
};

/* A table under construction. */
struct gen {
	const struct ow_object *obj;
	struct listed *list; /* in address order */
	size_t nr_list;
	struct ow_cie_memo memo;
	const struct ow_arch *arch;
	uint8_t ra; /* slot, of the first row; others' are left to the CFI */
	struct ow_table_stats *stats;
	struct ow_cfa cfa;

	uint64_t base;
	struct ow_flat_row *rows;
	size_t nr_rows, room;
	uint64_t end;        /* vaddr up to which rows are made */
	uint16_t entry_rule; /* of the first row of the last FDE */

	uint32_t rules[SLOTS];
	uint32_t nr_rules;
	uint16_t rule_hash[SLOTS]; /* 1 + index in rules; 0 is empty */

	struct ow_tablesets sets;
};

static uint16_t intern_rule(struct gen *g, uint32_t rule)
{
	uint32_t slot = rule * 0x9e3779b1U >> 19;
	uint16_t i;

	for (;; slot = (slot + 1) & (SLOTS - 1)) {
		i = g->rule_hash[slot];
		if (i == 0)
			break;
		if (g->rules[i - 1] == rule)
			return OW_TABLE_FIRST + i - 1;
	}
	/* Three quarters full is full: what is rarer goes by the CFI. */
	if (g->nr_rules >= SLOTS / 4 * 3)
		return OW_TABLE_ESCAPE;
	g->rules[g->nr_rules++] = rule;
	g->rule_hash[slot] = (uint16_t)g->nr_rules;
	return (uint16_t)(OW_TABLE_FIRST + g->nr_rules - 1);
}

/* The number that stands for a row until rows are coded. */
static uint16_t rule_of(struct gen *g, const struct ow_row *row)
{
	int32_t words = row->cfa.off / g->arch->word;
	uint32_t set;

	if (row->cfa.kind != OW_RULE_REG || row->cfa.off % g->arch->word ||
	    words < 0 || words > OW_TABLE_MAX_WORDS ||
	    !ow_tablesets_find(&g->sets, g->arch, g->ra, row, &set))
		return OW_TABLE_ESCAPE;
	return intern_rule(g, OW_TABLE_RULE(set, words));
}

static int add_row(struct gen *g, uint64_t vaddr, uint16_t rule)
{
	if (g->nr_rows && g->rows[g->nr_rows - 1].rule == rule)
		return 0;
	if (g->nr_rows == g->room) {
		size_t room = g->room ? 2 * g->room : 1024;
		void *rows = realloc(g->rows, room * sizeof(*g->rows));

		if (!rows)
			return -OW_CODE_MEMORY;
		g->rows = rows;
		g->room = room;
	}
	g->rows[g->nr_rows++] = (struct ow_flat_row){
		vaddr, rule, rule == g->entry_rule || rule == OW_TABLE_NONE
	};
	return 0;
}

/* From the last FDE's end to the next one's start. */
static int bridge_gap(struct gen *g, uint64_t to)
{
	uint64_t size;
	const uint8_t *bytes;

	if (g->nr_rows == 0 || to == g->end)
		return 0;
	bytes = ow_elf_at(&g->obj->elf, g->end, &size);
	/* Nobody runs padding, so that the row before may hold for it too. */
	if (bytes && to - g->end <= size &&
	    ow_is_padding(g->arch, bytes, to - g->end))
		return 0;
	return add_row(g, g->end, OW_TABLE_NONE);
}

/* The rows of the FDE that the machine stands at. */
static int add_rows(struct gen *g)
{
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row;
	bool first = true;
	uint16_t rule;
	int more;

	while ((more = ow_cfa_next(&g->cfa)) > 0) {
		ow_cfa_row(&g->cfa, &row, rules);
		rule = rule_of(g, &row);
		g->stats->cfi_rows++;
		g->stats->escapes += rule == OW_TABLE_ESCAPE;
		if (first)
			g->entry_rule = rule;
		first = false;
		if (add_row(g, g->cfa.start, rule))
			return -OW_CODE_MEMORY;
	}
	return more;
}

static int add_fde(struct gen *g, const struct ow_fde *fde, uint64_t end)
{
	int err = bridge_gap(g, fde->start);

	if (err)
		return err;
	if (g->nr_rows == 0)
		g->ra = fde->cie.ra;
	err = ow_cfa_begin(&g->cfa, &fde->cie, fde->insns, fde->start, end);
	if (!err)
		err = add_rows(g);
	g->end = end;
	if (err == -OW_CODE_MEMORY)
		return err;
	/* What can't be read is for the full CFI to refuse. */
	return err ? add_row(g, g->cfa.start, OW_TABLE_ESCAPE) : 0;
}

static void read_fde(struct gen *g, size_t i, struct ow_fde *ret)
{
	struct ow_cfi_env env = { .memo = &g->memo };
	uint64_t off = g->list[i].ref.off;

	ow_cfi_entry(&g->obj->cfi, &env, g->list[i].is_debug, &off, ret);
}

/* All of .eh_frame's FDEs, and of .debug_frame's what begins in none of them. */
static void merge(struct gen *g, const struct ow_fde_index *eh,
		  const struct ow_fde_index *debug)
{
	struct ow_fde fde = { .end = 0 };
	uint64_t end = 0;
	size_t i = 0, k = 0;

	while (i < eh->nr || k < debug->nr) {
		if (k < debug->nr &&
		    (i == eh->nr || debug->refs[k].start < eh->refs[i].start)) {
			if (debug->refs[k].start >= end)
				g->list[g->nr_list++] =
					(struct listed){ debug->refs[k], true };
			k++;
			continue;
		}
		g->list[g->nr_list++] = (struct listed){ eh->refs[i++], false };
		if (k == debug->nr)
			continue;
		read_fde(g, g->nr_list - 1, &fde);
		if (fde.end > end)
			end = fde.end;
	}
}

static int add_all(struct gen *g)
{
	struct ow_fde fde, next;
	/* Where the last row can begin, also at the end of all addresses. */
	uint64_t limit = UINT64_MAX - g->base < UINT32_MAX ?
				 UINT64_MAX :
				 g->base + UINT32_MAX;
	uint64_t end;
	size_t i;
	int err = 0;

	read_fde(g, 0, &next);
	for (i = 0; i < g->nr_list && !err; i++) {
		fde = next;
		end = fde.end < limit ? fde.end : limit;
		if (i + 1 < g->nr_list) {
			read_fde(g, i + 1, &next);
			/* A look-up takes the last FDE that starts below. */
			if (end > next.start)
				end = next.start;
		}
		if (fde.start < end)
			err = add_fde(g, &fde, end);
	}
	if (!err)
		err = add_row(g, g->end, OW_TABLE_NONE);
	return err;
}

static void append(uint8_t **at, const void *bytes, size_t size)
{
	if (size)
		memcpy(*at, bytes, size);
	*at += size;
}

static struct ow_table_head head_of(const struct gen *g,
				    const struct ow_coded *c, uint16_t saves)
{
	struct ow_table_head head = {
		.magic = OW_TABLE_MAGIC,
		.version = OW_TABLE_VERSION,
		.machine = g->arch->machine,
		.base = g->rows[0].vaddr,
		.rows_size = (uint32_t)c->rows.size,
		.seqs_size = (uint32_t)c->seqs.size,
		.nr_codes = (uint16_t)(c->codes.size / 3),
		.nr_sets = (uint16_t)g->sets.nr,
		.saves_size = saves,
		.word = g->arch->word,
		.ra = g->ra,
	};
	size_t id = g->obj->build_id_size;

	memcpy(head.build_id, g->obj->build_id,
	       id < sizeof(head.build_id) ? id : sizeof(head.build_id));
	return head;
}

/* Put the parts together.  NULL when out of memory. */
static uint8_t *assemble(const struct gen *g, const struct ow_coded *c,
			 size_t *size_ret)
{
	struct ow_table_set sets[OW_TABLE_MAX_SETS];
	uint8_t saves[OW_TABLESETS_MAX_SAVES];
	struct ow_table_head head =
		head_of(g, c, ow_tablesets_write(&g->sets, sets, saves));
	size_t size = sizeof(head) + c->blocks.size +
		      g->sets.nr * sizeof(*sets) + c->rows.size +
		      c->codes.size + head.saves_size + c->seqs.size;
	uint8_t *bytes = malloc(size);
	uint8_t *at = bytes;

	if (!bytes)
		return NULL;
	append(&at, &head, sizeof(head));
	append(&at, c->blocks.at, c->blocks.size);
	append(&at, sets, g->sets.nr * sizeof(*sets));
	append(&at, c->rows.at, c->rows.size);
	append(&at, c->codes.at, c->codes.size);
	append(&at, saves, head.saves_size);
	append(&at, c->seqs.at, c->seqs.size);
	head.check = ow_table_checksum(bytes, size);
	memcpy(bytes, &head, sizeof(head));
	*size_ret = size;
	return bytes;
}

static uint8_t *finish(const struct gen *g, size_t *size_ret)
{
	struct ow_coded coded = { .rows = { NULL, 0, 0 } };
	struct ow_seqs seqs;
	uint8_t *bytes = NULL;

	if (ow_seqs_make(&seqs, g->rows, g->nr_rows,
			 OW_TABLE_FIRST + g->nr_rules) == 0 &&
	    ow_coded_make(&coded, g->rows, g->rules, g->nr_rules, &seqs) == 0)
		bytes = assemble(g, &coded, size_ret);
	ow_coded_free(&coded);
	ow_seqs_free(&seqs);
	return bytes;
}

static void fill_stats(const struct gen *g, size_t size)
{
	g->stats->rows = g->nr_rows;
	g->stats->rules = g->nr_rules;
	g->stats->sets = g->sets.nr;
	g->stats->size = size;
	g->stats->cfi_size = g->obj->cfi_size;
}

static uint8_t *generate(struct gen *g, size_t *size_ret, struct ow_error *err)
{
	uint64_t first = g->list[0].ref.start;
	uint64_t last = g->list[g->nr_list - 1].ref.start;
	uint8_t *bytes = NULL;

	if (last - first >= UINT32_MAX) {
		ow_fail(err, OW_CODE_UNSUPPORTED,
			"%s: code spans more than 4 GiB", g->obj->path);
		return NULL;
	}
	g->base = first;
	if (!add_all(g))
		bytes = finish(g, size_ret);
	if (bytes)
		fill_stats(g, *size_ret);
	else
		ow_fail(err, OW_CODE_MEMORY, "%s: out of memory", g->obj->path);
	free(g->rows);
	return bytes;
}

/* The FDEs of both indexes as a table. */
static uint8_t *make(const struct ow_object *obj, const struct ow_fde_index *eh,
		     const struct ow_fde_index *debug, size_t *size_ret,
		     struct ow_table_stats *stats, struct ow_error *err)
{
	struct gen *g = calloc(1, sizeof(*g));
	uint8_t *bytes = NULL;

	if (g)
		g->list = calloc(eh->nr + debug->nr, sizeof(*g->list));
	if (g && g->list) {
		g->obj = obj;
		g->arch = obj->elf.arch;
		g->stats = stats;
		merge(g, eh, debug);
		bytes = generate(g, size_ret, err);
	} else {
		ow_fail(err, OW_CODE_MEMORY, "%s: out of memory", obj->path);
	}
	if (g)
		free(g->list);
	free(g);
	return bytes;
}

static uint8_t *make_of(const struct ow_object *obj, struct ow_fde_index debug,
			size_t *size_ret, struct ow_table_stats *stats,
			struct ow_error *err)
{
	struct ow_fde_index eh = obj->cfi.eh_index;
	uint8_t *bytes = NULL;

	memset(stats, 0, sizeof(*stats));
	if (!obj->cfi.eh_frame.bytes && !debug.nr) {
		ow_fail(err, OW_CODE_ABSENT, "%s: no .eh_frame", obj->path);
		return NULL;
	}
	if (!eh.nr && obj->cfi.eh_frame.bytes &&
	    ow_fde_index_build(&obj->cfi, false, &eh)) {
		ow_fail(err, OW_CODE_MEMORY, "%s: out of memory", obj->path);
		return NULL;
	}
	if (eh.nr || debug.nr)
		bytes = make(obj, &eh, &debug, size_ret, stats, err);
	else
		ow_fail(err, OW_CODE_ABSENT, "%s: .eh_frame is empty",
			obj->path);
	if (eh.refs != obj->cfi.eh_index.refs)
		free((void *)eh.refs);
	return bytes;
}

uint8_t *ow_table_generate(const struct ow_object *obj, size_t *size_ret,
			   struct ow_table_stats *stats, struct ow_error *err)
{
	struct ow_fde_index none = { .nr = 0 };

	return make_of(obj, none, size_ret, stats, err);
}

uint8_t *ow_table_generate_all(const struct ow_object *obj, size_t *size_ret,
			       struct ow_table_stats *stats,
			       struct ow_error *err)
{
	return make_of(obj, obj->cfi.debug_index, size_ret, stats, err);
}
