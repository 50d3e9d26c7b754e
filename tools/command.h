/* SPDX-License-Identifier: BSD-2-Clause */
/* A command that is started to be looked at, from its first instruction on. */
#ifndef OW_COMMAND_H
#define OW_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

struct command {
	pid_t pid;  /* 0: none */
	int go;     /* it waits for this to be closed */
	int failed; /* errno of exec comes from here */
	bool ended;
	int status; /* as of waitpid(2), once it has ended */
};

/* Fork; the command waits.  False, with a complaint, if that can't be. */
bool command_prepare(struct command *c, char **argv);

/* Let it run; false, with a complaint, if there is no such program. */
bool command_go(struct command *c, const char *name);

/* Has it ended? */
bool command_has_ended(struct command *c);

/* Wait for it, if it was started. */
void command_finish(struct command *c);

#endif /* OW_COMMAND_H */
