// SPDX-License-Identifier: BSD-2-Clause
/*
 * What nobody can't do to others by means of the module: take its memory, hold up
 * its calls, or learn what others do.  Run as root, where nobody may open it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "handin.h"
#include "say.h"

#define NOBODY     65534
#define MIB        (1u << 20)
#define CGROUPS    "/run/kunwind-cgroups"
#define MANY       1000 /* sessions */
#define ASLEEP     40   /* processes that they follow */
#define FORKERS    2
#define FORKS      100
#define THREADS    4
#define TIMES      300
#define KEPT       8 /* tables of a file that changes */
#define PARAMETERS "/sys/module/kunwind/parameters/"

static int open_device(void)
{
	return open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* 0, or the errno. */
static int follow(int dev, pid_t pid, unsigned int flags)
{
	struct ow_kunwind_follow f = { .pid = pid, .flags = flags };

	return ioctl(dev, OW_KUNWIND_FOLLOW, &f) ? errno : 0;
}

static struct ow_kunwind_stats stats(int dev)
{
	struct ow_kunwind_stats s = { 0 };

	say(ioctl(dev, OW_KUNWIND_STATS, &s) == 0, "statistics", dev);
	return s;
}

static void set_parameter(const char *name, unsigned int value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	f = fopen(path, "we");
	if (!f)
		return; /* an older module */
	fprintf(f, "%u", value);
	fclose(f);
}

static void become_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Run as nobody in a child, which says its counts itself. */
static void as_nobody(void (*run)(void))
{
	int status = -1, of[2], counts[2] = { 0, 1 };
	pid_t pid;

	fflush(stdout);
	if (pipe(of))
		return;
	pid = fork();
	if (pid == 0) {
		passed = failed = 0;
		become_nobody();
		run();
		fflush(stdout);
		counts[0] = passed;
		counts[1] = failed;
		_exit(write(of[1], counts, sizeof(counts)) != sizeof(counts));
	}
	close(of[1]);
	say(read(of[0], counts, sizeof(counts)) == sizeof(counts), "a child",
	    0);
	close(of[0]);
	waitpid(pid, &status, 0);
	passed += counts[0];
	failed += counts[1];
}

/* A process of the caller's that sleeps, after it did something. */
static pid_t sleeper(void (*first)(void))
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (first)
			first();
		if (write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	say(read(ready[0], &c, 1) == 1, "a sleeping child", 0);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- tables --- */

static void too_large(void)
{
	int dev = open_device(), got;

	got = hand_in(dev, 1000, (void *)8, 128 * MIB);
	say(got == ENOSPC, "more than the user's limit, before all else", got);
	close(dev);
}

/* Two pages that are never served, as no thread answers. */
static void *unserved(int *uffd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *p = mmap(NULL, 128 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	r.range.start = (uintptr_t)p;
	r.range.len = 128 * MIB;
	if (p == MAP_FAILED || *uffd < 0 || ioctl(*uffd, UFFDIO_API, &api) ||
	    ioctl(*uffd, UFFDIO_REGISTER, &r))
		return NULL;
	return p;
}

static void *blocked;
static size_t blocked_size;

static void *hand_in_blocked(void *arg)
{
	int dev = open_device(), fd = some_file();

	for (;;)
		hand_in(dev, fd, blocked, blocked_size);
	return arg;
}

/* Threads whose tables' bytes never come. */
static void block(size_t size)
{
	pthread_t t;
	int uffd, i;

	blocked = unserved(&uffd);
	blocked_size = size;
	become_nobody();
	for (i = 0; i < THREADS; i++)
		if (!blocked || pthread_create(&t, NULL, hand_in_blocked, NULL))
			_exit(1);
	usleep(500000);
}

static void block_large(void)
{
	block(128 * MIB);
}

static void block_small(void)
{
	block(60 * MIB);
}

/* How many of the caller's registrations fail. */
static int registrations(int dev)
{
	int fd = some_file(), i, bad = 0;
	uint8_t *bytes;
	size_t size;

	for (i = 0; i < TIMES; i++) {
		bytes = make_table(16, 4096 * (uint64_t)(i + 1), &size);
		bad += hand_in(dev, fd, bytes, size) != 0;
		munmap(bytes, size);
	}
	close(fd);
	return bad;
}

/* Whoever sets a file's time again and again does not have more and more of it held. */
static void times_of_a_file(void)
{
	int dev = open_device(), fd = some_file(), i, bad = 0;
	struct timespec times[2] = { { 0 } };
	uint8_t *bytes;
	size_t size;

	for (i = 0; i < TIMES; i++) {
		times[1].tv_sec = i;
		bytes = make_table(1, 4096 * (uint64_t)(i + 1), &size);
		bad += futimens(fd, times) || hand_in(dev, fd, bytes, size);
		munmap(bytes, size);
	}
	say(bad == 0, "tables of a file at several times", bad);
	say(stats(dev).tables == KEPT, "those of its latest times are kept",
	    (long)stats(dev).tables);
	close(fd);
	close(dev);
}

static void nobodys_registrations(void)
{
	int dev = open_device(), bad = registrations(dev);

	say(bad == 0, "nobody's registrations beside nobody's blocked", bad);
	close(dev);
}

static void beside_blocked(void)
{
	static const struct {
		void (*block)(void);
		const char *what;
	} kinds[] = { { block_large, "128 MiB" }, { block_small, "60 MiB" } };

	int dev = open_device(), uffd, bad;
	size_t i;
	pid_t pid;

	if (!unserved(&uffd)) {
		printf("# no userfaultfd here\n");
		return;
	}
	for (i = 0; i < 2; i++) {
		pid = sleeper(kinds[i].block);
		bad = registrations(dev);
		printf("# %d of root's %d registrations fail beside %d of %s\n",
		       bad, TIMES, THREADS, kinds[i].what);
		say(bad == 0, "root's registrations", bad);
		as_nobody(nobodys_registrations);
		end(pid);
	}
	close(uffd);
	close(dev);
}

/*
 * Hand in tables of files of that user's, large ones first, until not the smallest
 * one is taken any more; their number.
 */
static int fill_up(int dev, uid_t owner)
{
	uint32_t blocks;
	uint64_t base = 0;
	uint8_t *bytes;
	int got = 0, fd;
	size_t size;

	for (blocks = 1024; blocks > 0; blocks /= 2)
		for (got = 0; got == 0 && base < 3000;) {
			bytes = make_table(blocks, ++base, &size);
			fd = some_file();
			say(fchown(fd, owner, (gid_t)-1) == 0, "a file", fd);
			got = hand_in(dev, fd, bytes, size);
			close(fd);
			munmap(bytes, size);
		}
	say(got == ENOSPC, "there is an end to it", got);
	return (int)base;
}

static void fill_nobodys(void)
{
	become_nobody();
	fill_up(open_device(), NOBODY);
}

static void root_has_a_share(void)
{
	int dev = open_device(), bad;
	pid_t pid;

	set_parameter("max_all_mib", 4);
	set_parameter("reserved_mib", 2);
	pid = sleeper(fill_nobodys);
	bad = registrations(dev);
	printf("# %d of root's %d fail where nobody took all there is\n", bad,
	       TIMES);
	say(bad == 0, "root's share", bad);
	end(pid);
	set_parameter("max_all_mib", 512);
	set_parameter("reserved_mib", 128);
	close(dev);
}

/* Many files of nobody's, that root brings the tables of. */
static void owner_pays(void)
{
	int dev = open_device(), nr, bad;

	set_parameter("max_user_mib", 2);
	nr = fill_up(dev, NOBODY);
	bad = registrations(dev);
	printf("# %d of root's %d fail after %d of nobody's files\n", bad,
	       TIMES, nr);
	say(bad == 0, "root's own beside nobody's files", bad);
	set_parameter("max_user_mib", 64);
	close(dev);
}

/* --- memory cgroups --- */

/* A cgroup whose members may have 32 MiB. */
static bool make_cgroup(void)
{
	mkdir(CGROUPS, 0755);
	return !mount("none", CGROUPS, "cgroup2", 0, NULL) &&
	       write_to(CGROUPS "/cgroup.subtree_control", "+memory") &&
	       !mkdir(CGROUPS "/small", 0755) &&
	       write_to(CGROUPS "/small/memory.max", "33554432");
}

static uint8_t *large_table;
static size_t large_size;

/* What memory the table's own bytes are was paid outside. */
static void hand_in_large(void)
{
	int dev = open_device(), got;

	if (!write_to(CGROUPS "/small/cgroup.procs", "0"))
		_exit(1);
	got = hand_in(dev, some_file(), large_table, large_size);
	printf("# %zu MiB in a cgroup of 32 MiB: %s\n", large_size / MIB,
	       got ? strerror(got) : "taken");
	say(got == ENOMEM, "more than the cgroup may have", got);
	got = hand_in(dev, some_file(), large_table, 8);
	say(got == EINVAL, "the process lives on", got);
	_exit(failed ? 1 : 0);
}

static void cgroup_pays(void)
{
	int status = -1;
	pid_t pid;

	if (!make_cgroup()) {
		printf("# no memory cgroups here\n");
		return;
	}
	set_parameter("max_user_mib", 256);
	large_table = make_table(3000000, 4096, &large_size);
	pid = fork();
	if (pid == 0) {
		failed = 0;
		hand_in_large();
	}
	waitpid(pid, &status, 0);
	say(status == 0, "in a small cgroup", status);
	set_parameter("max_user_mib", 64);
	munmap(large_table, large_size);
	rmdir(CGROUPS "/small");
	umount(CGROUPS);
}

/* --- what can be learnt --- */

static uint8_t *roots_table;
static size_t roots_size;

static void sees_own_alone(void)
{
	int dev = open_device(), fd = some_file();
	struct ow_kunwind_stats before = stats(dev), after;

	say(before.tables == 0 && before.table_bytes == 0 &&
		    before.followed == 0 && before.walks == 0,
	    "nothing of root's is told", (long)before.tables);
	say(hand_in(dev, fd, roots_table, roots_size) == 0, "a table", 0);
	after = stats(dev);
	say(after.tables == 1 && after.table_bytes == roots_size,
	    "a table like root's is nobody's own", (long)after.tables);
	say(hand_in(dev, fd, roots_table, roots_size) == 0, "once more", 0);
	after = stats(dev);
	say(after.tables == 1, "nobody's own is held once", (long)after.tables);
	close(dev);
	close(fd);
}

static void no_oracle(void)
{
	int dev = open_device(), fd = some_file();

	roots_table = make_table(16, 4096, &roots_size);
	say(hand_in(dev, fd, roots_table, roots_size) == 0, "root's table", 0);
	say(follow(dev, 0, 0) == 0, "root is followed", 0);
	as_nobody(sees_own_alone);
	close(dev);
	close(fd);
}

/* --- memory of CPUs, when it is needed --- */

/* Before anything else that follows. */
static void contexts_when_used(void)
{
	int dev = open_device(), nr;
	struct ow_frame frames[8];
	enum ow_end why = OW_END_NOT_YET;

	say(stats(dev).context_bytes == 0, "nothing is taken as it is loaded",
	    (long)stats(dev).context_bytes);
	nr = ow_kunwind_unwind(dev, frames, 8, 0, &why, NULL);
	say(nr == 1 && why == OW_END_NO_MODULE && frames[0].pc && frames[0].sp,
	    "the first frame all the same", nr);
	say(follow(dev, 0, 0) == 0, "follow oneself", 0);
	say(stats(dev).context_bytes >
		    4 * 65536 * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN),
	    "but when somebody is followed", (long)stats(dev).context_bytes);
	close(dev);
}

/* --- who follows whom --- */

static void sessions_of_one(void)
{
	int dev[OW_KUNWIND_MAX_SESSIONS + 1], i, got = 0;

	for (i = 0; i <= OW_KUNWIND_MAX_SESSIONS; i++) {
		dev[i] = open_device();
		got = follow(dev[i], 0, OW_KUNWIND_INHERIT);
		if (i < OW_KUNWIND_MAX_SESSIONS)
			say(got == 0, "a session follows", i);
	}
	say(got == EUSERS, "one too many is refused", got);
	say(follow(dev[OW_KUNWIND_MAX_SESSIONS], 0, 0) == EUSERS,
	    "with and without children", 0);
	close(dev[0]);
	got = follow(dev[OW_KUNWIND_MAX_SESSIONS], 0, OW_KUNWIND_INHERIT);
	say(got == 0, "until another one goes", got);
	for (i = 1; i <= OW_KUNWIND_MAX_SESSIONS; i++)
		close(dev[i]);
}

/* --- who waits for events --- */

/* An epoll that watches the session. */
static int watch(int dev)
{
	struct epoll_event e = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	say(ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, dev, &e) == 0, "an epoll",
	    ep);
	return ep;
}

/* How many of them tell that within a second. */
static int told(const int *eps, int nr, unsigned int what)
{
	struct epoll_event e = { 0 };
	int i, ret = 0;

	for (i = 0; i < nr; i++)
		ret += epoll_wait(eps[i], &e, 1, 1000) == 1 && e.events == what;
	return ret;
}

static void watched_by_many(void)
{
	int eps[OW_KUNWIND_MAX_POLLS + 1], dev = open_device(), i, got;

	for (i = 0; i < OW_KUNWIND_MAX_POLLS; i++)
		eps[i] = watch(dev);
	close(eps[0]);
	eps[0] = watch(dev);
	say(follow(dev, 0, 0) == 0, "follow oneself", 0);
	got = told(eps, OW_KUNWIND_MAX_POLLS, EPOLLIN);
	say(got == OW_KUNWIND_MAX_POLLS, "as many epolls as may be", got);
	eps[i] = watch(dev);
	got = told(eps, i + 1, EPOLLIN | EPOLLERR);
	say(got == i + 1, "all are told of one too many", got);
	for (i = 0; i <= OW_KUNWIND_MAX_POLLS; i++)
		close(eps[i]);
	close(dev);
}

static void *read_one(void *dev)
{
	struct ow_kunwind_event e;

	return read(*(int *)dev, &e, sizeof(e)) == sizeof(e) ? dev : NULL;
}

/* Threads that wait in read(2), and one event each. */
static void read_by_some(void)
{
	int dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_CLOEXEC), i, got = 0;
	struct ow_kunwind_follow f = { 0 };
	pthread_t threads[THREADS];
	void *well;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, read_one, &dev);
	usleep(200000);
	for (i = 0; i < THREADS; i++) {
		say(follow(dev, 0, 0) == 0, "follow oneself", i);
		say(ioctl(dev, OW_KUNWIND_UNFOLLOW, &f) == 0, "and no more", i);
	}
	alarm(100);
	for (i = 0; i < THREADS; i++)
		got += pthread_join(threads[i], &well) == 0 && well;
	alarm(0);
	say(got == THREADS, "each reader has an event", got);
	close(dev);
}

