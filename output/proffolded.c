// SPDX-License-Identifier: BSD-2-Clause
/*
 * "thread;outermost;...;innermost COUNT", for flame graphs elsewhere.  There is
 * one kind of counts: that of most stacks.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "profnames.h"
#include "stackview.h"
#include "textfit.h"

#define OF_KERNEL "_[k]"

/* A ';' would split a name. */
static void put_name(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size;

	for (; *s; s += size)
		if (ow_view_is_odd(s, &size))
			putc('?', out);
		else if (*s == ';')
			putc(':', out);
		else
			fwrite(s, 1, size, out);
}

/* A stack, to be written as "THREAD;LABEL;...;LABEL WEIGHT". */
struct line {
	const struct profile_stack *stack;
	uint64_t weight;
	/* The part that says that the stack isn't whole, or 0. */
	uint32_t mark   :31;
	uint32_t is_copy:1; /* of the line before it, which has another owner */
	uint32_t thread;    /* its name, as a string of texts */
};

/* What is being written. */
struct folding {
	const struct profile *p;
	struct profile texts; /* only its strings: labels as they are written */
	struct profnames threads, functions, kernel; /* of p, among texts */
	uint32_t *labels; /* each frame's string, and 1 */
	uint32_t mark;    /* the string of what is missing */
	uint32_t *ranks;  /* of texts with their ends, in the order of lines */
	struct line *lines;
	size_t nr;
};

/* A label as it is written, and what it ends with. */
static uint32_t add_text(struct profile *texts, const char *label,
			 const char *suffix)
{
	char *text = NULL;
	uint32_t string;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (to) {
		put_name(to, label);
		fputs(suffix, to);
	}
	if (!to || fclose(to))
		texts->failed = true;
	string = profile_string(texts, text);
	free(text);
	return string;
}

static uint32_t thread_text(struct profile *texts, const char *name)
{
	return add_text(texts, name, "");
}

static uint32_t kernel_text(struct profile *texts, const char *label)
{
	return add_text(texts, label, OF_KERNEL);
}

/* A name of a target is not to be taken for a function of the kernel. */
static uint32_t function_text(struct profile *texts, const char *label)
{
	size_t size = strlen(label), end = strlen(OF_KERNEL);
	bool is_alike = size >= end &&
			strcmp(label + size - end, OF_KERNEL) == 0;

	return add_text(texts, label, is_alike ? "\\" : "");
}

/* Have the texts of a stack's frames, each made once. */
static void note_labels(struct folding *f, const struct profile_stack *s)
{
	const struct profile_frame *frame;
	uint32_t i, id;

	for (i = 0; i < s->nr; i++) {
		id = f->p->ids[s->first + i];
		frame = &f->p->frames[id];
		if (!f->labels[id])
			f->labels[id] =
				1 + profnames_label(frame->is_kernel ?
							    &f->kernel :
							    &f->functions,
						    frame);
	}
}

/* Parts of a line: the thread, a mark of what is missing, and the frames. */
static uint32_t nr_parts(const struct line *l)
{
	return 1 + (l->mark != 0) + l->stack->nr;
}

/* The number of a part's text. */
static uint32_t part(const struct folding *f, const struct line *l, uint32_t i)
{
	const struct profile_stack *s = l->stack;

	if (i == 0)
		return l->thread;
	if (l->mark && i == l->mark)
		return f->mark;
	if (l->mark && i > l->mark)
		i--;
	return f->labels[f->p->ids[s->first + s->nr - i]] - 1;
}

/*
 * A text ends with a ';' where a line goes on, or else with the line.  The number of such a
 * text is twice the string's, and one more where the line ends.
 */
static uint32_t ended(uint32_t string, bool is_last)
{
	return 2 * string + is_last;
}

static size_t length(const struct profile *texts, uint32_t string)
{
	return string ? profile_text_size(texts, string) - 1 : 0;
}

/* The character after so many of a text, which are all or fewer. */
static unsigned char after(const struct profile *texts, uint32_t number,
			   size_t size)
{
	const char *text = profile_text(texts, number / 2);

	if (size < length(texts, number / 2))
		return (unsigned char)text[size];
	return number % 2 ? '\0' : ';';
}

