// SPDX-License-Identifier: BSD-2-Clause
/* Sets of system calls, as strace's users write them. */
#include "syscallset.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "env.h"
#include "test.h"

static char said[512];

void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

/* Numbers of x86-64, and one that none has. */
enum {
	READ = 0,
	OPEN = 2,
	CLOSE = 3,
	MMAP = 9,
	GETPID = 39,
	SOCKET = 41,
	EXECVE = 59,
	KILL = 62,
	SHMGET = 29,
	NONE = 1000
};

static const int all[] = { READ,   OPEN,   CLOSE, MMAP,   GETPID,
			   SOCKET, EXECVE, KILL,  SHMGET, NONE };

#define NR OW_ARRAY_SIZE(all)

/* Is it this set?  wanted ends by -1. */
static bool is(const char *text, const int *wanted)
{
	struct syscallset s = { 0 };
	bool is_wanted;
	size_t i, k;

	if (!syscallset_parse(&s, text))
		return false;
	for (i = 0; i < NR; i++) {
		is_wanted = false;
		for (k = 0; wanted[k] >= 0; k++)
			is_wanted |= wanted[k] == all[i];
		if (syscallset_has(&s, all[i]) != is_wanted)
			return false;
	}
	return true;
}

#define IS(text, ...) is(text, (const int[]){ __VA_ARGS__, -1 })

static void test_names(void)
{
	CHECK(IS("read", READ));
	CHECK(IS("read,close", READ, CLOSE));
	CHECK(IS("trace=read", READ) && IS("t=read", READ));
	CHECK(IS("?nonesuch,open", OPEN));
	CHECK(IS("/^(mm|open$)", MMAP, OPEN));
	CHECK(IS("none", -1));
	CHECK(IS("all", READ, OPEN, CLOSE, MMAP, GETPID, SOCKET, EXECVE, KILL,
		 SHMGET, NONE));
	CHECK(IS("!read,mmap", OPEN, CLOSE, GETPID, SOCKET, EXECVE, KILL,
		 SHMGET, NONE));
}

/* As strace 6.1 has them. */
static void test_sets(void)
{
	CHECK(IS("%file", OPEN, EXECVE) && IS("file", OPEN, EXECVE));
	CHECK(IS("%desc", READ, OPEN, CLOSE, MMAP));
	CHECK(IS("%process", EXECVE, KILL));
	CHECK(IS("%network", SOCKET) && IS("%net", SOCKET));
	CHECK(IS("%signal", KILL) && IS("%ipc", SHMGET));
	CHECK(IS("%memory,getpid", MMAP, GETPID));
	CHECK(IS("!%file,%desc", GETPID, SOCKET, KILL, SHMGET, NONE));
}

/* A name is of all ABIs that have it. */
static void test_abis(void)
{
	struct syscallset s = { 0 };

	CHECK(syscallset_has(&s, READ) && syscallset_has(&s, -1));
	CHECK(syscallset_parse(&s, "getpid,ioctl,mmap2"));
	CHECK(syscallset_has(&s, 39 | OW_SYSCALL_X32));
	CHECK(syscallset_has(&s, 514 | OW_SYSCALL_X32)); /* its own ioctl */
	CHECK(syscallset_has(&s, 20 | OW_SYSCALL_I386));
	CHECK(syscallset_has(&s, 192 | OW_SYSCALL_I386));
	CHECK(!syscallset_has(&s, 39 | OW_SYSCALL_I386));
	CHECK(!syscallset_has(&s, 20 | OW_SYSCALL_I386 | OW_SYSCALL_X32));
	CHECK(!syscallset_has(&s, -1) && !syscallset_has(&s, 5000));
	CHECK(syscallset_parse(&s, "!getpid"));
	CHECK(syscallset_has(&s, -1) && syscallset_has(&s, 5000));
}

static void test_refused(void)
{
	struct syscallset s = { 0 };

	CHECK(!syscallset_parse(&s, "read,nonesuch"));
	CHECK(strncmp(said, "no system call 'nonesuch': ", 27) == 0);
	CHECK(!syscallset_parse(&s, "%nonesuch"));
	CHECK(!syscallset_parse(&s, "read,!write"));
	CHECK(!syscallset_parse(&s, "/(") && !syscallset_parse(&s, "?,/^$"));
	CHECK(!syscallset_parse(&s, "signal=all"));
	CHECK(strncmp(said, "-e signal=all: ", 15) == 0);
}

/* What a recorder is asked for: execve tells when a command has begun. */
static void test_list(void)
{
	struct syscallset s = { 0 };
	size_t nr, i;
	int *list = syscallset_list(&s, &nr);

	CHECK(!list && nr == 0);
	CHECK(syscallset_parse(&s, "mmap2"));
	list = syscallset_list(&s, &nr);
	CHECK(list && nr == 4);
	for (i = 0; i < nr; i++)
		CHECK(list[i] == 59 || list[i] == (520 | OW_SYSCALL_X32) ||
		      list[i] == (11 | OW_SYSCALL_I386) ||
		      list[i] == (192 | OW_SYSCALL_I386));
	free(list);
	CHECK(syscallset_parse(&s, "!mmap2"));
	list = syscallset_list(&s, &nr);
	CHECK(list && list[0] == -1);
	free(list);
}

/* Has the letter of an argument a meaning? */
static bool is_kind(char kind)
{
	static const uint64_t some[] = { 0, 1, 0x5401, 0x1002 };
	char buf[64];
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(some); i++)
		if (ow_syscall_arg_text(kind, some[i], buf, sizeof(buf)))
			return true;
	return strchr("dluxofsa", kind);
}

/* An address is where the recorder looks for one, and its size follows. */
static bool is_address(const char *args, const char *at)
{
	return (at - args == 1 || at - args == 4) && at[1] == 'u';
}

/* Every call that headers know has arguments, of letters that are known. */
static void test_shapes(void)
{
	const struct ow_syscall_shape *shape;
	int nr, found = 0;
	const char *kind;

	for (nr = 0; nr < OW_SYSCALL_NUMBERS; nr++) {
		shape = ow_syscall_shape(nr);
		if (!shape)
			continue;
		found++;
		for (kind = shape->args; *kind; kind++)
			CHECK(is_kind(*kind) &&
			      (*kind != 'a' || is_address(shape->args, kind)));
		CHECK(strspn(shape->sets, "dfimnps") == strlen(shape->sets));
		CHECK(strspn(shape->result, "x?") == strlen(shape->result));
	}
	CHECK(found > 300);
	CHECK(strcmp(ow_syscall_shape(257)->args, "fsOo") == 0);
	CHECK(strcmp(ow_syscall_shape(272)->args, "c") == 0);
	CHECK(strcmp(ow_syscall_shape(308)->args, "dn") == 0);
	CHECK(strcmp(ow_syscall_shape(231)->result, "?") == 0);
	CHECK(!ow_syscall_shape(-1) && !ow_syscall_shape(999));
}

static const struct test tests[] = {
	{ "names", test_names },
	{ "sets", test_sets },
	{ "ABIs", test_abis },
	{ "what is refused", test_refused },
	{ "what a recorder is asked for", test_list },
	{ "what calls take", test_shapes },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
