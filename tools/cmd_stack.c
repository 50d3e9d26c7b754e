// SPDX-License-Identifier: BSD-2-Clause
/* outwind stack: the stacks of a process or of a core file. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "stackview.h"

#define DEFAULT_FRAMES 1024
#define MOST_FRAMES    1000000
#define MOST_TIDS      100000

enum {
	OPT_JSON = 256,
	OPT_STACK_SIZE,
	OPT_NO_TABLES,
	OPT_DEBUGINFOD,
	OPT_CORE,
	OPT_STATS,
};

struct request {
	const char *target; /* PID[/THREADS], or a core file */
	const char *exe;
	bool is_core;
	pid_t pid;
	pid_t *tids; /* only these; or NULL */
	size_t nr_tids;
	const char *states; /* only threads in one of these states; or NULL */
	bool one_thread;
	size_t max_frames;
	bool limited; /* by the user, who then knows that stacks are cut */
	bool quiet, stats, list_modules;
	unsigned int naming;  /* enum ow_symbolizer_flags */
	unsigned int showing; /* enum ow_view_flags */
	const struct ow_view_writer *writer;
	struct ow_capture_options options;
};

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "core", required_argument, NULL, OPT_CORE },
	{ "executable", required_argument, NULL, 'e' },
	{ "build-id", no_argument, NULL, 'b' },
	{ "inlines", no_argument, NULL, 'i' },
	{ "list-modules", no_argument, NULL, 'l' },
	{ "module", no_argument, NULL, 'm' },
	{ "source", no_argument, NULL, 's' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "raw", no_argument, NULL, 'r' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "format", required_argument, NULL, 'f' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "stack-size", required_argument, NULL, OPT_STACK_SIZE },
	{ "no-tables", no_argument, NULL, OPT_NO_TABLES },
	{ "debuginfod", no_argument, NULL, OPT_DEBUGINFOD },
	{ "stats", no_argument, NULL, OPT_STATS },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void print_usage(FILE *to)
{
	fputs("usage: outwind stack [OPTIONS] TARGET\n"
	      "\n"
	      "TARGET is PID, PID/TID[,TID...], PID/STATES (such as PID/RD) or "
	      "a core file.\n"
	      "\n"
	      "  -1                 only the thread whose id is PID\n"
	      "  -b, --build-id     build-ids and addresses within objects\n"
	      "  -e, --executable=FILE  the program, if a core doesn't tell\n"
	      "  -f, --format=FORMAT    text (default), json or folded\n"
	      "      --json         the same as -f json\n"
	      "  -i, --inlines      inlined functions too\n"
	      "  -l, --list-modules what is mapped where, before the stacks\n"
	      "  -m, --module       the object of each frame\n"
	      "  -n NUMBER          frames of a stack at most (1024; 0: all)\n"
	      "  -q, --quiet        addresses only\n"
	      "  -r, --raw          names as the object has them\n"
	      "  -s, --source       source file and line\n"
	      "  -v, --verbose      all of the above, and how each frame was "
	      "found\n"
	      "  -p, --pid=PID      the same as TARGET\n"
	      "      --core=FILE    the same as TARGET\n"
	      "      --stack-size=BYTES  copied of a stack at most\n"
	      "      --no-tables    don't use compact tables from the cache\n"
	      "      --debuginfod   ask debuginfod servers for symbols\n"
	      "      --stats        how long the target was stopped, on "
	      "stderr\n"
	      "\n"
	      "Exit status: 0 all stacks are complete, 1 some frames or "
	      "threads failed,\n"
	      "2 nothing could be done, 64 usage.\n",
	      to);
}