/* As strcmp(3) has texts with their ends; no string has a ';'. */
static int compare_texts(const void *a, const void *b, void *arg)
{
	const struct profile *texts = arg;
	const uint32_t *x = a, *y = b;
	size_t size_x = length(texts, *x / 2), size_y = length(texts, *y / 2);
	size_t size = size_x < size_y ? size_x : size_y;
	int order = memcmp(profile_text(texts, *x / 2),
			   profile_text(texts, *y / 2), size);

	return order ? order : after(texts, *x, size) - after(texts, *y, size);
}

/*
 * Sort the texts, so that lines compare numbers: names can be long, and equal up to their
 * ends.  Return false when out of memory.
 */
static bool rank_texts(struct folding *f)
{
	uint32_t nr = 2 * f->texts.strings.nr, i;
	uint32_t *sorted = calloc((size_t)nr + 1, sizeof(*sorted));

	f->ranks = calloc((size_t)nr + 1, sizeof(*f->ranks));
	if (sorted && f->ranks) {
		for (i = 0; i < nr; i++)
			sorted[i] = i;
		qsort_r(sorted, nr, sizeof(*sorted), compare_texts, &f->texts);
		for (i = 0; i < nr; i++)
			f->ranks[sorted[i]] = i;
	}
	free(sorted);
	return sorted && f->ranks;
}

/* As strcmp(3) has the lines' texts. */
static int compare_lines(const void *a, const void *b, void *arg)
{
	const struct folding *f = arg;
	const struct line *x = a, *y = b;
	uint32_t nr_x = nr_parts(x), nr_y = nr_parts(y), i, k, l;

	for (i = 0; i < nr_x && i < nr_y; i++) {
		k = part(f, x, i);
		l = part(f, y, i);
		if (k == l)
			continue;
		k = f->ranks[ended(k, i + 1 == nr_x)];
		l = f->ranks[ended(l, i + 1 == nr_y)];
		return (k > l) - (k < l);
	}
	return (nr_x > nr_y) - (nr_x < nr_y);
}

/* Likewise; lines that are alike by the owners of their stacks. */
static int order_lines(const void *a, const void *b, void *arg)
{
	const struct line *x = a, *y = b;
	int order = compare_lines(a, b, arg);

	return order ? order : x->stack->owner - y->stack->owner;
}

/* Frames are missing after the thread, or between the program's and the kernel's. */
static uint32_t mark_of(const struct profile *p, const struct profile_stack *s)
{
	uint32_t nr = 0;

	if (s->end == OW_END_OUTERMOST)
		return 0;
	if (s->end != OW_END_KERNEL)
		return 1;
	while (nr < s->nr && p->frames[p->ids[s->first + nr]].is_kernel)
		nr++;
	return 1 + s->nr - nr;
}

/*
 * Lines that are alike, as their addresses aren't in them, are one: or one of each owner
 * of the stacks.
 */
static void merge_lines(struct folding *f)
{
	struct line *last = NULL, *l;
	bool is_alike;

	for (l = f->lines; l < f->lines + f->nr; l++) {
		is_alike = last && compare_lines(last, l, f) == 0;
		if (is_alike && last->stack->owner == l->stack->owner) {
			last->weight = profile_sum(last->weight, l->weight);
			continue;
		}
		last = last ? last + 1 : f->lines;
		*last = *l;
		last->is_copy = is_alike;
	}
	f->nr = last ? (size_t)(last - f->lines) + 1 : 0;
}

