// SPDX-License-Identifier: BSD-2-Clause
/* "thread;outermost;...;innermost COUNT", for flame graphs elsewhere. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

/* A ';' would split a name. */
static void put_name(FILE *out, const char *text)
{
	for (; *text; text++)
		putc(*text == ';' ? ':' : *text, out);
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

static size_t make_lines(struct line *lines, const struct profile *p)
{
	size_t size, nr = 0;
	FILE *to;
	uint32_t i;

	for (i = 0; i < p->nr_stacks; i++) {
		lines[nr].weight = profile_weight(&p->stacks[i]);
		if (!lines[nr].weight)
			continue;
		lines[nr].text = NULL;
		to = open_memstream(&lines[nr].text, &size);
		if (!to)
			break;
		put_stack(to, p, &p->stacks[i]);
		if (fclose(to) || !lines[nr].text)
			break;
		nr++;
	}
	return nr;
}

static void write_folded(FILE *out, const struct profile *p,
			 const struct profile_options *o)
{
	struct line *lines = calloc(p->nr_stacks + 1, sizeof(*lines));
	size_t nr, i;

	(void)o;
	if (!lines)
		return;
	nr = make_lines(lines, p);
	qsort(lines, nr, sizeof(*lines), order);
	for (i = 0; i < nr; i++) {
		if (i + 1 < nr && strcmp(lines[i].text, lines[i + 1].text) == 0)
			lines[i + 1].weight += lines[i].weight;
		else
			fprintf(out, "%s %llu\n", lines[i].text,
				(unsigned long long)lines[i].weight);
		free(lines[i].text);
	}
	free(lines);
}

const struct profile_writer profile_folded = {
	.name = "folded",
	.suffix = ".folded",
	.what = "a line a stack, for flame graphs elsewhere",
	.write = write_folded,
};
