// SPDX-License-Identifier: BSD-2-Clause
#include "mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "budget.h"
#include "error.h"
#include "procfs.h"
#include "scratch.h"
#include "test.h"

#define PAGE 4096ULL

struct mapped {
	const char *file;
	int prot, flags;
	bool unlinked;
};

typedef int read_fn(pid_t pid, struct ow_mappings *ret, struct ow_error *err);

static const struct ow_mapping *with_name(struct ow_mappings *maps,
					  const struct ow_mapping *listed,
					  struct ow_mapping *ret)
{
	*ret = *listed;
	CHECK(ow_mappings_name(maps, ret));
	return ret;
}

static void check_told(const struct mapped *t, read_fn *read, const void *at,
		       const struct stat *st, const char *path)
{
	const struct ow_mapping *m;
	struct ow_mappings maps;
	struct ow_mapping named;

	CHECK(read(getpid(), &maps, NULL) == 0);
	m = ow_mappings_from(&maps, (uintptr_t)at + 0xfff);
	m = m ? with_name(&maps, m, &named) : NULL;
	CHECK(m && m->start == (uintptr_t)at);
	CHECK(m && m->end == (uintptr_t)at + 0x1000);
	CHECK(m && m->off == 0x1000);
	CHECK(m && m->dev == st->st_dev && m->inode == st->st_ino);
	CHECK(m && m->readable == !!(t->prot & PROT_READ));
	CHECK(m && m->writable == !!(t->prot & PROT_WRITE));
	CHECK(m && m->executable == !!(t->prot & PROT_EXEC));
	CHECK(m && m->deleted == t->unlinked);
	CHECK(m && strcmp(m->path, path) == 0);
	ow_mappings_free(&maps);
}

/* A page of the file at offset 0x1000, and what is told of it. */
static void check_mapped(const struct mapped *t)
{
	struct stat st;
	char path[256];
	FILE *f = fopen(t->file, "w+e");
	uint8_t *at;

	if (!f || ftruncate(fileno(f), 0x2000) || fstat(fileno(f), &st))
		abort();
	at = mmap(NULL, 0x1000, t->prot, t->flags, fileno(f), 0x1000);
	if (at == MAP_FAILED)
		abort();
	if (t->unlinked)
		unlink(t->file);
	snprintf(path, sizeof(path), "%s/%s", scratch_dir, t->file);
	check_told(t, ow_mappings_read, at, &st, path);
	check_told(t, ow_mappings_read_code, at, &st, path);
	munmap(at, 0x1000);
	fclose(f);
}

static void test_mappings(void)
{
	static const struct mapped list[] = {
		{ "plain", PROT_READ, MAP_PRIVATE, false },
		{ "gone", PROT_READ | PROT_EXEC, MAP_PRIVATE, true },
		{ "shared", PROT_READ | PROT_WRITE, MAP_SHARED, false },
		{ "none", PROT_NONE, MAP_PRIVATE, false },
		{ "two\nlines", PROT_READ, MAP_PRIVATE, false },
		{ " a space at both ends ", PROT_READ, MAP_PRIVATE, false },
		{ "1000-2000 r-xp 00000000 08:01 1 x", PROT_READ, MAP_PRIVATE,
		  false },
	};
	struct ow_mappings maps;
	struct ow_error err;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(list); i++)
		check_mapped(&list[i]);
	CHECK(ow_mappings_read(INT32_MAX, &maps, &err) == -OW_CODE_ABSENT);
	CHECK(strcmp(err.msg, "no process 2147483647") == 0);
	ow_mappings_free(&maps);
}

static bool is_same(const struct ow_mapping *a, const struct ow_mapping *b)
{
	return a && b && a->start == b->start && a->end == b->end &&
	       a->off == b->off && a->dev == b->dev && a->inode == b->inode &&
	       a->readable == b->readable && a->writable == b->writable &&
	       a->executable == b->executable && a->deleted == b->deleted &&
	       strcmp(a->path, b->path) == 0;
}

