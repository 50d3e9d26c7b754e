// SPDX-License-Identifier: BSD-2-Clause
/* Stacks for people. */
#include "stackview.h"

static void begin(FILE *out, pid_t pid, const char *program)
{
	fprintf(out, "PID %d - ", pid);
	ow_view_put_clean(out, program);
	putc('\n', out);
}

static void put_source(FILE *out, const struct ow_name *name)
{
	if (!name->file)
		return;
	fputs("\n    ", out);
	ow_view_put_clean(out, name->file);
	if (name->line)
		fprintf(out, ":%u", name->line);
	if (name->column)
		fprintf(out, ":%u", name->column);
}

static void put_function(FILE *out, const struct ow_name *name)
{
	if (!name->function) {
		fputs("??", out);
		return;
	}
	ow_view_put_clean(out, name->function);
	if (name->is_inline) {
		fputs(" (inlined)", out);
	} else if (name->offset) {
		fwrite_unlocked(" + ", 1, 3, out);
		ow_view_put_hex(out, name->offset);
	}
}

static void put_extras(FILE *out, const struct ow_frame *frame,
		       const struct ow_name *name, unsigned int flags)
{
	if (frame->flags & OW_FRAME_SIGNAL && !name->is_inline)
		fputs(" <signal handler called>", out);
	if ((flags & OW_VIEW_MODULES || !name->function) && name->module) {
		fputs(" - ", out);
		ow_view_put_clean(out, name->module);
	}
	if (flags & OW_VIEW_HOW || frame->how == OW_HOW_FP ||
	    frame->how == OW_HOW_CALL)
		fprintf(out, " (by %s)", ow_how_text(frame->how));
	if (flags & OW_VIEW_BUILD_IDS && name->build_id)
		fprintf(out, "\n    [%s]+%#llx", name->build_id,
			(unsigned long long)name->module_offset);
	if (flags & OW_VIEW_LINES)
		put_source(out, name);
}

static void put_frame(FILE *out, size_t n, const struct ow_view_frame *f,
		      unsigned int flags)
{
	static const struct ow_name none;
	size_t i = 0;

	do {
		ow_view_put_place(out, n, f->frame.pc);
		if (f->nr_names) {
			putc_unlocked(' ', out);
			put_function(out, &f->names[i]);
			put_extras(out, &f->frame, &f->names[i], flags);
		} else {
			put_extras(out, &f->frame, &none, flags);
		}
		putc_unlocked('\n', out);
	} while (++i < f->nr_names);
}

static void thread(FILE *out, const struct ow_view *view, bool first,
		   unsigned int flags)
{
	const struct ow_thread *t = view->thread;
	size_t i;

	(void)first;
	fprintf(out, "TID %d \"", t->tid);
	ow_view_put_clean(out, t->name);
	fprintf(out, "\" (%c)\n", t->state);
	if (!t->captured) {
		fputs("    no stack: ", out);
		ow_view_put_clean(out, t->why.msg);
		putc('\n', out);
		return;
	}
	for (i = 0; i < view->nr; i++)
		put_frame(out, i, &view->frames[i], flags);
	if (view->end != OW_END_OUTERMOST) {
		fputs("    stack ends here: ", out);
		ow_view_put_clean(out, view->why->msg);
		putc('\n', out);
	} else if (flags & OW_VIEW_HOW) {
		fputs("    complete\n", out);
	}
}

static void end(FILE *out)
{
	(void)out;
}

const struct ow_view_writer ow_text_writer = {
	.name = "text",
	.begin = begin,
	.thread = thread,
	.end = end,
};
