// SPDX-License-Identifier: BSD-2-Clause
/* outwind report: a profile in another format, or a trace's stacks. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "ctfreader.h"
#include "outfile.h"
#include "profile.h"
#include "profileout.h"
#include "profiling.h"
#include "tracereport.h"

struct request {
	const char *in, *other, *path;
	const struct profile_writer *writer;
	struct profile_options options;
	struct trace_request trace;
	const char *of_traces; /* an option that is for those alone, or NULL */
	bool has_limit;        /* --memory-limit is given */
};

static void print_usage(FILE *to)
{
	fputs("usage: outwind report [OPTIONS] FILE|TRACE\n"
	      "\n"
	      "Writes a profile, which 'outwind record -f outwind' made, in "
	      "another format; or\n"
	      "prints the named stacks of a trace of LTTng's: of its folder, "
	      "or of\n"
	      "net://RELAYD/host/HOST/SESSION. With -f, they are counted.\n"
	      "\n"
	      "  -f, --format=FORMAT   table, folded, pprof, speedscope, perf, "
	      "json, html, svg\n"
	      "                        or outwind; else by OUT's suffix, or "
	      "table\n"
	      "  -o, --output=OUT      where to (stdout)\n"
	      "  -c, --compare=FILE    show what changed since that profile "
	      "(html)\n"
	      "      --icicle          outermost functions on top (html, svg)\n"
	      "      --inverted        by innermost functions first (html, "
	      "svg)\n"
	      "      --title=TEXT      of the picture\n"
	      "  -e, --event=PATTERN   of a trace: events of such names, as "
	      "'syscall_entry_*'\n"
	      "  -t, --times           of a trace: what takes time, from a "
	      "system call's entry to\n"
	      "                        its exit, from leaving a CPU to "
	      "running again\n"
	      "      --by=WHAT         of a trace, with -f: event (outermost), "
	      "process, nothing\n"
	      "      --sysroot=DIR     of a trace: where its programs' files "
	      "are\n"
	      "      --memory-limit=SIZE  " MEMORY_LIMIT_HELP "\n"
	      "  -h, --help            this\n"
	      "\n"
	      "Exit status: 0 all went well, 1 a trace is damaged, and what "
	      "came before was\n"
	      "taken, or some of it was left out, 2 it could not be read or "
	      "written, 64 usage.\n",
	      to);
}

/*
 * What profiles may take: what one takes that is recorded with the usual options, and a
 * quarter more for what is to be read.  By --memory-limit it is a quarter of that: lists
 * grow by half in vain, and formats need as much.
 */
static uint64_t most_of_profiles(const struct request *r)
{
	return r->has_limit ? ow_get_memory_limit() / 4 :
			      PROFILING_LIMIT + PROFILING_LIMIT / 4;
}

static bool load(const struct request *r, struct profile *p, const char *path,
		 size_t others)
{
	uint64_t most = most_of_profiles(r);
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	char why[100];
	int failed;

	if (!in) {
		complain("open %s: %s", path, strerror(errno));
		return false;
	}
	failed = profile_read(p, in, most > others ? most - others : 0, why,
			      sizeof(why));
	if (in != stdin)
		fclose(in);
	if (!failed)
		return true;
	complain("%s: %s", path, why);
	return false;
}

static int write_out(const struct request *r, const struct profile *p)
{
	struct outfile out;

	if (!outfile_open(&out, r->path))
		return EXIT_NONE;
	return outfile_close(&out, profileout_write(r->writer, out.f, p,
						    &r->options));
}

static int count_trace(struct request *r)
{
	struct profile p = { 0 };
	int status, written;

	r->trace.profile = &p;
	status = trace_report(&r->trace);
	written = status == EXIT_NONE ? status : write_out(r, &p);
	if (written > status)
		status = written;
	profile_deinit(&p);
	return status;
}

static int print_trace(struct request *r)
{
	struct outfile out;

	if (!outfile_open(&out, r->path))
		return EXIT_NONE;
	r->trace.out = out.f;
	return outfile_close(&out, trace_report(&r->trace));
}

static int run(struct request *r)
{
	struct profile p = { 0 }, other = { 0 };
	int status = EXIT_NONE;

	if (load(r, &p, r->in, 0) &&
	    (!r->other || load(r, &other, r->other, profile_size(&p)))) {
		r->options.other = r->other ? &other : NULL;
		status = write_out(r, &p);
	}
	profile_deinit(&p);
	profile_deinit(&other);
	return status;
}

