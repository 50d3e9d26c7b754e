// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compare all callee-saved registers of every frame with libunwind's, on the
 * main thread of a process.
 *
 * regdiff PID... stops each process by SIGSTOP, unwinds it both ways, sets it
 * going, prints a line per difference and what was compared; exit status 1 if
 * there is any difference.
 */
#include <inttypes.h>
#include <libunwind-ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"

#define MOST_FRAMES 1024

/* DWARF numbers, which are libunwind's and our slots alike on x86-64. */
static const struct {
	const char *name;
	int reg;
} registers[] = {
	{ "rbx", 3 },  { "rbp", 6 },  { "rsp", 7 },  { "r12", 12 },
	{ "r13", 13 }, { "r14", 14 }, { "r15", 15 }, { "rip", 16 },
};

#define NR_REGISTERS OW_ARRAY_SIZE(registers)

struct tally {
	unsigned long frames, values, unknown, differences;
};

/*
 * Where only the frame pointer leads on, libunwind 1.6.2 adds 16 to rsp, however
 * large the frame was; behind a frame record lies rbp + 16.
 */
static bool is_comparable(const struct ow_frame *f, size_t i)
{
	return f->how != OW_HOW_FP || registers[i].reg != 7;
}

static void compare_frame(pid_t pid, unsigned int n, unw_cursor_t *theirs,
			  const struct ow_walk *w, struct tally *t)
{
	const struct ow_regs *ours = &w->regs;
	unw_word_t value;
	size_t i;

	t->frames++;
	for (i = 0; i < NR_REGISTERS; i++) {
		if (!ow_regs_known(ours, registers[i].reg) ||
		    !is_comparable(&w->frames[n], i)) {
			t->unknown++;
			continue;
		}
		t->values++;
		if (unw_get_reg(theirs, registers[i].reg, &value) == 0 &&
		    value == ours->val[registers[i].reg])
			continue;
		t->differences++;
		printf("%d: frame %u: %s: libunwind %#" PRIx64
		       ", outwind %#" PRIx64 "\n",
		       pid, n, registers[i].name, (uint64_t)value,
		       ours->val[registers[i].reg]);
	}
}

/* One more frame; false at the end. */
static bool next_frame(struct ow_capture *c)
{
	struct ow_walk *w = &c->walk;
	enum ow_end end;

	w->max++;
	w->end = OW_END_NOT_YET;
	while ((end = ow_walk_run(w)) == OW_END_WANT)
		ow_capture_ready(c, (struct ow_capture_module *)w->wanted);
	return end == OW_END_LIMIT;
}

static void compare(pid_t pid, struct ow_capture *c, unw_cursor_t *theirs,
		    struct tally *t)
{
	static struct ow_frame frames[MOST_FRAMES + 1];
	struct ow_walk *w = &c->walk;
	int more;

	ow_walk_begin(w, &c->target, &c->threads[0].stack, &c->cache,
		      &c->threads[0].regs, frames, 0);
	while (next_frame(c) && w->nr < MOST_FRAMES) {
		compare_frame(pid, w->nr - 1, theirs, w, t);
		/* It stops where it has no CFI, and we go on by other ways. */
		more = unw_step(theirs);
		if (more <= 0)
			break;
	}
}

static bool compare_process(pid_t pid, struct tally *t)
{
	unw_addr_space_t as = unw_create_addr_space(&_UPT_accessors, 0);
	struct ow_capture *c;
	struct ow_error err;
	unw_cursor_t cursor;
	void *upt;

	c = ow_capture_process(pid, NULL, &err);
	if (!c) {
		printf("%d: %s\n", pid, err.msg);
		return false;
	}
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
	    waitpid(pid, NULL, __WALL) != pid) {
		perror("ptrace");
		return false;
	}
	upt = _UPT_create(pid);
	if (unw_init_remote(&cursor, as, upt) == 0)
		compare(pid, c, &cursor, t);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	_UPT_destroy(upt);
	unw_destroy_addr_space(as);
	ow_capture_destroy(c);
	return true;
}

/* By SIGSTOP; and wait until its first thread has stopped. */
static void stop(pid_t pid)
{
	char path[32], state = 0;
	int tries = 300000;
	FILE *f;

	kill(pid, SIGSTOP);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'T' && tries-- > 0) {
		usleep(1000);
		f = fopen(path, "re");
		if (!f)
			return;
		if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(f);
	}
}

int main(int argc, char **argv)
{
	struct tally t = { 0 };
	bool good = argc > 1;
	int i;

	for (i = 1; i < argc; i++) {
		stop(atoi(argv[i]));
		good = compare_process(atoi(argv[i]), &t) && good;
		kill(atoi(argv[i]), SIGCONT);
	}
	printf("%lu frames, %lu registers compared, %lu not known, "
	       "%lu differences\n",
	       t.frames, t.values, t.unknown, t.differences);
	return !good || t.differences || t.values == 0;
}
