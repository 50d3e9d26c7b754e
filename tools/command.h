/* SPDX-License-Identifier: BSD-2-Clause */
/* A command that is started to be looked at, from its first instruction on. */
#ifndef OW_COMMAND_H
#define OW_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

struct command {
	pid_t pid; /* 0: none */
	const char *name;
	int link; /* what it waits for and tells comes by this; -1: it runs */
	bool ended;
	int status; /* as of waitpid(2), once it has ended */
};

/* Fork; the command waits.  False, with a complaint, if that can't be. */
bool command_prepare(struct command *c, char **argv);

/* Let it run; false, with a complaint, if there is no such program. */
bool command_go(struct command *c);

/* Has it ended? */
bool command_has_ended(struct command *c);

/*
 * What it ended with, as shells have it: 128 and the signal's number, if one
 * killed it; 127 or 126 where there was no such program or it could not be run.
 */
int command_status(const struct command *c);

/*
 * Be done with it: if it wasn't let run, it never is; if it still runs, that is
 * told.
 */
void command_finish(struct command *c);

#endif /* OW_COMMAND_H */