static bool parse_option(struct request *r, int opt)
{
	unsigned long n;

	switch (opt) {
	case 'p':
	case OPT_CORE: r->target = optarg; return true;
	case 'e': r->exe = optarg; return true;
	case '1': r->one_thread = true; return true;
	case 'b': r->showing |= OW_VIEW_BUILD_IDS; return true;
	case 'i': r->naming |= OW_SYMBOLIZER_INLINES; return true;
	case 'l': r->list_modules = true; return true;
	case 'm': r->showing |= OW_VIEW_MODULES; return true;
	case 's':
		r->naming |= OW_SYMBOLIZER_LINES;
		r->showing |= OW_VIEW_LINES;
		return true;
	case 'v':
		r->naming |= OW_SYMBOLIZER_LINES | OW_SYMBOLIZER_INLINES;
		r->showing |= OW_VIEW_LINES | OW_VIEW_MODULES |
			      OW_VIEW_BUILD_IDS | OW_VIEW_HOW;
		return true;
	case 'q': r->quiet = true; return true;
	case 'r': r->naming |= OW_SYMBOLIZER_RAW; return true;
	case OPT_NO_TABLES: r->options.use_tables = false; return true;
	case OPT_DEBUGINFOD: r->naming |= OW_SYMBOLIZER_DEBUGINFOD; return true;
	case OPT_STATS: r->stats = true; return true;
	case OPT_JSON: r->writer = &ow_json_writer; return true;
	case 'f':
		r->writer = ow_view_writer_find(optarg);
		if (!r->writer)
			complain("no format '%s': text, json or folded",
				 optarg);
		return r->writer != NULL;
	case 'n':
		if (!parse_number(optarg, 0, MOST_FRAMES, &n)) {
			complain("-n %s: not a number of frames", optarg);
			return false;
		}
		r->limited = n != 0;
		r->max_frames = n ? n : MOST_FRAMES;
		return true;
	case OPT_STACK_SIZE:
		if (!parse_number(optarg, 1, 1UL << 40, &n)) {
			complain("--stack-size %s: not a number of bytes",
				 optarg);
			return false;
		}
		r->options.stack_size = n;
		return true;
	}
	return false;
}

/* "TID,TID,..." behind the slash. */
static bool parse_tids(struct request *r, char *text)
{
	unsigned long tid;
	char *part;

	for (part = strtok(text, ","); part; part = strtok(NULL, ",")) {
		if (!parse_number(part, 1, INT32_MAX, &tid) ||
		    r->nr_tids == MOST_TIDS)
			return false;
		r->tids = realloc(r->tids, (r->nr_tids + 1) * sizeof(*r->tids));
		if (!r->tids)
			return false;
		r->tids[r->nr_tids++] = (pid_t)tid;
	}
	return r->nr_tids > 0;
}

static bool parse_target(struct request *r)
{
	char *text = strdup(r->target), *list = text ? strchr(text, '/') : NULL;
	unsigned long pid;
	bool good = true;

	if (list)
		*list++ = '\0';
	r->is_core = !text || !parse_number(text, 1, INT32_MAX, &pid);
	if (!r->is_core) {
		r->pid = (pid_t)pid;
		if (list && strspn(list, "RSDTtZXI") == strlen(list) && *list)
			r->states = strchr(r->target, '/') + 1;
		else if (list)
			good = parse_tids(r, list);
		if (!good)
			complain("%s: not a list of threads", r->target);
	}
	free(text);
	return good;
}

static bool parse_arguments(struct request *r, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "1be:f:hilmn:p:qrsv",
				  long_options, NULL)) != -1) {
		if (opt == 'h') {
			print_usage(stdout);
			exit(finish_output(EXIT_WELL));
		}
		if (!parse_option(r, opt))
			return false;
	}
	if (optind < argc)
		r->target = argv[optind++];
	if (!r->target || optind < argc) {
		complain(r->target ? "one target at a time" :
				     "no target: give a PID or a core file");
		return false;
	}
	if (!parse_target(r))
		return false;
	if (r->one_thread && !r->tids) {
		r->tids = malloc(sizeof(*r->tids));
		if (!r->tids)
			return false;
		r->tids[0] = r->pid;
		r->nr_tids = 1;
	}
	r->options.tids = r->tids;
	r->options.nr_tids = r->nr_tids;
	return true;
}

/* Room for one stack with its names. */
struct scratch {
	struct ow_frame *frames;
	struct ow_view_frame *views;
	struct ow_name *names; /* of all frames, one after another */
	size_t nr_names, room;
};

static bool name_frames(struct scratch *s, struct ow_symbolizer *symbolizer,
			size_t nr)
{
	struct ow_name *more;
	size_t i, used = 0;

	for (i = 0; i < nr; i++) {
		if (s->room - used < OW_VIEW_NAMES) {
			s->room = 2 * s->room + OW_VIEW_NAMES;
			more = realloc(s->names, s->room * sizeof(*more));
			if (!more)
				return false;
			s->names = more;
		}
		s->views[i].frame = s->frames[i];
		s->views[i].nr_names =
			symbolizer ?
				ow_symbolizer_name(symbolizer, &s->frames[i],
						   s->names + used,
						   OW_VIEW_NAMES) :
				0;
		used += s->views[i].nr_names;
	}
	for (used = 0, i = 0; i < nr; used += s->views[i++].nr_names)
		s->views[i].names = s->names + used;
	return true;
}

