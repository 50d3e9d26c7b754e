// SPDX-License-Identifier: BSD-2-Clause
/* outwind top: the functions that take most, now. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commands.h"
#include "interrupt.h"
#include "profiling.h"
#include "recordlive.h"
#include "stackview.h"

/* What has no names by then may have them in the next view. */
static const struct profiling_limits a_view = {
	.naming = { 700000000, 700000000 },
	/* Beside busy processes that little work may take longer. */
	.placing = { 300000000, 1300000000 },
};

struct request {
	struct ow_recorder_options options;
	pid_t *pids;
	unsigned int seconds; /* between two views */
	unsigned long views;  /* 0: until interrupted */
};

static void print_usage(FILE *to)
{
	fputs("usage: outwind top [OPTIONS] [PID...]\n"
	      "\n"
	      "Shows the functions that take most CPU time, of some processes "
	      "or of all, again\n"
	      "and again until interrupted.\n"
	      "\n"
	      "  -F, --frequency=HZ  samples a second (99)\n"
	      "  -s, --seconds=N     between two views (2)\n"
	      "  -n, --views=N       end after so many\n"
	      "      --no-kernel     without functions of the kernel\n"
	      "      --memory-limit=SIZE  " MEMORY_LIMIT_HELP "\n"
	      "  -h, --help          this\n"
	      "\n"
	      "Exit status: 0 all went well, 2 nothing could be done, 64 "
	      "usage.\n",
	      to);
}

static void clear_terminal(void)
{
	const char *term = getenv("TERM");

	if (term && *term && strcmp(term, "dumb") != 0)
		fputs("\033[H\033[2J", stdout);
}

/* Bytes of the whole characters from text to eol that fit into so many columns. */
static size_t fitting(const char *text, const char *eol, size_t columns)
{
	const char *s = text;
	size_t n, width;

	while (s < eol) {
		n = ow_view_utf8_size((const unsigned char *)s);
		/* UAX #11: those that may be wide begin at U+1100, of 3 bytes. */
		width = n > 2 ? 2 : 1;
		if (width > columns)
			break;
		columns -= width;
		s += n ? n : 1;
	}
	return (size_t)(s - text);
}

/* Only as many lines and columns as the terminal has; false if it fails. */
static bool show(const char *text, size_t size)
{
	struct winsize w = { 0 };
	size_t lines = SIZE_MAX, columns = SIZE_MAX, n;
	const char *end = text + size, *eol;

	if (isatty(STDOUT_FILENO)) {
		clear_terminal();
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
		if (w.ws_row > 1)
			lines = w.ws_row - 1U;
		if (w.ws_col)
			columns = w.ws_col;
	}
	for (n = 0; text < end && n < lines; n++, text = eol + 1) {
		eol = memchr(text, '\n', (size_t)(end - text));
		if (!eol)
			break;
		fwrite(text, 1, fitting(text, eol, columns), stdout);
		putchar('\n');
	}
	return fflush(stdout) == 0 && !ferror(stdout);
}

/* What views lacked: samples, and stacks that had no names. */
struct losses {
	uint64_t crowded, unnamed;
};

static int view(struct ow_recorder *r, const struct request *req,
		struct losses *l)
{
	const struct profile_options options = { 0 };
	struct profile p = { .duration_ns = req->seconds * 1000000000ULL,
			     .is_placeless = true };
	struct ow_error err;
	char *text = NULL;
	size_t size = 0;
	FILE *to;
	struct profiling g = { .p = &p, .r = r };
	int failed = profiling_drain(&g, &a_view, &err);

	l->crowded += g.crowded;
	l->unnamed += g.unnamed;
	profiling_deinit(&g);
	if (failed) {
		complain("%s", err.msg);
		profile_deinit(&p);
		return failed;
	}
	to = open_memstream(&text, &size);
	if (to) {
		profile_table.write(to, &p, &options);
		fclose(to);
		failed = show(text, size) ? 0 : -1;
	}
	if (failed) {
		complain("write output: %s", strerror(errno));
		clearerr(stdout);
	}
	free(text);
	profile_deinit(&p);
	return failed;
}

