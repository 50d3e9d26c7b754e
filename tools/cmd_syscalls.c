// SPDX-License-Identifier: BSD-2-Clause
/* outwind syscalls: each system call, and who made it. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "commands.h"
#include "interrupt.h"
#include "profiling.h"
#include "syscallcount.h"
#include "syscallline.h"

struct request {
	struct ow_recorder_options options;
	pid_t *pids;
	char **command;
	int *wanted;
	const char *path;
	bool stacks, summary;
};

/* What is under way. */
struct tracing {
	const struct request *request;
	struct ow_recorder *recorder;
	FILE *out;
	struct syscallcount counts;
};

static void print_usage(FILE *to)
{
	fputs("usage: outwind syscalls [OPTIONS] PID...|-- COMMAND\n"
	      "\n"
	      "Prints each system call of processes, their threads and "
	      "children, with the\n"
	      "function that made it.\n"
	      "\n"
	      "  -e SET,...         only these system calls\n"
	      "  -k, --stacks       the whole stack of each\n"
	      "  -c, --summary      only counts and times, by call site\n"
	      "  -o, --output=FILE  where to (stderr, or stdout with -c)\n"
	      "  -r, --raw          names as the object has them\n"
	      "  -h, --help         this\n"
	      "\n"
	      "Exit status: 0 all went well, 1 some calls were missed, 2 "
	      "nothing could be done,\n"
	      "64 usage.\n",
	      to);
}

static void count(struct tracing *t, const struct syscall_begun *b,
		  const struct ow_recorded_syscall *end)
{
	struct ow_name site = { 0 };
	bool failed = end && end->result < 0 && end->result > -4096;
	uint64_t ns = end ? end->time - b->call.time : 0;
	const char *where = NULL;

	if (b->call.stack && b->call.stack->nr) {
		syscallline_site(t->recorder, b->call.stack, &site);
		where = site.function ? site.function : site.module;
	}
	syscallcount_add(&t->counts, b->call.nr, where, ns, failed);
}

static void finish(struct tracing *t, const struct syscall_begun *b,
		   const struct ow_recorded_syscall *end)
{
	if (t->request->summary)
		count(t, b, end);
	else
		syscallline_print(t->out, t->recorder, b, end,
				  t->request->stacks);
}

static void take(void *arg, const struct ow_recorded_syscall *s)
{
	struct tracing *t = arg;
	struct syscall_begun *b = syscallcount_begun(&t->counts, s->tid);

	if (!b)
		return;
	if (b->is_open && (!s->is_end || s->nr == b->call.nr)) {
		finish(t, b, s->is_end ? s : NULL);
		b->is_open = false;
	}
	if (s->is_end)
		return;
	b->call = *s;
	snprintf(b->text, sizeof(b->text), "%s", s->text);
	b->call.text = b->text;
	b->is_open = true;
}

static bool goes_on(const struct request *q, struct command *c)
{
	size_t i;
	char path[32];
	FILE *there;

	if (interrupt_came())
		return false;
	if (c->pid)
		return !command_has_ended(c);
	for (i = 0; i < q->options.nr_pids; i++) {
		snprintf(path, sizeof(path), "/proc/%d/stat", q->pids[i]);
		there = fopen(path, "r");
		if (there) {
			fclose(there);
			return true;
		}
	}
	return false;
}