/* Does the kernel tell of one mapping (Linux 6.11)? */
static bool is_told_by_address(void)
{
	struct ow_mappings maps;
	bool is_part;

	CHECK(ow_mappings_read_code(getpid(), &maps, NULL) == 0);
	is_part = maps.is_part;
	ow_mappings_free(&maps);
	return is_part;
}

static int nr_fds(void)
{
	int i, nr = 0;

	for (i = 0; i < 256; i++)
		nr += fcntl(i, F_GETFD) >= 0;
	return nr;
}

/* All code that all mappings have, and nothing else where it is asked for. */
static void test_code(void)
{
	struct ow_mappings all, code;
	int fds = nr_fds();
	size_t i, nr = 0;

	CHECK(ow_mappings_read_code(getpid(), &code, NULL) == 0);
	CHECK(ow_mappings_read(getpid(), &all, NULL) == 0);
	for (i = 0; i < all.nr; i++) {
		if (code.is_part &&
		    (!all.list[i].executable ||
		     strcmp(all.list[i].path, "[vsyscall]") == 0))
			continue;
		CHECK(nr < code.nr && is_same(&all.list[i], &code.list[nr]));
		nr++;
	}
	CHECK(nr > 2 && nr == code.nr);
	CHECK(nr_fds() == fds + code.is_part);
	ow_mappings_free(&code);
	CHECK(nr_fds() == fds);
	ow_mappings_free(&all);
}

static void check_from(struct ow_mappings *code, const struct ow_mapping *want,
		       uint64_t addr)
{
	const struct ow_mapping *m = ow_mappings_from(code, addr);
	struct ow_mapping named;

	/* Names of files take long where many mounts are crossed. */
	CHECK(m && (!code->is_part || want->executable ||
		    want->path[0] != '/' || !m->path[0]));
	CHECK(m && is_same(want, with_name(code, m, &named)));
}

/* Every byte that something is mapped at leads to that, in any order. */
static void test_others(void)
{
	struct ow_mappings all, code;
	const struct ow_mapping *m;
	size_t i, k;

	/* No memory is had while they are compared: the kernel has it first. */
	CHECK(ow_mappings_read(getpid(), &all, NULL) == 0);
	for (k = 0; k < 2; k++) {
		CHECK(ow_mappings_read_code(getpid(), &code, NULL) == 0);
		for (i = 0; i < all.nr; i++) {
			m = &all.list[k == 0 ? i : all.nr - 1 - i];
			if (strcmp(m->path, "[heap]") == 0 || !m->path[0] ||
			    strcmp(m->path, "[vsyscall]") == 0)
				continue;
			check_from(&code, m, m->start);
			check_from(&code, m, m->end - 1);
		}
		for (i = 1; i < code.nr; i++)
			CHECK(code.list[i - 1].end <= code.list[i].start);
		ow_mappings_free(&code);
	}
	ow_mappings_free(&all);
}

