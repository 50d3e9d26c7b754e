// SPDX-License-Identifier: BSD-2-Clause
/* An interactive flame graph in one file: output/flame.html around the data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flame.h"
#include "namefit.h"
#include "profile.h"
#include "profnames.h"
#include "proftext.h"
#include "stackview.h"

#define OF_OTHER 1 /* in place of a thread: of the profile compared with */

/* Code of no object: as it is called then, or by its map for perf. */
static bool is_jit(const struct profile *p, const struct profile_frame *f)
{
	const char *module = profile_text(p, f->module);
	const char *base = strrchr(module, '/');
	int end = 0;

	return !*module || strcmp(module, "[jit]") == 0 ||
	       (base && sscanf(base, "/perf-%*d.map%n", &end) == 0 && end &&
		!base[end]);
}

/* As the page has kinds: of the kernel, inlined, a JIT's, or a usual one. */
static char kind_of(const struct profile *p, const struct profile_frame *f)
{
	return f->is_kernel ? 'k' :
	       f->is_inline ? 'i' :
	       is_jit(p, f) ? 'j' :
			      'u';
}

static uint64_t names_size(const struct namefit *n, size_t i)
{
	const struct profile_frame *f = &n->p->frames[i];

	return namefit_label(n, f) + namefit_string(n, f->module);
}

static void put_frames(FILE *out, const struct profile *p,
		       const struct namefit *names)
{
	const struct profile_frame *f;
	char buf[OW_VIEW_LABEL];
	uint32_t i;
	bool fits;

	fputs("[", out);
	for (i = 0; i < p->nr_frames; i++) {
		f = &p->frames[i];
		fits = namefit_has(names, i);
		fputs("[", out);
		proftext_put_script(out, fits ? profile_label(p, f, buf) : "");
		fprintf(out, ",\"%c\",", kind_of(p, f));
		proftext_put_script(out,
				    fits ? profile_text(p, f->module) : "");
		fputs("],\n", out);
	}
	/* Then all strings, as threads' names are among them. */
	for (i = 0; i < p->strings.nr; i++) {
		fputs(i ? ",\n[" : "[", out);
		proftext_put_script(out, profile_text(p, i));
		fputs(",\"t\",\"\"]", out);
	}
	fputs("]", out);
}

/* Stacks of p, whose frames and strings are numbered as in all. */
static void put_stacks(FILE *out, const struct profile *all,
		       enum profile_kind kind, bool of_other)
{
	const struct profile_stack *s;
	bool first = true;
	uint32_t i;

	fputs("[", out);
	for (s = all->stacks; s < all->stacks + all->nr_stacks; s++) {
		if (s->kind != kind || !profile_weight(s) ||
		    (s->tid == OF_OTHER) != of_other)
			continue;
		fprintf(out, "%s[%llu,%u", first ? "" : ",\n",
			(unsigned long long)profile_weight(s),
			all->nr_frames + s->comm);
		first = false;
		for (i = s->nr; i-- > 0;)
			fprintf(out, ",%u", all->ids[s->first + i]);
		fputs("]", out);
	}
	fputs("]", out);
}

static void put_about(FILE *out, const struct profile *p,
		      enum profile_kind kind)
{
	char text[300];

	snprintf(text, sizeof(text),
		 "%llu %s of %u different stacks in %.1f s; %llu missed, %llu "
		 "lost. Click to zoom, Escape to reset. Made by outwind.",
		 (unsigned long long)profile_total(p, kind), profile_unit(kind),
		 p->nr_stacks, (double)p->duration_ns / 1e9,
		 (unsigned long long)p->missed, (unsigned long long)p->lost);
	proftext_put_script(out, text);
}

static void put_data(FILE *out, const struct profile *p,
		     const struct profile_options *o,
		     const struct namefit *names)
{
	const struct profile *all = names->p;
	enum profile_kind kind = profile_kind(p);

	fputs("{\"title\":", out);
	proftext_put_script(out, o->title ? o->title : "outwind");
	fprintf(out, ",\"unit\":\"%s\",\"icicle\":%s,\"inverted\":%s,",
		profile_unit(kind), o->icicle ? "true" : "false",
		o->inverted ? "true" : "false");
	fputs("\"about\":", out);
	put_about(out, p, kind);
	fputs(",\n\"frames\":", out);
	put_frames(out, all, names);
	fputs(",\n\"stacks\":", out);
	put_stacks(out, all, kind, false);
	if (o->other) {
		fputs(",\n\"other\":", out);
		put_stacks(out, all, kind, true);
	}
	fputs("}", out);
}

/* One frame of the profile that names are of, as all numbers it. */
static uint32_t take_frame(struct profile *all, struct profnames *names,
			   const struct profile_frame *f)
{
	struct profile_frame copy = *f;

	copy.function = profnames_of(names, f->function);
	copy.module = profnames_of(names, f->module);
	copy.build_id = copy.file = copy.line = copy.mapping = 0;
	return profile_frame(all, &copy);
}

/* Its number, which *known has, and 1, once the frame was taken. */
static uint32_t take_once(struct profile *all, struct profnames *names,
			  uint32_t frame, uint32_t *known)
{
	if (!*known)
		*known =
			take_frame(all, names, &names->from->frames[frame]) + 1;
	return *known - 1;
}

/* Both profiles in one, the stacks of the other one marked. */
static void merge(struct profile *all, const struct profile *from, bool mark)
{
	uint32_t *known = calloc((size_t)from->nr_frames + 1, sizeof(*known));
	const struct profile_stack *s;
	struct profile_stack copy;
	struct profnames names;
	uint32_t *ids, i;

	all->failed |=
		!profnames_init(&names, from, all, profile_string, NULL) ||
		!known;
	for (s = from->stacks; s < from->stacks + from->nr_stacks; s++) {
		ids = calloc((size_t)s->nr + 1, sizeof(*ids));
		all->failed |= !ids;
		if (all->failed) {
			free(ids);
			break;
		}
		for (i = 0; i < s->nr; i++) {
			uint32_t frame = from->ids[s->first + i];

			ids[i] = take_once(all, &names, frame, &known[frame]);
		}
		copy = *s;
		copy.comm = profnames_of(&names, s->comm);
		copy.pid = 0;
		copy.owner = 0;
		copy.tid = mark ? OF_OTHER : 0;
		profile_add(all, &copy, ids, s->nr);
		free(ids);
	}
	free(known);
	profnames_deinit(&names);
}

static bool write_html(FILE *out, const struct profile *p,
		       const struct profile_options *o)
{
	struct profile all = { 0 };
	struct namefit names = {
		.p = &all,
		.size = names_size,
		.put = proftext_put_script,
	};
	bool good;

	merge(&all, p, false);
	if (o->other)
		merge(&all, o->other, true);
	names.nr = all.nr_frames;
	good = !all.failed && namefit_share(&names, o);
	if (good) {
		fwrite(flame_head, 1, sizeof(flame_head), out);
		put_data(out, p, o, &names);
		fwrite(flame_tail, 1, sizeof(flame_tail), out);
	}
	namefit_deinit(&names);
	profile_deinit(&all);
	return good;
}

const struct profile_writer profile_html = {
	.name = "html",
	.suffix = ".html",
	.what = "an interactive flame graph in one file",
	.cut = "names of frames",
	.is_placeless = true,
	.write = write_html,
};
