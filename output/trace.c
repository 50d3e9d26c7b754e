// SPDX-License-Identifier: BSD-2-Clause
/*
 * Traces as uniprof writes them, which stackcollapse.pl and symbolize(1) read:
 * a header of three lines, then for each stack a line a frame, innermost first,
 * a line "1" (or "0": the walk broke off) and an empty one.
 */
#include "stackview.h"

#include <string.h>

void ow_uniprof_put_header(FILE *out, const char *backend, unsigned int domid,
			   const struct tm *now)
{
	char text[64];

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %Z (%z)", now);
	fprintf(out,
		"#unikernel stack tracer using %s hypercall interface\n"
		"#tracing domid %u on %s\n\n",
		backend, domid, text);
}

/* An address of 0 must not look like a count, which has no "0x". */
static void put_address(FILE *out, uint64_t addr)
{
	if (addr == 0)
		fputs("0x", out);
	fprintf(out, "%#llx\n", (unsigned long long)addr);
}

/* The outermost name, as inlined functions have no offset of their own. */
static void put_frame(FILE *out, const struct ow_view_frame *f)
{
	const struct ow_name *name = f->nr_names ? &f->names[f->nr_names - 1] :
						   NULL;

	if (!name || !name->function || !name->function[0]) {
		put_address(out, f->frame.pc);
		return;
	}
	ow_view_put_clean(out, name->function);
	fprintf(out, "+%#llx\n", (unsigned long long)name->offset);
}

/*
 * Did the walk break off?  Where the innermost frame has no caller that can be
 * found, there is nothing to break.
 */
static bool is_broken(const struct ow_view *view)
{
	return view->end != OW_END_OUTERMOST &&
	       !(view->end == OW_END_NO_CFI && view->nr <= 1);
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
	size_t i;

	(void)first;
	if (!view->thread->captured)
		return;
	for (i = 0; i < view->nr; i++)
		put_frame(out, &view->frames[i]);
	fputs(is_broken(view) && !(flags & OW_VIEW_ALWAYS_ONE) ? "0\n\n" :
								 "1\n\n",
	      out);
}

static void end(FILE *out)
{
	(void)out;
}

const struct ow_view_writer ow_uniprof_writer = {
	.name = "uniprof",
	.naming = OW_SYMBOLIZER_RAW,
	.begin = begin,
	.thread = thread,
	.end = end,
};