static uint8_t *map_at(uint8_t *at, size_t size, int prot)
{
	at = mmap(at, size, prot,
		  MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
	if (at == MAP_FAILED)
		abort();
	return at;
}

static bool is_at(const struct ow_mapping *m, const uint8_t *start, size_t size,
		  bool executable)
{
	return m && m->start == (uintptr_t)start && m->end - m->start == size &&
	       m->executable == executable && m->path[0] == '\0';
}

/* What is new takes the place of all that it overlaps. */
static void test_changes(void)
{
	uint8_t *at = map_at(NULL, 9 * PAGE, PROT_NONE); /* 2 to 6: in */
	uint8_t *in = at + 2 * PAGE;
	struct ow_mappings maps;
	const struct ow_mapping *m;
	size_t before;

	/* Of other rights, and so mappings of their own. */
	map_at(in - PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	map_at(in + 5 * PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	map_at(in, PAGE, PROT_READ | PROT_EXEC);
	map_at(in + 2 * PAGE, PAGE, PROT_READ | PROT_EXEC);
	CHECK(ow_mappings_read_code(getpid(), &maps, NULL) == 0);
	if (!maps.is_part)
		goto out;
	before = maps.nr;
	/* What is listed isn't asked for again. */
	map_at(in, 5 * PAGE, PROT_READ);
	m = ow_mappings_from(&maps, (uintptr_t)in + 5);
	CHECK(is_at(m, in, PAGE, true) && maps.nr == before);
	m = ow_mappings_from(&maps, (uintptr_t)in + PAGE);
	CHECK(is_at(m, in, 5 * PAGE, false));
	CHECK(maps.nr == before - 1);
	CHECK(is_at(ow_mappings_from(&maps, (uintptr_t)in), in, 5 * PAGE,
		    false));
	/* What is beside it stays. */
	CHECK(ow_mappings_has(&maps, (uintptr_t)in - PAGE));
	CHECK(ow_mappings_has(&maps, (uintptr_t)in + 5 * PAGE));
out:
	ow_mappings_free(&maps);
	munmap(at, 9 * PAGE);
}

/* The list is current until other code, or none, is at an address of it. */
static void check_current(read_fn *read, bool stays_open)
{
	uint8_t *at = map_at(NULL, 2 * PAGE, PROT_READ | PROT_EXEC), *more;
	struct ow_mappings maps;
	int fds, file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(read(getpid(), &maps, NULL) == 0);
	fds = nr_fds();
	CHECK(maps.is_open == stays_open);
	CHECK(ow_mappings_is_current(&maps, getpid()));
	more = map_at(NULL, PAGE, PROT_READ | PROT_EXEC | PROT_WRITE);
	CHECK(ow_mappings_is_current(&maps, getpid()));
	CHECK(maps.is_open == stays_open && nr_fds() == fds);
	map_at(at + PAGE, PAGE, PROT_READ);
	CHECK(!ow_mappings_is_current(&maps, getpid()));
	map_at(at, 2 * PAGE, PROT_READ | PROT_EXEC);
	CHECK(ow_mappings_is_current(&maps, getpid()));
	if (mmap(at, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		 file, 0) != at)
		abort();
	close(file);
	CHECK(!ow_mappings_is_current(&maps, getpid()));
	ow_mappings_free(&maps);
	munmap(at, 2 * PAGE);
	munmap(more, PAGE);
}

static void test_current(void)
{
	struct ow_mappings maps;

	CHECK(ow_mappings_read(getpid(), &maps, NULL) == 0);
	CHECK(!ow_mappings_is_current(&maps, INT32_MAX));
	ow_mappings_free(&maps);
	CHECK(!ow_mappings_is_current(&maps, getpid()));
	if (!is_told_by_address())
		return;
	check_current(ow_mappings_read, false);
	check_current(ow_mappings_read_open, true);
	check_current(ow_mappings_read_code, true);
}

static void test_ends(void)
{
	struct ow_task task;
	struct ow_mappings maps;
	struct ow_error err;
	const struct ow_mapping *m, *first;

	CHECK(ow_mappings_read_code(INT32_MAX, &maps, &err) == -OW_CODE_ABSENT);
	CHECK(strcmp(err.msg, "no process 2147483647") == 0);
	CHECK(maps.nr == 0 && !ow_mappings_from(&maps, 0));
	ow_mappings_free(&maps);
	CHECK(ow_mappings_read_code(getpid(), &maps, NULL) == 0);
	first = ow_mappings_from(&maps, 0);
	CHECK(first && first->start > 0);
	if (maps.is_part)
		CHECK(!ow_mappings_from(&maps, UINT64_MAX - 0xfff));
	CHECK(ow_task_read(getpid(), getpid(), &task));
	m = ow_mappings_from(&maps, task.stack_start);
	CHECK(m && strcmp(m->path, "[stack]") == 0 && m->writable);
	CHECK(m && m->start < (uintptr_t)&maps && m->end > (uintptr_t)&maps);
	ow_mappings_free(&maps);
}

static int exit_code(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Memory of a process that has exited isn't told of any more. */
static void test_exited(void)
{
	struct ow_mappings maps, none;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	CHECK(ow_mappings_read_code(child, &maps, NULL) == 0 && maps.nr > 2);
	kill(child, SIGKILL);
	CHECK(waitid(P_PID, child, NULL, WEXITED | WNOWAIT) == 0);
	/* It has not been waited for: there it is, without memory. */
	CHECK(ow_mappings_read_code(child, &none, NULL) == 0 && none.nr == 0);
	CHECK(!ow_mappings_from(&none, 0));
	ow_mappings_free(&none);
	CHECK(exit_code(child) == -1);
	if (maps.is_part)
		CHECK(!ow_mappings_from(&maps, (uintptr_t)&maps));
	CHECK(ow_mappings_from(&maps, maps.list[0].start) == &maps.list[0]);
	ow_mappings_free(&maps);
}

#define EXECUTED \
	"executed" /* the argument of a program that waits to be ended */

/* Have a child execute this program, which has its addresses again, and wait. */
static pid_t start_fixed(int *in, int *out)
{
	int to[2], from[2];
	pid_t child;

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return -1;
	child = fork();
	if (child == 0) {
		personality(ADDR_NO_RANDOMIZE);
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl("/proc/self/exe", "test_mappings", EXECUTED, NULL);
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	*in = to[1];
	*out = from[0];
	return child;
}

/* What that child does: say that it is there, and at a byte execute itself again. */
static int be_executed(void)
{
	char byte = '!';

	if (write(1, &byte, 1) == 1 && read(0, &byte, 1) == 1)
		execl("/proc/self/exe", "test_mappings", EXECUTED, NULL);
	return 1;
}

/* The same program at the same addresses is another one, executed again. */
static void test_executed(void)
{
	struct ow_mappings maps, now;
	pid_t child;
	char byte;
	int in, out;

	child = start_fixed(&in, &out);
	CHECK(child > 0 && read(out, &byte, 1) == 1);
	CHECK(ow_mappings_read_code(child, &maps, NULL) == 0 && maps.nr > 0);
	CHECK(maps.is_open && !ow_mappings_is_outlived(&maps));
	CHECK(ow_mappings_is_current(&maps, child) == is_told_by_address());
	CHECK(write(in, "!", 1) == 1 && read(out, &byte, 1) == 1);
	CHECK(ow_mappings_is_outlived(&maps));
	CHECK(ow_mappings_read_code(child, &now, NULL) == 0 &&
	      now.nr == maps.nr && now.list[0].start == maps.list[0].start);
	CHECK(!ow_mappings_is_current(&maps, child));
	ow_mappings_free(&now);
	ow_mappings_free(&maps);
	close(in);
	CHECK(exit_code(child) == 1);
	close(out);
}

/* From now on, ioctl fails as it does where the kernel doesn't know what is asked. */
static bool forget_ioctl(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { OW_ARRAY_SIZE(filter), filter };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* An older kernel tells of all at once. */
static void test_older_kernel(void)
{
	struct ow_mappings all, code;
	pid_t child = fork();
	bool is_good;
	size_t i;
	int fds;

	if (child > 0) {
		CHECK(exit_code(child) == 0);
		return;
	}
	fds = nr_fds();
	is_good = forget_ioctl() && ioctl(0, FIONREAD, &fds) &&
		  errno == ENOTTY && !is_told_by_address() &&
		  ow_mappings_read(getpid(), &all, NULL) == 0 &&
		  ow_mappings_read_code(getpid(), &code, NULL) == 0 &&
		  !code.is_part && code.is_open &&
		  !ow_mappings_is_outlived(&code);
	ow_mappings_close(&code);
	is_good = is_good && nr_fds() == fds;
	/* The lists themselves may have taken a mapping more. */
	for (i = 0; is_good && i < all.nr; i++)
		is_good = ow_mappings_has(&code, all.list[i].start);
	_exit(is_good ? 0 : 1);
}

/* At the begin; none is left open, or closed that is another's, such as 0. */
static int fds_before;

static void test_fds(void)
{
	CHECK(fds_before > 0 && nr_fds() == fds_before);
}

/* Root without capabilities may not look at a process that has them. */
static int look_without_capabilities(pid_t pid)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3,
						 0 };
	const struct __user_cap_data_struct none[2] = { 0 };
	struct ow_mappings maps;
	struct ow_error err = { 0 };
	char want[96];

	snprintf(want, sizeof(want),
		 "not allowed to look at process %d: root is restricted here",
		 pid);
	if (syscall(SYS_capset, &head, none))
		return 2;
	if (ow_mappings_read(pid, &maps, &err) != -OW_CODE_PERMISSION)
		return 3;
	return strcmp(err.msg, want) != 0;
}

static void test_restricted_root(void)
{
	int status = -1;
	pid_t child;

	if (geteuid() != 0)
		return;
	child = fork();
	if (child == 0)
		_exit(look_without_capabilities(getppid()));
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A list without time is empty, and isn't taken for a process that isn't there. */
static void test_out_of_time(void)
{
	const uint64_t past = 1;
	struct ow_mappings maps;
	struct ow_error err;
	int part;

	for (part = OW_MAPPINGS_ALL; part <= OW_MAPPINGS_CODE; part++) {
		CHECK(ow_mappings_read_until(getpid(), part, past, &maps,
					     &err) == -OW_CODE_TIMEOUT);
		/* A delegate may have read, and its files end with it. */
		CHECK(!maps.is_open);
		ow_mappings_free(&maps);
		CHECK(ow_mappings_read_until(getpid(), part, UINT64_MAX, &maps,
					     &err) == 0);
		CHECK(maps.nr > 0);
		maps.until_ns = past;
		CHECK(!ow_mappings_is_current(&maps, getpid()));
		ow_mappings_free(&maps);
	}
}

/* Others' files that have spent all memory don't keep a list from being read. */
static void test_spent_budget(void)
{
	size_t own[100] = { 0 }, i;
	struct ow_mappings maps;

	for (i = 0; i < OW_ARRAY_SIZE(own); i++)
		ow_budget_take(&own[i], ow_budget_share(own[i]));
	CHECK(ow_budget_share(0) < 16);
	CHECK(!ow_mappings_read(getpid(), &maps, NULL));
	CHECK(maps.nr > 5 && ow_mappings_has(&maps, (uintptr_t)own));
	ow_mappings_free(&maps);
	CHECK(!ow_mappings_read_code(getpid(), &maps, NULL) && maps.nr > 1);
	ow_mappings_free(&maps);
	for (i = 0; i < OW_ARRAY_SIZE(own); i++)
		ow_budget_give(&own[i], own[i]);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "mappings of files", test_mappings },
		{ "code", test_code },
		{ "root that may not look", test_restricted_root },
		{ "others are asked for", test_others },
		{ "what changes meanwhile", test_changes },
		{ "ends of all that is mapped", test_ends },
		{ "a process that has exited", test_exited },
		{ "a program that is executed again", test_executed },
		{ "a kernel that can't be asked", test_older_kernel },
		{ "files left open, or closed", test_fds },
		{ "code that isn't there any more", test_current },
		{ "no time to list", test_out_of_time },
		{ "no memory of the budget", test_spent_budget },
	};

	if (argc == 2 && strcmp(argv[1], EXECUTED) == 0)
		return be_executed();
	scratch_enter();
	fds_before = nr_fds();
	if (!is_told_by_address())
		printf("# this kernel tells of all mappings at once only\n");
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
