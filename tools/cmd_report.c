// SPDX-License-Identifier: BSD-2-Clause
/* outwind report: a profile in another format. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "profile.h"

struct request {
	const char *in, *other, *path;
	const struct profile_writer *writer;
	struct profile_options options;
};

static void print_usage(FILE *to)
{
	fputs("usage: outwind report [OPTIONS] FILE\n"
	      "\n"
	      "Writes a profile, which 'outwind record -f outwind' made, in "
	      "another format.\n"
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
	      "  -h, --help            this\n"
	      "\n"
	      "Exit status: 0 all went well, 2 it could not be read or "
	      "written, 64 usage.\n",
	      to);
}

static bool load(struct profile *p, const char *path)
{
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	char why[100];
	int failed;

	if (!in) {
		complain("open %s: %s", path, strerror(errno));
		return false;
	}
	failed = profile_read(p, in, why, sizeof(why));
	if (in != stdin)
		fclose(in);
	if (!failed)
		return true;
	complain("%s: %s", path, why);
	return false;
}

static int write_out(const struct request *r, const struct profile *p)
{
	FILE *out = r->path ? fopen(r->path, "w") : stdout;
	bool bad;

	if (!out) {
		complain("open %s: %s", r->path, strerror(errno));
		return EXIT_NONE;
	}
	r->writer->write(out, p, &r->options);
	if (out == stdout)
		return finish_output(EXIT_WELL);
	bad = fflush(out) || ferror(out);
	if (bad)
		complain("write %s: %s", r->path, strerror(errno));
	fclose(out);
	return bad ? EXIT_NONE : EXIT_WELL;
}

static int run(struct request *r)
{
	struct profile p = { 0 }, other = { 0 };
	int status = EXIT_NONE;

	if (load(&p, r->in) && (!r->other || load(&other, r->other))) {
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
	if (!r->writer && r->path)
		r->writer = profile_writer_of(r->path);
	if (!r->writer)
		r->writer = &profile_table;
	if (!r->options.title)
		r->options.title = r->in;
	if (r->other && r->writer != &profile_html) {
		complain("-c is for format html");
		return false;
	}
	if (r->writer->binary && !r->path && isatty(STDOUT_FILENO)) {
		complain("format '%s' is not for terminals: give -o FILE",
			 r->writer->name);
		return false;
	}
	return true;
}

int cmd_report(int argc, char **argv)
{
	enum {
		OPT_ICICLE = 256,
		OPT_INVERTED,
		OPT_TITLE
	};
	static const struct option options[] = {
		{ "format", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "compare", required_argument, NULL, 'c' },
		{ "icicle", no_argument, NULL, OPT_ICICLE },
		{ "inverted", no_argument, NULL, OPT_INVERTED },
		{ "title", required_argument, NULL, OPT_TITLE },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct request r = { 0 };
	int opt;

	while ((opt = getopt_long(argc, argv, "f:o:c:h", options, NULL)) !=
	       -1) {
		switch (opt) {
		case 'f':
			if (!take_format(&r, optarg))
				return EXIT_USAGE;
			break;
		case 'o': r.path = optarg; break;
		case 'c': r.other = optarg; break;
		case OPT_ICICLE: r.options.icicle = true; break;
		case OPT_INVERTED: r.options.inverted = true; break;
		case OPT_TITLE: r.options.title = optarg; break;
		case 'h': print_usage(stdout); return finish_output(EXIT_WELL);
		default:
			fputs("see outwind report --help\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (argc - optind != 1) {
		complain("give one profile; see outwind report --help");
		return EXIT_USAGE;
	}
	r.in = argv[optind];
	return settle(&r) ? run(&r) : EXIT_USAGE;
}
