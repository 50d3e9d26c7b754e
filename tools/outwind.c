// SPDX-License-Identifier: BSD-2-Clause
/* outwind: call stacks from outside. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "interrupt.h"
#include "memorylimit.h"
#include "missing.h"
#include "reach.h"
#include "stackview.h"

static const struct command_entry {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
	bool samples; /* of many: its status tells of none of them */
} commands[] = {
	{ "stack", cmd_stack,
	  "print the stacks of a process, a core file or a snapshot", false },
	{ "snap", cmd_snap, "write a snapshot of a process' stacks", false },
	{ "record", cmd_record,
	  "sample processes, the whole machine or a Xen guest", true },
	{ "report", cmd_report,
	  "write a profile in another format, or a trace's stacks", true },
	{ "top", cmd_top, "show the functions that take most, now", true },
	{ "syscalls", cmd_syscalls, "print system calls and who makes them",
	  true },
	{ "tables", cmd_tables, "make compact unwind tables for repeated work",
	  false },
	{ "rows", cmd_rows, "list the unwind rows of an ELF file", false },
	{ "xen", cmd_xen, "unpause a guest that a killed outwind left paused",
	  false },
	{ "kunwindd", cmd_kunwindd,
	  "keep the unwind tables of the kernel's module current", true },
};

/* Stacks are long: stdio's own is a page, and so a system call for each. */
#define OUTPUT_BUFFER 65536
#define MOST_SECONDS  1e9

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

void complain(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	interrupt_begin_write();
	fputs("outwind: ", stderr);
	ow_view_put_clean(stderr, line);
	putc('\n', stderr);
	interrupt_end_write();
}

bool parse_number(const char *text, unsigned long min, unsigned long max,
		  unsigned long *ret)
{
	unsigned long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || *end || value < min || value > max)
		return false;
	*ret = value;
	return true;
}

bool parse_seconds(const char *option, const char *text, uint64_t *ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*end || end == text || !isfinite(seconds) || seconds <= 0 ||
	    seconds * 1e9 < 1 || seconds > MOST_SECONDS) {
		complain("%s %s: not a number of seconds", option, text);
		return false;
	}
	*ns = (uint64_t)(seconds * 1e9);
	return true;
}

bool take_memory_limit(const char *text)
{
	if (memorylimit_take(text))
		return true;
	complain("--memory-limit %s: not a size", text);
	return false;
}

int finish_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	complain("write output: %s", strerror(errno));
	return EXIT_NONE;
}

static void print_usage(FILE *to)
{
	size_t i;

	fputs("usage: outwind COMMAND [OPTIONS] TARGET\n\n"
	      "Call stacks from outside: without frame pointers and without "
	      "the target's help.\n\n",
	      to);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].what);
	fputs("\n'outwind COMMAND --help' lists a command's options.\n", to);
}

static int run(const struct command_entry *command, int argc, char **argv)
{
	int status = command->run(argc, argv);

	if (missing_complain("outwind", status == EXIT_NONE) &&
	    status == EXIT_WELL && !command->samples)
		return EXIT_SOME;
	return status;
}

int main(int argc, char **argv)
{
	static char buffer[OUTPUT_BUFFER];
	int status;
	size_t i;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return finish_output(EXIT_WELL);
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("outwind %s\n", ow_version());
		return finish_output(EXIT_WELL);
	}
	for (i = 0; i < NR_COMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0) {
			status = run(&commands[i], argc - 1, argv + 1);
			interrupt_end();
			ow_delegate_exit(status);
			return status;
		}
	complain("no command '%s'; see outwind --help", argv[1]);
	return EXIT_USAGE;
}
