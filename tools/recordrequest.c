// SPDX-License-Identifier: BSD-2-Clause
#include "recordrequest.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "outfile.h"
#include "sampler.h"

#define DEFAULT_HZ     99
#define DEFAULT_FRAMES 1024
#define MOST_FRAMES    1000000

enum {
	OPT_SAMPLES = 256,
	OPT_UNWIND,
	OPT_BACKEND,
	OPT_KALLSYMS,
	OPT_NO_PAUSE,
	OPT_STATS,
	OPT_STACK_SIZE,
	OPT_FRAMES,
	OPT_OFF_CPU,
	OPT_FAULTS,
	OPT_ENGINE,
	OPT_NO_KERNEL,
	OPT_THREADS,
	OPT_MEMORY,
	OPT_PROFILE_MEMORY,
};

static const struct option long_options[] = {
	{ "frequency", required_argument, NULL, 'F' },
	{ "duration", required_argument, NULL, 'd' },
	{ "samples", required_argument, NULL, OPT_SAMPLES },
	{ "format", required_argument, NULL, 'f' },
	{ "output", required_argument, NULL, 'o' },
	{ "image", required_argument, NULL, 'e' },
	{ "kallsyms", required_argument, NULL, OPT_KALLSYMS },
	{ "unwind", required_argument, NULL, OPT_UNWIND },
	{ "backend", required_argument, NULL, OPT_BACKEND },
	{ "no-pause", no_argument, NULL, OPT_NO_PAUSE },
	{ "stack-size", required_argument, NULL, OPT_STACK_SIZE },
	{ "max-frames", required_argument, NULL, OPT_FRAMES },
	{ "raw", no_argument, NULL, 'r' },
	{ "stats", no_argument, NULL, OPT_STATS },
	{ "pid", required_argument, NULL, 'p' },
	{ "all", no_argument, NULL, 'a' },
	{ "inlines", no_argument, NULL, 'i' },
	{ "off-cpu", no_argument, NULL, OPT_OFF_CPU },
	{ "faults", no_argument, NULL, OPT_FAULTS },
	{ "engine", required_argument, NULL, OPT_ENGINE },
	{ "no-kernel", no_argument, NULL, OPT_NO_KERNEL },
	{ "per-thread", no_argument, NULL, OPT_THREADS },
	{ "table-memory", required_argument, NULL, OPT_MEMORY },
	{ "profile-memory", required_argument, NULL, OPT_PROFILE_MEMORY },
	{ "memory-limit", required_argument, NULL, OPT_MEMORY_LIMIT },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void print_usage(void)
{
	fputs("usage: outwind record [OPTIONS] PID...|-a|-- COMMAND|xen:DOMAIN\n"
	      "\n"
	      "Samples the stacks of processes, of a command, of the whole "
	      "machine, or of a\n"
	      "Xen guest's vCPUs, until interrupted.\n"
	      "\n"
	      "  -p, --pid=PID,...     these processes and their threads\n"
	      "  -a, --all             all processes\n"
	      "  -F, --frequency=HZ    samples a second (99), up to 10000\n"
	      "  -d, --duration=SECS   for so long\n"
	      "  -f, --format=FORMAT   folded, pprof, speedscope, perf, json, "
	      "html, svg,\n"
	      "                        table, or outwind for outwind report; "
	      "else by FILE's\n"
	      "                        suffix; of a guest text and uniprof, "
	      "too\n"
	      "  -o, --output=FILE     where to (stdout)\n"
	      "  -i, --inlines         inlined functions, too\n"
	      "  -r, --raw             names as the object has them\n"
	      "      --off-cpu         where threads wait, and how long\n"
	      "      --faults          where page faults come from\n"
	      "      --no-kernel       without frames of the kernel\n"
	      "      --per-thread      tell threads of one name apart\n"
	      "      --engine=ENGINE   bpf; perf or ptrace, which copy stacks; or "
	      "kunwind, by\n"
	      "                        its module\n"
	      "      --table-memory=MIB  of tables in the kernel (256)\n"
	      "      --profile-memory=MIB  of different stacks (256)\n"
	      "      --max-frames=N    of a stack (1024)\n"
	      "      --stats           costs and counts, on stderr\n"
	      "      --memory-limit=SIZE  " MEMORY_LIMIT_HELP "\n"
	      "  -h, --help            this\n"
	      "\n"
	      "Of a guest:\n"
	      "      --samples=N       so many\n"
	      "  -e, --image=ELF[@BIAS]  what the guest runs, and where\n"
	      "      --kallsyms=FILE   names, as nm -n prints, too\n"
	      "      --unwind=HOW      by cfi, fp or both (fp without an "
	      "image)\n"
	      "      --backend=NAME    libxencall or libxc\n"
	      "      --no-pause        don't pause the guest; mark what is "
	      "uncertain\n"
	      "      --stack-size=BYTES  copied of a stack at most (1 MiB; of "
	      "engine perf\n"
	      "                        32 KiB)\n"
	      "\n"
	      "Exit status: 0 all went well, 1 the guest ended or could not be "
	      "sampled any\n"
	      "more, or some was left out, 2 nothing could be done, 64 "
	      "usage.\n",
	      stdout);
}

/* A guest's samples can be written one by one, too. */
static bool take_format(struct record_request *r, const char *text)
{
	static const struct ow_view_writer *const writers[] = {
		&ow_text_writer, &ow_json_writer, &ow_uniprof_writer
	};
	char list[200];
	size_t i;

	r->writer = NULL;
	r->profile_writer = profile_writer_find(text);
	for (i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
		if (strcmp(writers[i]->name, text) == 0)
			r->writer = writers[i];
	if (r->writer || r->profile_writer)
		return true;
	profile_writer_list(list, sizeof(list));
	complain("no format '%s': %s; of a guest text and uniprof, too", text,
		 list);
	return false;
}

static bool take_number(const char *name, const char *text, unsigned long min,
			unsigned long max, unsigned long *ret)
{
	if (parse_number(text, min, max, ret))
		return true;
	complain("%s %s: not a number from %lu to %lu", name, text, min, max);
	return false;
}

static bool add_pid(struct record_request *r, const char *text)
{
	unsigned long pid;
	pid_t *more;

	if (!parse_number(text, 1, INT_MAX, &pid)) {
		complain("%s: not a PID", text);
		return false;
	}
	more = realloc(r->pids, (r->nr_pids + 1) * sizeof(*more));
	if (!more || !alive_add(&r->alive, (pid_t)pid)) {
		r->pids = more ? more : r->pids;
		complain("out of memory");
		return false;
	}
	r->pids = more;
	r->pids[r->nr_pids++] = (pid_t)pid;
	return true;
}

/* Some, with commas between. */
static bool take_pids(struct record_request *r, char *text)
{
	char *pid, *next = NULL;
	bool good = *text != '\0';

	for (pid = strtok_r(text, ",", &next); pid && good;
	     pid = strtok_r(NULL, ",", &next))
		good = add_pid(r, pid);
	return good;
}

static bool take_engine(struct record_request *r, const char *text)
{
	static const char *const names[] = {
		[OW_ENGINE_BPF] = "bpf",
		[OW_ENGINE_PERF] = "perf",
		[OW_ENGINE_PTRACE] = "ptrace",
		[OW_ENGINE_KUNWIND] = "kunwind",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], text) == 0) {
			r->live.engine = i;
			return true;
		}
	complain("no engine '%s': bpf, perf, ptrace or kunwind", text);
	return false;
}

