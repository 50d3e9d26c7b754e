// SPDX-License-Identifier: BSD-2-Clause
/* outwind tables: make compact tables, for the cache on disk. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "stackview.h"

struct tally {
	unsigned long well, failed;
	bool quiet;
};

static void print_usage(FILE *to)
{
	fputs("usage: outwind tables [OPTIONS] FILE|PID...\n"
	      "\n"
	      "Makes the compact unwind tables of ELF files, or of all that a "
	      "process has\n"
	      "mapped, and keeps them in the cache by build-id. Stacks are "
	      "unwound by them\n"
	      "from then on.\n"
	      "\n"
	      "  -q, --quiet        print errors only\n"
	      "      --dir          print where the tables are kept\n"
	      "      --memory-limit=SIZE  " MEMORY_LIMIT_HELP "\n"
	      "  -h, --help         this\n"
	      "\n"
	      "A table of more than 60 % of the size of its CFI is not kept; its "
	      "object is\n"
	      "unwound by the CFI.\n"
	      "\n"
	      "Exit status: 0 all tables are there that are worth it, 1 some "
	      "could not be\n"
	      "made, 2 none could, 64 usage.\n",
	      to);
}

static void print(const char *path, const struct ow_table_stats *s)
{
	ow_view_put_clean(stdout, path);
	printf(": %s, %llu rows, %llu rules, %llu bytes",
	       s->too_large ? "not kept" :
	       s->was_there ? "was there" :
			      "made",
	       (unsigned long long)s->rows, (unsigned long long)s->rules,
	       (unsigned long long)s->size);
	if (s->cfi_size)
		printf(" (%.1f %% of its CFI%s)", 100.0 * s->size / s->cfi_size,
		       s->too_large ? ": too much" : "");
	if (s->escapes)
		printf(", %llu of %llu rows left to the CFI",
		       (unsigned long long)s->escapes,
		       (unsigned long long)s->cfi_rows);
	putchar('\n');
	fflush(stdout);
}

static void fail(struct tally *t, const struct ow_error *err)
{
	t->failed++;
	complain("%s", err->msg);
}

static void succeed(struct tally *t, const char *path,
		    const struct ow_table_stats *s)
{
	t->well++;
	if (!t->quiet)
		print(path, s);
}

static void make(struct tally *t, const char *path)
{
	struct ow_table_stats s;
	struct ow_error err;

	if (ow_table_make(path, &s, &err))
		fail(t, &err);
	else
		succeed(t, path, &s);
}

/* Code that a process has mapped needn't be of an ELF file. */
static bool is_no_object(struct ow_capture *c, size_t i)
{
	struct ow_module_info m;
	struct ow_error why;

	return ow_capture_lacks(c, i, &m, &why) &&
	       (why.code == OW_CODE_FORMAT || why.code == OW_CODE_UNSUPPORTED);
}

/* Every file that a process has mapped with code in it. */
static void make_each(struct tally *t, struct ow_capture *c)
{
	struct ow_module_info m;
	struct ow_table_stats s;
	struct ow_error err;
	size_t i;
	int made;

	for (i = 0; i < ow_capture_nr_modules(c); i++) {
		if (ow_capture_module(c, i, &m, NULL) || m.path[0] != '/' ||
		    is_no_object(c, i))
			continue;
		made = ow_capture_make_table(c, i, &s, &err);
		if (made == 0)
			succeed(t, m.path, &s);
		else if (made < 0)
			fail(t, &err);
	}
}

static void make_all(struct tally *t, pid_t pid)
{
	unsigned long before = t->well + t->failed;
	struct ow_capture *c;
	struct ow_error err;

	c = ow_capture_process(pid, NULL, &err);
	if (!c) {
		fail(t, &err);
		return;
	}
	make_each(t, c);
	ow_capture_destroy(c);
	if (t->well + t->failed > before)
		return;
	t->failed++;
	complain("process %d has no ELF file mapped that has code", pid);
}

/* Root's $HOME may be that of the user who has become root. */
static void say_place(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char dir[PATH_MAX];

	if ((cache && cache[0] == '/') || !home || home[0] != '/' ||
	    ow_table_dir(dir, sizeof(dir), NULL) ||
	    strncmp(dir, home, strlen(home)) == 0)
		return;
	complain("%s is another user's: tables are kept in %s", home, dir);
}

static int print_dir(void)
{
	char dir[PATH_MAX];
	struct ow_error err;

	if (ow_table_dir(dir, sizeof(dir), &err)) {
		complain("%s", err.msg);
		return EXIT_NONE;
	}
	puts(dir);
	return finish_output(EXIT_WELL);
}

int cmd_tables(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quiet", no_argument, NULL, 'q' },
		{ "dir", no_argument, NULL, 'd' },
		{ "memory-limit", required_argument, NULL, OPT_MEMORY_LIMIT },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct tally t = { 0 };
	unsigned long pid;
	int opt, status = EXIT_WELL;

	while ((opt = getopt_long(argc, argv, "qh", options, NULL)) != -1) {
		switch (opt) {
		case 'q': t.quiet = true; break;
		case OPT_MEMORY_LIMIT:
			if (!take_memory_limit(optarg))
				return EXIT_USAGE;
			break;
		case 'd': return print_dir();
		case 'h': print_usage(stdout); return finish_output(EXIT_WELL);
		default: print_usage(stderr); return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		complain("no file or PID given; see outwind tables --help");
		return EXIT_USAGE;
	}
	say_place();
	for (; optind < argc; optind++) {
		if (parse_number(argv[optind], 1, INT_MAX, &pid))
			make_all(&t, (pid_t)pid);
		else
			make(&t, argv[optind]);
	}
	if (t.failed)
		status = t.well ? EXIT_SOME : EXIT_NONE;
	return finish_output(status);
}
