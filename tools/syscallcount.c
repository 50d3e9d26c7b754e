// SPDX-License-Identifier: BSD-2-Clause
#include "syscallcount.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "stackview.h"
#include "syscallline.h"

static int text_order(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int site_order(const struct syscall_count *a,
		      const struct syscall_count *b)
{
	int order = text_order(a->where, b->where);

	if (!order)
		order = text_order(a->stack, b->stack);
	return order ? order : (a->nr > b->nr) - (a->nr < b->nr);
}

/* Room for one more at place i; NULL when out of memory. */
static struct syscall_count *insert(struct syscallcounts *s, size_t i,
				    const struct syscall_count *like)
{
	struct syscall_count *more;

	if (!ow_grow(&s->all, &s->room, s->nr + 1, sizeof(*s->all)))
		return NULL;
	more = &s->all[i];
	memmove(more + 1, more, (s->nr++ - i) * sizeof(*more));
	*more = (struct syscall_count){
		.nr = like->nr,
		.where = like->where ? strdup(like->where) : NULL,
		.stack = like->stack ? strdup(like->stack) : NULL,
	};
	return more;
}

void syscallcount_add(struct syscallcounts *s, int nr, const char *where,
		      const char *stack, uint64_t ns, bool failed)
{
	const struct syscall_count like = { .nr = nr,
					    .where = (char *)where,
					    .stack = (char *)stack };
	size_t low = 0, high = s->nr, mid;
	struct syscall_count *site;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (site_order(&s->all[mid], &like) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	site = low < s->nr ? &s->all[low] : NULL;
	if (!site || site_order(site, &like))
		site = insert(s, low, &like);
	if (!site)
		return;
	site->calls++;
	site->errors += failed;
	site->ns += ns;
}

static int by_time(const void *a, const void *b)
{
	const struct syscall_count *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return site_order(x, y);
}

static void print_row(FILE *out, const struct syscall_count *c, uint64_t all_ns)
{
	double share = all_ns ? 100 * (double)c->ns / (double)all_ns : 100;

	fprintf(out, "%6.2f %11.6f %11.3f %10llu %10llu  ", share,
		(double)c->ns / 1e9,
		c->calls ? (double)c->ns / 1e3 / (double)c->calls : 0.0,
		(unsigned long long)c->calls, (unsigned long long)c->errors);
}

static void add_up(const struct syscallcounts *s, struct syscall_count *sum)
{
	size_t i;

	for (i = 0; i < s->nr; i++) {
		sum->calls += s->all[i].calls;
		sum->errors += s->all[i].errors;
		sum->ns += s->all[i].ns;
	}
}

void syscallcount_print(struct syscallcounts *s, FILE *out)
{
	struct syscall_count sum = { 0 };
	const struct syscall_count *site;
	size_t i;
	int size;

	if (s->nr)
		qsort(s->all, s->nr, sizeof(*s->all), by_time);
	add_up(s, &sum);
	fputs("% time     seconds  usecs/call      calls     errors  "
	      "system call          made by\n",
	      out);
	for (i = 0; i < s->nr; i++) {
		site = &s->all[i];
		print_row(out, site, sum.ns);
		size = syscallline_put_name(out, site->nr);
		fprintf(out, "%*s ", size < 20 ? 20 - size : 0, "");
		ow_view_put_clean(out, site->where ? site->where : "?");
		putc('\n', out);
		/* What the stack has was made clean. */
		fputs(site->stack ? site->stack : "", out);
	}
	print_row(out, &sum, sum.ns);
	fputs("total\n", out);
}

void syscallcounts_deinit(struct syscallcounts *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++) {
		free(s->all[i].where);
		free(s->all[i].stack);
	}
	free(s->all);
	*s = (struct syscallcounts){ 0 };
}