/* Lines of one kind, in order; false when out of memory. */
static bool make_lines(struct folding *f, const struct profile_options *o)
{
	enum profile_kind kind = profile_kind(f->p);
	const struct profile *p = f->p;
	const struct profile_stack *s;

	f->lines = calloc((size_t)p->nr_stacks + 1, sizeof(*f->lines));
	f->labels = calloc((size_t)p->nr_frames + 1, sizeof(*f->labels));
	if (!profnames_init(&f->threads, p, &f->texts, thread_text, o) ||
	    !profnames_init(&f->functions, p, &f->texts, function_text, o) ||
	    /* The functions' have counted what is left out of both. */
	    !profnames_init(&f->kernel, p, &f->texts, kernel_text, NULL) ||
	    !f->lines || !f->labels)
		return false;
	f->mark = profile_string(&f->texts, "[truncated]");
	for (s = p->stacks; s < p->stacks + p->nr_stacks; s++) {
		if (s->kind != kind || !profile_weight(s))
			continue;
		f->lines[f->nr++] = (struct line){
			.stack = s,
			.weight = profile_weight(s),
			.mark = mark_of(p, s),
			.thread = profnames_of(&f->threads, s->comm),
		};
		note_labels(f, s);
	}
	if (!rank_texts(f))
		return false;
	if (f->nr)
		qsort_r(f->lines, f->nr, sizeof(*f->lines), order_lines, f);
	merge_lines(f);
	return !f->texts.failed;
}

static void put_line(FILE *out, const struct folding *f, const struct line *l,
		     uint64_t weight)
{
	uint32_t i;

	for (i = 0; i < nr_parts(l) && !ferror(out); i++) {
		if (i)
			putc(';', out);
		fputs(profile_text(&f->texts, part(f, l, i)), out);
	}
	fprintf(out, " %llu\n", (unsigned long long)weight);
}

#define MOST_WEIGHT 22 /* bytes, with the blank and the end of the line */

static uint64_t line_size(const struct folding *f, const struct line *l)
{
	uint64_t size = MOST_WEIGHT;
	uint32_t i;

	for (i = 0; i < nr_parts(l); i++)
		size += length(&f->texts, part(f, l, i)) + 1;
	return size;
}

/* Return true if all lines fit in, were each text as long as the longest. */
static bool are_short(const struct folding *f, uint64_t most)
{
	uint64_t longest = 0, size = 0;
	uint32_t string;
	size_t i;

	for (string = 0; string < f->texts.strings.nr; string++)
		if (length(&f->texts, string) > longest)
			longest = length(&f->texts, string);
	for (i = 0; i < f->nr && size <= most; i++)
		size += MOST_WEIGHT + nr_parts(&f->lines[i]) * (longest + 1);
	return size <= most;
}

static struct textfit_item item_of(const void *of, size_t i)
{
	const struct folding *f = of;
	const struct line *l = &f->lines[i];

	return (struct textfit_item){
		.size = line_size(f, l),
		.owner = l->stack->owner,
		.is_copy = l->is_copy,
	};
}

/* Write the lines that there is room for.  Return false when out of memory. */
static bool put_lines(FILE *out, const struct folding *f,
		      const struct profile_options *o)
{
	struct textfit fit = { .nr = f->nr, .of = f, .item = item_of };
	bool good = are_short(f, profile_most_text(o)) ||
		    textfit_share(&fit, o);
	uint64_t weight;
	size_t i, first;

	for (i = 0; good && i < f->nr;) {
		first = i;
		weight = f->lines[i].weight;
		for (i++; i < f->nr && f->lines[i].is_copy; i++)
			weight = profile_sum(weight, f->lines[i].weight);
		if (textfit_has(&fit, first))
			put_line(out, f, &f->lines[first], weight);
	}
	textfit_deinit(&fit);
	return good;
}

static bool write_folded(FILE *out, const struct profile *p,
			 const struct profile_options *o)
{
	struct folding f = { .p = p };
	bool good = make_lines(&f, o) && put_lines(out, &f, o);

	profile_deinit(&f.texts);
	free(f.lines);
	free(f.labels);
	free(f.ranks);
	profnames_deinit(&f.threads);
	profnames_deinit(&f.functions);
	profnames_deinit(&f.kernel);
	return good;
}

const struct profile_writer profile_folded = {
	.name = "folded",
	.suffix = ".folded",
	.what = "a line a stack, for flame graphs elsewhere",
	.cut = "stacks",
	.is_placeless = true,
	.write = write_folded,
};
