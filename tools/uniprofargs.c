// SPDX-License-Identifier: BSD-2-Clause
#include "uniprofargs.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "sampler.h"

#define MOST_SECONDS 1000000000UL
#define OPT_BACKEND  256

static const struct option long_options[] = {
	{ "frequency", required_argument, NULL, 'F' },
	{ "time", required_argument, NULL, 'T' },
	{ "missed-deadlines", no_argument, NULL, 'M' },
	{ "symbol-table", required_argument, NULL, 's' },
	{ "elf-file", required_argument, NULL, 'e' },
	{ "elf-resolve", required_argument, NULL, 'E' },
	{ "backend", required_argument, NULL, OPT_BACKEND },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

void uniprof_args_print_usage(FILE *to, const char *program)
{
	fprintf(to,
		"usage: %s [options] <outfile> <domain>\n"
		"\n"
		"  -F, --frequency=N        traces a second (1)\n"
		"  -T, --time=N             seconds to trace (1)\n"
		"  -M, --missed-deadlines   say so when traces are missed\n"
		"  -s, --symbol-table=FILE  names, by a table of nm -n\n"
		"  -e, --elf-file=FILE      unwind by the CFI of an ELF file\n"
		"  -E, --elf-resolve=FILE   the same, with its names\n"
		"      --backend=NAME       libxencall or libxc\n"
		"  -v, --verbose            say more, on stderr\n"
		"  -V, --version            the version\n"
		"  -h, --help               this\n"
		"\n"
		"<outfile> may be - for stdout; <domain> is an id or a name.\n",
		program);
}

static bool parse_number(const char *name, const char *text, unsigned long max,
			 unsigned long *ret, FILE *err)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end && *ret >= 1 &&
	    *ret <= max)
		return true;
	fprintf(err, "%s %s: not a number from 1 to %lu\n", name, text, max);
	return false;
}

static bool take_option(struct uniprof_args *a, int opt, FILE *err)
{
	switch (opt) {
	case 'F':
		return parse_number("-F", optarg, SAMPLER_MOST_HZ,
				    &a->frequency, err);
	case 'T':
		return parse_number("-T", optarg, MOST_SECONDS, &a->seconds,
				    err);
	case 'M': a->say_missed = true; return true;
	case 'v': a->verbose = true; return true;
	case OPT_BACKEND: a->backend = optarg; return true;
	}
	/* One of -s, -e and -E. */
	if (a->table || a->elf) {
		fputs("-s, -e, and -E are mutually exclusive.\n", err);
		return false;
	}
	if (opt == 's')
		a->table = optarg;
	else
		a->elf = optarg;
	a->resolve = opt == 'E';
	return true;
}

enum uniprof_task uniprof_args_parse(struct uniprof_args *a, int argc,
				     char **argv, FILE *err)
{
	int opt;

	*a = (struct uniprof_args){ .frequency = 1, .seconds = 1 };
	while ((opt = getopt_long(argc, argv, "F:T:Ms:e:E:vVh", long_options,
				  NULL)) != -1) {
		if (opt == 'h')
			return UNIPROF_HELP;
		if (opt == 'V')
			return UNIPROF_VERSION;
		if (opt == '?') {
			fprintf(err, "%s --help for usage\n", argv[0]);
			return UNIPROF_REFUSE;
		}
		if (!take_option(a, opt, err))
			return UNIPROF_REFUSE;
	}
	/* What is beyond them has never mattered. */
	if (argc - optind < 2)
		return UNIPROF_USAGE;
	a->outfile = argv[optind];
	a->domain = argv[optind + 1];
	return UNIPROF_TRACE;
}