/* Print one thread; EXIT_SOME if it is not whole. */
static int print_thread(const struct request *r, struct ow_capture *c, size_t i,
			struct ow_symbolizer *symbolizer, struct scratch *s,
			bool first)
{
	struct ow_error why;
	struct ow_view view = {
		.pid = ow_capture_pid(c),
		.program = ow_capture_program(c),
		.thread = ow_capture_thread(c, i),
		.frames = s->views,
		.why = &why,
	};

	if (view.thread->captured)
		view.nr = ow_capture_walk(c, i, s->frames, r->max_frames,
					  &view.end, &why);
	if (!name_frames(s, symbolizer, view.nr)) {
		complain("out of memory");
		return EXIT_SOME;
	}
	r->writer->thread(stdout, &view, first, r->showing);
	if (!view.thread->captured)
		return EXIT_SOME;
	if (view.end == OW_END_OUTERMOST)
		return EXIT_WELL;
	return view.end == OW_END_LIMIT && r->limited ? EXIT_WELL : EXIT_SOME;
}

static void print_modules(struct ow_capture *c)
{
	struct ow_module_info m;
	size_t i;

	for (i = 0; i < ow_capture_nr_modules(c); i++) {
		if (ow_capture_module(c, i, &m, NULL))
			continue;
		printf("%#llx-%#llx ", (unsigned long long)m.start,
		       (unsigned long long)m.end);
		ow_view_put_clean(stdout, m.path);
		printf("\n  [%s]\n", m.build_id);
	}
}

static int print_threads(const struct request *r, struct ow_capture *c,
			 struct ow_symbolizer *symbolizer, struct scratch *s)
{
	const struct ow_thread *t;
	size_t i, printed = 0;
	int status = EXIT_WELL;

	if (r->list_modules && r->writer == &ow_text_writer)
		print_modules(c);
	r->writer->begin(stdout, ow_capture_pid(c), ow_capture_program(c));
	for (i = 0; i < ow_capture_nr_threads(c); i++) {
		t = ow_capture_thread(c, i);
		if (r->states && !strchr(r->states, t->state))
			continue;
		status |= print_thread(r, c, i, symbolizer, s, printed++ == 0);
	}
	r->writer->end(stdout);
	return status;
}

static void print_stats(const struct ow_capture *c)
{
	struct ow_capture_stats st;

	ow_capture_stats(c, &st);
	fprintf(stderr,
		"%u threads stopped for %llu.%03llu ms, %llu KiB of stacks "
		"copied\n",
		st.stopped, (unsigned long long)st.freeze_ns / 1000000,
		(unsigned long long)st.freeze_ns / 1000 % 1000,
		(unsigned long long)(st.bytes_copied + 1023) / 1024);
}

static int print_stacks(const struct request *r, struct ow_capture *c)
{
	struct ow_symbolizer *symbolizer = NULL;
	struct ow_error err = { 0 };
	struct scratch s = { 0 };
	int status = EXIT_NONE;

	if (!r->quiet)
		symbolizer = ow_symbolizer_create(c, r->naming, &err);
	s.frames = calloc(r->max_frames, sizeof(*s.frames));
	s.views = calloc(r->max_frames, sizeof(*s.views));
	if (!s.frames || !s.views || (!r->quiet && !symbolizer))
		complain("%s", err.code ? err.msg : "out of memory");
	else
		status = print_threads(r, c, symbolizer, &s);
	ow_symbolizer_destroy(symbolizer);
	free(s.frames);
	free(s.views);
	free(s.names);
	return status;
}

int cmd_stack(int argc, char **argv)
{
	struct request r = {
		.max_frames = DEFAULT_FRAMES,
		.writer = &ow_text_writer,
		.options.use_tables = true,
	};
	struct ow_capture *c;
	struct ow_error err;
	int status;

	if (!parse_arguments(&r, argc, argv)) {
		free(r.tids);
		fputs("see outwind stack --help\n", stderr);
		return EXIT_USAGE;
	}
	c = r.is_core ? ow_capture_core(r.target, r.exe, &r.options, &err) :
			ow_capture_process(r.pid, &r.options, &err);
	if (c) {
		status = print_stacks(&r, c);
		if (r.stats)
			print_stats(c);
		ow_capture_destroy(c);
	} else {
		complain("%s", err.msg);
		status = EXIT_NONE;
	}
	free(r.tids);
	return finish_output(status);
}
