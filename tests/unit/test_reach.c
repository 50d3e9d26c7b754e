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

static const struct test tests[] = {
	{ "the content of a file", test_text },
	{ "what a link says", test_link },
	{ "one delegate for all", test_once },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
