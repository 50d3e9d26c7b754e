// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks as eu-stack of elfutils 0.188 prints them, for what reads that, such
 * as FlameGraph's stackcollapse-elfutils.pl.
 */
#include "stackview.h"

static void begin(FILE *out, pid_t pid, const char *program)
{
	(void)out;
	(void)pid;
	(void)program;
}

static void put_build_id(FILE *out, const struct ow_frame *frame,
			 const struct ow_name *name)
{
	/* It looks up what returns a byte before, and prints that too. */
	uint64_t back = ow_view_is_return(frame) ? 1 : 0;

	if (name->build_id)
		fprintf(out, "\n    [%s]@0x%llx+0x%llx", name->build_id,
			(unsigned long long)(frame->pc - name->module_offset),
			(unsigned long long)(name->module_offset - back));
}

static void put_source(FILE *out, const struct ow_name *name)
{
	if (!name->file || !name->line)
		return;
	fputs("\n    ", out);
	ow_view_put_clean(out, name->file);
	fprintf(out, ":%u", name->line);
	if (name->column)
		fprintf(out, ":%u", name->column);
}

static void put_line(FILE *out, size_t n, int digits,
		     const struct ow_frame *frame, const struct ow_name *name,
		     unsigned int flags)
{
	fprintf(out, "#%-2zu 0x%0*llx", n, digits,
		(unsigned long long)frame->pc);
	if (flags & (OW_VIEW_ACTIVATIONS | OW_VIEW_HOW))
		fputs(ow_view_is_return(frame) ? " - 1" : "    ", out);
	if (name && name->function) {
		putc(' ', out);
		ow_view_put_clean(out, name->function);
	}
	if (name && flags & OW_VIEW_MODULES && name->module) {
		fputs(" - ", out);
		ow_view_put_clean(out, name->module);
	}
	if (name && flags & OW_VIEW_BUILD_IDS)
		put_build_id(out, frame, name);
	if (name && flags & OW_VIEW_LINES)
		put_source(out, name);
	putc('\n', out);
}

static void thread(FILE *out, const struct ow_view *view, bool first,
		   unsigned int flags)
{
	const struct ow_view_frame *f;
	int digits = ow_view_digits(view);
	size_t i, k, n = 0;

	if (first && !(flags & OW_VIEW_ONE))
		fprintf(out, "PID %d - %s\n", view->pid,
			view->is_core ? "core" : "process");
	fprintf(out, "TID %d:\n", view->thread->tid);
	for (i = 0; i < view->nr; i++) {
		f = &view->frames[i];
		if (f->nr_names == 0)
			put_line(out, n++, digits, &f->frame, NULL, flags);
		for (k = 0; k < f->nr_names; k++)
			put_line(out, n++, digits, &f->frame, &f->names[k],
				 flags);
	}
}

static void end(FILE *out)
{
	(void)out;
}

const struct ow_view_writer ow_eu_writer = {
	.name = "eu",
	.stacks_only = true,
	.begin = begin,
	.thread = thread,
	.end = end,
};
