/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of uniprof, as the original's is. */
#ifndef OW_UNIPROFARGS_H
#define OW_UNIPROFARGS_H

#include <stdbool.h>
#include <stdio.h>

enum uniprof_task {
	UNIPROF_TRACE,
	UNIPROF_HELP,
	UNIPROF_VERSION,
	UNIPROF_USAGE,  /* print it, and fail */
	UNIPROF_REFUSE, /* complained of */
};

struct uniprof_args {
	unsigned long frequency, seconds;
	bool say_missed, verbose;
	const char *table;   /* -s, or NULL */
	const char *elf;     /* -e or -E, or NULL */
	bool resolve;        /* -E */
	const char *backend; /* or NULL */
	const char *outfile, *domain;
};

/* Fill in what the command line says; err is where complaints go. */
enum uniprof_task uniprof_args_parse(struct uniprof_args *a, int argc,
				     char **argv, FILE *err);

void uniprof_args_print_usage(FILE *to, const char *program);

#endif /* OW_UNIPROFARGS_H */
