// SPDX-License-Identifier: BSD-2-Clause
/* outwind kunwindd: keep the kunwind module's tables current. */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "commands.h"

#include "tablekeeper.h"

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

/*
 * From now on SIGINT and SIGTERM are read, so that one which comes just before
 * something is waited for ends that, too.  -1, with a complaint, if that fails.
 */
static int take_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		complain("signalfd: %m");
	return fd;
}

static bool signal_came(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) > 0;
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
	struct tablekeeper k = { .dev = -1, .until = -1 };
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
	k.until = take_signals();
	if (k.until < 0)
		return EXIT_NONE;
	if (!begin(&k, argc - optind, argv + optind))
		return EXIT_NONE;
	printf("following %lu processes, %lu tables\n", k.tally.followed,
	       k.tally.made);
	if (finish_output(EXIT_WELL))
		return EXIT_NONE;
	while (!tablekeeper_is_idle(&k) && tablekeeper_wait(&k) &&
	       !signal_came(k.until))
		;
	close(k.until);
	tablekeeper_close(&k);
	return EXIT_WELL;
}
