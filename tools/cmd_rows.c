// SPDX-License-Identifier: BSD-2-Clause
/* outwind rows: what an ELF file's unwind data says, row by row. */
#include <getopt.h>
#include <stdio.h>

#include "commands.h"

static void print_usage(FILE *to)
{
	fputs("usage: outwind rows [OPTIONS] FILE...\n"
	      "\n"
	      "Lists the rows of .eh_frame and .debug_frame: vaddrs from and "
	      "to, the rule of\n"
	      "the CFA, the rules of the registers.\n"
	      "\n"
	      "  -t, --table        of the compact table made from .eh_frame\n"
	      "      --memory-limit=SIZE  " MEMORY_LIMIT_HELP "\n"
	      "  -h, --help         this\n",
	      to);
}

int cmd_rows(int argc, char **argv)
{
	static const struct option options[] = {
		{ "table", no_argument, NULL, 't' },
		{ "memory-limit", required_argument, NULL, OPT_MEMORY_LIMIT },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool by_table = false;
	struct ow_error err;
	int opt, status = EXIT_WELL, nr = 0, failed = 0, listed;

	while ((opt = getopt_long(argc, argv, "th", options, NULL)) != -1) {
		if (opt == 'h') {
			print_usage(stdout);
			return finish_output(EXIT_WELL);
		}
		if (opt == OPT_MEMORY_LIMIT && take_memory_limit(optarg))
			continue;
		if (opt == OPT_MEMORY_LIMIT)
			return EXIT_USAGE;
		if (opt != 't') {
			print_usage(stderr);
			return EXIT_USAGE;
		}
		by_table = true;
	}
	for (; optind < argc; optind++, nr++) {
		listed = ow_rows_print(argv[optind], by_table, stdout, &err);
		if (listed == 0)
			continue;
		complain("%s", err.msg);
		status = EXIT_SOME;
		failed += listed < 0;
	}
	if (nr == 0) {
		complain("no file given; see outwind rows --help");
		return EXIT_USAGE;
	}
	if (failed == nr)
		status = EXIT_NONE;
	return finish_output(status);
}
