// SPDX-License-Identifier: BSD-2-Clause
#include "command.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "interrupt.h"

/* As shells and env(1) have it. */
#define NOT_FOUND   127
#define NOT_STARTED 126

/* Looks at whether it ends by the signal that ends us, and ns between them. */
#define LOOKS   20
#define LOOK_NS 10000000

static ssize_t receive(int link, void *bytes, size_t size)
{
	ssize_t n;

	do
		n = recv(link, bytes, size, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

static void become(int link, char **argv)
{
	char byte;
	int why;

	/* Nothing comes if it is not to run. */
	if (receive(link, &byte, 1) != 1)
		_exit(NOT_FOUND);
	execvp(argv[0], argv);
	why = errno;
	send(link, &why, sizeof(why), MSG_NOSIGNAL);
	_exit(why == ENOENT ? NOT_FOUND : NOT_STARTED);
}

bool command_prepare(struct command *c, char **argv)
{
	int link[2];

	*c = (struct command){ .name = argv[0], .link = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link)) {
		complain("socketpair: %s", strerror(errno));
		return false;
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(link[0]);
		become(link[1], argv);
	}
	close(link[1]);
	c->link = link[0];
	/* Who started us may have it ignored: then a status is not kept. */
	signal(SIGCHLD, SIG_DFL);
	if (c->pid > 0)
		return true;
	complain("fork: %s", strerror(errno));
	close(c->link);
	c->pid = 0;
	return false;
}

/*
 * A stop is told only if the command has made us its tracer (PTRACE_TRACEME), as
 * programs do to have no other one: let it go on, without us.
 */
static void let_go(const struct command *c)
{
	long number = WSTOPSIG(c->status);

	/* The kernel sends SIGTRAP when it executes another program. */
	if (number == SIGTRAP)
		number = 0;
	ptrace(PTRACE_DETACH, c->pid, NULL, number);
}

/* Return true if it has ended; options are waitpid()'s. */
static bool wait_for_end(struct command *c, int options)
{
	pid_t got;

	for (;;) {
		got = waitpid(c->pid, &c->status, options);
		if (got == c->pid && WIFSTOPPED(c->status))
			let_go(c);
		else if (got >= 0 || errno != EINTR)
			break;
	}
	return got == c->pid;
}

static void await(struct command *c)
{
	wait_for_end(c, 0);
	c->ended = true;
}

bool command_go(struct command *c)
{
	ssize_t n = -1;
	int why = 0;

	if (send(c->link, "", 1, MSG_NOSIGNAL) == 1)
		n = receive(c->link, &why, sizeof(why));
	close(c->link);
	c->link = -1;
	/* Executing closes the link. */
	if (n == 0)
		return true;
	await(c);
	complain("%s: %s", c->name,
		 n == sizeof(why) ? strerror(why) : "ended before it began");
	return false;
}

bool command_has_ended(struct command *c)
{
	if (c->pid && !c->ended)
		c->ended = wait_for_end(c, WNOHANG);
	return c->ended;
}

int command_status(const struct command *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) :
					WEXITSTATUS(c->status);
}

/* A terminal's signal comes to both, and it may need a while. */
static bool is_ending(struct command *c)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	int i;

	for (i = 0; interrupt_came() && i < LOOKS; i++) {
		if (command_has_ended(c))
			return true;
		nanosleep(&pause, NULL);
	}
	return command_has_ended(c);
}

void command_finish(struct command *c)
{
	if (!c->pid || c->ended)
		return;
	if (c->link >= 0) {
		close(c->link);
		c->link = -1;
		await(c);
	} else if (!is_ending(c)) {
		complain("%s goes on, as process %d", c->name, (int)c->pid);
	}
}