/* A session pays for each process that it inherits. */
static void heirs_are_paid(void)
{
	int plain = open_device(), heir = open_device();
	struct ow_kunwind_stats at_first = stats(plain), once, twice;

	say(follow(plain, 0, 0) == 0, "follow", 0);
	once = stats(plain);
	say(follow(heir, 0, OW_KUNWIND_INHERIT) == 0, "with children", 0);
	twice = stats(plain);
	say(twice.bytes_user - once.bytes_user > 64 &&
		    once.bytes_user > at_first.bytes_user,
	    "what is inherited is paid",
	    (long)(twice.bytes_user - once.bytes_user));
	close(heir);
	close(plain);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What a fork takes, in ns: the mean of some. */
static uint64_t fork_time(void)
{
	uint64_t begin = now();
	pid_t pid;
	int i;

	for (i = 0; i < FORKS; i++) {
		pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return (now() - begin) / FORKS;
}

static void forks_for_ever(void)
{
	pid_t pid;
	int i;

	for (i = 0; i < FORKERS; i++)
		if (fork() == 0)
			break;
	if (i == FORKERS)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static void forks_alone(void)
{
	become_nobody();
	forks_for_ever();
}

/* As many sessions as can be had follow it, what it forks, and some that sleep. */
static void forks_followed(void)
{
	int dev, i, well = 0;
	pid_t pid;

	become_nobody();
	for (i = 0; i < MANY; i++) {
		dev = open_device();
		if (dev < 0)
			break;
		well += follow(dev, 0, OW_KUNWIND_INHERIT) == 0;
	}
	printf("# %d sessions of nobody's follow\n", well);
	for (i = 0; i < ASLEEP; i++) {
		pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	forks_for_ever();
}

static void fork_is_not_held_up(void)
{
	struct rlimit files = { 4096, 4096 };
	uint64_t alone, beside;
	pid_t pid;

	setrlimit(RLIMIT_NOFILE, &files);
	pid = sleeper(forks_alone);
	alone = fork_time();
	end(pid);
	pid = sleeper(forks_followed);
	beside = fork_time();
	end(pid);
	printf("# root's fork: %llu us, beside nobody's sessions %llu us\n",
	       (unsigned long long)alone / 1000,
	       (unsigned long long)beside / 1000);
	say(beside < 10 * alone, "root's fork", (long)(beside / alone));
}

/* --- what ptrace would refuse --- */

/* In a domain of its own, from where what is outside can't be traced. */
static int restrict_self(void)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK,
	};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr,
				 sizeof(attr), 0);

	if (rules < 0)
		return -1;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_landlock_restrict_self, rules, 0);
}

