// SPDX-License-Identifier: BSD-2-Clause
#include "reach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "env.h"
#include "test.h"

#define LONG 10000 /* bytes: more than are made room for at first */

static void write_file(char *path)
{
	int fd = mkstemp(path), i;

	for (i = 0; i < LONG; i++)
		CHECK(write(fd, &"0123456789"[i % 10], 1) == 1);
	close(fd);
}

static void test_text(void)
{
	char path[] = "/tmp/reach-XXXXXX", *text;
	size_t size = 0;

	write_file(path);
	text = ow_reach_text(path, 1 << 20, &size);
	CHECK(text && size == LONG && strlen(text) == LONG);
	CHECK(text && strncmp(text + LONG - 4, "6789", 5) == 0);
	free(text);
	text = ow_reach_text(path, 5, &size);
	CHECK(text && size == 5 && strcmp(text, "01234") == 0);
	free(text);
	unlink(path);
	CHECK(!ow_reach_text(path, 5, &size) && errno == ENOENT);
	CHECK(!ow_reach_text("/", 5, &size) && errno == EISDIR);
}

static void test_link(void)
{
	char path[] = "/tmp/reach-XXXXXX", to[8];

	close(mkstemp(path));
	unlink(path);
	CHECK(symlink("there", path) == 0);
	CHECK(ow_reach_link(path, to, sizeof(to)) == 5);
	CHECK(strcmp(to, "there") == 0);
	CHECK(ow_reach_link(path, to, 4) == 3 && strcmp(to, "the") == 0);
	unlink(path);
	CHECK(ow_reach_link(path, to, sizeof(to)) == -1 && errno == ENOENT);
}

/* The processes that do the work and the work within that work. */
struct seen {
	pid_t pid, inner;
	char *text;
};

static void note_inner(void *arg)
{
	*(pid_t *)arg = getpid();
}

static void look(void *arg)
{
	struct seen *s = arg;

	s->pid = getpid();
	s->text = ow_reach_text("/proc/self/comm", 64, NULL);
	CHECK(ow_reach(note_inner, &s->inner) == OW_DELEGATION_DONE);
	CHECK(ow_delegate_is_one());
}

/* A delegate does all of it itself. */
static void test_once(void)
{
	struct seen s = { 0 };

	CHECK(!ow_delegate_is_one());
	CHECK(ow_reach(look, &s) == OW_DELEGATION_DONE);
	CHECK(s.pid > 0 && s.pid != getpid() && s.inner == s.pid && s.text);
	CHECK(!ow_delegate_is_one());
	free(s.text);
}

/* What opens a file, and in which process. */
struct opener {
	const char *path;
	pid_t pid;
};

static int open_by_delegate(void *arg)
{
	struct opener *o = arg;

	o->pid = getpid();
	return ow_reach_open(o->path, O_RDONLY);
}

static int wait_for_ever(void *arg)
{
	(void)arg;
	ow_delegate_enter();
	pause();
	ow_delegate_leave();
	return -1;
}

static int lowest_free(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

/* A delegate opens a file, and we have it; else nothing stays open. */
static void test_fd(void)
{
	char path[] = "/tmp/reach-XXXXXX", text[4] = "";
	struct opener o = { .path = path };
	int fd, before;

	write_file(path);
	before = lowest_free();
	fd = ow_reach_fd(open_by_delegate, &o);
	CHECK(fd >= 0 && read(fd, text, 3) == 3 && strcmp(text, "012") == 0);
	CHECK(o.pid > 0 && o.pid != getpid());
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	close(fd);
	unlink(path);
	CHECK(ow_reach_fd(open_by_delegate, &o) == -1 && errno == ENOENT);
	CHECK(ow_reach_fd(wait_for_ever, NULL) == -1 && errno == ETIMEDOUT);
	CHECK(lowest_free() == before);
}

static const struct test tests[] = {
	{ "the content of a file", test_text },
	{ "what a link says", test_link },
	{ "one delegate for all", test_once },
	{ "a file that a delegate opens", test_fd },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
