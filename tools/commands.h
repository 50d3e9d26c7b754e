/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of outwind, and what they share. */
#ifndef OW_COMMANDS_H
#define OW_COMMANDS_H

#include <outwind/outwind.h>

enum {
	EXIT_WELL = 0,
	EXIT_SOME = 1, /* some frames or threads failed */
	EXIT_NONE = 2, /* nothing could be done */
	EXIT_USAGE = 64,
};

/* What getopt_long(3) returns for --memory-limit, which several commands have. */
enum {
	OPT_MEMORY_LIMIT = 1000
};

#define MEMORY_LIMIT_HELP "for objects' files and stacks (512M)"

int cmd_stack(int argc, char **argv);
int cmd_snap(int argc, char **argv);
int cmd_tables(int argc, char **argv);
int cmd_rows(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_syscalls(int argc, char **argv);
int cmd_xen(int argc, char **argv);
int cmd_kunwindd(int argc, char **argv);

/* "outwind: " and the line, on stderr. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* On stderr, a line for each object that stacks needed and that wasn't there. */
void complain_of_lacking(const struct ow_capture *c);

/* A number from min to max in text, to *ret; false if it is none. */
bool parse_number(const char *text, unsigned long min, unsigned long max,
		  unsigned long *ret);

/* A time above 0, as an option takes it; false, with a complaint, if it is none. */
bool parse_seconds(const char *option, const char *text, uint64_t *ns);

/*
 * Have the library keep to a size in bytes, with K, M or G for more, as the
 * option takes it; false, with a complaint, if it is none.
 */
bool take_memory_limit(const char *text);

/* Write out what stdout holds; EXIT_NONE with a message if that fails. */
int finish_output(int status);

#endif /* OW_COMMANDS_H */
