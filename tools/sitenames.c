// SPDX-License-Identifier: BSD-2-Clause
#include "sitenames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "stackview.h"

#define PART 64 /* bytes of a name that isn't whole */
#define LINE 32 /* of a stack, but for its names */

#define BRIEF_LINE 160 /* of a brief stack, at most */
#define REST       40  /* bytes of the line that tells of others */

/* Where text goes, and how much of it may be whole yet. */
struct putting {
	FILE *out;
	size_t left;
	bool is_cut;
};

/* Return whether so many bytes may be whole yet, and take them then. */
static bool take(struct putting *p, size_t size)
{
	if (size > p->left)
		return false;
	p->left -= size;
	return true;
}

static void put_text(struct putting *p, const char *text)
{
	size_t size = strlen(text);
	char part[PART + 1];

	if (take(p, size) || size <= PART) {
		ow_view_put_clean(p->out, text);
		return;
	}
	memcpy(part, text, PART);
	part[PART] = '\0';
	ow_view_put_clean(p->out, part);
	fputs("...", p->out);
	p->is_cut = true;
}

static void put_name(struct putting *p, const struct ow_name *name)
{
	if (name->function) {
		put_text(p, name->function);
		fprintf(p->out, "+%#llx", (unsigned long long)name->offset);
	} else if (name->module) {
		put_text(p, name->module);
		fprintf(p->out, "+%#llx",
			(unsigned long long)name->module_offset);
	} else {
		fprintf(p->out, "%#llx",
			(unsigned long long)name->module_offset);
	}
}

static void put_line(struct putting *p, const struct ow_name *name)
{
	fputs(" > ", p->out);
	put_name(p, name);
	if (name->function && name->module) {
		fputs(" (", p->out);
		put_text(p, name->module);
		putc(')', p->out);
	}
	putc('\n', p->out);
}

/* At the end of what may be whole, without what is inlined. */
static void put_frame(struct putting *p, const struct ow_name *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (take(p, LINE) || i == nr - 1)
			put_line(p, &names[i]);
		else
			p->is_cut = true;
}

static void put_stack(struct putting *p, struct ow_recorder *r,
		      const struct ow_recorded *s)
{
	struct ow_name names[OW_VIEW_NAMES];
	size_t i;

	for (i = 0; i < s->nr_kernel + s->nr; i++)
		put_frame(p, names,
			  ow_recorder_name(r, s, i, names, OW_VIEW_NAMES));
	if (s->end != OW_END_OUTERMOST)
		fprintf(p->out, " > [%s]\n", ow_end_text(s->end));
}

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

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* The names of the frame that stands for the call; return its place, or NULL. */
static char *fill_function(struct sitenames *n, const struct ow_name *name,
			   bool *is_cut_ret)
{
	struct putting p = { .left = SITENAMES_ALONE };
	char *place = NULL;
	size_t size;

	if (name->function || name->module)
		n->function =
			strdup(name->function ? name->function : name->module);
	p.out = open_memstream(&place, &size);
	if (!p.out)
		return NULL;
	put_name(&p, name);
	fclose(p.out);
	*is_cut_ret = p.is_cut;
	return place;
}

static void fill_stack(struct sitenames *n, struct ow_recorder *r,
		       const struct ow_recorded *is)
{
	struct putting p = { .left = SITENAMES_WHOLE };
	const char *line;

	p.out = open_memstream(&n->stack, &n->stack_size);
	if (!p.out)
		return;
	put_stack(&p, r, is);
	fclose(p.out);
	n->is_cut = p.is_cut;
	for (line = n->stack; line && *line; line = strchr(line, '\n') + 1)
		n->nr_lines++;
}

struct sitenames *sitenames_make(struct ow_recorder *r,
				 const struct ow_recorded *is, bool has_stack,
				 char **place_ret, bool *is_cut_ret)
{
	struct sitenames *n = calloc(1, sizeof(*n));
	struct ow_name name = { 0 };

	if (!n)
		return NULL;
	n->users = 1;
	name_site(r, is, &name);
	*place_ret = fill_function(n, &name, is_cut_ret);
	if (has_stack)
		fill_stack(n, r, is);
	n->bytes = sizeof(*n) + text_size(n->function) + text_size(n->stack);
	return n;
}

void sitenames_put_part(FILE *out, const char *text, size_t text_size,
			size_t size)
{
	if (text_size <= size) {
		fwrite_unlocked(text, 1, text_size, out);
		return;
	}
	while (size && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	fwrite_unlocked(text, 1, size, out);
	fputs_unlocked("...", out);
}

void sitenames_put_brief(FILE *out, const struct sitenames *n)
{
	size_t left = SITENAMES_BRIEF - REST, nr = 0, size, shown;
	const char *line = n->stack;

	for (; nr < n->nr_lines; nr++) {
		size = (size_t)(strchr(line, '\n') - line);
		shown = size > BRIEF_LINE ? BRIEF_LINE : size + 1;
		if (shown > left)
			break;
		left -= shown;
		sitenames_put_part(out, line, size, BRIEF_LINE - 4);
		putc_unlocked('\n', out);
		line += size + 1;
	}
	if (nr < n->nr_lines)
		fprintf(out, " > [%zu more lines]\n", n->nr_lines - nr);
}

uint64_t sitenames_hash(struct sitenames *n)
{
	uint64_t words[2] = { 0 };

	if (n->hash)
		return n->hash;
	if (n->function)
		words[0] = ow_hash(n->function, strlen(n->function));
	if (n->stack)
		words[1] = ow_hash(n->stack, n->stack_size);
	n->hash = ow_hash(words, sizeof(words));
	return n->hash;
}

static int text_order(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

int sitenames_order(const struct sitenames *a, const struct sitenames *b)
{
	int order;

	if (a == b || !a || !b)
		return (a != NULL) - (b != NULL);
	order = text_order(a->function, b->function);
	return order ? order : text_order(a->stack, b->stack);
}

struct sitenames *sitenames_hold(struct sitenames *n)
{
	if (n)
		n->users++;
	return n;
}

void sitenames_release(struct sitenames *n)
{
	if (!n || --n->users)
		return;
	free(n->function);
	free(n->stack);
	free(n);
}
