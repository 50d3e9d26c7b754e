// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks for flame graphs: "name;outermost;...;innermost 1", as
 * stackcollapse-*.pl write them.
 */
#include "stackview.h"

#include <string.h>

#define OF_KERNEL "_[k]" /* as flame graphs of profiles mark its functions */

/* A ';' would split a name. */
static void put_name(FILE *out, const char *text)
{
	const char *semicolon;
	char part[256];
	size_t n;

	for (; *text; text += n) {
		semicolon = strchr(text, ';');
		n = semicolon ? (size_t)(semicolon - text) : strlen(text);
		if (n == 0) {
			putc(':', out);
			n = 1;
			continue;
		}
		if (n >= sizeof(part))
			n = sizeof(part) - 1;
		memcpy(part, text, n);
		part[n] = '\0';
		ow_view_put_clean(out, part);
	}
}

/*
 * A name of a target is not to be taken for a mark, which begins with '[', or for a
 * function of the kernel.
 */
static void put_function(FILE *out, const char *text)
{
	size_t size = strlen(text), end = strlen(OF_KERNEL);

	if (*text == '[')
		putc('\\', out);
	put_name(out, text);
	if (size >= end && strcmp(text + size - end, OF_KERNEL) == 0)
		putc('\\', out);
}

static void put_unnamed(FILE *out, const struct ow_frame *frame,
			const char *module, uint64_t start)
{
	char buf[OW_VIEW_LABEL];

	put_name(out, ow_view_unnamed(module, start, frame->pc, buf));
}

static void begin(FILE *out, pid_t pid, const char *program)
{
	(void)out;
	(void)pid;
	(void)program;
}

static void thread(FILE *out, const struct ow_view *view, bool first,
		   unsigned int flags)
{
	const struct ow_view_frame *f;
	size_t i, k;

	(void)first;
	if (!view->thread->captured)
		return;
	put_name(out, view->thread->name);
	if (flags & OW_VIEW_CERTAIN && !view->thread->certain)
		fputs(";[uncertain]", out);
	if (view->end != OW_END_OUTERMOST)
		fputs(";[truncated]", out);
	for (i = view->nr; i-- > 0;) {
		f = &view->frames[i];
		if (f->nr_names == 0) {
			putc(';', out);
			put_unnamed(out, &f->frame, NULL, 0);
		}
		for (k = f->nr_names; k-- > 0;) {
			putc(';', out);
			if (f->names[k].function)
				put_function(out, f->names[k].function);
			else
				put_unnamed(out, &f->frame, f->names[k].module,
					    f->names[k].start);
		}
	}
	fputs(" 1\n", out);
}

static void end(FILE *out)
{
	(void)out;
}

const struct ow_view_writer ow_folded_writer = {
	.name = "folded",
	.begin = begin,
	.thread = thread,
	.end = end,
};
