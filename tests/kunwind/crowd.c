// SPDX-License-Identifier: BSD-2-Clause
/*
 * Nobody's threads and mappings, however many there are, do not hold up what others
 * fork and execute; and every map gets its tables beside them.  Run as root, where
 * nobody may open the module.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "handin.h"

#define NOBODY  65534
#define CGROUP  "/run/kunwind-crowd"
#define PAGE    4096
#define LIMIT   60000 /* ms, after which a wait is given up */
#define AT_MOST 5000  /* ms: a guest without virtualisation is slow */
#define SECONDS 10    /* of forks beside the crowd */
#define CODE    12000 /* mappings that one call makes executable */
#define TIMES   40
#define MAPPERS 8     /* processes that map a file */
#define MAPS    50000 /* times, each of them */
#define LOCKED  1500  /* ms: less than the file's lock is held at a time */

static int passed, failed;

static void say(bool well, const char *what, long figure)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld)\n", what, figure);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void become_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int follow(int dev, pid_t pid, unsigned int flags)
{
	struct ow_kunwind_follow f = { .pid = pid, .flags = flags };

	return ioctl(dev, OW_KUNWIND_FOLLOW, &f) ? errno : 0;
}

/* How long a process took to end, in ms; LIMIT: it didn't. */
static long end_time(pid_t pid, long begin)
{
	while (now_ms() - begin < LIMIT) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return now_ms() - begin;
		usleep(1000);
	}
	return LIMIT;
}

/* A page of a file as many times, each a mapping of its own. */
static uint8_t *map_often(int fd, size_t nr, int prot)
{
	uint8_t *p = mmap(NULL, nr * PAGE, prot, MAP_PRIVATE, fd, 0);
	size_t i;

	for (i = 0; p != MAP_FAILED && i < nr; i += 2)
		if (madvise(p + i * PAGE, PAGE, MADV_DONTDUMP))
			return NULL;
	return p == MAP_FAILED ? NULL : p;
}

/* --- a crowd that hands in tables --- */

struct crowd {
	int threads, children;
	size_t mappings; /* of each child */
	bool throttled;  /* by a memory cgroup that is full */
};

static int dev, fd;
static uint8_t *table;
static size_t table_size;

static void *hand_in_for_ever(void *arg)
{
	for (;;)
		hand_in(dev, fd, table, table_size);
	return arg;
}

/* A child with very many mappings of the file that tables are handed in of. */
static void add_child(const struct crowd *c)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (pipe(ready))
		_exit(1);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!map_often(fd, c->mappings, PROT_READ | PROT_EXEC) ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1 || follow(dev, pid, 0))
		_exit(1);
	close(ready[0]);
}

static void run_crowd(const struct crowd *c, int ready)
{
	pthread_attr_t attr;
	pthread_t t;
	int i;

	if (c->throttled && !write_to(CGROUP "/high/cgroup.procs", "0"))
		_exit(1);
	become_nobody();
	dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	fd = some_file();
	table = make_table(1, PAGE, &table_size);
	if (dev < 0 || fd < 0 || ftruncate(fd, PAGE) || !table)
		_exit(1);
	for (i = 0; i < c->children; i++)
		add_child(c);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (i = 0; i < c->threads; i++)
		if (pthread_create(&t, &attr, hand_in_for_ever, NULL))
			_exit(1);
	if (write(ready, "x", 1) == 1)
		for (;;)
			pause();
	_exit(1);
}

static pid_t start_crowd(const struct crowd *c)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (pid == 0)
		run_crowd(c, ready[1]);
	close(ready[1]);
	say(read(ready[0], &byte, 1) == 1, "a crowd", 0);
	close(ready[0]);
	return pid;
}

/* What a process of root's takes that is followed, from fork to end. */
static long exec_time(void)
{
	long begin = now_ms();
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	return end_time(pid, begin);
}

/* The longest one of some seconds; the crowd ends then. */
static long worst_beside(pid_t crowd)
{
	long begin = now_ms(), worst = 0, got;

	while (worst < LIMIT && now_ms() - begin < SECONDS * 1000) {
		got = exec_time();
		if (got > worst)
			worst = got;
	}
	kill(crowd, SIGKILL);
	/* Its children are this process' then. */
	while (wait(NULL) > 0)
		;
	return worst;
}

static void beside_crowd(const struct crowd *c, const char *what)
{
	int all = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	pid_t crowd = start_crowd(c);
	long worst, begin;

	if (c->throttled)
		write_to(CGROUP "/high/memory.high", "1048576");
	say(follow(all, 0, OW_KUNWIND_ALL) == 0, "follow all", errno);
	worst = worst_beside(crowd);
	printf("# %s: fork and exec of root's took %ld ms at most\n", what,
	       worst);
	say(worst < AT_MOST, what, worst);
	begin = now_ms();
	close(all);
	say(now_ms() - begin < AT_MOST, "a session is closed",
	    now_ms() - begin);
}

static void beside_throttled(void)
{
	static const struct crowd c = { 20, 4, 30000, true };

	mkdir(CGROUP, 0755);
	if (mount("none", CGROUP, "cgroup2", 0, NULL) ||
	    !write_to(CGROUP "/cgroup.subtree_control", "+memory") ||
	    mkdir(CGROUP "/high", 0755)) {
		printf("# no memory cgroups here\n");
		return;
	}
	beside_crowd(&c, "beside threads that a memory cgroup throttles");
	rmdir(CGROUP "/high");
	umount(CGROUP);
}

