// SPDX-License-Identifier: BSD-2-Clause
/* The functions that take most, in lines: for people, and for "outwind top". */
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "profnames.h"
#include "stackview.h"

#define LINES 40

struct row {
	uint64_t self, total;
	uint32_t label, module;
	uint32_t seen; /* 1 + the stack that was counted last */
};

struct rows {
	struct profile names; /* its frames are the rows, by name and module */
	struct profnames strings;
	struct row *all;
	uint32_t *of; /* each frame's, and 1; 0: not known yet */
	uint64_t total;
};

static uint32_t row_of(struct rows *rows, const struct profile *p,
		       uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];
	struct profile_frame key = { 0 };

	if (rows->of[frame])
		return rows->of[frame] - 1;
	key.function = profnames_label(&rows->strings, f);
	key.module = profnames_of(&rows->strings, f->module);
	rows->of[frame] = profile_frame(&rows->names, &key) + 1;
	return rows->of[frame] - 1;
}

static void add(uint64_t *sum, uint64_t weight)
{
	*sum = profile_sum(*sum, weight);
}

/* What has no frame is a row, too: else the others' shares would not add up. */
static void count_bare(struct rows *rows, uint64_t weight)
{
	struct profile_frame key = { 0 };
	uint32_t n;

	key.function = profile_string(&rows->names, "[no stack]");
	n = profile_frame(&rows->names, &key);
	if (rows->names.failed)
		return;
	add(&rows->all[n].self, weight);
	add(&rows->all[n].total, weight);
	rows->all[n].label = key.function;
}

static void count(struct rows *rows, const struct profile *p, uint32_t stack)
{
	const struct profile_stack *s = &p->stacks[stack];
	uint64_t weight = profile_weight(s);
	uint32_t i, n;

	add(&rows->total, weight);
	if (s->nr == 0)
		count_bare(rows, weight);
	for (i = 0; i < s->nr; i++) {
		n = row_of(rows, p, p->ids[s->first + i]);
		if (rows->names.failed)
			return;
		if (i == 0)
			add(&rows->all[n].self, weight);
		if (rows->all[n].seen == stack + 1)
			continue; /* recursion */
		rows->all[n].seen = stack + 1;
		add(&rows->all[n].total, weight);
		rows->all[n].label = rows->names.frames[n].function;
		rows->all[n].module = rows->names.frames[n].module;
	}
}

static int order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return (x->label > y->label) - (x->label < y->label);
}

static void put_rows(FILE *out, struct rows *rows)
{
	double whole = rows->total ? (double)rows->total : 1;
	const struct row *r;
	uint32_t i;

	qsort(rows->all, rows->names.nr_frames, sizeof(*rows->all), order);
	fputs("   self   total  function\n", out);
	for (i = 0; i < rows->names.nr_frames && i < LINES; i++) {
		r = &rows->all[i];
		fprintf(out, "%5.1f %% %5.1f %%  ",
			100 * (double)r->self / whole,
			100 * (double)r->total / whole);
		ow_view_put_clean(out, profile_text(&rows->names, r->label));
		if (r->module) {
			fputs("  (", out);
			ow_view_put_clean(out, profile_text(&rows->names,
							    r->module));
			putc(')', out);
		}
		putc('\n', out);
	}
}

static bool write_table(FILE *out, const struct profile *p,
			const struct profile_options *o)
{
	enum profile_kind kind = profile_kind(p);
	struct rows rows = { 0 };
	uint32_t i;
	bool good;

	rows.all = calloc((size_t)p->nr_frames + 1, sizeof(*rows.all));
	rows.of = calloc((size_t)p->nr_frames + 1, sizeof(*rows.of));
	good = profnames_init(&rows.strings, p, &rows.names, profile_string,
			      o) &&
	       rows.all && rows.of;
	for (i = 0; good && i < p->nr_stacks; i++)
		if (p->stacks[i].kind == kind)
			count(&rows, p, i);
	fprintf(out, "%llu %s, %u different stacks, %.1f s\n",
		(unsigned long long)rows.total, profile_unit(kind),
		p->nr_stacks, (double)p->duration_ns / 1e9);
	if (good)
		put_rows(out, &rows);
	good = good && !rows.names.failed;
	free(rows.all);
	free(rows.of);
	profnames_deinit(&rows.strings);
	profile_deinit(&rows.names);
	return good;
}

const struct profile_writer profile_table = {
	.name = "table",
	.what = "the functions that take most",
	.is_placeless = true,
	.write = write_table,
};
