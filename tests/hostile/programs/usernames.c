// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names the functions of a process by libunwind's interface: usernames PID [TIMES].  Prints a
 * line for each frame, of TIMES walks.
 */
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define MOST_FRAMES 64

static int stop(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0))
		return -1;
	return waitpid(pid, NULL, __WALL) == pid ? 0 : -1;
}

static void print_frame(unw_cursor_t *c, int n)
{
	char name[256] = "??";
	unw_word_t ip = 0, off = 0;

	unw_get_reg(c, UNW_REG_IP, &ip);
	unw_get_proc_name(c, name, sizeof(name), &off);
	printf("#%-2d %#018lx %s + %#lx\n", n, (unsigned long)ip, name,
	       (unsigned long)off);
}

static int walk(unw_addr_space_t as, void *upt)
{
	unw_cursor_t c;
	int n = 0;

	if (unw_init_remote(&c, as, upt) < 0)
		return -1;
	do
		print_frame(&c, n);
	while (++n < MOST_FRAMES && unw_step(&c) > 0);
	return 0;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	unw_addr_space_t as = unw_create_addr_space(&_UPT_accessors, 0);
	int times = argc > 2 ? atoi(argv[2]) : 1;
	void *upt;

	if (!pid || !as || stop(pid)) {
		perror("usernames");
		return 2;
	}
	upt = _UPT_create(pid);
	while (upt && times-- > 0)
		if (walk(as, upt))
			return 1;
	_UPT_destroy(upt);
	return 0;
}
