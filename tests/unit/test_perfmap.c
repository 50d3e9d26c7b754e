// SPDX-License-Identifier: BSD-2-Clause
#include "perfmap.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/outwind.h>

#include "perfplace.h"
#include "reach.h"
#include "scratch.h"
#include "test.h"

#define MISSES 8

static void check(const struct ow_perfmap *map, uint64_t addr, const char *want)
{
	struct ow_symbol sym = { "nothing", 0, 0 };
	bool found = ow_perfmap_find(map, addr, &sym);

	CHECK(found == (want != NULL));
	CHECK(!want || (found && strcmp(sym.name, want) == 0));
	if (want && strcmp(sym.name, want) != 0)
		printf("# %#llx: %s\n", (unsigned long long)addr, sym.name);
}

static struct ow_perfmap *parse(const char *text)
{
	return ow_perfmap_parse(text, strlen(text), (struct ow_owner){ 0 },
				"test");
}

static void test_lookup(void)
{
	struct ow_perfmap *map =
		parse("1000 10 first\n"
		      "2000 20 LazyCompile:~foo bar /a b.js:1:2\n"
		      "0x3000 0x10 prefixed\r\n"
		      "FFFF800000000000 10 high\n"
		      "4000 10 no newline");

	check(map, 0xfff, NULL);
	check(map, 0x1000, "first");
	check(map, 0x100f, "first");
	check(map, 0x1010, NULL);
	check(map, 0x201f, "LazyCompile:~foo bar /a b.js:1:2");
	check(map, 0x3001, "prefixed");
	check(map, 0xffff80000000000f, "high");
	check(map, 0x400f, "no newline");
	ow_perfmap_close(map);
}

static void test_later_lines_override(void)
{
	struct ow_perfmap *map = parse("1000 100 old\n"
				       "1010 10 new\n"
				       "1010 10 newer\n"
				       "2000 10 inner\n"
				       "1ff0 100 around\n");

	check(map, 0x100f, "old");
	check(map, 0x1010, "newer");
	check(map, 0x101f, "newer");
	check(map, 0x1020, "old");
	check(map, 0x10ff, "old");
	check(map, 0x2005, "around");
	ow_perfmap_close(map);
}

/* By how much of the text there was: "1000 10 old\n" is 12 bytes. */
static void test_as_of(void)
{
	struct ow_perfmap *map = parse("1000 10 old\n"
				       "1000 10 new\n"
				       "2000 10 first\n"
				       "2000 10 second\n");

	static const struct {
		uint64_t addr;
		size_t end;
		const char *want;
	} finds[] = {
		{ 0x1000, 0, "old" },     { 0x1000, 12, "old" },
		{ 0x1000, 24, "new" },    { 0x1000, SIZE_MAX, "new" },
		{ 0x2000, 12, "first" },  { 0x2000, 38, "first" },
		{ 0x2000, 53, "second" },
	};
	struct ow_symbol sym;

	for (size_t i = 0; i < OW_ARRAY_SIZE(finds); i++)
		CHECK(ow_perfmap_find_as_of(map, finds[i].addr, finds[i].end,
					    &sym) &&
		      strcmp(sym.name, finds[i].want) == 0);
	CHECK(!ow_perfmap_find_as_of(map, 0x3000, 0, &sym));
	ow_perfmap_close(map);
}

/* One line may cover all others. */
static void test_far_back(void)
{
	size_t nr = 100000, size = nr * 32, used, i;
	char *text = malloc(size);
	struct ow_perfmap *map;

	used = (size_t)snprintf(text, size, "1000 10000000 whole\n");
	for (i = 0; i < nr; i++)
		used += (size_t)snprintf(text + used, size - used, "%zx 1 x\n",
					 0x1000 + 16 * i);
	map = ow_perfmap_parse(text, used, (struct ow_owner){ 0 }, "test");
	free(text);
	check(map, 0x1008, "whole");
	check(map, 0x1010, "x");
	check(map, 0x1000 + 16 * 1000 + 8, "whole");
	check(map, 0x1000 + 16 * (nr - 1), "x");
	check(map, 0x1000 + 16 * (nr - 1) + 8, "whole");
	check(map, 0x1000 + 0x10000000, NULL);
	ow_perfmap_close(map);
}

