// SPDX-License-Identifier: BSD-2-Clause
/* outwind kunwindd: keep the kunwind module's tables current. */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "commands.h"

#include "tablekeeper.h"

static volatile sig_atomic_t stop;

static void on_signal(int nr)
{
	(void)nr;
	stop = 1;
}

static void print_usage(FILE *to)
{
	fputs("usage: outwind kunwindd [OPTIONS] [PID...]\n"
	      "\n"
	      "Follows processes, with all that they fork and execute, and hands "
	      "the compact\n"
	      "unwind tables of what they map to the kunwind module. Without a "
	      "PID: every\n"
	      "process, for which it takes CAP_PERFMON.\n"
	      "\n"
	      "  -v, --verbose      say which tables could not be made\n"
	      "  -h, --help         this\n"
	      "\n"
	      "Exit status: 0 ended by a signal, or nothing is left to follow, 2 "
	      "nothing could\n"
	      "be done, 64 usage.\n",
	      to);
}

static void catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

/* Some processes, those that there are; or all. */
static bool begin(struct tablekeeper *k, int nr, char **pids)
{
	unsigned long pid;
	int i, well = 0;

	if (nr == 0)
		return tablekeeper_follow_all(k);
	for (i = 0; i < nr; i++) {
		if (!parse_number(pids[i], 1, INT_MAX, &pid))
			complain("'%s' is no PID", pids[i]);
		else
			well += tablekeeper_follow(k, (pid_t)pid);
	}
	return well > 0;
}

int cmd_kunwindd(int argc, char **argv)
{
	static const struct option options[] = {
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct tablekeeper k = { .dev = -1 };
	int opt;

	while ((opt = getopt_long(argc, argv, "vh", options, NULL)) != -1) {
		switch (opt) {
		case 'v': k.verbose = true; break;
		case 'h': print_usage(stdout); return finish_output(EXIT_WELL);
		default: print_usage(stderr); return EXIT_USAGE;
		}
	}
	if (!tablekeeper_open(&k))
		return EXIT_NONE;
	catch_signals();
	if (!begin(&k, argc - optind, argv + optind))
		return EXIT_NONE;
	printf("following %lu processes, %lu tables\n", k.tally.followed,
	       k.tally.made);
	if (finish_output(EXIT_WELL))
		return EXIT_NONE;
	while (!stop && !tablekeeper_is_idle(&k) && tablekeeper_wait(&k, -1))
		;
	tablekeeper_close(&k);
	return EXIT_WELL;
}
