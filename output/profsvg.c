// SPDX-License-Identifier: BSD-2-Clause
/* A flame graph as a picture; and a table of the functions that take most. */
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "profnames.h"
#include "proftext.h"

#define WIDTH    1200.0
#define ROW      16
#define MARGIN   10
#define HEAD     34
#define THINNEST 0.3 /* pixels */
#define LETTER   7.0
#define DEEPEST \
	8192 /* boxes upon another: 1024 frames and what is inlined there */
#define WIDEST 199  /* bytes of a name in a box */
#define TITLE  1000 /* bytes of a name that a box shows when it is pointed at */
#define BOX    400  /* bytes of a box but for its names */

/* A stack, from outermost to innermost, by labels' strings. */
struct path {
	uint32_t *names; /* the thread first */
	uint32_t nr;
	uint32_t shared; /* names that those of the path before begin with, too */
	uint64_t weight;
	uint64_t left; /* weight of all before it */
};

/* All stacks of one kind, in an order that puts equal beginnings together. */
struct paths {
	struct profile names; /* only its strings: labels */
	struct profnames strings;
	uint32_t *labels; /* each frame's, and 1; 0: not known yet */
	struct path *all;
	uint32_t nr;
	const struct path **deep; /* those that are drawn yet */
	uint32_t nr_deep;
	uint64_t total;
	uint32_t deepest;
	const struct profile_options *options;
	uint64_t written; /* bytes of boxes */
};

static int order(const void *a, const void *b)
{
	const struct path *x = a, *y = b;
	uint32_t i;

	for (i = 0; i < x->nr && i < y->nr; i++)
		if (x->names[i] != y->names[i])
			return x->names[i] < y->names[i] ? -1 : 1;
	return (x->nr > y->nr) - (x->nr < y->nr);
}

static uint32_t label_of(struct paths *to, const struct profile *p,
			 uint32_t frame)
{
	if (!to->labels[frame])
		to->labels[frame] =
			1 + profnames_label(&to->strings, &p->frames[frame]);
	return to->labels[frame] - 1;
}

static bool add_path(struct paths *to, const struct profile *p,
		     const struct profile_stack *s, bool inverted)
{
	struct path *path = &to->all[to->nr];
	uint32_t i, at;

	path->nr = s->nr + 1 < DEEPEST ? s->nr + 1 : DEEPEST;
	path->names = calloc(path->nr, sizeof(*path->names));
	if (!path->names)
		return false;
	path->weight = profile_weight(s);
	path->names[0] = profnames_of(&to->strings, s->comm);
	for (i = 1; i < path->nr; i++) {
		at = inverted ? i - 1 : s->nr - i;
		path->names[i] = label_of(to, p, p->ids[s->first + at]);
	}
	if (s->nr + 1 > path->nr)
		path->names[path->nr - 1] =
			profile_string(&to->names, "[more frames]");
	if (path->nr > to->deepest)
		to->deepest = path->nr;
	to->total = profile_sum(to->total, path->weight);
	to->nr++;
	return true;
}

/* Names that two paths begin with. */
static uint32_t count_shared(const struct path *a, const struct path *b)
{
	uint32_t n = 0;

	while (n < a->nr && n < b->nr && a->names[n] == b->names[n])
		n++;
	return n;
}

/* Where each begins, and what it has in common with the one before. */
static void line_up(struct paths *paths)
{
	uint64_t left = 0;
	struct path *p;
	uint32_t i;

	for (i = 0; i < paths->nr; i++) {
		p = &paths->all[i];
		p->left = left;
		p->shared = i ? count_shared(p - 1, p) : 0;
		left = profile_sum(left, p->weight);
		paths->deep[i] = p;
	}
	paths->nr_deep = paths->nr;
}

/* False when out of memory. */
static bool make_paths(struct paths *to, const struct profile *p,
		       enum profile_kind kind, bool inverted)
{
	uint32_t i;

	to->all = calloc((size_t)p->nr_stacks + 1, sizeof(*to->all));
	to->deep = calloc((size_t)p->nr_stacks + 1, sizeof(*to->deep));
	to->labels = calloc((size_t)p->nr_frames + 1, sizeof(*to->labels));
	if (!profnames_init(&to->strings, p, &to->names, profile_string,
			    to->options) ||
	    !to->all || !to->deep || !to->labels)
		return false;
	for (i = 0; i < p->nr_stacks; i++)
		if (p->stacks[i].kind == kind &&
		    profile_weight(&p->stacks[i]) &&
		    !add_path(to, p, &p->stacks[i], inverted))
			return false;
	if (to->nr)
		qsort(to->all, to->nr, sizeof(*to->all), order);
	line_up(to);
	return !to->names.failed;
}

static void free_paths(struct paths *paths)
{
	uint32_t i;

	for (i = 0; i < paths->nr; i++)
		free(paths->all[i].names);
	free(paths->all);
	free(paths->deep);
	free(paths->labels);
	profnames_deinit(&paths->strings);
	profile_deinit(&paths->names);
}

