// SPDX-License-Identifier: BSD-2-Clause
#include "syscallsite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "stackview.h"

#define MOST        ((size_t)16384) /* sites */
#define MEMORY_PART 8               /* of all that a run may take */

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

/* Give its names to a site. */
static void fill(struct syscallsites *s, struct syscallsite *site)
{
	struct ow_name name = { 0 };
	size_t size;
	FILE *out;

	name_site(s->recorder, &site->is, &name);
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
		put_stack(out, s->recorder, &site->is);
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
	return a->image == b->image && a->end == b->end && a->nr == b->nr &&
	       a->nr_kernel == b->nr_kernel &&
	       memcmp(a->packed, b->packed, 8 * (a->nr + a->nr_kernel)) == 0;
}

static struct syscallsite **slot_of(const struct syscallsites *s, uint64_t hash,
				    const struct ow_recorded *is)
{
	size_t i;

	for (i = hash & (s->room - 1);; i = (i + 1) & (s->room - 1))
		if (!s->all[i] ||
		    (s->all[i]->hash == hash && is_same(&s->all[i]->is, is)))
			return &s->all[i];
}

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* A site with a copy of the stack; NULL when out of memory. */
static struct syscallsite *make(struct syscallsites *s, uint64_t hash,
				const struct ow_recorded *is)
{
	size_t size = 8 * (is->nr_kernel + is->nr);
	struct syscallsite *site = calloc(1, sizeof(*site) + size);
	uint64_t words[2] = { 0 };

	if (!site)
		return NULL;
	memcpy(site + 1, is->packed, size);
	site->hash = hash;
	site->is = *is;
	site->is.packed = (const uint64_t *)(site + 1);
	fill(s, site);
	if (site->function)
		words[0] = ow_hash(site->function, strlen(site->function));
	if (site->stack)
		words[1] = ow_hash(site->stack, strlen(site->stack));
	site->names_hash = ow_hash(words, sizeof(words));
	site->bytes = sizeof(*site) + size + text_size(site->function) +
		      text_size(site->place) + text_size(site->stack);
	return site;
}

static void discard(struct syscallsite *site)
{
	free(site->function);
	free(site->place);
	free(site->stack);
	free(site);
}

/* Keep what is held, and of the others those that were used lately, if any. */
static void thin(struct syscallsites *s, bool keep_used)
{
	struct syscallsite **old = s->all, *site;
	size_t room = s->room, i;

	s->all = calloc(room, sizeof(*s->all));
	if (!s->all) {
		s->all = old;
		return;
	}
	s->nr = 0;
	for (i = 0; i < room; i++) {
		site = old[i];
		if (!site)
			continue;
		if (site->users || (keep_used && site->is_used)) {
			site->is_used = false;
			*slot_of(s, site->hash, &site->is) = site;
			s->nr++;
			continue;
		}
		s->bytes -= site->bytes;
		discard(site);
	}
	free(old);
}

/* Drop sites, at least half of all.  Return false if most of them are held. */
static bool make_room(struct syscallsites *s)
{
	size_t before = s->nr;

	if (2 * s->nr_held > s->nr || !s->nr)
		return false;
	thin(s, true);
	if (2 * s->nr > before)
		thin(s, false);
	return s->nr < before;
}

static bool have_slots(struct syscallsites *s)
{
	if (!s->all) {
		s->all = calloc(2 * MOST, sizeof(*s->all));
		s->room = s->all ? 2 * MOST : 0;
	}
	return s->all && (s->nr < MOST || make_room(s));
}

static bool fits(const struct syscallsites *s, size_t bytes)
{
	return s->bytes + bytes <= ow_get_memory_limit() / MEMORY_PART;
}

/* Add one that isn't there. */
static struct syscallsite *add(struct syscallsites *s, uint64_t hash,
			       const struct ow_recorded *is)
{
	struct syscallsite *site = have_slots(s) ? make(s, hash, is) : NULL;

	if (site && !fits(s, site->bytes) &&
	    !(make_room(s) && fits(s, site->bytes))) {
		discard(site);
		return NULL;
	}
	if (site) {
		*slot_of(s, hash, is) = site;
		s->nr++;
		s->bytes += site->bytes;
	}
	return site;
}

struct syscallsite *syscallsite_hold(struct syscallsites *s,
				     const struct ow_recorded *is)
{
	struct syscallsite *site;
	uint64_t hash;

	if (!is || is->nr == 0)
		return NULL;
	hash = hash_of(is);
	site = s->room ? *slot_of(s, hash, is) : NULL;
	if (!site)
		site = add(s, hash, is);
	if (site) {
		site->is_used = true;
		s->nr_held += site->users++ == 0;
	}
	return site;
}

void syscallsite_release(struct syscallsites *s, struct syscallsite *site)
{
	if (site)
		s->nr_held -= --site->users == 0;
}

void syscallsites_deinit(struct syscallsites *s)
{
	size_t i;

	for (i = 0; i < s->room; i++)
		if (s->all[i])
			discard(s->all[i]);
	free(s->all);
	*s = (struct syscallsites){ 0 };
}
