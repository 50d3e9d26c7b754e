// SPDX-License-Identifier: BSD-2-Clause
/* Stacks as tbstack 1.0 prints them, byte by byte. */
#include "stackview.h"

#include <string.h>

#define NAME_SIZE      512
#define OFFSET_SIZE    32 /* of which an offset takes that much */
#define NO_ADDR        "????????????????"
#define VSYSCALL_START 0xffffffffff600000 /* Linux x86, uapi/asm/vsyscall.h */
#define VSYSCALL_SIZE  0x1000

static void put_object(FILE *out, const struct ow_frame *frame,
		       const struct ow_name *name)
{
	const char *base;

	if (!name->module) {
		fputs(frame->pc - VSYSCALL_START < VSYSCALL_SIZE ?
			      "?? [vsyscall]" :
			      "?",
		      out);
		return;
	}
	base = strrchr(name->module, '/');
	base = base ? base + 1 : name->module;
	fputs(*base == '[' ? "?? " : "?? (", out);
	ow_view_put_clean(out, base);
	if (*base != '[')
		fputs(name->deleted ? " is deleted)" : ")", out);
}

static void put_name(FILE *out, const struct ow_frame *frame,
		     const struct ow_name *name)
{
	size_t most = NAME_SIZE - (name->offset ? OFFSET_SIZE : 1);
	char part[NAME_SIZE];

	if (!name->function) {
		put_object(out, frame, name);
	} else if (strnlen(name->function, most) < most) {
		ow_view_put_clean(out, name->function);
	} else {
		memcpy(part, name->function, most);
		part[most] = '\0';
		ow_view_put_clean(out, part);
	}
	if (name->function && name->offset) {
		fputs_unlocked(" + ", out);
		ow_view_put_hex(out, name->offset);
	}
}

static void put_frame(FILE *out, const struct ow_view_frame *f,
		      unsigned int flags)
{
	static const struct ow_name none;

	putc_unlocked(' ', out);
	ow_view_put_digits(out, f->frame.pc);
	fputs_unlocked("  ", out);
	if (flags & OW_VIEW_SP) {
		ow_view_put_digits(out, f->frame.sp);
		fputs_unlocked("  ", out);
	}
	/* One line a frame: that of the function that others are inlined in. */
	put_name(out, &f->frame,
		 f->nr_names ? &f->names[f->nr_names - 1] : &none);
	putc_unlocked('\n', out);
}

static void begin(FILE *out, pid_t pid, const char *program)
{
	(void)out;
	(void)pid;
	(void)program;
}

static void put_heading(FILE *out, const struct ow_view *view,
			unsigned int flags)
{
	fprintf(out, "--------------------  thread %zu (%d) ", view->number,
		view->thread->tid);
	if (flags & OW_VIEW_STATES)
		fprintf(out, "(%c) ", view->thread->state);
	else
		putc(' ', out);
	fputs("--------------------\n", out);
}

static void thread(FILE *out, const struct ow_view *view, bool first,
		   unsigned int flags)
{
	size_t i;

	(void)first;
	put_heading(out, view, flags);
	for (i = 0; i < view->nr; i++) {
		/* Before what was interrupted, not before the trampoline. */
		if (i > 0 && view->frames[i - 1].frame.flags & OW_FRAME_SIGNAL)
			fputs(" <signal handler called>\n", out);
		put_frame(out, &view->frames[i], flags);
	}
	if (view->thread->why.code == OW_CODE_NO_STACK)
		return;
	if (!view->thread->captured ||
	    (view->end != OW_END_OUTERMOST && view->end != OW_END_LIMIT))
		fprintf(out, " " NO_ADDR "%s  <stack breaks here>\n",
			flags & OW_VIEW_SP ? "  " NO_ADDR : "");
	else if (view->end == OW_END_LIMIT)
		fputs(" " NO_ADDR "  <stack is too long>\n\n", out);
}

static void end(FILE *out)
{
	(void)out;
}

void ow_tbtext_put_summary(FILE *out, const struct ow_capture_stats *stats)
{
	unsigned long long us = stats->freeze_ns / 1000;
	unsigned long long bytes = stats->bytes_copied;

	fprintf(out,
		"-----------------------  summary  --------------------------\n"
		" time the process was frozen: %llums %lluus\n"
		" sleep count: %u\n"
		" total bytes copied: 0x%llx (%lluK)\n",
		us / 1000, us % 1000, stats->sleeps, bytes, bytes >> 10);
}

const struct ow_view_writer ow_tbtext_writer = {
	.name = "tbstack",
	.longest = NAME_SIZE,
	.begin = begin,
	.thread = thread,
	.end = end,
};
