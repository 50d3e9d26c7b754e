// SPDX-License-Identifier: BSD-2-Clause
#include "tablegen.h"

#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "error.h"
#include "fdeindex.h"
#include "fderows.h"
#include "object.h"
#include "table.h"
#include "tablecode.h"

/* A table under construction. */
struct gen {
	const struct ow_object *obj;
	struct ow_fde_ref *merged;
	const struct ow_fde_ref *list; /* in address order */
	size_t nr_list;
	struct ow_flatrows *flat;
	struct ow_table_stats *stats;
	const bool *stop; /* or NULL */
};

/* All of .eh_frame's FDEs, and of .debug_frame's what begins in none of them. */
static void merge(struct gen *g, const struct ow_fde_index *eh,
		  const struct ow_fde_index *debug)
{
	struct ow_cie_memo memo = { .entry = NULL };
	struct ow_cfi_env env = { .memo = &memo };
	struct ow_fde fde = { .end = 0 };
	uint64_t end = 0, off;
	size_t i = 0, k = 0, nr = 0;

	while (i < eh->nr || k < debug->nr) {
		if (k < debug->nr &&
		    (i == eh->nr || debug->refs[k].start < eh->refs[i].start)) {
			if (debug->refs[k].start >= end) {
				g->merged[nr] = debug->refs[k];
				g->merged[nr++].off |= OW_FDEROWS_DEBUG;
			}
			k++;
			continue;
		}
		off = eh->refs[i].off;
		g->merged[nr++] = eh->refs[i++];
		if (k == debug->nr)
			continue;
		ow_cfi_entry(&g->obj->cfi, &env, false, &off, &fde);
		if (fde.end > end)
			end = fde.end;
	}
	g->list = g->merged;
	g->nr_list = nr;
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
		.machine = g->obj->elf.arch->machine,
		.base = g->flat->base + g->flat->rows[0].off,
		.rows_size = (uint32_t)c->rows.size,
		.seqs_size = (uint32_t)c->seqs.size,
		.nr_codes = (uint16_t)(c->codes.size / 3),
		.nr_sets = (uint16_t)g->flat->sets.nr,
		.saves_size = saves,
		.word = g->obj->elf.arch->word,
		.ra = g->flat->ra,
	};
	size_t id = g->obj->build_id_size;

	memcpy(head.build_id, g->obj->build_id,
	       id < sizeof(head.build_id) ? id : sizeof(head.build_id));
	return head;
}

/* Too much for a stack. */
struct written_sets {
	struct ow_table_set sets[OW_TABLE_MAX_SETS];
	uint8_t saves[OW_TABLESETS_MAX_SAVES];
};

/* Put the parts together.  NULL when out of memory. */
static uint8_t *assemble(const struct gen *g, const struct ow_coded *c,
			 struct written_sets *w, size_t *size_ret)
{
	const struct ow_tablesets *from = &g->flat->sets;
	struct ow_table_head head =
		head_of(g, c, ow_tablesets_write(from, w->sets, w->saves));
	size_t size = sizeof(head) + c->blocks.size +
		      from->nr * sizeof(*w->sets) + c->rows.size +
		      c->codes.size + head.saves_size + c->seqs.size;
	uint8_t *bytes = malloc(size);
	uint8_t *at = bytes;

	if (!bytes)
		return NULL;
	append(&at, &head, sizeof(head));
	append(&at, c->blocks.at, c->blocks.size);
	append(&at, w->sets, from->nr * sizeof(*w->sets));
	append(&at, c->rows.at, c->rows.size);
	append(&at, c->codes.at, c->codes.size);
	append(&at, w->saves, head.saves_size);
	append(&at, c->seqs.at, c->seqs.size);
	head.check = ow_table_checksum(bytes, size);
	memcpy(bytes, &head, sizeof(head));
	*size_ret = size;
	return bytes;
}

static uint8_t *finish(const struct gen *g, size_t *size_ret)
{
	const struct ow_flatrows *f = g->flat;
	struct ow_coded coded = { .rows = { NULL, 0, 0 } };
	struct written_sets *sets = malloc(sizeof(*sets));
	struct ow_seqs seqs;
	uint8_t *bytes = NULL;

	if (ow_seqs_make(&seqs, f->rows, f->nr, OW_TABLE_FIRST + f->nr_rules) ==
		    0 &&
	    !ow_is_given_up(g->stop) &&
	    ow_coded_make(&coded, f->rows, f->rules, f->nr_rules, &seqs) == 0 &&
	    sets)
		bytes = assemble(g, &coded, sets, size_ret);
	free(sets);
	ow_coded_free(&coded);
	ow_seqs_free(&seqs);
	return bytes;
}

static void fill_stats(const struct gen *g, size_t size)
{
	g->stats->cfi_rows = g->flat->cfi_rows;
	g->stats->escapes = g->flat->escapes;
	g->stats->rows = g->flat->nr;
	g->stats->rules = g->flat->nr_rules;
	g->stats->sets = g->flat->sets.nr;
	g->stats->size = size;
	g->stats->cfi_size = g->obj->cfi_size;
}

static void fail_memory(const struct ow_object *obj, struct ow_error *err)
{
	ow_object_refuse(obj, -OW_CODE_MEMORY, "a table of its rows");
	ow_fail(err, OW_CODE_MEMORY, "%s: out of memory", obj->path);
}

static void fail_given_up(const struct ow_object *obj, struct ow_error *err)
{
	ow_fail(err, OW_CODE_ABSENT, "%s: given up", obj->path);
}

