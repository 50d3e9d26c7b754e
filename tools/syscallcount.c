// SPDX-License-Identifier: BSD-2-Clause
#include "syscallcount.h"

#include <stdlib.h>
#include <string.h>

#include "stackview.h"

/* Room for one more at place i of nr; NULL when out of memory. */
static void *insert(void *items, size_t *nr, size_t *room, size_t i,
		    size_t size)
{
	char **list = items, *more;

	if (*nr == *room) {
		more = realloc(*list, (2 * *room + 64) * size);
		if (!more)
			return NULL;
		*list = more;
		*room = 2 * *room + 64;
	}
	memmove(*list + (i + 1) * size, *list + i * size, (*nr - i) * size);
	memset(*list + i * size, 0, size);
	(*nr)++;
	return *list + i * size;
}

struct syscall_begun *syscallcount_begun(struct syscallcount *s, pid_t tid)
{
	size_t low = 0, high = s->nr_begun, mid;
	struct syscall_begun *b;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->begun[mid].tid < tid)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < s->nr_begun && s->begun[low].tid == tid)
		return &s->begun[low];
	b = insert(&s->begun, &s->nr_begun, &s->room_begun, low, sizeof(*b));
	if (!b)
		return NULL;
	b->tid = tid;
	/* Others may have moved, and their texts with them. */
	for (b = s->begun; b < s->begun + s->nr_begun; b++)
		b->call.text = b->text;
	return &s->begun[low];
}

static int site_order(const struct syscall_site *a, int nr, const char *where)
{
	int order = strcmp(a->where ? a->where : "", where ? where : "");

	return order ? order : (a->nr > nr) - (a->nr < nr);
}

void syscallcount_add(struct syscallcount *s, int nr, const char *where,
		      uint64_t ns, bool failed)
{
	size_t low = 0, high = s->nr_sites, mid;
	struct syscall_site *site;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (site_order(&s->sites[mid], nr, where) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	site = &s->sites[low];
	if (low == s->nr_sites || site_order(site, nr, where)) {
		site = insert(&s->sites, &s->nr_sites, &s->room_sites, low,
			      sizeof(*site));
		if (!site)
			return;
		site->nr = nr;
		site->where = where ? strdup(where) : NULL;
	}
	site->calls++;
	site->errors += failed;
	site->ns += ns;
}

static int by_time(const void *a, const void *b)
{
	const struct syscall_site *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return site_order(x, y->nr, y->where);
}

void syscallcount_print(struct syscallcount *s, FILE *out)
{
	const struct syscall_site *site;
	const char *name;
	size_t i;

	if (s->nr_sites)
		qsort(s->sites, s->nr_sites, sizeof(*s->sites), by_time);
	fputs("    seconds      calls     errors  system call          made "
	      "by\n",
	      out);
	for (i = 0; i < s->nr_sites; i++) {
		site = &s->sites[i];
		name = ow_syscall_text(site->nr);
		fprintf(out, "%11.6f %10llu %10llu  %-20s ",
			(double)site->ns / 1e9, (unsigned long long)site->calls,
			(unsigned long long)site->errors, name ? name : "?");
		ow_view_put_clean(out, site->where ? site->where : "?");
		putc('\n', out);
	}
}

void syscallcount_deinit(struct syscallcount *s)
{
	size_t i;

	for (i = 0; i < s->nr_sites; i++)
		free(s->sites[i].where);
	free(s->sites);
	free(s->begun);
	*s = (struct syscallcount){ 0 };
}
