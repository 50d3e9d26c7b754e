// SPDX-License-Identifier: BSD-2-Clause
/* Stacks for people. */
#include "stackview.h"

#include <string.h>

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
	if (flags & (OW_VIEW_BUILD_IDS | OW_VIEW_HOW) && name->build_id)
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
		if (flags & OW_VIEW_ACTIVATIONS)
			fputs(ow_view_is_return(&f->frame) ? " - 1" : "    ",
			      out);
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

static void put_unknown(FILE *out, const char *what, const struct ow_thread *t)
{
	fprintf(out, "    %s: not available: %s\n", what,
		t->extras_errno ? strerror(t->extras_errno) :
				  "the target doesn't tell");
}

/* Of another architecture than the target's, or not known of which. */
static void put_abi(FILE *out, enum ow_call_abi abi)
{
	const char *name = ow_view_abi(abi);

	if (abi == OW_CALL_UNKNOWN)
		fputs(", of i386 or x86-64: not known which", out);
	else if (name)
		fprintf(out, ", a call of %s", name);
}

static void put_syscall(FILE *out, const struct ow_view *view)
{
	const struct ow_thread *t = view->thread;
	size_t i;

	if (t->syscall_nr == OW_SYSCALL_UNKNOWN) {
		put_unknown(out, "system call", t);
		return;
	}
	if (t->syscall_nr == OW_SYSCALL_NONE) {
		fputs("    in no system call\n", out);
		return;
	}
	fputs("    in ", out);
	if (view->syscall)
		fputs(view->syscall, out);
	else
		fprintf(out, "system call %d", t->syscall_nr);
	for (i = 0; i < 6; i++)
		fprintf(out, "%s%#llx", i ? ", " : "(",
			(unsigned long long)t->syscall_args[i]);
	putc(')', out);
	put_abi(out, t->syscall_abi);
	putc('\n', out);
}

static void put_wchan(FILE *out, const struct ow_thread *t)
{
	if (!t->wchan) {
		put_unknown(out, "wait channel", t);
		return;
	}
	fputs(t->wchan[0] ? "    waits in " : "    waits nowhere", out);
	ow_view_put_clean(out, t->wchan);
	putc('\n', out);
}

/* The frames in the kernel stand before those that called it. */
static void put_kernel_stack(FILE *out, const struct ow_thread *t)
{
	const char *lines = t->kernel_stack;
	char line[256];

	if (!lines) {
		put_unknown(out, "kernel stack", t);
		return;
	}
	if (!*lines)
		fputs("    kernel: no frames\n", out);
	while (*lines) {
		lines = ow_view_line(lines, line, sizeof(line));
		fputs("    kernel: ", out);
		ow_view_put_clean(out, line);
		putc('\n', out);
	}
}

static void put_heading(FILE *out, const struct ow_view *view,
			unsigned int flags)
{
	const struct ow_thread *t = view->thread;

	fprintf(out, "TID %d \"", t->tid);
	ow_view_put_clean(out, t->name);
	fprintf(out, "\" (%c)", t->state);
	if (flags & OW_VIEW_CERTAIN && t->captured)
		fprintf(out, " %s, %s", t->stopped ? "stopped" : "not stopped",
			t->certain ? "certain" : "uncertain");
	putc('\n', out);
	if (flags & OW_VIEW_SYSCALL)
		put_syscall(out, view);
	if (flags & OW_VIEW_WCHAN)
		put_wchan(out, t);
	if (flags & OW_VIEW_KERNEL)
		put_kernel_stack(out, t);
}

static void thread(FILE *out, const struct ow_view *view, bool first,
		   unsigned int flags)
{
	const struct ow_thread *t = view->thread;
	size_t i;

	(void)first;
	put_heading(out, view, flags);
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
