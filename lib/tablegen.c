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
#include "tableseq.h"

#define SLOTS         8192 /* of the hash of rules; a power of two */
#define MAX_SETS_SIZE 0xffff
#define MAX_PAGES     0x10000 /* 4 GiB of code */

struct packed_set {
	uint8_t bytes[1 + 2 * OW_TABLE_MAX_SAVES];
	uint8_t size;
};

/* A table under construction. */
struct gen {
	const struct ow_object *obj;
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

	uint16_t set_offs[OW_TABLE_MAX_SETS];
	uint32_t nr_sets;
	uint8_t sets[MAX_SETS_SIZE];
	uint32_t sets_size;
	struct packed_set last_set; /* neighbours are alike as a rule */
	uint32_t last_set_index;
};

static bool fits(const struct gen *g, int32_t off, int32_t min, int32_t max)
{
	int32_t words = off / g->arch->word;

	return off % g->arch->word == 0 && words >= min && words <= max;
}

/* The registers' part of a row as a set, or false if the table can't hold it. */
static bool pack_set(const struct gen *g, const struct ow_row *row,
		     struct packed_set *ret)
{
	bool outermost = row->flags & OW_ROW_OUTERMOST;
	uint8_t head = (row->flags & OW_ROW_SIGNAL ? OW_TABLE_SET_SIGNAL : 0) |
		       (outermost ? OW_TABLE_SET_OUTERMOST : 0);
	const struct ow_rule *rule = row->rules;
	/* Nothing is recovered of a caller that isn't. */
	const struct ow_rule *end = rule + (outermost ? 0 : row->nr);
	uint8_t *at = ret->bytes + 1;

	if (row->nr > OW_TABLE_MAX_SAVES || row->ra != g->ra)
		return false;
	for (; rule < end; rule++) {
		if (rule->kind != OW_RULE_AT_CFA ||
		    !fits(g, rule->off, INT8_MIN, INT8_MAX))
			return false;
		if (rule->slot == g->ra && rule->off == -g->arch->word) {
			head |= OW_TABLE_SET_RA;
			continue;
		}
		*at++ = rule->slot;
		*at++ = (uint8_t)(rule->off / g->arch->word);
		head++;
	}
	ret->bytes[0] = head;
	ret->size = at - ret->bytes;
	return true;
}

static bool same_set(const struct packed_set *a, const uint8_t *bytes)
{
	return memcmp(a->bytes, bytes, a->size) == 0;
}

/* The index of a set, added if it is new; false if there is no room. */
static bool intern_set(struct gen *g, const struct packed_set *set,
		       uint32_t *ret)
{
	uint32_t i;

	if (g->nr_sets && set->size == g->last_set.size &&
	    same_set(set, g->last_set.bytes)) {
		*ret = g->last_set_index;
		return true;
	}
	/* A set's first byte tells its size, so that equal bytes are equal
	   sets. */
	for (i = 0; i < g->nr_sets; i++)
		if (g->sets_size - g->set_offs[i] >= set->size &&
		    same_set(set, g->sets + g->set_offs[i]))
			break;
	if (i == g->nr_sets) {
		if (i == OW_TABLE_MAX_SETS ||
		    g->sets_size + set->size > MAX_SETS_SIZE)
			return false;
		g->set_offs[g->nr_sets++] = (uint16_t)g->sets_size;
		memcpy(g->sets + g->sets_size, set->bytes, set->size);
		g->sets_size += set->size;
	}
	g->last_set = *set;
	g->last_set_index = i;
	*ret = i;
	return true;
}

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