static bool wait_for(struct ow_recorder *r, unsigned int seconds)
{
	struct ow_error err;
	unsigned int i;

	for (i = 0; i < 10 * seconds && !interrupt_came(); i++)
		if (ow_recorder_wait(r, 100, &err)) {
			complain("%s", err.msg);
			return false;
		}
	return true;
}

static void tell_losses(const struct losses *l)
{
	if (l->crowded)
		complain("%llu samples had more different stacks than could be "
			 "taken: shown without theirs",
			 (unsigned long long)l->crowded);
	if (l->unnamed)
		complain("naming took too long: %llu stacks were shown by "
			 "module and address, at least in part",
			 (unsigned long long)l->unnamed);
}

static int run(const struct request *req)
{
	struct ow_recorder *r;
	struct ow_error err;
	unsigned long n;
	struct ow_recorder_stats s;
	struct losses lost = { 0 };
	int status = EXIT_WELL;

	interrupt_catch(1);
	r = ow_recorder_open(&req->options, &err);
	if (!r || ow_recorder_start(r, &err)) {
		complain("%s", err.msg);
		ow_recorder_close(r);
		return EXIT_NONE;
	}
	for (n = 0; !interrupt_came() && (!req->views || n < req->views); n++)
		if (!wait_for(r, req->seconds) || view(r, req, &lost)) {
			status = EXIT_NONE;
			break;
		}
	recordlive_warn(r, req->options.engine);
	tell_losses(&lost);
	ow_recorder_stats(r, &s);
	if (status == EXIT_WELL && s.unrecorded)
		status = EXIT_SOME;
	ow_recorder_close(r);
	return finish_output(status);
}

static bool take_number(const char *name, const char *text, unsigned long most,
			unsigned long *ret)
{
	if (parse_number(text, 1, most, ret))
		return true;
	complain("%s %s: not a number from 1 to %lu", name, text, most);
	return false;
}

static bool take_option(struct request *r, int opt, const char *text)
{
	unsigned long n = 0;
	bool good;

	switch (opt) {
	case OPT_MEMORY_LIMIT: return take_memory_limit(text);
	case 'F':
		good = take_number("-F", text, 10000, &n);
		r->options.frequency = (unsigned int)n;
		return good;
	case 's':
		good = take_number("-s", text, 3600, &n);
		r->seconds = (unsigned int)n;
		return good;
	case 'n': return take_number("-n", text, ULONG_MAX, &r->views);
	case 'k': r->options.kernel = false; return true;
	}
	fputs("see outwind top --help\n", stderr);
	return false;
}

static bool take_pids(struct request *r, int argc, char **argv)
{
	unsigned long pid;

	r->options.everyone = argc == 0;
	if (argc == 0)
		return true;
	r->pids = calloc((size_t)argc, sizeof(*r->pids));
	for (; r->pids && argc > 0; argc--, argv++) {
		if (!parse_number(*argv, 1, INT_MAX, &pid)) {
			complain("%s: not a PID", *argv);
			return false;
		}
		r->pids[r->options.nr_pids++] = (pid_t)pid;
	}
	r->options.pids = r->pids;
	return r->pids;
}

int cmd_top(int argc, char **argv)
{
	static const struct option options[] = {
		{ "frequency", required_argument, NULL, 'F' },
		{ "seconds", required_argument, NULL, 's' },
		{ "views", required_argument, NULL, 'n' },
		{ "no-kernel", no_argument, NULL, 'k' },
		{ "memory-limit", required_argument, NULL, OPT_MEMORY_LIMIT },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct request r = {
		.options = { .events = OW_RECORD_CPU,
			     .kernel = true,
			     .asked = interrupt_wishes() },
		.seconds = 2,
	};
	int opt, status = EXIT_USAGE;

	while ((opt = getopt_long(argc, argv, "F:s:n:h", options, NULL)) !=
	       -1) {
		if (opt == 'h') {
			print_usage(stdout);
			return finish_output(EXIT_WELL);
		}
		if (!take_option(&r, opt, optarg))
			return EXIT_USAGE;
	}
	if (take_pids(&r, argc - optind, argv + optind))
		status = run(&r);
	free(r.pids);
	return status;
}
