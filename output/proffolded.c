// SPDX-License-Identifier: BSD-2-Clause
/*
 * "thread;outermost;...;innermost COUNT", for flame graphs elsewhere.  There is
 * one kind of counts: that of most stacks.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "stackview.h"

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

static void put_stack(FILE *out, const struct profile *p,
		      const struct profile_stack *s)
{
	const struct profile_frame *f;
	char buf[PROFILE_LABEL];
	uint32_t i;

	put_name(out, profile_text(p, s->comm));
	if (s->end != OW_END_OUTERMOST)
		fputs(";[truncated]", out);
	for (i = s->nr; i-- > 0;) {
		f = &p->frames[p->ids[s->first + i]];
		putc(';', out);
		put_name(out, profile_label(p, f, buf));
		if (f->is_kernel)
			fputs("_[k]", out);
	}
}

/* Lines that are alike, as their addresses aren't in them, are one. */
struct line {
	char *text;
	uint64_t weight;
};

static int order(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* False when out of memory. */
static bool make_line(struct line *line, const struct profile *p,
		      const struct profile_stack *s)
{
	size_t size;
	FILE *to = open_memstream(&line->text, &size);
	bool good;

	if (!to)
		return false;
	put_stack(to, p, s);
	good = !ferror(to);
	return fclose(to) == 0 && good;
}

/* Lines of one kind, in order; false when out of memory. */
static bool make_lines(struct line *lines, size_t *nr, const struct profile *p)
{
	enum profile_kind kind = profile_kind(p);
	const struct profile_stack *s;

	for (s = p->stacks; s < p->stacks + p->nr_stacks; s++) {
		if (s->kind != kind || !profile_weight(s))
			continue;
		lines[*nr].weight = profile_weight(s);
		if (!make_line(&lines[(*nr)++], p, s))
			return false;
	}
	if (*nr)
		qsort(lines, *nr, sizeof(*lines), order);
	return true;
}

static void put_lines(FILE *out, struct line *lines, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (i + 1 < nr && strcmp(lines[i].text, lines[i + 1].text) == 0)
			lines[i + 1].weight += lines[i].weight;
		else
			fprintf(out, "%s %llu\n", lines[i].text,
				(unsigned long long)lines[i].weight);
	}
}

static bool write_folded(FILE *out, const struct profile *p,
			 const struct profile_options *o)
{
	struct line *lines = calloc((size_t)p->nr_stacks + 1, sizeof(*lines));
	size_t nr = 0;
	bool good = lines && make_lines(lines, &nr, p);

	(void)o;
	if (good)
		put_lines(out, lines, nr);
	while (nr > 0)
		free(lines[--nr].text);
	free(lines);
	return good;
}

const struct profile_writer profile_folded = {
	.name = "folded",
	.suffix = ".folded",
	.what = "a line a stack, for flame graphs elsewhere",
	.is_placeless = true,
	.write = write_folded,
};
