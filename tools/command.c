// SPDX-License-Identifier: BSD-2-Clause
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"

static void become(int go, int failed, char **argv)
{
	char byte;
	int why;

	/* Nothing comes: the other end is closed, and that is the sign. */
	if (read(go, &byte, 1) < 0)
		_exit(127);
	execvp(argv[0], argv);
	why = errno;
	if (write(failed, &why, sizeof(why)) < 0)
		_exit(126);
	_exit(127);
}

bool command_prepare(struct command *c, char **argv)
{
	int go[2], failed[2];

	*c = (struct command){ 0 };
	if (pipe2(go, O_CLOEXEC)) {
		complain("pipe: %s", strerror(errno));
		return false;
	}
	if (pipe2(failed, O_CLOEXEC)) {
		complain("pipe: %s", strerror(errno));
		close(go[0]);
		close(go[1]);
		return false;
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]);
		become(go[0], failed[1], argv);
	}
	close(go[0]);
	close(failed[1]);
	c->go = go[1];
	c->failed = failed[0];
	if (c->pid > 0)
		return true;
	complain("fork: %s", strerror(errno));
	c->pid = 0;
	close(c->go);
	close(c->failed);
	return false;
}

bool command_go(struct command *c, const char *name)
{
	int why = 0;
	ssize_t n;

	close(c->go);
	c->go = -1;
	n = read(c->failed, &why, sizeof(why));
	close(c->failed);
	c->failed = -1;
	if (n != sizeof(why))
		return true;
	complain("%s: %s", name, strerror(why));
	command_finish(c);
	return false;
}

bool command_has_ended(struct command *c)
{
	if (c->pid && !c->ended &&
	    waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

void command_finish(struct command *c)
{
	if (!c->pid || c->ended)
		return;
	if (c->go >= 0)
		close(c->go);
	while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	c->ended = true;
}