static int trace(struct tracing *t, struct command *c)
{
	const struct request *q = t->request;
	struct ow_recorder_stats s;
	struct ow_error err;
	size_t i;
	int failed = 0;

	if (c->pid)
		failed = ow_recorder_add(t->recorder, c->pid, &err);
	if (!failed)
		failed = ow_recorder_start(t->recorder, &err);
	if (!failed && c->pid && !command_go(c, q->command[0]))
		return EXIT_NONE;
	while (!failed && goes_on(q, c))
		failed = ow_recorder_wait(t->recorder, 20, &err);
	if (!failed)
		failed = ow_recorder_wait(t->recorder, 20, &err);
	ow_recorder_stop(t->recorder);
	if (failed) {
		complain("%s", err.msg);
		return EXIT_NONE;
	}
	for (i = 0; i < t->counts.nr_begun; i++)
		if (t->counts.begun[i].is_open)
			finish(t, &t->counts.begun[i], NULL);
	if (q->summary)
		syscallcount_print(&t->counts, t->out);
	ow_recorder_stats(t->recorder, &s);
	if (s.missed || s.lost)
		complain("%llu calls missed, as tables were still being "
			 "loaded, and %llu lost",
			 (unsigned long long)s.missed,
			 (unsigned long long)s.lost);
	return s.missed || s.lost ? EXIT_SOME : EXIT_WELL;
}

static int run(struct request *q)
{
	struct tracing t = { .request = q };
	struct command c = { 0 };
	struct ow_error err;
	int status = EXIT_NONE;

	t.out = q->path ? fopen(q->path, "w") : q->summary ? stdout : stderr;
	if (!t.out) {
		complain("open %s: %s", q->path, strerror(errno));
		return EXIT_NONE;
	}
	interrupt_catch();
	q->options.on_syscall = take;
	q->options.arg = &t;
	if (!q->command || command_prepare(&c, q->command)) {
		t.recorder = ow_recorder_open(&q->options, &err);
		if (t.recorder)
			status = trace(&t, &c);
		else
			complain("%s", err.msg);
	}
	syscallcount_deinit(&t.counts);
	ow_recorder_close(t.recorder);
	command_finish(&c);
	if (q->path && fclose(t.out)) {
		complain("write %s: %s", q->path, strerror(errno));
		status = EXIT_NONE;
	}
	return finish_output(status);
}

static bool take_set(struct request *q, char *text)
{
	char *name, *next = NULL;
	int *more, nr;

	for (name = strtok_r(text, ",", &next); name;
	     name = strtok_r(NULL, ",", &next)) {
		nr = ow_syscall_number(name);
		if (nr < 0) {
			complain("no system call '%s'", name);
			return false;
		}
		more = realloc(q->wanted,
			       (q->options.nr_syscalls + 1) * sizeof(*more));
		if (!more)
			return false;
		q->wanted = more;
		q->wanted[q->options.nr_syscalls++] = nr;
	}
	q->options.syscalls = q->wanted;
	return true;
}

static bool take_targets(struct request *q, int argc, char **argv,
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
		q->pids[q->options.nr_pids++] = (pid_t)pid;
	}
	return q->pids;
}

static bool take_option(struct request *q, int opt, char *text)
{
	switch (opt) {
	case 'e': return take_set(q, text);
	case 'k': q->stacks = true; return true;
	case 'c': q->summary = true; return true;
	case 'o': q->path = text; return true;
	case 'r': q->options.naming |= OW_SYMBOLIZER_RAW; return true;
	}
	fputs("see outwind syscalls --help\n", stderr);
	return false;
}

int cmd_syscalls(int argc, char **argv)
{
	static const struct option options[] = {
		{ "stacks", no_argument, NULL, 'k' },
		{ "summary", no_argument, NULL, 'c' },
		{ "output", required_argument, NULL, 'o' },
		{ "raw", no_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct request q = {
		.options = { .events = OW_RECORD_SYSCALLS, .children = true },
	};
	int opt, status = EXIT_USAGE;
	bool is_command;

	while ((opt = getopt_long(argc, argv, "+e:kco:rh", options, NULL)) !=
	       -1) {
		if (opt == 'h') {
			print_usage(stdout);
			return finish_output(EXIT_WELL);
		}
		if (!take_option(&q, opt, optarg)) {
			free(q.wanted);
			return EXIT_USAGE;
		}
	}
	is_command = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
	if (take_targets(&q, argc - optind, argv + optind, is_command))
		status = run(&q);
	free(q.wanted);
	free(q.pids);
	return status;
}
