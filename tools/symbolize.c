// SPDX-License-Identifier: BSD-2-Clause
/* symbolize: names for the addresses of a trace, in the manner of uniprof's. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <outwind/outwind.h>

#include "memorylimit.h"
#include "missing.h"
#include "stackview.h"
#include "traceline.h"
#include "viewtext.h"

/* Of which a list of names, the only thing in memory, may have a quarter. */
#define MEMORY ((uint64_t)1 << 30)

#define LIMIT "--memory-limit="

#define EXIT_USAGE  1
#define EXIT_BROKEN 2

static bool is_terminal;        /* stdout */
static struct viewtext written; /* of all names */

static int complain(const char *what, const char *why)
{
	fflush(stdout);
	fputs("symbolize: ", stderr);
	ow_view_put_clean(stderr, what);
	ow_view_put_clean(stderr, why);
	putc('\n', stderr);
	return EXIT_BROKEN;
}

/* Some of a line: the first, whole ones end with a newline unless at EOF. */
static size_t read_part(FILE *from, char *buf, size_t size)
{
	size_t used = 0;
	int c = 0;

	while (used < size && c != '\n' && (c = getc_unlocked(from)) != EOF)
		buf[used++] = (char)c;
	return used;
}

/* Bytes at the end of text that are the begin of a character, at most 3. */
static size_t unfinished(const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	for (n = 1; n <= 3 && n <= size; n++) {
		if (s[size - n] < 0x80)
			return 0;
		if (s[size - n] >= 0xc0)
			return s[size - n] >= (n == 1 ? 0xc0 :
					       n == 2 ? 0xe0 :
							0xf0) ?
				       n :
				       0;
	}
	return 0;
}

/*
 * Text of the trace itself: bytes pass as they are, as through any filter, but none
 * of them may steer a terminal.
 */
static void put_text(const char *text, size_t size)
{
	if (is_terminal)
		ow_view_put_clean_part(stdout, text, size);
	else
		fwrite(text, 1, size, stdout);
}

/* All of a part but its end of line, which may be of two characters. */
static size_t text_size(const char *part, size_t size)
{
	if (size && part[size - 1] == '\n')
		size--;
	else
		return size;
	return size && part[size - 1] == '\r' ? size - 1 : size;
}

/*
 * A line of any length passes through a small buffer: what doesn't fit in is
 * no address.  The last line may lack its newline, but is given one.  The part
 * has room for a zero.
 */
static void copy_line(FILE *from, const char *part, size_t size)
{
	char buf[4096 + 1];
	size_t kept, n;

	while (size && part[size - 1] != '\n') {
		kept = unfinished(part, size);
		put_text(part, size - kept);
		memmove(buf, part + size - kept, kept);
		n = read_part(from, buf + kept, sizeof(buf) - 1 - kept);
		size = kept + n;
		part = buf;
		buf[size] = '\0';
		if (n)
			continue;
		put_text(part, size);
		putchar('\n');
		return;
	}
	n = text_size(part, size);
	put_text(part, n);
	fwrite(part + n, 1, size - n, stdout);
}

static void put_name(struct ow_nametable *names, uint64_t addr,
		     const char *line, size_t size)
{
	struct ow_name name = { 0 };

	if (ow_nametable_find(names, addr, &name.function, &name.offset))
		viewtext_take(&written, &name, 1);
	if (!name.function) {
		printf("%.*s\n", (int)size, line); /* an address */
		return;
	}
	ow_view_put_clean(stdout, name.function);
	if (name.offset)
		printf("+%#" PRIx64, name.offset);
	putchar('\n');
}

static int symbolize(struct ow_nametable *names, FILE *trace, const char *path)
{
	char line[OW_TRACELINE_MAX + 2], line_of_cut[VIEWTEXT_LINE];
	size_t size, length;
	uint64_t addr;

	while ((size = read_part(trace, line, sizeof(line) - 1))) {
		line[size] = '\0';
		length = size - (line[size - 1] == '\n');
		if (length <= OW_TRACELINE_MAX &&
		    ow_traceline_address(line, length, &addr))
			put_name(names, addr, line, length);
		else
			copy_line(trace, line, size);
		if (ferror(stdout))
			break;
	}
	if (ferror(trace)) {
		fprintf(stderr, "symbolize: read %s: %s\n", path,
			strerror(errno));
		return EXIT_BROKEN;
	}
	return viewtext_line(&written, line_of_cut) ?
		       complain(line_of_cut, "") :
		       0;
}

static int run(const char *table, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct ow_nametable *names;
	struct ow_error err;
	int status = EXIT_BROKEN;
	FILE *trace;

	names = ow_nametable_open(table, OW_ALIASES_LAST, &err);
	if (!names)
		return complain("symbol table: ", err.msg);
	if (ow_nametable_is_empty(names))
		complain(table, ": no symbols; lines are ADDRESS TYPE NAME, "
				"and kallsyms needs root");
	trace = is_stdin ? stdin : fopen(path, "re");
	if (trace)
		status = symbolize(names, trace, path);
	else
		fprintf(stderr, "symbolize: trace: open %s: %s\n", path,
			strerror(errno));
	if (trace && !is_stdin)
		fclose(trace);
	ow_nametable_close(names);
	return status;
}

static void print_usage(FILE *to, const char *name)
{
	fprintf(to,
		"Usage: %s <symbol_table> <trace_file>\n"
		"\n"
		"Prints a trace of uniprof with names in place of addresses.  "
		"The table is the\n"
		"output of nm(1), a copy of /proc/kallsyms, or an ELF file; "
		"a trace of \"-\" is\n"
		"standard input.\n"
		"\n"
		"options:  --memory-limit=SIZE  take at most SIZE bytes (K, M, G) "
		"of memory, a\n"
		"                               quarter of them for the table "
		"(default: 1G)\n"
		"          --help               this text\n"
		"          --version            the version\n"
		"\n"
		"This symbolize is part of outwind %s.\n",
		name, ow_version());
}

/* Return how many arguments are options, or -1: one makes no sense. */
static int take_options(int argc, char **argv)
{
	const size_t size = sizeof(LIMIT) - 1;
	int n = 0;

	ow_memory_limit(MEMORY);
	for (; n + 1 < argc && strncmp(argv[n + 1], LIMIT, size) == 0; n++)
		if (!memorylimit_take(argv[n + 1] + size)) {
			complain(argv[n + 1], ": not a size");
			return -1;
		}
	return n;
}

int main(int argc, char **argv)
{
	int status = 0, n = take_options(argc, argv);

	if (n < 0)
		return EXIT_USAGE;
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		print_usage(stdout, argv[0]);
	} else if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("symbolize (outwind) %s\n", ow_version());
	} else if (argc - n != 3) {
		print_usage(stderr, argv[0]);
		return EXIT_USAGE;
	} else {
		is_terminal = isatty(STDOUT_FILENO);
		status = run(argv[n + 1], argv[n + 2]);
	}
	if (missing_complain("symbolize", status != 0) && status == 0)
		status = EXIT_BROKEN;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	return complain("write output: ", strerror(errno));
}