static void beside_many(void)
{
	static const struct crowd c = { 300, 4, 15000, false };

	beside_crowd(&c, "beside very many threads");
}

/* --- a file whose lock is held for long at a time --- */

/* Each goes through all mappings of the file, with its lock. */
static void truncate_for_ever(int file)
{
	for (;;)
		if (ftruncate(file, PAGE) || ftruncate(file, 0))
			_exit(1);
}

/*
 * Each child maps the same as this process: the file, too, which the kernel comes to
 * after libc, as it is mapped above.
 */
static void fork_for_ever(int file)
{
	uintptr_t above = ((uintptr_t)&file - (32u << 20)) & -(uintptr_t)PAGE;

	if (mmap((void *)above, PAGE, PROT_READ,
		 MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0) == MAP_FAILED)
		_exit(1);
	for (;;) {
		if (fork() == 0)
			_exit(0);
		wait(NULL);
	}
}

static void add_mapper(int file, int ready)
{
	int i;

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < MAPS; i++)
		if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0) ==
		    MAP_FAILED)
			_exit(1);
	if (write(ready, "x", 1) == 1)
		for (;;)
			pause();
	_exit(1);
}

static void run_mappers(int ready)
{
	int file = some_file(), mapped[2], i;
	char byte;

	become_nobody();
	if (file < 0 || pipe(mapped))
		_exit(1);
	for (i = 0; i < MAPPERS; i++)
		add_mapper(file, mapped[1]);
	for (i = 0; i < MAPPERS; i++)
		if (read(mapped[0], &byte, 1) != 1)
			_exit(1);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fork_for_ever(file);
	}
	if (write(ready, "x", 1) == 1)
		truncate_for_ever(file);
	_exit(1);
}

static void beside_locked_file(void)
{
	int all = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	long worst;
	pid_t pid;
	int ready[2];
	char byte;

	if (pipe(ready))
		return;
	pid = fork();
	if (pid == 0)
		run_mappers(ready[1]);
	close(ready[1]);
	say(read(ready[0], &byte, 1) == 1, "a file mapped often", 0);
	close(ready[0]);
	say(follow(all, 0, OW_KUNWIND_ALL) == 0, "follow all", errno);
	worst = worst_beside(pid);
	printf("# beside a file whose lock is held: fork and exec of root's took "
	       "%ld ms at most\n",
	       worst);
	say(worst < LOCKED, "beside a file whose lock is held", worst);
	close(all);
}

/* --- mappings that become code, and are code no more --- */

static void change_code(void)
{
	int file = some_file();
	uint8_t *p;

	become_nobody();
	if (ftruncate(file, PAGE))
		_exit(1);
	p = map_often(file, CODE, PROT_READ);
	if (!p || mprotect(p, CODE * PAGE, PROT_READ | PROT_EXEC) ||
	    mprotect(p, CODE * PAGE, PROT_READ))
		_exit(1);
	_exit(0);
}

static long change_time(void)
{
	long begin = now_ms(), took;
	pid_t pid = fork();

	if (pid == 0)
		change_code();
	took = end_time(pid, begin);
	if (took >= LIMIT) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return took;
}

/* A kernel that checks itself takes long for it, too, when nobody follows. */
static void many_become_code(void)
{
	long alone = change_time(), took;
	int all = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	say(follow(all, 0, OW_KUNWIND_ALL) == 0, "follow all", errno);
	took = change_time();
	printf("# %d mappings become code: %ld ms, %ld ms alone\n", CODE, took,
	       alone);
	say(took < 2 * AT_MOST + 2 * alone, "mappings become code", took);
	close(all);
}

/* --- every map gets its tables --- */

static atomic_bool stop;

/* Code of no file, so that there is no table to be asked for. */
static void *map_for_ever(void *arg)
{
	void *p;

	while (!atomic_load(&stop)) {
		p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p, PAGE);
	}
	return arg;
}

/* Return after how many ms the stack was complete; LIMIT: it never was. */
static long complete_after(int session)
{
	struct ow_frame frames[64];
	long begin = now_ms();
	enum ow_end end;

	while (now_ms() - begin < LIMIT / 2) {
		if (ow_kunwind_unwind(session, frames, 64, 0, &end, NULL) >=
			    3 &&
		    end == OW_END_OUTERMOST)
			return now_ms() - begin;
		/* Another session's table that it had may be gone. */
		ow_kunwind_serve(session, NULL, NULL, NULL, NULL);
		usleep(1000);
	}
	return LIMIT;
}

static void has_tables(const char *what)
{
	long worst = 0, got;
	pthread_t t[2];
	int i, session;

	atomic_store(&stop, false);
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, map_for_ever, NULL);
	for (i = 0; i < TIMES && worst < LIMIT; i++) {
		session = ow_kunwind_open(NULL);
		say(ow_kunwind_follow(session, 0, 0, NULL) == 0, what, i);
		got = complete_after(session);
		if (got > worst)
			worst = got;
		close(session);
	}
	atomic_store(&stop, true);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("# %s beside new mappings: complete after %ld ms at most\n",
	       what, worst);
	say(worst < LIMIT, what, worst);
}

static void nobody_has_tables(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		failed = 0;
		become_nobody();
		has_tables("nobody's stacks");
		_exit(failed != 0);
	}
	waitpid(pid, &status, 0);
	say(status == 0, "nobody's stacks", status);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	has_tables("root's stacks");
	nobody_has_tables();
	many_become_code();
	beside_locked_file();
	beside_many();
	beside_throttled();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