/* Each lookup takes a few steps, however many lines cover the address. */
static void test_nested(void)
{
	size_t nr = 70000, size = nr * 40, used = 0, i;
	char *text = malloc(size), want[16];
	struct ow_perfmap *map;
	struct ow_symbol sym;

	for (i = 0; i < nr; i++)
		used += (size_t)snprintf(text + used, size - used,
					 "%zx %zx n%zu\n", 0x100000 + i,
					 0x400000 - 2 * i, nr - i);
	map = ow_perfmap_parse(text, used, (struct ow_owner){ 0 }, "test");
	free(text);
	for (i = 0; i < nr; i++) {
		snprintf(want, sizeof(want), "n%zu", nr - i);
		CHECK(ow_perfmap_find(map, 0x100000 + i, &sym) &&
		      strcmp(sym.name, want) == 0);
	}
	/* As of the first line, which alone was there then. */
	for (i = 0; i < 1000000; i++)
		CHECK(ow_perfmap_find_as_of(map, 0x200000, 16, &sym) &&
		      strcmp(sym.name, "n70000") == 0);
	ow_perfmap_close(map);
}

/* A map takes its part of the budget, and what that has no room for is named. */
static void test_memory_limit(void)
{
	size_t nr = 200000, size = nr * 32, used = 0, i;
	char *text = malloc(size);
	struct ow_perfmap *map;
	struct ow_symbol sym;
	bool is_named = false;

	for (i = 0; i < nr; i++)
		used += (size_t)snprintf(text + used, size - used,
					 "%zx 8 x%zu\n", 0x1000 + 16 * i, i);
	ow_memory_limit((uint64_t)32 << 20);
	map = ow_perfmap_parse(text, used, (struct ow_owner){ 0 },
			       "/tmp/large.map");
	ow_memory_limit((uint64_t)512 << 20);
	free(text);
	check(map, 0x1000, "x0");
	CHECK(!map || !ow_perfmap_find(map, 0x1000 + 16 * (nr - 1), &sym));
	for (i = 0; ow_left_out(i); i++)
		is_named |= strstr(ow_left_out(i), "/tmp/large.map: some of "
						   "its lines") != NULL;
	CHECK(is_named);
	ow_perfmap_close(map);
}

/* Maps of one user leave half of the memory to others, however many there are. */
static void test_user(void)
{
	size_t nr = 100000, size = nr * 32, used = 0, i;
	const struct ow_owner one = ow_owner_of(1000),
			      other = ow_owner_of(1001);
	char *text = malloc(size);
	struct ow_perfmap *maps[16];

	for (i = 0; i < nr; i++)
		used += (size_t)snprintf(text + used, size - used,
					 "%zx %zx a\n", i * 7919 % nr + 1,
					 nr * 2);
	ow_memory_limit((uint64_t)64 << 20);
	for (i = 0; i < OW_ARRAY_SIZE(maps); i++)
		maps[i] = ow_perfmap_parse(text, used, one, "/tmp/wide.map");
	CHECK(maps[0] && ow_owner_left(&other) >= (size_t)8 << 20);
	for (i = 0; i < OW_ARRAY_SIZE(maps); i++)
		ow_perfmap_close(maps[i]);
	CHECK(ow_owner_left(&one) == (size_t)16 << 20);
	ow_memory_limit((uint64_t)512 << 20);
	free(text);
}

static void test_nonsense_is_skipped(void)
{
	static const char *const lines[] = {
		"",           "1000",
		"1000 ",      "1000 10",
		"1000 10 ",   "xyz 10 a",
		"1000 0 a",   "1000\t10 a",
		"-1000 10 a", "ffffffffffffffff 10 a",
		"1000  10 a", "10000000000000000 10 a",
		"0x 10 a",    " 1000 10 a",
	};

	for (size_t i = 0; i < OW_ARRAY_SIZE(lines); i++) {
		struct ow_perfmap *map = parse(lines[i]);
		struct ow_symbol sym;

		CHECK(map);
		CHECK(!ow_perfmap_find(map, 0x1000, &sym));
		CHECK(!ow_perfmap_find(map, 0, &sym));
		CHECK(!ow_perfmap_find(map, ~0ULL, &sym));
		ow_perfmap_close(map);
	}
}

static void test_every_truncation(void)
{
	static const char text[] = "1000 10 a\n2000 20 b c\n\n\0x\n3000 1 d";

	for (size_t n = 0; n < sizeof(text); n++) {
		struct ow_perfmap *map = ow_perfmap_parse(
			text, n, (struct ow_owner){ 0 }, "test");

		CHECK(map);
		ow_perfmap_close(map);
	}
}

static void test_file_of_this_process(void)
{
	struct ow_perfmap *map;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	scratch_write(path, "1000 10 jitted code\n");
	map = ow_perfmap_open(getpid());
	CHECK(map);
	if (map)
		check(map, 0x1008, "jitted code");
	ow_perfmap_close(map);
	/* root may keep it for others, others not for root */
	if (geteuid() == 0 && chown(path, 65534, 65534) == 0)
		CHECK(!ow_perfmap_open(getpid()));
	unlink(path);
	CHECK(symlink("/etc/passwd", path) == 0 && !ow_perfmap_open(getpid()));
	unlink(path);
	CHECK(!ow_perfmap_open(getpid()));
}

