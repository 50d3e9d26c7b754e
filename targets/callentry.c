// SPDX-License-Identifier: BSD-2-Clause
#include "callentry.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "arch.h"
#include "env.h"
#include "error.h"
#include "reach.h"

/* Enough for the 64 frames that the kernel lists (MAX_STACK_TRACE_DEPTH). */
#define FILE_SIZE 16384

/* The last line before Linux 5.2. */
#define END_OF_LIST ">] 0xffffffffffffffff"

/*
 * Linux, arch/x86/entry/entry_64.S and entry_64_compat.S, by the beginnings of names.
 * The syscall instruction of 32-bit code comes in by entry_SYSCALL_compat (AMD), or not
 * at all (Intel): in code of a segment of the program's own, too, as that isn't 64-bit
 * code (modify_ldt(2)).
 */
static const struct way {
	const char *name;
	struct ow_callentry entry;
} ways[] = {
	{ "entry_SYSCALL_64", { &ow_arch_x86_64, true } },
	{ "entry_SYSCALL_compat", { &ow_arch_i386, true } },
	{ "entry_SYSENTER_compat", { &ow_arch_i386, true } },
	{ "entry_INT80_compat", { &ow_arch_i386, false } },
	{ "asm_int80_emulation", { &ow_arch_i386, false } }, /* 6.7 */
	{ "int80_emulation", { &ow_arch_i386, false } },
};

/* The last line's text behind "[<ADDRESS>] "; NULL: there is none. */
static const char *last_name(const char *stack)
{
	const char *name = NULL, *line, *end;

	for (line = stack; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (line[0] != '[')
			return NULL;
		line += strcspn(line, ">\n");
		if (strncmp(line, END_OF_LIST, strlen(END_OF_LIST)) == 0)
			break;
		name = strncmp(line, ">] ", 3) == 0 ? line + 3 : NULL;
	}
	return name;
}

struct ow_callentry ow_callentry_parse(const char *stack)
{
	const char *name = last_name(stack);
	size_t i;

	for (i = 0; name && i < OW_ARRAY_SIZE(ways); i++)
		if (strncmp(name, ways[i].name, strlen(ways[i].name)) == 0)
			return ways[i].entry;
	return (struct ow_callentry){ NULL, false };
}

struct ow_callentry ow_callentry_read(int tasks, pid_t tid)
{
	char path[32], text[FILE_SIZE];
	_cleanup_(ow_reach_closep) int fd = -1;
	ssize_t n = -1;

	snprintf(path, sizeof(path), "%d/stack", tid);
	fd = ow_reach_openat(tasks, path, O_RDONLY);
	if (fd >= 0)
		n = ow_reach_fill(fd, text, sizeof(text));
	/* A list that is cut off doesn't have the last line. */
	text[n >= 0 && n < (ssize_t)sizeof(text) ? n : 0] = '\0';
	return ow_callentry_parse(text);
}