/* So many bytes of a text at most, and none of a character that isn't whole then. */
static size_t put_cut(FILE *out, const char *text, size_t most)
{
	size_t size = strnlen(text, most + 1);
	char cut[TITLE + 1];

	if (size > most)
		for (size = most; size && (text[size] & 0xc0) == 0x80;)
			size--;
	memcpy(cut, text, size);
	cut[size] = '\0';
	return proftext_put_xml(out, cut);
}

/* Return true if size bytes more fit in, and take them; else count what is cut. */
static bool take_text(struct paths *paths, uint64_t size)
{
	const struct profile_options *o = paths->options;

	if (size <= profile_most_text(o) - paths->written) {
		paths->written += size;
		return true;
	}
	if (o->nr_cut_ret)
		++*o->nr_cut_ret;
	return false;
}

/* Once they are written, take what is more than size, as it had to be escaped. */
static void take_escaped(struct paths *paths, uint64_t size, uint64_t written)
{
	uint64_t more = written > size ? written - size : 0;
	uint64_t left = profile_most_text(paths->options) - paths->written;

	paths->written += more < left ? more : left;
}

static void put_box(FILE *out, struct paths *paths, uint32_t name,
		    uint64_t left, uint64_t weight, double y)
{
	double scale = (WIDTH - 2 * MARGIN) / (double)paths->total;
	double x = MARGIN + (double)left * scale, w = (double)weight * scale;
	const char *text =
		name == UINT32_MAX ? "all" : profile_text(&paths->names, name);
	size_t size = strnlen(text, TITLE), i, written;
	uint32_t hash = 2166136261U, room;

	if (w < THINNEST)
		return;
	if (!take_text(paths, BOX + size))
		return;
	for (i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619U;
	fputs("<g><title>", out);
	written = put_cut(out, text, TITLE);
	fprintf(out,
		" (%llu, %.2f %%)</title><rect x=\"%.1f\" y=\"%.0f\" "
		"width=\"%.1f\" height=\"%d\" fill=\"hsl(%u,85%%,%u%%)\"/>",
		(unsigned long long)weight,
		100.0 * (double)weight / (double)paths->total, x, y, w, ROW - 1,
		30 + hash % 26, 62 + hash / 64 % 9);
	room = (uint32_t)((w - 4) / LETTER);
	if (w > 3 * LETTER) {
		fprintf(out, "<text x=\"%.1f\" y=\"%.0f\">", x + 2, y + 12);
		written += put_cut(out, text, room < WIDEST ? room : WIDEST);
		fputs("</text>", out);
	}
	fputs("</g>\n", out);
	take_escaped(paths, size + WIDEST, written);
}

/* Leave only paths that go on at a depth, in their order. */
static void leave_deep(struct paths *paths, uint32_t depth)
{
	uint32_t i, nr = 0;

	for (i = 0; i < paths->nr_deep; i++)
		if (paths->deep[i]->nr > depth)
			paths->deep[nr++] = paths->deep[i];
	paths->nr_deep = nr;
}

/*
 * Boxes of one depth: runs of stacks that are alike up to there.  A path after one that
 * doesn't go on shares no more with it than that has.
 */
static void put_row(FILE *out, struct paths *paths, uint32_t depth, double y)
{
	const struct path *first = NULL, *p;
	uint64_t weight = 0;
	uint32_t i;

	leave_deep(paths, depth);
	for (i = 0; i < paths->nr_deep; i++) {
		p = paths->deep[i];
		if (first && p->shared > depth) {
			weight = profile_sum(weight, p->weight);
			continue;
		}
		if (first)
			put_box(out, paths, first->names[depth], first->left,
				weight, y);
		first = p;
		weight = p->weight;
	}
	if (first)
		put_box(out, paths, first->names[depth], first->left, weight,
			y);
}

static bool write_svg(FILE *out, const struct profile *p,
		      const struct profile_options *o)
{
	enum profile_kind kind = profile_kind(p);
	struct paths paths = { .options = o };
	uint32_t depth, height;
	bool good = make_paths(&paths, p, kind, o->inverted);

	height = HEAD + (paths.deepest + 1) * ROW + MARGIN;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		"xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
		"height=\"%u\" viewBox=\"0 0 %.0f %u\" "
		"font-family=\"monospace\" font-size=\"11.5\">\n<rect "
		"width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text "
		"x=\"%d\" y=\"20\" font-size=\"14\">",
		WIDTH, height, WIDTH, height, MARGIN);
	proftext_put_xml(out, o->title ? o->title : "outwind");
	fprintf(out, " - %llu %s</text>\n", (unsigned long long)paths.total,
		profile_unit(kind));
	if (paths.total)
		put_box(out, &paths, UINT32_MAX, 0, paths.total,
			o->icicle ? HEAD : height - MARGIN - ROW);
	for (depth = 0; paths.total && depth < paths.deepest; depth++)
		put_row(out, &paths, depth,
			o->icicle ? HEAD + (depth + 1) * ROW :
				    height - MARGIN - (depth + 2) * ROW);
	fputs("</svg>\n", out);
	free_paths(&paths);
	return good;
}

const struct profile_writer profile_svg = {
	.name = "svg",
	.suffix = ".svg",
	.what = "a flame graph as a picture",
	.cut = "boxes",
	.is_placeless = true,
	.write = write_svg,
};