static void from_a_sandbox(void)
{
	pid_t outside = sleeper(NULL), inside;
	int dev, got;

	dev = open_device();
	got = follow(dev, outside, 0);
	say(got == 0, "one's own process", got);
	close(dev);
	if (restrict_self()) {
		printf("# no landlock here\n");
		end(outside);
		return;
	}
	inside = sleeper(NULL);
	dev = open_device();
	got = follow(dev, outside, 0);
	say(got == EPERM, "one outside of the sandbox", got);
	got = follow(dev, inside, 0);
	say(got == 0, "one inside", got);
	got = follow(dev, 0, OW_KUNWIND_INHERIT);
	say(got == 0, "oneself", got);
	close(dev);
	end(inside);
	end(outside);
}

static void other_group(void)
{
	if (setgid(1) || setuid(NOBODY))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
}

/* While it executes one program after another, it is asked after again and again. */
static void beside_execs(void)
{
	int dev = open_device(), i, got, well = 0, odd = 0;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", "limits", "again", (char *)NULL);
		_exit(1);
	}
	alarm(100); /* neither may wait for the other */
	for (i = 0; i < TIMES; i++) {
		got = follow(dev, pid, 0);
		well += got == 0;
		odd += got != 0 && got != EBUSY;
	}
	alarm(0);
	printf("# followed %d of %d times while it executes\n", well, TIMES);
	say(well > 0 && odd == 0, "a process that executes", odd);
	end(pid);
	close(dev);
}

static pid_t grouped;

static void follow_grouped(void)
{
	int dev = open_device(), got = follow(dev, grouped, 0);

	say(got == EPERM, "a process of another group", got);
	close(dev);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "again") == 0)
		execv("/proc/self/exe", argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	contexts_when_used();
	as_nobody(sessions_of_one);
	as_nobody(watched_by_many);
	as_nobody(read_by_some);
	as_nobody(heirs_are_paid);
	as_nobody(too_large);
	as_nobody(times_of_a_file);
	no_oracle();
	as_nobody(from_a_sandbox);
	as_nobody(beside_execs);
	grouped = sleeper(other_group);
	as_nobody(follow_grouped);
	end(grouped);
	beside_blocked();
	root_has_a_share();
	owner_pays();
	cgroup_pays();
	fork_is_not_held_up();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