/* The number that stands for a row in the table. */
static uint16_t rule_of(struct gen *g, const struct ow_row *row)
{
	struct packed_set set;
	uint32_t index;

	if (row->cfa.kind != OW_RULE_REG ||
	    !fits(g, row->cfa.off, INT16_MIN, INT16_MAX) ||
	    !pack_set(g, row, &set) || !intern_set(g, &set, &index))
		return OW_TABLE_ESCAPE;
	return intern_rule(g, OW_TABLE_RULE(index, row->cfa.reg,
					    row->cfa.off / g->arch->word));
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

static int add_all(struct gen *g, const struct ow_fde_index *index)
{
	struct ow_cfi_env env = { NULL, 0 };
	struct ow_fde fde, next;
	uint64_t limit = g->base + ((uint64_t)MAX_PAGES << OW_TABLE_PAGE_BITS);
	uint64_t off, end;
	size_t i;
	int err = 0;

	off = index->refs[0].off;
	ow_cfi_entry(&g->obj->cfi, &env, false, &off, &next);
	for (i = 0; i < index->nr && !err; i++) {
		fde = next;
		end = fde.end < limit ? fde.end : limit;
		if (i + 1 < index->nr) {
			off = index->refs[i + 1].off;
			ow_cfi_entry(&g->obj->cfi, &env, false, &off, &next);
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

/* The first row of each page, and one more.  NULL when out of memory. */
static uint32_t *list_pages(const struct gen *g, const struct ow_seqs *seqs,
			    uint32_t *nr_ret)
{
	uint64_t last = g->rows[g->nr_rows - 1].vaddr;
	uint32_t nr = (uint32_t)((last - g->base) >> OW_TABLE_PAGE_BITS) + 1;
	uint32_t *pages = malloc((nr + 1) * sizeof(*pages));
	uint32_t page = 0;
	size_t i;

	for (i = 0; pages && i < seqs->nr_rows; i++)
		while (page <= (seqs->vaddrs[i] - g->base) >>
		       OW_TABLE_PAGE_BITS)
			pages[page++] = (uint32_t)i;
	while (pages && page <= nr)
		pages[page++] = (uint32_t)seqs->nr_rows;
	*nr_ret = nr;
	return pages;
}

static void put(uint8_t **at, const void *bytes, size_t size)
{
	if (size)
		memcpy(*at, bytes, size);
	*at += size;
}

static struct ow_table_head
head_of(const struct gen *g, const struct ow_seqs *seqs, uint32_t nr_pages)
{
	struct ow_table_head head = {
		.magic = OW_TABLE_MAGIC,
		.version = OW_TABLE_VERSION,
		.machine = g->arch->machine,
		.base = g->base,
		.nr_pages = nr_pages,
		.nr_rows = (uint32_t)seqs->nr_rows,
		.nr_rules = (uint16_t)g->nr_rules,
		.nr_sets = (uint16_t)g->nr_sets,
		.sets_size = (uint16_t)g->sets_size,
		.nr_seqs = (uint16_t)seqs->nr_seqs,
		.nr_parts = (uint16_t)seqs->nr_parts,
		.word = g->arch->word,
		.ra = g->ra,
	};
	size_t id = g->obj->build_id_size;

	memcpy(head.build_id, g->obj->build_id,
	       id < sizeof(head.build_id) ? id : sizeof(head.build_id));
	return head;
}

/* Put the parts together.  NULL when out of memory. */
static uint8_t *assemble(const struct gen *g, const struct ow_seqs *seqs,
			 const uint32_t *pages, uint32_t nr_pages,
			 size_t *size_ret)
{
	struct ow_table_head head = head_of(g, seqs, nr_pages);
	size_t size = sizeof(head) + ((size_t)nr_pages + 1) * sizeof(*pages) +
		      seqs->nr_rows * sizeof(*seqs->rows) +
		      g->nr_rules * sizeof(*g->rules) +
		      g->nr_sets * sizeof(*g->set_offs) +
		      (seqs->nr_seqs + 1) * sizeof(*seqs->firsts) +
		      seqs->nr_parts * 3 + g->sets_size;
	uint8_t *bytes = malloc(size);
	uint8_t *at = bytes;

	if (!bytes)
		return NULL;
	put(&at, &head, sizeof(head));
	put(&at, pages, ((size_t)nr_pages + 1) * sizeof(*pages));
	put(&at, seqs->rows, seqs->nr_rows * sizeof(*seqs->rows));
	put(&at, g->rules, g->nr_rules * sizeof(*g->rules));
	put(&at, g->set_offs, g->nr_sets * sizeof(*g->set_offs));
	put(&at, seqs->firsts, (seqs->nr_seqs + 1) * sizeof(*seqs->firsts));
	put(&at, seqs->part_rules, seqs->nr_parts * sizeof(*seqs->part_rules));
	put(&at, seqs->part_pcs, seqs->nr_parts);
	put(&at, g->sets, g->sets_size);
	head.check = ow_table_checksum(bytes, size);
	memcpy(bytes, &head, sizeof(head));
	*size_ret = size;
	return bytes;
}

static uint8_t *finish(const struct gen *g, size_t *size_ret)
{
	struct ow_seqs seqs;
	uint32_t *pages = NULL, nr_pages;
	uint8_t *bytes = NULL;

	if (ow_seqs_make(&seqs, g->rows, g->nr_rows,
			 OW_TABLE_FIRST + g->nr_rules) == 0)
		pages = list_pages(g, &seqs, &nr_pages);
	if (pages)
		bytes = assemble(g, &seqs, pages, nr_pages, size_ret);
	free(pages);
	ow_seqs_free(&seqs);
	return bytes;
}

static void count(const struct gen *g, size_t size)
{
	g->stats->rows = g->nr_rows;
	g->stats->rules = g->nr_rules;
	g->stats->sets = g->nr_sets;
	g->stats->size = size;
	g->stats->cfi_size = g->obj->cfi_size;
}

static uint8_t *generate(struct gen *g, const struct ow_fde_index *index,
			 size_t *size_ret, struct ow_error *err)
{
	uint64_t first = index->refs[0].start & ~0xffffULL;
	uint64_t last = index->refs[index->nr - 1].start;
	uint8_t *bytes = NULL;

	if ((last - first) >> OW_TABLE_PAGE_BITS >= MAX_PAGES) {
		ow_fail(err, OW_CODE_UNSUPPORTED,
			"%s: code spans more than 4 GiB", g->obj->path);
		return NULL;
	}
	g->base = first;
	if (!add_all(g, index))
		bytes = finish(g, size_ret);
	if (bytes)
		count(g, *size_ret);
	else
		ow_fail(err, OW_CODE_MEMORY, "%s: out of memory", g->obj->path);
	free(g->rows);
	return bytes;
}

uint8_t *ow_table_generate(const struct ow_object *obj, size_t *size_ret,
			   struct ow_table_stats *stats, struct ow_error *err)
{
	struct ow_fde_index index = obj->cfi.eh_index;
	struct gen *g;
	uint8_t *bytes;

	memset(stats, 0, sizeof(*stats));
	if (!obj->cfi.eh_frame.bytes) {
		ow_fail(err, OW_CODE_ABSENT, "%s: no .eh_frame", obj->path);
		return NULL;
	}
	if (!index.nr && ow_fde_index_build(&obj->cfi, false, &index)) {
		ow_fail(err, OW_CODE_MEMORY, "%s: out of memory", obj->path);
		return NULL;
	}
	if (!index.nr) {
		ow_fail(err, OW_CODE_ABSENT, "%s: .eh_frame is empty",
			obj->path);
		return NULL;
	}
	g = calloc(1, sizeof(*g));
	if (g) {
		g->obj = obj;
		g->arch = obj->elf.arch;
		g->stats = stats;
		bytes = generate(g, &index, size_ret, err);
	} else {
		ow_fail(err, OW_CODE_MEMORY, "%s: out of memory", obj->path);
		bytes = NULL;
	}
	free(g);
	if (index.refs != obj->cfi.eh_index.refs)
		free((void *)index.refs);
	return bytes;
}
