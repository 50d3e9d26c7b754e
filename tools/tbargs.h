/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of tbstack. */
#ifndef OW_TBARGS_H
#define OW_TBARGS_H

#include <stdio.h>

#include <outwind/outwind.h>

/* What a command line asks for. */
enum tb_task {
	TB_TASK_STACKS,
	TB_TASK_HELP,
	TB_TASK_VERSION,
	TB_TASK_USAGE,  /* it makes no sense: the usage will help */
	TB_TASK_REFUSE, /* a value makes no sense: nothing more to say */
};

struct tb_args {
	bool show_sp, show_state, verbose;
	bool waitpid_timeout; /* only changes what a timeout is called */
	enum ow_reading reading;
	size_t stack_size;            /* bytes; 0: none was given */
	unsigned int stop_timeout_ms; /* UINT_MAX: for ever */
	pid_t pid;
	const char *states; /* letters, borrowed from argv; or NULL */
	pid_t *threads; /* ids or numbers as given, from malloc(); or NULL */
	size_t nr_threads;
};

/*
 * Fill args from the command line; what is wrong with it goes to err in the
 * original's words.  Free args->threads in any case.
 */
enum tb_task tb_args_parse(struct tb_args *args, int argc, char **argv,
			   FILE *err);

void tb_args_print_usage(FILE *to, const char *name);

#endif /* OW_TBARGS_H */
