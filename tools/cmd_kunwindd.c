// SPDX-License-Identifier: BSD-2-Clause
/* outwind kunwindd: keep the kunwind module's tables current. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <outwind/kunwind.h>

#include "commands.h"

struct daemon {
	int dev;
	bool verbose, all;
	struct ow_kunwind_tally tally;
};

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

static void say(void *arg, const char *line)
{
	const struct daemon *d = arg;

	if (d->verbose)
		complain("%s", line);
}

/* Do what is waiting. */
static int serve(struct daemon *d)
{
	struct ow_error err;

	if (ow_kunwind_serve(d->dev, &d->tally, say, d, &err) >= 0)
		return 0;
	complain("%s", err.msg);
	return -1;
}

static int follow(struct daemon *d, unsigned long pid, bool must)
{
	struct ow_error err;

	if (ow_kunwind_follow_only(d->dev, (pid_t)pid,
				   d->all ? 0 : OW_KUNWIND_INHERIT, &err)) {
		if (must || d->verbose)
			complain("%s", err.msg);
		return -1;
	}
	return serve(d);
}

/* Those that were there before; a kernel's thread can't be followed. */
static void follow_present(struct daemon *d)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	unsigned long pid;

	while (proc && (e = readdir(proc)))
		if (parse_number(e->d_name, 1, INT_MAX, &pid))
			follow(d, pid, false);
	if (proc)
		closedir(proc);
}

static int follow_all(struct daemon *d)
{
	struct ow_error err;

	d->all = true;
	if (ow_kunwind_follow_only(d->dev, 0, OW_KUNWIND_ALL, &err)) {
		complain("%s", err.msg);
		return -1;
	}
	follow_present(d);
	return 0;
}

static bool nothing_left(const struct daemon *d)
{
	return !d->all && d->tally.exited >= d->tally.followed;
}

static void run(struct daemon *d)
{
	struct pollfd p = { .fd = d->dev, .events = POLLIN };
	unsigned long lost = 0;

	while (!stop && !nothing_left(d)) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return;
		if (serve(d))
			return;
		/* What went by: look at all of them again. */
		if (d->all && d->tally.lost != lost)
			follow_present(d);
		lost = d->tally.lost;
	}
}

static void catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

static int begin(struct daemon *d, int nr, char **pids)
{
	unsigned long pid;
	int i, well = 0;

	if (nr == 0)
		return follow_all(d);
	for (i = 0; i < nr; i++) {
		if (!parse_number(pids[i], 1, INT_MAX, &pid))
			complain("'%s' is no PID", pids[i]);
		else
			well += follow(d, pid, true) == 0;
	}
	return well ? 0 : -1;
}

int cmd_kunwindd(int argc, char **argv)
{
	static const struct option options[] = {
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct daemon d = { .dev = -1 };
	struct ow_error err;
	int opt;

	while ((opt = getopt_long(argc, argv, "vh", options, NULL)) != -1) {
		switch (opt) {
		case 'v': d.verbose = true; break;
		case 'h': print_usage(stdout); return finish_output(EXIT_WELL);
		default: print_usage(stderr); return EXIT_USAGE;
		}
	}
	d.dev = ow_kunwind_open(&err);
	if (d.dev < 0) {
		complain("%s", err.msg);
		return EXIT_NONE;
	}
	catch_signals();
	if (begin(&d, argc - optind, argv + optind))
		return EXIT_NONE;
	printf("following %lu processes, %lu tables\n", d.tally.followed,
	       d.tally.made);
	if (finish_output(EXIT_WELL))
		return EXIT_NONE;
	run(&d);
	close(d.dev);
	return EXIT_WELL;
}
