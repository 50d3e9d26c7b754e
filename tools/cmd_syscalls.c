// SPDX-License-Identifier: BSD-2-Clause
/* outwind syscalls: each system call, and who made it. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "syscalltrace.h"

static void print_usage(FILE *to)
{
	fputs("usage: outwind syscalls [OPTIONS] PID...|-- COMMAND\n"
	      "\n"
	      "Prints each system call of processes, their threads and "
	      "children, with the\n"
	      "function that made it.\n"
	      "\n"
	      "  -e SET             only these, as strace has it: names, "
	      "%file, !%memory, ...\n"
	      "  -k, --stacks       the whole stack of each\n"
	      "  -c, --summary      only counts and times, by call site; with "
	      "-k by stack\n"
	      "  -d, --duration=SECS  for so long\n"
	      "  -o, --output=FILE  where to (stderr, or stdout with -c)\n"
	      "  -r, --raw          names as the object has them\n"
	      "      --memory-limit=SIZE  " MEMORY_LIMIT_HELP "\n"
	      "  -h, --help         this\n"
	      "\n"
	      "Exit status: that of COMMAND, 127 if there is no such program, "
	      "126 if it can't\n"
	      "be run; of PIDs 0 all went well, 1 some calls, or who made "
	      "them, were missed.\n"
	      "2 nothing could be done, 64 usage.\n",
	      to);
}

static bool take_targets(struct syscall_request *q, int argc, char **argv,
			 bool is_command)
{
	unsigned long pid;
	int i;

	if (argc == 0) {
		complain("give a PID, or -- and a command");
		return false;
	}
	q->pids = calloc((size_t)argc, sizeof(*q->pids));
	q->options.pids = q->pids;
	if (is_command) {
		q->command = argv;
		return q->pids;
	}
	for (i = 0; q->pids && i < argc; i++) {
		if (!parse_number(argv[i], 1, INT_MAX, &pid)) {
			complain("%s: not a PID", argv[i]);
			return false;
		}
		if (!alive_add(&q->alive, (pid_t)pid)) {
			complain("out of memory");
			return false;
		}
		q->pids[q->options.nr_pids++] = (pid_t)pid;
	}
	return q->pids;
}

static bool take_option(struct syscall_request *q, int opt, const char *text)
{
	switch (opt) {
	case 'e': return syscallset_parse(&q->set, text);
	case OPT_MEMORY_LIMIT: return take_memory_limit(text);
	case 'k': q->stacks = true; return true;
	case 'c': q->summary = true; return true;
	case 'd': return parse_seconds("-d", text, &q->duration_ns);
	case 'o': q->path = text; return true;
	case 'r': q->options.naming |= OW_SYMBOLIZER_RAW; return true;
	}
	fputs("see outwind syscalls --help\n", stderr);
	return false;
}

static int run(struct syscall_request *q)
{
	int *numbers = syscallset_list(&q->set, &q->options.nr_syscalls);
	int status = EXIT_NONE;

	q->options.syscalls = numbers;
	if (numbers || !q->set.is_set)
		status = syscalltrace_run(q);
	else
		complain("out of memory");
	free(numbers);
	return finish_output(status);
}

int cmd_syscalls(int argc, char **argv)
{
	static const struct option options[] = {
		{ "stacks", no_argument, NULL, 'k' },
		{ "summary", no_argument, NULL, 'c' },
		{ "duration", required_argument, NULL, 'd' },
		{ "output", required_argument, NULL, 'o' },
		{ "raw", no_argument, NULL, 'r' },
		{ "memory-limit", required_argument, NULL, OPT_MEMORY_LIMIT },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct syscall_request q = {
		.options = { .events = OW_RECORD_SYSCALLS, .children = true },
	};
	int opt, status = EXIT_USAGE;
	bool is_command;

	while ((opt = getopt_long(argc, argv, "+e:kcd:o:rh", options, NULL)) !=
	       -1) {
		if (opt == 'h') {
			print_usage(stdout);
			return finish_output(EXIT_WELL);
		}
		if (!take_option(&q, opt, optarg))
			return EXIT_USAGE;
	}
	is_command = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
	if (take_targets(&q, argc - optind, argv + optind, is_command))
		status = run(&q);
	free(q.pids);
	alive_free(&q.alive);
	return status;
}
