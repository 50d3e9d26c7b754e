/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of "outwind stack", and what they set. */
#ifndef OW_STACKOPTIONS_H
#define OW_STACKOPTIONS_H

#include <outwind/outwind.h>

#include "stackview.h"
#include "xenrequest.h"

/* What was asked for. */
struct stack_request {
	const char *target; /* PID[/THREADS], or a file */
	const char *exe;    /* the program of a core file, or NULL */
	bool is_core;
	bool is_process;    /* said to be one */
	const char *domain; /* of Xen, behind "xen:"; or NULL */
	struct xen_request xen;
	pid_t pid;            /* unless it is a file or a domain */
	const char *tid_list; /* "TID,TID", beside the target; or NULL */
	pid_t *tids;          /* what options.tids points to */
	bool one_thread;
	size_t max_frames;
	bool limited; /* by the user, who then knows that stacks are cut */
	bool quiet, stats, list_modules, help;
	unsigned int naming;  /* enum ow_symbolizer_flags */
	unsigned int showing; /* enum ow_view_flags */
	const struct ow_view_writer *writer;
	struct ow_capture_options options;
};

/*
 * An option.  flag and text are where in the request it sets a bool or leaves
 * its argument; take() does what is more, and complains if it returns false.
 */
struct stack_option {
	char letter;          /* or 0 */
	const char *name;     /* without dashes, or NULL */
	const char *argument; /* what the help calls it, or NULL */
	const char *help;     /* NULL: the same as the next one */
	size_t flag, text;    /* or 0 */
	unsigned int naming, showing, extras;
	enum ow_stopping stopping;
	bool (*take)(struct stack_request *r, const char *text);
};

#define STACK_OPTIONS_MOST 64

extern const struct stack_option stack_options[];
extern const size_t nr_stack_options;

/* The help, on stdout. */
void stack_options_help(void);

#endif /* OW_STACKOPTIONS_H */
