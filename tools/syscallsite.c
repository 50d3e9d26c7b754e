// SPDX-License-Identifier: BSD-2-Clause
#include "syscallsite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "stackview.h"

/* Names of the frame that stands for the call. */
static void name_site(struct ow_recorder *r, const struct ow_recorded *s,
		      struct ow_name *name)
{
	struct ow_name names[OW_VIEW_NAMES], first = { 0 };
	struct ow_module_info m;
	const char *libc = NULL;
	size_t i, n;

	for (i = s->nr_kernel; i < s->nr_kernel + s->nr; i++) {
		n = ow_recorder_name(r, s, i, names, OW_VIEW_NAMES);
		*name = names[n - 1];
		if (i == s->nr_kernel) {
			first = *name;
			libc = ow_recorder_module(r, s, i, &m) ? m.path : NULL;
			continue;
		}
		if (!libc || !ow_recorder_module(r, s, i, &m) ||
		    strcmp(m.path, libc) != 0)
			return;
	}
	*name = first;
}

static void put_name(FILE *out, const struct ow_name *name)
{
	if (name->function) {
		ow_view_put_clean(out, name->function);
		fprintf(out, "+%#llx", (unsigned long long)name->offset);
	} else if (name->module) {
		ow_view_put_clean(out, name->module);
		fprintf(out, "+%#llx", (unsigned long long)name->module_offset);
	} else {
		fprintf(out, "%#llx", (unsigned long long)name->module_offset);
	}
}

static void put_stack(FILE *out, struct ow_recorder *r,
		      const struct ow_recorded *s)
{
	struct ow_name names[OW_VIEW_NAMES];
	size_t i, k, n;

	for (i = 0; i < s->nr_kernel + s->nr; i++) {
		n = ow_recorder_name(r, s, i, names, OW_VIEW_NAMES);
		for (k = 0; k < n; k++) {
			fputs(" > ", out);
			put_name(out, &names[k]);
			if (names[k].function && names[k].module) {
				fputs(" (", out);
				ow_view_put_clean(out, names[k].module);
				putc(')', out);
			}
			putc('\n', out);
		}
	}
	if (s->end != OW_END_OUTERMOST)
		fprintf(out, " > [%s]\n", ow_end_text(s->end));
}

/* Give the names to a site that has none yet. */
static void fill(struct syscallsites *s, struct syscallsite *site)
{
	struct ow_name name = { 0 };
	size_t size;
	FILE *out;

	name_site(s->recorder, site->is, &name);
	if (name.function || name.module)
		site->function =
			strdup(name.function ? name.function : name.module);
	out = open_memstream(&site->place, &size);
	if (out) {
		put_name(out, &name);
		fclose(out);
	}
	out = s->stacks ? open_memstream(&site->stack, &size) : NULL;
	if (out) {
		put_stack(out, s->recorder, site->is);
		fclose(out);
	}
}

static uint64_t hash_of(const struct ow_recorded *is)
{
	size_t nr = is->nr_kernel + is->nr;
	uint64_t words[] = { is->image, is->end, ow_hash(is->packed, 8 * nr) };

	return ow_hash(words, sizeof(words));
}

static bool is_same(const struct ow_recorded *a, const struct ow_recorded *b)
{
	return a == b ||
	       (a->image == b->image && a->end == b->end && a->nr == b->nr &&
		a->nr_kernel == b->nr_kernel &&
		memcmp(a->packed, b->packed, 8 * (a->nr + a->nr_kernel)) == 0);
}

static struct syscallsite *slot_of(const struct syscallsites *s, uint64_t hash,
				   const struct ow_recorded *is)
{
	size_t i;

	for (i = hash & (s->room - 1);; i = (i + 1) & (s->room - 1))
		if (!s->all[i].is ||
		    (s->all[i].hash == hash && is_same(s->all[i].is, is)))
			return &s->all[i];
}

static bool grow(struct syscallsites *s)
{
	struct syscallsites more = *s;
	size_t i;

	more.room = s->room ? 2 * s->room : 1024;
	more.all = calloc(more.room, sizeof(*more.all));
	if (!more.all)
		return false;
	for (i = 0; i < s->room; i++)
		if (s->all[i].is)
			*slot_of(&more, s->all[i].hash, s->all[i].is) =
				s->all[i];
	free(s->all);
	*s = more;
	return true;
}

const struct syscallsite *syscallsite_of(struct syscallsites *s,
					 const struct ow_recorded *is)
{
	struct syscallsite *site;
	uint64_t hash;

	if (!is || is->nr == 0 || (2 * s->nr >= s->room && !grow(s)))
		return NULL;
	hash = hash_of(is);
	site = slot_of(s, hash, is);
	if (!site->is) {
		site->hash = hash;
		site->is = is;
		s->nr++;
		fill(s, site);
	}
	return site;
}

void syscallsites_deinit(struct syscallsites *s)
{
	size_t i;

	for (i = 0; i < s->room; i++) {
		free(s->all[i].function);
		free(s->all[i].place);
		free(s->all[i].stack);
	}
	free(s->all);
	*s = (struct syscallsites){ 0 };
}
