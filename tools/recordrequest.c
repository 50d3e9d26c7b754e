// SPDX-License-Identifier: BSD-2-Clause
#include "recordrequest.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "sampler.h"

#define DEFAULT_HZ     99
#define DEFAULT_FRAMES 1024
#define MOST_FRAMES    1000000
#define MOST_SECONDS   1e9

enum {
	OPT_SAMPLES = 256,
	OPT_UNWIND,
	OPT_BACKEND,
	OPT_KALLSYMS,
	OPT_NO_PAUSE,
	OPT_STATS,
	OPT_STACK_SIZE,
	OPT_FRAMES,
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
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void print_usage(void)
{
	fputs("usage: outwind record [OPTIONS] xen:ID|xen:NAME\n"
	      "\n"
	      "Samples the stacks of all vCPUs of a Xen guest until "
	      "interrupted.\n"
	      "\n"
	      "  -F, --frequency=HZ    samples a second (99), up to 10000\n"
	      "  -d, --duration=SECS   for so long\n"
	      "      --samples=N       so many\n"
	      "  -f, --format=FORMAT   folded, text, json or uniprof (folded)\n"
	      "  -o, --output=FILE     where to (stdout)\n"
	      "  -e, --image=ELF[@BIAS]  what the guest runs, and where\n"
	      "      --kallsyms=FILE   names, as nm -n prints, too\n"
	      "      --unwind=HOW      by cfi, fp or both (fp without an "
	      "image)\n"
	      "      --backend=NAME    libxencall or libxc\n"
	      "      --no-pause        don't pause the guest; mark what is "
	      "uncertain\n"
	      "      --stack-size=BYTES  copied of a stack at most (1 MiB)\n"
	      "      --max-frames=N    of a stack (1024)\n"
	      "  -r, --raw             names as the object has them\n"
	      "      --stats           pauses and counts, on stderr\n"
	      "  -h, --help            this\n"
	      "\n"
	      "Exit status: 0 all went well, 1 the guest ended or could not be "
	      "sampled any\n"
	      "more, 2 nothing could be done, 64 usage.\n",
	      stdout);
}

static bool take_format(struct record_request *r, const char *text)
{
	static const struct ow_view_writer *const writers[] = {
		&ow_folded_writer, &ow_text_writer, &ow_json_writer,
		&ow_uniprof_writer
	};
	size_t i;

	for (i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
		if (strcmp(writers[i]->name, text) == 0) {
			r->writer = writers[i];
			return true;
		}
	complain("no format '%s': folded, text, json or uniprof", text);
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

static bool take_duration(struct record_request *r, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*end || end == text || !isfinite(seconds) || seconds <= 0 ||
	    seconds > MOST_SECONDS) {
		complain("-d %s: not a number of seconds", text);
		return false;
	}
	r->duration_ns = (uint64_t)(seconds * 1e9);
	return true;
}

static bool take_option(struct record_request *r, int opt, const char *text)
{
	unsigned long n = 0;
	bool good;

	switch (opt) {
	case 'F':
		good = take_number("-F", text, 1, SAMPLER_MOST_HZ, &n);
		r->frequency = (unsigned int)n;
		return good;
	case 'd': return take_duration(r, text);
	case OPT_SAMPLES:
		good = take_number("--samples", text, 1, 1UL << 40, &n);
		r->most = n;
		return good;
	case OPT_STACK_SIZE:
		good = take_number("--stack-size", text, 1, 1UL << 30, &n);
		r->options.stack_size = n;
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
	case 'h': r->help = true; return true;
	}
	return false;
}

bool record_request_parse(struct record_request *r, int argc, char **argv)
{
	int opt;

	*r = (struct record_request){
		.writer = &ow_folded_writer,
		.frequency = DEFAULT_HZ,
		.max_frames = DEFAULT_FRAMES,
		.options.use_tables = true,
	};
	while ((opt = getopt_long(argc, argv, "F:d:f:o:e:rh", long_options,
				  NULL)) != -1) {
		if (!take_option(r, opt, optarg))
			return false;
		if (r->help) {
			print_usage();
			return true;
		}
	}
	if (argc - optind != 1) {
		complain(optind < argc ? "one target at a time" :
					 "no target: give xen:ID or xen:NAME");
		return false;
	}
	r->domain = xen_request_domain(argv[optind]);
	if (!r->domain)
		complain("%s: only guests of Xen (xen:ID, xen:NAME) can be "
			 "sampled",
			 argv[optind]);
	return r->domain;
}
