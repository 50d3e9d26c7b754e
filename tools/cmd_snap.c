// SPDX-License-Identifier: BSD-2-Clause
/* outwind snap: what the stacks of a process need, in a file for later. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"

#define MOST_TIDS 100000
#define MOST_MS   1000000000

enum {
	OPT_REDACT = 256,
	OPT_STACK_SIZE,
	OPT_READ_TIMEOUT,
};

struct request {
	const char *path;
	char default_path[32];
	pid_t pid;
	pid_t *tids;
	unsigned int saving; /* enum ow_save_flags */
	struct ow_capture_options options;
};

static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "redact", no_argument, NULL, OPT_REDACT },
	{ "stack-size", required_argument, NULL, OPT_STACK_SIZE },
	{ "memory-limit", required_argument, NULL, OPT_MEMORY_LIMIT },
	{ "read-timeout", required_argument, NULL, OPT_READ_TIMEOUT },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void print_usage(FILE *to)
{
	fputs("usage: outwind snap [OPTIONS] PID[/TID,TID...]\n"
	      "\n"
	      "Writes what the stacks of a process need to a file, for "
	      "'outwind stack FILE',\n"
	      "here or elsewhere.\n"
	      "\n"
	      "  -o, --output=FILE  where to (outwind-PID.snap; -: stdout)\n"
	      "      --redact       only what the stacks are found by\n"
	      "      --stack-size=BYTES  copied of a stack at most\n"
	      "      --memory-limit=SIZE  " MEMORY_LIMIT_HELP "\n"
	      "      --read-timeout=MS  for memory that has to be served "
	      "(1000)\n"
	      "  -h, --help         this\n"
	      "\n"
	      "Exit status: 0 all threads are in it, 1 some aren't, 2 nothing "
	      "was written,\n"
	      "64 usage.\n",
	      to);
}

static bool parse_option(struct request *r, int opt)
{
	unsigned long n;

	switch (opt) {
	case 'o': r->path = optarg; return true;
	case OPT_MEMORY_LIMIT: return take_memory_limit(optarg);
	case OPT_REDACT: r->saving |= OW_SAVE_REDACT; return true;
	case OPT_STACK_SIZE:
		if (!parse_number(optarg, 1, 1UL << 40, &n)) {
			complain("--stack-size %s: not a number of bytes",
				 optarg);
			return false;
		}
		r->options.stack_size = n;
		return true;
	case OPT_READ_TIMEOUT:
		if (!parse_number(optarg, 1, MOST_MS, &n)) {
			complain("--read-timeout %s: not a number of "
				 "milliseconds",
				 optarg);
			return false;
		}
		r->options.read_timeout_ms = (unsigned int)n;
		return true;
	}
	return false;
}

/* "TID,TID,..." behind the slash. */
static bool parse_tids(struct request *r, char *text)
{
	size_t nr = 0, room = strlen(text) / 2 + 1;
	unsigned long tid;
	char *part;

	if (room > MOST_TIDS)
		return false;
	r->tids = calloc(room, sizeof(*r->tids));
	for (part = strtok(text, ","); r->tids && part;
	     part = strtok(NULL, ",")) {
		if (!parse_number(part, 1, INT32_MAX, &tid))
			return false;
		r->tids[nr++] = (pid_t)tid;
	}
	r->options.tids = r->tids;
	r->options.nr_tids = nr;
	return nr > 0;
}

static bool parse_target(struct request *r, char *text)
{
	char *list = strchr(text, '/');
	unsigned long pid;

	if (list)
		*list++ = '\0';
	if (!parse_number(text, 1, INT32_MAX, &pid)) {
		complain("%s: not a PID", text);
		return false;
	}
	if (list && !parse_tids(r, list)) {
		complain("%s: not a list of threads", list);
		return false;
	}
	r->pid = (pid_t)pid;
	snprintf(r->default_path, sizeof(r->default_path), "outwind-%d.snap",
		 r->pid);
	if (!r->path)
		r->path = r->default_path;
	return true;
}

static bool parse_arguments(struct request *r, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "ho:", long_options, NULL)) !=
	       -1) {
		if (opt == 'h') {
			print_usage(stdout);
			exit(finish_output(EXIT_WELL));
		}
		if (!parse_option(r, opt))
			return false;
	}
	if (argc - optind != 1) {
		complain(optind < argc ? "one target at a time" :
					 "no target: give a PID");
		return false;
	}
	return parse_target(r, argv[optind]);
}

/* What has been written, in one line. */
static void say_summary(const struct request *r, const struct ow_capture *c,
			size_t captured)
{
	bool is_stdout = strcmp(r->path, "-") == 0;
	struct ow_capture_stats st;
	struct stat file = { 0 };

	ow_capture_stats(c, &st);
	fprintf(stderr, "%s: %zu threads, %llu KiB of stacks%s",
		is_stdout ? "stdout" : r->path, captured,
		(unsigned long long)(st.bytes_copied + 1023) / 1024,
		r->saving & OW_SAVE_REDACT ? " redacted" : "");
	if (!is_stdout && stat(r->path, &file) == 0)
		fprintf(stderr, ", %llu KiB written",
			((unsigned long long)file.st_size + 1023) / 1024);
	fprintf(stderr, ", stopped for %llu.%03llu ms\n",
		(unsigned long long)st.freeze_ns / 1000000,
		(unsigned long long)st.freeze_ns / 1000 % 1000);
}

static int save(const struct request *r, struct ow_capture *c)
{
	bool is_stdout = strcmp(r->path, "-") == 0;
	const struct ow_thread *t;
	size_t i, captured = 0, lacking = 0;
	struct ow_error err;

	if (is_stdout ? ow_capture_save_fd(c, STDOUT_FILENO, "stdout",
					   r->saving, &err) :
			ow_capture_save(c, r->path, r->saving, &err)) {
		complain("%s", err.msg);
		return EXIT_NONE;
	}
	for (i = 0; i < ow_capture_nr_threads(c); i++) {
		t = ow_capture_thread(c, i);
		captured += t->captured;
		if (t->captured || t->why.code == OW_CODE_NO_STACK)
			continue;
		lacking++;
		complain("thread %d: %s", t->tid, t->why.msg);
	}
	say_summary(r, c, captured);
	return lacking == 0 ? EXIT_WELL : EXIT_SOME;
}

static int run(const struct request *r)
{
	struct ow_capture *c;
	struct ow_error err;
	int status;

	if (strcmp(r->path, "-") == 0 && isatty(STDOUT_FILENO)) {
		complain("a snapshot is nothing for a terminal: use -o FILE");
		return EXIT_USAGE;
	}
	c = ow_capture_process(r->pid, &r->options, &err);
	if (!c) {
		complain("%s", err.msg);
		return EXIT_NONE;
	}
	if (ow_capture_warning(c))
		complain("%d: %s", r->pid, ow_capture_warning(c));
	status = save(r, c);
	ow_capture_destroy(c);
	return status;
}

int cmd_snap(int argc, char **argv)
{
	struct request r = {
		.options.extras = OW_EXTRA_SYSCALL | OW_EXTRA_WCHAN |
				  OW_EXTRA_KERNEL_STACK,
	};
	int status = EXIT_USAGE;

	if (parse_arguments(&r, argc, argv))
		status = run(&r);
	else
		fputs("see outwind snap --help\n", stderr);
	free(r.tids);
	return status;
}