static bool take_format(struct request *r, const char *name)
{
	char list[200];

	r->writer = profile_writer_find(name);
	if (r->writer)
		return true;
	profile_writer_list(list, sizeof(list));
	complain("no format '%s': %s", name, list);
	return false;
}

static bool settle(struct request *r)
{
	bool is_trace = ctf_is_trace(r->in);

	if (!r->writer && r->path)
		r->writer = profile_writer_of(r->path);
	if (!r->writer && !is_trace)
		r->writer = &profile_table;
	if (r->of_traces && !is_trace) {
		complain("%s is for traces, and %s is none", r->of_traces,
			 r->in);
		return false;
	}
	if (!r->options.title)
		r->options.title = r->in;
	if (r->other && r->writer != &profile_html) {
		complain("-c is for format html");
		return false;
	}
	if (r->writer && r->writer->binary && outfile_is_stdout(r->path) &&
	    isatty(STDOUT_FILENO)) {
		complain("format '%s' is not for terminals: give -o FILE",
			 r->writer->name);
		return false;
	}
	return true;
}

static bool take_grouping(struct request *r, const char *name)
{
	static const char *const names[] = {
		[TRACE_BY_EVENT] = "event",
		[TRACE_BY_PROCESS] = "process",
		[TRACE_BY_NOTHING] = "nothing",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0) {
			r->trace.by = (enum trace_grouping)i;
			r->of_traces = "--by";
			return true;
		}
	complain("--by takes event, process or nothing, not '%s'", name);
	return false;
}

/* What the options are once all are taken. */
static int act(struct request *r)
{
	if (!settle(r))
		return EXIT_USAGE;
	if (!ctf_is_trace(r->in))
		return run(r);
	r->trace.path = r->in;
	return r->writer ? count_trace(r) : print_trace(r);
}

enum {
	OPT_ICICLE = 256,
	OPT_INVERTED,
	OPT_TITLE,
	OPT_BY,
	OPT_SYSROOT
};

static const struct option long_options[] = {
	{ "format", required_argument, NULL, 'f' },
	{ "output", required_argument, NULL, 'o' },
	{ "compare", required_argument, NULL, 'c' },
	{ "icicle", no_argument, NULL, OPT_ICICLE },
	{ "inverted", no_argument, NULL, OPT_INVERTED },
	{ "title", required_argument, NULL, OPT_TITLE },
	{ "event", required_argument, NULL, 'e' },
	{ "times", no_argument, NULL, 't' },
	{ "by", required_argument, NULL, OPT_BY },
	{ "sysroot", required_argument, NULL, OPT_SYSROOT },
	{ "memory-limit", required_argument, NULL, OPT_MEMORY_LIMIT },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* False, with a complaint, if it makes no sense. */
static bool take_option(struct request *r, int opt, const char *text)
{
	switch (opt) {
	case 'f': return take_format(r, text);
	case 'o': r->path = text; return true;
	case 'c': r->other = text; return true;
	case OPT_ICICLE: r->options.icicle = true; return true;
	case OPT_INVERTED: r->options.inverted = true; return true;
	case OPT_TITLE: r->options.title = text; return true;
	case 'e':
		r->trace.events = text;
		r->of_traces = "-e";
		return true;
	case 't':
		r->trace.times = true;
		r->of_traces = "-t";
		return true;
	case OPT_MEMORY_LIMIT:
		r->has_limit = true;
		return take_memory_limit(text);
	case OPT_BY: return take_grouping(r, text);
	case OPT_SYSROOT:
		r->trace.sysroot = text;
		r->of_traces = "--sysroot";
		return true;
	}
	fputs("see outwind report --help\n", stderr);
	return false;
}

int cmd_report(int argc, char **argv)
{
	struct request r = { 0 };
	int opt;

	while ((opt = getopt_long(argc, argv, "f:o:c:e:th", long_options,
				  NULL)) != -1) {
		if (opt == 'h') {
			print_usage(stdout);
			return finish_output(EXIT_WELL);
		}
		if (!take_option(&r, opt, optarg))
			return EXIT_USAGE;
	}
	if (argc - optind != 1) {
		complain(
			"give one profile or trace; see outwind report --help");
		return EXIT_USAGE;
	}
	r.in = argv[optind];
	return act(&r);
}