static uint8_t *generate(struct gen *g, size_t *size_ret, struct ow_error *err)
{
	uint64_t first = g->list[0].start;
	uint64_t last = g->list[g->nr_list - 1].start;
	uint8_t *bytes = NULL;

	if (last - first >= UINT32_MAX) {
		ow_fail(err, OW_CODE_UNSUPPORTED,
			"%s: code spans more than 4 GiB", g->obj->path);
		return NULL;
	}
	g->flat = ow_fderows_make(g->obj, g->list, g->nr_list, g->stop);
	if (g->flat)
		bytes = finish(g, size_ret);
	if (bytes)
		fill_stats(g, *size_ret);
	else if (ow_is_given_up(g->stop))
		fail_given_up(g->obj, err);
	else
		fail_memory(g->obj, err);
	ow_flatrows_destroy(g->flat);
	return bytes;
}

/* The FDEs of both indexes as a table. */
static uint8_t *make(struct gen *g, const struct ow_fde_index *eh,
		     const struct ow_fde_index *debug, size_t *size_ret,
		     struct ow_error *err)
{
	uint8_t *bytes;
	struct ow_owner own = ow_owner_beside(&g->obj->owner);

	g->list = eh->refs;
	g->nr_list = eh->nr;
	if (debug->nr) {
		if (ow_owner_take(&own,
				  (eh->nr + debug->nr) * sizeof(*g->merged)))
			g->merged =
				calloc(eh->nr + debug->nr, sizeof(*g->merged));
		if (!g->merged) {
			ow_owner_give(&own, own.bytes);
			fail_memory(g->obj, err);
			return NULL;
		}
		merge(g, eh, debug);
	}
	bytes = generate(g, size_ret, err);
	free(g->merged);
	ow_owner_give(&own, own.bytes);
	return bytes;
}

/* By the FDEs that .eh_frame_hdr lists; NULL if they aren't all, or aren't so. */
static uint8_t *make_by_hdr(struct gen *g, size_t *size_ret,
			    struct ow_error *err)
{
	struct ow_fde_index none = { .nr = 0 }, eh;
	uint8_t *bytes;
	struct ow_owner own = ow_owner_beside(&g->obj->owner);

	if (ow_fde_index_of_hdr(&g->obj->cfi, &own, &eh))
		return NULL;
	bytes = make(g, &eh, &none, size_ret, err);
	free((void *)eh.refs);
	ow_owner_give(&own, own.bytes);
	return bytes;
}

/* By all that are found. */
static uint8_t *make_by_search(struct gen *g, const struct ow_fde_index *debug,
			       size_t *size_ret, struct ow_error *err)
{
	const struct ow_cfi *cfi = &g->obj->cfi;
	struct ow_fde_index eh = cfi->eh_index;
	uint8_t *bytes = NULL;
	struct ow_owner own = ow_owner_beside(&g->obj->owner);

	if (!eh.nr && cfi->eh_frame.bytes &&
	    ow_fde_index_build(cfi, false, &own, &eh)) {
		fail_memory(g->obj, err);
		return NULL;
	}
	if (eh.nr || debug->nr)
		bytes = make(g, &eh, debug, size_ret, err);
	else
		ow_fail(err, OW_CODE_ABSENT, "%s: .eh_frame is empty",
			g->obj->path);
	if (eh.refs != cfi->eh_index.refs)
		free((void *)eh.refs);
	ow_owner_give(&own, own.bytes);
	return bytes;
}

static uint8_t *make_of(const struct ow_object *obj, struct ow_fde_index debug,
			size_t *size_ret, struct ow_table_stats *stats,
			const bool *stop, struct ow_error *err)
{
	struct gen g = { .obj = obj, .stats = stats, .stop = stop };
	uint8_t *bytes = NULL;

	memset(stats, 0, sizeof(*stats));
	if (!obj->cfi.eh_frame.bytes && !debug.nr) {
		ow_fail(err, OW_CODE_ABSENT, "%s: no .eh_frame", obj->path);
		return NULL;
	}
	if (!ow_bulk_take(OW_BULK_UNWIND, &obj->owner,
			  obj->cfi.eh_frame.size +
				  (debug.nr ? obj->cfi.debug_frame.size : 0))) {
		ow_object_refuse(obj, -OW_CODE_TIMEOUT,
				 "its CFI, for a table of its rows,");
		ow_fail(err, OW_CODE_UNSUPPORTED,
			"%s: its CFI would take too long to look through",
			obj->path);
		return NULL;
	}
	if (!debug.nr)
		bytes = make_by_hdr(&g, size_ret, err);
	if (!bytes && ow_is_given_up(stop))
		fail_given_up(obj, err);
	else if (!bytes)
		bytes = make_by_search(&g, &debug, size_ret, err);
	if (!ow_object_is_cut(obj))
		return bytes;
	ow_object_fail_cut(obj, err);
	free(bytes);
	return NULL;
}

uint8_t *ow_table_generate(const struct ow_object *obj, size_t *size_ret,
			   struct ow_table_stats *stats, const bool *stop,
			   struct ow_error *err)
{
	struct ow_fde_index none = { .nr = 0 };

	return make_of(obj, none, size_ret, stats, stop, err);
}

uint8_t *ow_table_generate_all(const struct ow_object *obj, size_t *size_ret,
			       struct ow_table_stats *stats, const bool *stop,
			       struct ow_error *err)
{
	return make_of(obj, obj->cfi.debug_index, size_ret, stats, stop, err);
}
