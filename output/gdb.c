// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks as gdb 13 prints them by "thread apply all bt", for what reads that,
 * such as FlameGraph's stackcollapse-gdb.pl.  Of parameters nothing is known.
 */
#include "stackview.h"

#include <string.h>

static void begin(FILE *out, pid_t pid, const char *program)
{
	(void)out;
	(void)pid;
	(void)program;
}

/* Where the function is from: source, or else a shared object. */
static void put_place(FILE *out, const struct ow_view *view,
		      const struct ow_name *name)
{
	if (name->file && name->line) {
		fputs(" at ", out);
		ow_view_put_clean(out, name->file);
		fprintf(out, ":%u", name->line);
	} else if (name->module && name->module[0] == '/' &&
		   strcmp(name->module, view->program) != 0) {
		fputs(" from ", out);
		ow_view_put_clean(out, name->module);
	}
}

/* One line; an address only for the innermost of what was inlined. */
static void put_line(FILE *out, const struct ow_view *view, size_t n,
		     const struct ow_frame *frame, const struct ow_name *name,
		     bool with_pc)
{
	fprintf(out, "#%-2zu ", n);
	if (with_pc)
		fprintf(out, "0x%0*llx in ", ow_view_digits(view),
			(unsigned long long)frame->pc);
	if (name && name->function)
		ow_view_put_clean(out, name->function);
	else
		fputs("??", out);
	fputs(" ()", out);
	if (name)
		put_place(out, view, name);
	putc('\n', out);
}

/* The frames of one; return the number of the next. */
static size_t put_frame(FILE *out, const struct ow_view *view, size_t n,
			const struct ow_view_frame *f)
{
	size_t k;

	if (f->frame.flags & OW_FRAME_SIGNAL) {
		fprintf(out, "#%-2zu <signal handler called>\n", n);
		return n + 1;
	}
	if (f->nr_names == 0)
		put_line(out, view, n++, &f->frame, NULL, true);
	for (k = 0; k < f->nr_names; k++)
		put_line(out, view, n++, &f->frame, &f->names[k], k == 0);
	return n;
}

/* The program's own main(): beyond it gdb doesn't go. */
static bool is_main(const struct ow_view *view, const struct ow_view_frame *f)
{
	const struct ow_name *name;

	if (f->nr_names == 0)
		return false;
	name = &f->names[f->nr_names - 1];
	return name->function && strcmp(name->function, "main") == 0 &&
	       name->module && strcmp(name->module, view->program) == 0;
}

static void thread(FILE *out, const struct ow_view *view, bool first,
		   unsigned int flags)
{
	const struct ow_thread *t = view->thread;
	size_t i, n = 0;

	(void)first;
	(void)flags;
	fprintf(out, "\nThread %zu (LWP %d \"", view->number, t->tid);
	ow_view_put_clean(out, t->name);
	fputs("\"):\n", out);
	for (i = 0; i < view->nr; i++) {
		n = put_frame(out, view, n, &view->frames[i]);
		if (is_main(view, &view->frames[i]))
			return;
	}
	if (t->captured && view->end == OW_END_OUTERMOST)
		return;
	if (t->captured && view->end == OW_END_LIMIT) {
		fputs("(More stack frames follow...)\n", out);
		return;
	}
	fputs(t->why.code == OW_CODE_NO_STACK ? "No stack: " :
						"Backtrace stopped: ",
	      out);
	ow_view_put_clean(out, t->captured ? view->why->msg : t->why.msg);
	putc('\n', out);
}

static void end(FILE *out)
{
	(void)out;
}

const struct ow_view_writer ow_gdb_writer = {
	.name = "gdb",
	.naming = OW_SYMBOLIZER_INLINES | OW_SYMBOLIZER_LINES,
	.backwards = true,
	.begin = begin,
	.thread = thread,
	.end = end,
};
