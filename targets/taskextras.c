// SPDX-License-Identifier: BSD-2-Clause
#include "taskextras.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <outwind/outwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "reach.h"

/* Enough for the 64 frames that the kernel lists (MAX_STACK_TRACE_DEPTH). */
#define FILE_SIZE 16384

int ow_taskextras_parse_syscall(const char *text, uint64_t args[6],
				uint64_t *pc)
{
	uint64_t values[8];
	char *end;
	long nr;
	int i;

	if (strncmp(text, "running", strlen("running")) == 0)
		return OW_SYSCALL_NONE;
	nr = strtol(text, &end, 10);
	if (end == text || nr < -1 || nr > INT_MAX)
		return OW_SYSCALL_UNKNOWN;
	if (nr == -1)
		return OW_SYSCALL_NONE;
	for (i = 0; i < 8; i++) {
		text = end;
		values[i] = strtoull(text, &end, 16);
		if (end == text)
			return OW_SYSCALL_UNKNOWN;
	}
	memcpy(args, values, 6 * sizeof(values[0]));
	*pc = values[7];
	return (int)nr;
}

/* A file of the thread's, terminated; false, and errno in t, if it can't be. */
static bool read_file(pid_t pid, pid_t tid, const char *name, char *buf,
		      struct ow_thread *t)
{
	_cleanup_(ow_closep) int fd = -1;
	ssize_t n = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	fd = ow_reach_open(path, O_RDONLY);
	if (fd >= 0)
		n = ow_reach_fill(fd, buf, FILE_SIZE - 1);
	if (n < 0) {
		t->extras_errno = errno;
		return false;
	}
	buf[n] = '\0';
	return true;
}

/* A symbol, or "0" for nowhere, or if the kernel won't tell. */
static void read_wchan(pid_t pid, pid_t tid, struct ow_thread *t)
{
	char text[FILE_SIZE];

	if (read_file(pid, tid, "wchan", text, t))
		t->wchan = strdup(strcmp(text, "0") == 0 ? "" : text);
}

static void read_syscall(pid_t pid, pid_t tid, struct ow_thread *t,
			 uint64_t *pc)
{
	char text[FILE_SIZE];

	if (read_file(pid, tid, "syscall", text, t))
		t->syscall_nr =
			ow_taskextras_parse_syscall(text, t->syscall_args, pc);
}

/* Lines of "[<0>] symbol+0x1/0x2": the address has been hidden since 4.11. */
static void read_kernel_stack(pid_t pid, pid_t tid, struct ow_thread *t)
{
	char text[FILE_SIZE], *stack, *line, *next, *name;
	size_t size = 0;

	if (!read_file(pid, tid, "stack", text, t))
		return;
	stack = malloc(strlen(text) + 2);
	if (!stack)
		return;
	for (line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		name = strstr(line, ">] ");
		name = *line == '[' && name ? name + 3 : line;
		size += sprintf(stack + size, "%s\n", name);
	}
	stack[size] = '\0';
	t->kernel_stack = stack;
}

void ow_taskextras_read(pid_t pid, pid_t tid, unsigned int extras,
			struct ow_thread *t, uint64_t *pc)
{
	*pc = 0;
	t->syscall_nr = OW_SYSCALL_UNKNOWN;
	if (extras & OW_EXTRA_SYSCALL)
		read_syscall(pid, tid, t, pc);
	if (extras & OW_EXTRA_WCHAN)
		read_wchan(pid, tid, t);
	if (extras & OW_EXTRA_KERNEL_STACK)
		read_kernel_stack(pid, tid, t);
}