/* A number of MiB, to *ret in bytes. */
static bool take_memory(const char *name, const char *text, size_t *ret)
{
	unsigned long mib;

	if (!take_number(name, text, 1, 1UL << 20, &mib))
		return false;
	*ret = (size_t)mib << 20;
	return true;
}

static bool take_option(struct record_request *r, int opt, char *text)
{
	unsigned long n = 0;
	bool good;

	switch (opt) {
	case 'F':
		good = take_number("-F", text, 1, SAMPLER_MOST_HZ, &n);
		r->frequency = (unsigned int)n;
		return good;
	case 'd': return parse_seconds("-d", text, &r->duration_ns);
	case OPT_SAMPLES:
		good = take_number("--samples", text, 1, 1UL << 40, &n);
		r->most = n;
		return good;
	case OPT_STACK_SIZE:
		good = take_number("--stack-size", text, 1, 1UL << 30, &n);
		r->options.stack_size = r->live.stack_size = n;
		return good;
	case OPT_FRAMES:
		good = take_number("--max-frames", text, 1, MOST_FRAMES, &n);
		r->max_frames = n;
		return good;
	case 'f': return take_format(r, text);
	case 'o': r->path = text; return true;
	case 'e': return xen_request_image(&r->xen, text);
	case OPT_KALLSYMS: r->xen.options.symbols = text; return true;
	case OPT_UNWIND: return xen_request_unwinding(&r->xen, text);
	case OPT_BACKEND: r->xen.backend = text; return true;
	case OPT_NO_PAUSE:
		r->options.stopping = OW_STOPPING_NEVER;
		r->showing |= OW_VIEW_CERTAIN;
		return true;
	case 'r': r->naming |= OW_SYMBOLIZER_RAW; return true;
	case OPT_STATS: r->stats = true; return true;
	case 'p': return take_pids(r, text);
	case 'a': r->everyone = true; return true;
	case 'i': r->naming |= OW_SYMBOLIZER_INLINES; return true;
	case OPT_OFF_CPU: r->live.events |= OW_RECORD_OFF_CPU; return true;
	case OPT_FAULTS: r->live.events |= OW_RECORD_FAULTS; return true;
	case OPT_ENGINE: return take_engine(r, text);
	case OPT_NO_KERNEL: r->live.kernel = false; return true;
	case OPT_THREADS: r->live.by_thread = true; return true;
	case OPT_MEMORY:
		return take_memory("--table-memory", text,
				   &r->live.table_memory);
	case OPT_PROFILE_MEMORY:
		return take_memory("--profile-memory", text,
				   &r->profile_memory);
	case OPT_MEMORY_LIMIT: return take_memory_limit(text);
	case 'h': r->help = true; return true;
	}
	return false;
}