/* To open a device does something, and to open a FIFO lets a writer of it go on. */
static void test_no_file(void)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct inotify_event event;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	CHECK(mkfifo(path, 0600) == 0);
	CHECK(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	CHECK(!ow_perfmap_open(getpid()));
	CHECK(read(watch, &event, sizeof(event)) == -1 && errno == EAGAIN);
	close(watch);
	unlink(path);
}

/* What the kernel has in place of a file; 2: it can't be mounted there. */
static int open_kernels(void)
{
	struct ow_perfmap *map;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	scratch_write(path, "1000 10 code\n");
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("/proc/uptime", path, NULL, MS_BIND, NULL))
		return 2;
	map = ow_perfmap_open(getpid());
	ow_perfmap_close(map);
	return map != NULL;
}

static void test_file_of_the_kernel(void)
{
	pid_t pid = fork();
	char path[64];
	int status;

	if (pid == 0)
		_exit(open_kernels());
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 1);
	if (WEXITSTATUS(status) == 2)
		printf("# /proc/uptime can't be mounted on a map\n");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	unlink(path);
}

/* A process whose /tmp is a link to a link, and so on, each with a long path. */
static pid_t start_linked(const char *root)
{
	char name[16], to[4096] = "";
	pid_t pid;
	int i;

	CHECK(mkdir(root, 0700) == 0 && chdir(root) == 0 &&
	      mkdir("a", 0700) == 0 && mkdir("s38", 0700) == 0);
	for (i = 0; i < 800; i++)
		strcat(to, "a/../");
	for (i = 0; i < 38; i++) {
		snprintf(name, sizeof(name), i ? "s%d" : "tmp", i);
		snprintf(to + 4000, 16, "s%d", i + 1);
		CHECK(symlink(to, name) == 0);
	}
	CHECK(chdir("..") == 0);
	pid = fork();
	if (pid == 0) {
		if (chroot(root) || chdir("/") || raise(SIGSTOP))
			_exit(1);
		_exit(0);
	}
	/* It has its root when it has stopped. */
	CHECK(waitpid(pid, NULL, WUNTRACED) == pid);
	return pid;
}

static void test_linked_place(void)
{
	struct ow_perfplace p;
	pid_t pid;
	int i, nr = 0, missed = 0; /* one after the other */

	if (geteuid() != 0)
		return;
	pid = start_linked("linked");
	/* The kernel's cache may miss one of them now and then. */
	for (i = 0; i < 2000 && missed < MISSES; i++) {
		CHECK(ow_perfplace_init(&p, pid));
		nr += p.tmp >= 0;
		missed = p.tmp >= 0 ? 0 : missed + 1;
		ow_perfplace_deinit(&p);
	}
	printf("# followed %d times\n", nr);
	CHECK(nr > 0 && missed == MISSES);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void wait_for_ever(void *arg)
{
	(void)arg;
	ow_delegate_enter();
	pause();
	ow_delegate_leave();
}

/* What the kernel has is read yet when no server is to be asked any more. */
static void test_after_waits(void)
{
	size_t before = ow_nr_left_out();
	struct ow_perfmap *map;
	char path[64];

	while (!ow_reach_is_spent())
		CHECK(ow_reach(wait_for_ever, NULL) == OW_DELEGATION_GIVEN_UP);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	scratch_write(path, "1000 10 jitted code\n");
	map = ow_perfmap_open(getpid());
	CHECK(map && strncmp(ow_perfmap_path(map), "/proc/", 6) == 0);
	if (map)
		check(map, 0x1008, "jitted code");
	ow_perfmap_close(map);
	unlink(path);
	CHECK(symlink("/etc/passwd", path) == 0 && !ow_perfmap_open(getpid()));
	unlink(path);
	CHECK(ow_nr_left_out() == before);
}

int main(void)
{
	static const struct test tests[] = {
		{ "lookup", test_lookup },
		{ "later lines override", test_later_lines_override },
		{ "as of a time", test_as_of },
		{ "far back", test_far_back },
		{ "nested", test_nested },
		{ "memory limit", test_memory_limit },
		{ "a user's part of memory", test_user },
		{ "nonsense is skipped", test_nonsense_is_skipped },
		{ "truncation", test_every_truncation },
		{ "a process' file", test_file_of_this_process },
		{ "a FIFO in its place", test_no_file },
		{ "a file of the kernel's in its place",
		  test_file_of_the_kernel },
		{ "a place behind links", test_linked_place },
		{ "a process' file, after waits", test_after_waits },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
