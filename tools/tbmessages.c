// SPDX-License-Identifier: BSD-2-Clause
#include "tbmessages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reach.h"

#define MOST_MAPS ((size_t)64 << 20)

void tb_complain(const char *what, const char *why)
{
	fflush(stdout);
	fputs(what, stderr);
	ow_view_put_clean(stderr, why);
	putc('\n', stderr);
}

/* As failures of ptrace() are told. */
void tb_complain_of_thread(const struct tb_args *args, pid_t tid,
			   const struct ow_error *why)
{
	const char *what = tid == args->pid ? "attach: " : "PTRACE_ATTACH: ";
	char text[512];

	if (why->code == OW_CODE_TIMEOUT) {
		snprintf(text, sizeof(text), "%d to stop", tid);
		if (args->waitpid_timeout && tid == args->pid)
			tb_complain("timeout on waitpid", "");
		else
			tb_complain("timeout waiting for thread ", text);
		return;
	}
	snprintf(text, sizeof(text), "%s%s (thread %d)",
		 why->code == OW_CODE_PERMISSION ? "Operation not permitted: " :
		 why->code == OW_CODE_ABSENT     ? "No such process: " :
						   "",
		 why->msg, tid);
	tb_complain(what, text);
}

void tb_complain_maps(pid_t pid)
{
	char path[32], *text, *line, *end;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	text = ow_reach_text(path, MOST_MAPS, NULL);
	fprintf(stderr, "maps of %d:\n", pid);
	if (!text)
		tb_complain("", strerror(errno));
	for (line = text; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		tb_complain("", line);
	}
	free(text);
}

/* libunwind's error of the same meaning (libunwind-common.h). */
static int libunwind_code(enum ow_end end)
{
	static const signed char codes[OW_NR_ENDS] = {
		[OW_END_NO_MODULE] = -6,   /* UNW_EINVALIDIP */
		[OW_END_NO_CFI] = -10,     /* UNW_ENOINFO */
		[OW_END_BAD_RULE] = -8,    /* UNW_EINVAL */
		[OW_END_UNSUPPORTED] = -9, /* UNW_EBADVERSION */
		[OW_END_FAULT] = -8,
		[OW_END_UNKNOWN] = -3, /* UNW_EBADREG */
		[OW_END_CYCLE] = -7,   /* UNW_EBADFRAME */
	};

	return codes[end] ? codes[end] : -1;
}

void tb_complain_of_break(const struct tb_args *args,
			  const struct ow_view *view)
{
	unsigned long long pc = view->nr ? view->frames[view->nr - 1].frame.pc :
					   0;
	char text[512];

	if (view->end == OW_END_NO_MODULE) {
		snprintf(text, sizeof(text), "%#llx", pc);
		tb_complain("cannot find region of memory containing ", text);
	}
	if (!args->verbose)
		return;
	snprintf(text, sizeof(text), "n=%zu rc=%d (thread %d: %s)",
		 view->nr ? view->nr - 1 : 0, libunwind_code(view->end),
		 view->thread->tid, view->why->msg);
	tb_complain("unwind step failed: ", text);
}
