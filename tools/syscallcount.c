// SPDX-License-Identifier: BSD-2-Clause
#include "syscallcount.h"

#include <outwind/outwind.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "sitenames.h"
#include "stackview.h"
#include "syscallbegun.h"
#include "syscallline.h"
#include "syscallsite.h"

#define FEWEST      1024
#define MOST        65536 /* counts */
#define MEMORY_PART 8     /* of all that a run may take */

static int site_order(const struct syscall_count *a,
		      const struct syscall_count *b)
{
	int order = sitenames_order(a->names, b->names);

	return order ? order : (a->nr > b->nr) - (a->nr < b->nr);
}

static bool is_free(const struct syscall_count *c)
{
	return c->calls == 0;
}

static struct syscall_count *slot_of(const struct syscallcounts *s,
				     const struct syscall_count *like)
{
	struct syscall_count *c;
	size_t i;

	for (i = like->hash & (s->room - 1);; i = (i + 1) & (s->room - 1)) {
		c = &s->all[i];
		if (is_free(c) ||
		    (c->hash == like->hash && site_order(c, like) == 0))
			return c;
	}
}

static bool grow(struct syscallcounts *s)
{
	struct syscallcounts more = *s;
	size_t i;

	more.room = s->room ? 2 * s->room : FEWEST;
	more.all = calloc(more.room, sizeof(*more.all));
	if (!more.all)
		return false;
	for (i = 0; i < s->room; i++)
		if (!is_free(&s->all[i]))
			*slot_of(&more, &s->all[i]) = s->all[i];
	free(s->all);
	*s = more;
	return true;
}

static size_t most_bytes(void)
{
	return ow_get_memory_limit() / MEMORY_PART;
}

/* What a count of those names takes: so much that there are no more than MOST. */
static size_t size_of(const struct sitenames *names)
{
	size_t least = most_bytes() / MOST + 1,
	       bytes = names ? names->bytes : 0;

	return bytes > least ? bytes : least;
}

/* Have one more at its slot, for a call; false if there is no room. */
static bool add(struct syscallcounts *s, struct syscall_count *slot,
		const struct syscall_count *like, const struct syscall_begun *b)
{
	size_t bytes = size_of(like->names);

	if (!s->limit.users.most)
		shares_limit_init(&s->limit, most_bytes());
	if (!shares_limit_allows(&s->limit, b->call.pid, b->uid, bytes))
		return false;
	*slot = (struct syscall_count){
		.hash = like->hash,
		.nr = like->nr,
		.names = sitenames_hold(like->names),
	};
	s->nr++;
	shares_limit_take(&s->limit, b->call.pid, b->uid, bytes);
	return true;
}

/* Have the site use names of the same text, which are compared at once. */
static void share(struct syscallsite *site, struct sitenames *names)
{
	if (site->names == names)
		return;
	sitenames_release(site->names);
	site->names = sitenames_hold(names);
}

void syscallcount_add(struct syscallcounts *s, const struct syscall_begun *b,
		      struct syscallsite *site, uint64_t ns, bool failed)
{
	struct sitenames *names = site ? site->names : NULL;
	const uint64_t words[] = { (uint64_t)b->call.nr,
				   names ? sitenames_hash(names) : 0 };
	const struct syscall_count like = {
		.hash = ow_hash(words, sizeof(words)),
		.nr = b->call.nr,
		.names = names,
	};
	struct syscall_count *c = &s->others;

	if (2 * (s->nr + 1) <= s->room || grow(s))
		c = slot_of(s, &like);
	if (c != &s->others && is_free(c) && !add(s, c, &like, b))
		c = &s->others;
	if (names && c != &s->others)
		share(site, c->names);
	c->calls++;
	c->errors += failed;
	c->ns += ns;
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

	*sum = s->others;
	for (i = 0; i < s->nr; i++) {
		sum->calls += s->all[i].calls;
		sum->errors += s->all[i].errors;
		sum->ns += s->all[i].ns;
	}
}

/* In order of time, instead of by hash. */
static void sort(struct syscallcounts *s)
{
	size_t i, nr = 0;

	for (i = 0; i < s->room; i++)
		if (!is_free(&s->all[i]))
			s->all[nr++] = s->all[i];
	for (i = nr; i < s->room; i++)
		s->all[i] = (struct syscall_count){ 0 };
	if (nr)
		qsort(s->all, nr, sizeof(*s->all), by_time);
}

void syscallcount_print(struct syscallcounts *s, FILE *out)
{
	struct syscall_count sum;
	const struct sitenames *names;
	const struct syscall_count *c;
	size_t i;
	int size;

	sort(s);
	add_up(s, &sum);
	fputs("% time     seconds  usecs/call      calls     errors  "
	      "system call          made by\n",
	      out);
	for (i = 0; i < s->nr; i++) {
		c = &s->all[i];
		names = c->names;
		print_row(out, c, sum.ns);
		size = syscallline_put_name(out, c->nr);
		fprintf(out, "%*s ", size < 20 ? 20 - size : 0, "");
		ow_view_put_clean(
			out, names && names->function ? names->function : "?");
		putc('\n', out);
		/* What the stack has was made clean. */
		fputs(names && names->stack ? names->stack : "", out);
	}
	if (s->others.calls) {
		print_row(out, &s->others, sum.ns);
		fprintf(out, "%-20s [too many different call sites]\n", "any");
	}
	print_row(out, &sum, sum.ns);
	fputs("total\n", out);
}

void syscallcounts_deinit(struct syscallcounts *s)
{
	size_t i;

	for (i = 0; i < s->room; i++)
		sitenames_release(s->all[i].names);
	free(s->all);
	shares_limit_deinit(&s->limit);
	*s = (struct syscallcounts){ 0 };
}