/* What is left of the command line: what is to be sampled. */
static bool take_targets(struct record_request *r, int argc, char **argv,
			 bool is_command)
{
	int i;

	if (is_command && argc) {
		r->command = argv;
		r->live.children = true;
		return true;
	}
	if (argc == 1)
		r->domain = xen_request_domain(argv[0]);
	for (i = 0; i < argc && !r->domain; i++)
		if (!add_pid(r, argv[i]))
			return false;
	return true;
}

static bool check_targets(const struct record_request *r)
{
	int nr = (r->domain != NULL) + (r->command != NULL) + r->everyone +
		 (r->nr_pids > 0);

	if (nr == 0)
		complain("no target: give a PID, -a, -- and a command, or "
			 "xen:DOMAIN");
	if (nr > 1)
		complain("one target at a time: PIDs, -a, a command, or a "
			 "guest");
	return nr == 1;
}

static bool check_events(const struct record_request *r)
{
	const unsigned int both = OW_RECORD_OFF_CPU | OW_RECORD_FAULTS;

	if ((r->live.events & both) != both)
		return true;
	complain("--off-cpu and --faults: one at a time, as a profile has one "
		 "unit");
	return false;
}

static void make_title(struct record_request *r)
{
	size_t used = 0, size = sizeof(r->title), i;

	if (r->domain)
		snprintf(r->title, size, "%s", r->domain);
	else if (r->everyone)
		snprintf(r->title, size, "all processes");
	for (i = 0; r->command && r->command[i] && used < size; i++)
		used += (size_t)snprintf(r->title + used, size - used, "%s%s",
					 i ? " " : "", r->command[i]);
	for (i = 0; i < r->nr_pids && used < size; i++)
		used += (size_t)snprintf(r->title + used, size - used, "%s%d",
					 i ? ", " : "process ", r->pids[i]);
}

static bool settle_format(struct record_request *r)
{
	if (!r->writer && !r->profile_writer && r->path)
		r->profile_writer = profile_writer_of(r->path);
	if (!r->writer && !r->profile_writer)
		r->profile_writer = &profile_folded;
	/* A guest's own JSON has each sample; a process' has all together. */
	if (r->domain && r->profile_writer == &profile_json)
		r->writer = &ow_json_writer;
	if (!r->domain && r->writer == &ow_json_writer)
		r->writer = NULL;
	if (r->domain && r->writer)
		r->profile_writer = NULL;
	if (!r->domain && r->writer) {
		complain("format '%s' is for guests of Xen", r->writer->name);
		return false;
	}
	if (r->profile_writer && r->profile_writer->binary &&
	    outfile_is_stdout(r->path) && isatty(STDOUT_FILENO)) {
		complain("format '%s' is not for terminals: give -o FILE",
			 r->profile_writer->name);
		return false;
	}
	return true;
}

void record_request_free(struct record_request *r)
{
	free(r->pids);
	alive_free(&r->alive);
	xen_request_free(&r->xen);
}

bool record_request_parse(struct record_request *r, int argc, char **argv)
{
	bool is_command;
	int opt;

	*r = (struct record_request){
		.frequency = DEFAULT_HZ,
		.max_frames = DEFAULT_FRAMES,
		.options.use_tables = true,
		.live.kernel = true,
	};
	while ((opt = getopt_long(argc, argv, "+F:d:f:o:e:p:airh", long_options,
				  NULL)) != -1) {
		if (!take_option(r, opt, optarg))
			return false;
		if (r->help) {
			print_usage();
			return true;
		}
	}
	is_command = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
	if (!r->live.events)
		r->live.events = OW_RECORD_CPU;
	if (!check_events(r) ||
	    !take_targets(r, argc - optind, argv + optind, is_command) ||
	    !check_targets(r))
		return false;
	make_title(r);
	return settle_format(r);
}
