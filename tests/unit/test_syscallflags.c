// SPDX-License-Identifier: BSD-2-Clause
/* Names of system calls' arguments: of no room, of no value that is known. */
#include <string.h>

#include "env.h"
#include "syscallflags.h"
#include "test.h"

static bool is_text(char kind, uint64_t value, const char *want)
{
	char buf[1024];

	return ow_syscallflags_text(kind, value, buf, sizeof(buf)) &&
	       strcmp(buf, want) == 0;
}

static void test_values(void)
{
	char buf[64];

	CHECK(is_text('L', 1, "SEEK_CUR"));
	CHECK(is_text('L', 1ULL << 32, "SEEK_SET"));
	CHECK(!ow_syscallflags_text('L', 77, buf, sizeof(buf)));
	CHECK(is_text('w', ~0ULL, "RUSAGE_CHILDREN"));
	CHECK(is_text('S', 9, "SIGKILL"));
	CHECK(is_text('S', 34, "SIGRT_2"));
	CHECK(!ow_syscallflags_text('S', 0, buf, sizeof(buf)));
	CHECK(!ow_syscallflags_text('d', 1, buf, sizeof(buf)));
	CHECK(!ow_syscallflags_text('\0', 1, buf, sizeof(buf)));
}

static void test_flags(void)
{
	CHECK(is_text('O', 0, "O_RDONLY"));
	CHECK(is_text('O', 0x80000 | 3, "O_CLOEXEC|0x3"));
	CHECK(is_text('O', 0x410000 | 2, "O_RDWR|O_TMPFILE"));
	CHECK(is_text('O', 0x10000, "O_RDONLY|O_DIRECTORY"));
	CHECK(is_text('P', 0, "PROT_NONE"));
	CHECK(is_text('P', 0x83, "PROT_READ|PROT_WRITE|0x80"));
	CHECK(is_text('M', 0x22, "MAP_PRIVATE|MAP_ANONYMOUS"));
	CHECK(is_text('M', 0x20, "MAP_ANONYMOUS"));
	CHECK(is_text('R', 0, "0"));
	CHECK(is_text('Q', 0, "F_OK"));
	CHECK(is_text('U', 0x189,
		      "FUTEX_WAIT_BITSET_PRIVATE|"
		      "FUTEX_CLOCK_REALTIME"));
	CHECK(is_text('C', 0x4111, "SIGCHLD|CLONE_VM|CLONE_VFORK"));
}

/* The flags that are all of a register's bits, and others that aren't. */
static void test_long_flags(void)
{
	const uint64_t high = 1ULL << 32;

	CHECK(is_text('P', high | 3, "PROT_READ|PROT_WRITE|0x100000000"));
	CHECK(is_text('P', high, "0x100000000"));
	CHECK(is_text('M', high | 0x22,
		      "MAP_PRIVATE|MAP_ANONYMOUS|0x100000000"));
	CHECK(is_text('R', ~0ULL << 32 | 1,
		      "MREMAP_MAYMOVE|0xffffffff00000000"));
	CHECK(is_text('C', high | 0x111, "SIGCHLD|CLONE_VM|0x100000000"));
	CHECK(is_text('O', high, "O_RDONLY"));
	CHECK(is_text('Y', high | 4, "MS_SYNC"));
}

/* The same bit is part of a signal's number where one is told. */
static void test_namespaces(void)
{
	CHECK(is_text('c', 0x80, "CLONE_NEWTIME"));
	CHECK(is_text('c', 1ULL << 32 | 0x20111,
		      "CLONE_VM|CLONE_NEWNS|0x100000011"));
	CHECK(is_text('c', 0, "0"));
	CHECK(is_text('n', 0x80, "CLONE_NEWTIME"));
	CHECK(is_text('n', 1ULL << 32 | 0x40000100, "CLONE_NEWNET|0x100"));
	CHECK(is_text('C', 0x80, "0x80"));
}

/* What has no room is left out, and nothing is written behind. */
static void test_room(void)
{
	char buf[64];
	size_t size;
	int kind;

	for (kind = 0; kind < 128; kind++)
		for (size = 1; size < sizeof(buf); size++) {
			memset(buf, '#', sizeof(buf));
			if (ow_syscallflags_text((char)kind, 0xfffffffe, buf,
						 size))
				CHECK(memchr(buf, 0, size));
			CHECK(buf[size] == '#');
		}
	CHECK(ow_syscallflags_text('P', 3, buf, 12));
	CHECK(strcmp(buf, "PROT_READ") == 0);
}

static void test_kinds(void)
{
	const uint64_t makes[6] = { 0, 0, 0x40 }, opens[6] = { 0 };
	const uint64_t get[6] = { 3, 1 }, set[6] = { 3, 4 },
		       wake[6] = { 0, 129 };
	const char *file = "fsOo", *command = "dFx", *futex = "xUdxxx";

	CHECK(ow_syscallflags_kind(file, makes, 3) == 'o');
	CHECK(ow_syscallflags_kind(file, opens, 3) == '\0');
	CHECK(ow_syscallflags_kind(file, opens, 2) == 'O');
	CHECK(ow_syscallflags_kind(command, get, 2) == '\0');
	CHECK(ow_syscallflags_kind(command, set, 2) == 'O');
	CHECK(ow_syscallflags_kind(command, set, 3) == '\0');
	CHECK(ow_syscallflags_kind(futex, wake, 2) == 'd');
	CHECK(ow_syscallflags_kind(futex, wake, 3) == '\0');
	CHECK(ow_syscallflags_kind("", get, 0) == '\0');
}

int main(void)
{
	static const struct test tests[] = {
		{ "values", test_values },
		{ "flags", test_flags },
		{ "long flags", test_long_flags },
		{ "namespaces", test_namespaces },
		{ "room", test_room },
		{ "kinds", test_kinds },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
