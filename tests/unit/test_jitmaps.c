// SPDX-License-Identifier: BSD-2-Clause
#include "jitmaps.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leftout.h"
#include "monotonic.h"
#include "scratch.h"
#include "test.h"

/* A process that does nothing, and its map. */
struct target {
	pid_t pid;
	uint64_t born; /* CLOCK_MONOTONIC, ns: it was there by then */
	char path[64];
};

static uid_t owner_of(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) ? (uid_t)-1 : st.st_uid;
}

static void want(struct ow_jitmaps *j, pid_t pid)
{
	ow_jitmaps_want(j, pid, owner_of(pid));
}

static void start_as(struct target *t, uid_t uid)
{
	t->pid = fork();
	if (t->pid == 0) {
		if (uid && setuid(uid))
			_exit(1);
		for (;;)
			pause();
	}
	t->born = ow_now_ns();
	/* /proc tells its user then. */
	while (uid && geteuid() == 0 && owner_of(t->pid) != uid)
		usleep(100);
	snprintf(t->path, sizeof(t->path), "/tmp/perf-%d.map", t->pid);
	unlink(t->path);
}

static void start(struct target *t)
{
	start_as(t, 0);
}

/* Another process of the same number, where that is permitted. */
static bool start_again(struct target *t)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&t->pid,
				   .set_tid_size = 1 };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		for (;;)
			pause();
	return pid > 0;
}

static void end(const struct target *t)
{
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
}

static void put(const struct target *t, const char *how, const char *text)
{
	FILE *f = fopen(t->path, how);

	CHECK(f && fputs(text, f) >= 0);
	CHECK(!f || fclose(f) == 0);
}

/* Is addr, at that time, called want?  NULL: nothing. */
static bool is_of(struct ow_jitmaps *j, pid_t pid, pid_t parent, uint64_t time,
		  uint64_t addr, const char *want)
{
	const struct ow_frame f = { .pc = addr };
	struct ow_name name = { 0 };
	bool found = ow_jitmaps_name(j, pid, parent, time, &f, &name);

	if (!want || !found)
		return !want && !found;
	if (strcmp(name.function, want) != 0)
		printf("# %#llx: %s\n", (unsigned long long)addr,
		       name.function);
	return strcmp(name.function, want) == 0 &&
	       strstr(name.module, "/perf-");
}

static bool is(struct ow_jitmaps *j, pid_t pid, uint64_t time, uint64_t addr,
	       const char *want)
{
	return is_of(j, pid, pid, time, addr, want);
}

static void test_grows(void)
{
	struct ow_jitmaps j = { 0 };
	struct target t;
	uint64_t early, later;

	start(&t);
	want(&j, t.pid);
	CHECK(j.nr == 1);
	ow_jitmaps_read(&j, true);
	CHECK(is(&j, t.pid, ow_now_ns(), 0x1000, NULL));
	put(&t, "w", "1000 10 first\n2000 10 ha");
	early = ow_now_ns();
	ow_jitmaps_read(&j, true);
	later = ow_now_ns();
	CHECK(is(&j, t.pid, later, 0x1008, "first"));
	/* A line may be there in two parts; another takes its place. */
	put(&t, "a", "lf\n1000 8 second\n3000 10 new\n");
	ow_jitmaps_read(&j, true);
	CHECK(is(&j, t.pid, early, 0x1007, "first"));
	CHECK(is(&j, t.pid, later, 0x1007, "second"));
	CHECK(is(&j, t.pid, later, 0x1008, "first"));
	CHECK(is(&j, t.pid, later, 0x2000, "half"));
	/* It was there before it was told. */
	CHECK(is(&j, t.pid, early, 0x3000, "new"));
	CHECK(is(&j, t.pid, t.born, 0x3000, "new"));
	ow_jitmaps_deinit(&j);
	unlink(t.path);
	end(&t);
}

static void test_written_anew(void)
{
	struct ow_jitmaps j = { 0 };
	struct target t;
	uint64_t early, later;

	start(&t);
	want(&j, t.pid);
	put(&t, "w", "1000 10 first\n2000 10 second");
	early = ow_now_ns();
	ow_jitmaps_read(&j, true);
	put(&t, "w", "1000 10 third\n");
	later = ow_now_ns();
	ow_jitmaps_read(&j, true);
	CHECK(is(&j, t.pid, early, 0x1000, "first"));
	CHECK(is(&j, t.pid, later, 0x1000, "third"));
	CHECK(is(&j, t.pid, later, 0x2000, "second"));
	/* Not by its size alone. */
	put(&t, "w", "1000 10 fourth and longer\n1000 10 fifth\n");
	ow_jitmaps_read(&j, true);
	CHECK(is(&j, t.pid, ow_now_ns(), 0x1000, "fifth"));
	ow_jitmaps_deinit(&j);
	unlink(t.path);
	end(&t);
}

static void test_ended(void)
{
	struct ow_jitmaps j = { 0 };
	struct target t;

	start(&t);
	want(&j, t.pid);
	ow_jitmaps_read(&j, true);
	put(&t, "w", "1000 10 last\n");
	end(&t);
	ow_jitmaps_read(&j, false);
	put(&t, "a", "2000 10 another's\n");
	ow_jitmaps_read(&j, true);
	CHECK(is(&j, t.pid, t.born, 0x1000, "last"));
	CHECK(is(&j, t.pid, t.born, 0x2000, NULL));
	ow_jitmaps_deinit(&j);
	unlink(t.path);
}

#define LATER 10000000000ULL /* ns: what it ran is told of by then */

static void test_number_again(void)
{
	struct ow_jitmaps j = { 0 };
	struct target t;
	uint64_t before;

	start(&t);
	want(&j, t.pid);
	put(&t, "w", "1000 10 first\n");
	end(&t);
	ow_jitmaps_read(&j, true);
	before = ow_now_ns();
	CHECK(is(&j, t.pid, before, 0x1000, "first"));
	CHECK(is(&j, t.pid, before + LATER, 0x1000, NULL));
	if (start_again(&t)) {
		want(&j, t.pid);
		CHECK(j.nr == 2);
		put(&t, "w", "1000 10 second\n");
		ow_jitmaps_read(&j, true);
		CHECK(is(&j, t.pid, before, 0x1000, "first"));
		CHECK(is(&j, t.pid, ow_now_ns(), 0x1000, "second"));
		end(&t);
	}
	ow_jitmaps_deinit(&j);
	unlink(t.path);
}

/* Nor does a process that has the number now name what an earlier one ran. */
static void test_number_later(void)
{
	struct ow_jitmaps j = { 0 };
	struct target t;
	uint64_t before;

	start(&t);
	before = ow_now_ns();
	end(&t);
	usleep(20000); /* /proc tells when a process was started in 10 ms */
	if (!start_again(&t))
		return;
	want(&j, t.pid);
	put(&t, "w", "1000 10 second\n");
	ow_jitmaps_read(&j, true);
	CHECK(is(&j, t.pid, before, 0x1000, NULL));
	CHECK(is(&j, t.pid, ow_now_ns(), 0x1000, "second"));
	end(&t);
	ow_jitmaps_deinit(&j);
	unlink(t.path);
}

/* A child's code may be its parent's, but not a later process's or another user's. */
static void test_parent(void)
{
	struct target parent, child, later, other;
	struct ow_jitmaps j = { 0 };
	size_t i;

	start_as(&other, 65534);
	start(&parent);
	usleep(20000);
	start(&child);
	usleep(20000);
	start(&later);
	for (i = 0; i < 4; i++) {
		struct target *t = (struct target *[]){ &parent, &child, &later,
							&other }[i];

		want(&j, t->pid);
		put(t, "w", "1000 10 name\n");
		if (t == &child)
			put(t, "w", "2000 10 own\n");
	}
	CHECK(geteuid() || chown(other.path, 65534, 65534) == 0);
	ow_jitmaps_read(&j, true);
	CHECK(is_of(&j, child.pid, parent.pid, ow_now_ns(), 0x1000, "name"));
	CHECK(is_of(&j, child.pid, parent.pid, ow_now_ns(), 0x2000, "own"));
	CHECK(is_of(&j, child.pid, later.pid, ow_now_ns(), 0x1000, NULL));
	CHECK(is(&j, other.pid, ow_now_ns(), 0x1000, "name"));
	CHECK(geteuid() ||
	      is_of(&j, child.pid, other.pid, ow_now_ns(), 0x1000, NULL));
	ow_jitmaps_deinit(&j);
	for (i = 0; i < 4; i++) {
		struct target *t = (struct target *[]){ &parent, &child, &later,
							&other }[i];

		end(t);
		unlink(t->path);
	}
}

static void test_who_is_noted(void)
{
	struct ow_jitmaps j = { 0 };
	struct target t;
	uint64_t before;

	start(&t);
	ow_jitmaps_exec(&j, t.pid);
	CHECK(j.nr == 0);
	want(&j, t.pid);
	want(&j, t.pid);
	CHECK(j.nr == 1);
	put(&t, "w", "1000 10 a\n");
	ow_jitmaps_read(&j, true);
	/* What it becomes by exec has a map of its own. */
	before = ow_now_ns();
	ow_jitmaps_exec(&j, t.pid);
	put(&t, "w", "1000 10 b\n");
	want(&j, t.pid);
	CHECK(j.nr == 2);
	ow_jitmaps_read(&j, true);
	CHECK(is(&j, t.pid, ow_now_ns(), 0x1000, "b"));
	CHECK(is(&j, t.pid, t.born, 0x1000, "a"));
	CHECK(before > 0 && is(&j, t.pid + 1, before, 0x1000, NULL));
	end(&t);
	want(&j, 0x3fffffff);
	CHECK(j.nr == 2); /* there is no such process */
	ow_jitmaps_deinit(&j);
	unlink(t.path);
}

static void test_many(void)
{
	struct ow_jitmaps j = { 0 };
	struct target t;
	int i;

	/* Those that ended without a map make room. */
	for (i = 0; i < 600; i++) {
		start(&t);
		want(&j, t.pid);
		end(&t);
	}
	CHECK(j.nr > 0 && j.nr <= 256);
	CHECK(j.nr > 0 && j.all[j.nr - 1] != NULL);
	ow_jitmaps_deinit(&j);
}

static bool names(struct ow_jitmaps *j, const struct target *t)
{
	const struct ow_frame f = { .pc = 0x1008 };
	struct ow_name name = { 0 };

	return ow_jitmaps_name(j, t->pid, t->pid, ow_now_ns(), &f, &name);
}

/* Of the user who has the most, what was wanted the longest ago makes room. */
static void test_fair(void)
{
	struct ow_jitmaps j = { 0 };

	enum {
		MANY = 300,
		ROOM = 256
	};
	struct target other, many[MANY];
	size_t i;

	start(&other);
	put(&other, "w", "1000 10 other\n");
	want(&j, other.pid);
	for (i = 0; i < MANY; i++) {
		start_as(&many[i], 65534);
		put(&many[i], "w", "1000 10 many\n");
		want(&j, many[i].pid);
		want(&j, many[0].pid);
	}
	CHECK(j.nr == ROOM && j.nr_cut == 1 + MANY - ROOM);
	ow_jitmaps_read(&j, true);
	CHECK(names(&j, &other) && names(&j, &many[0]));
	for (i = 1; i < MANY; i++)
		CHECK(names(&j, &many[i]) == (i > 1 + MANY - ROOM));
	for (i = 0; i < MANY; i++) {
		end(&many[i]);
		unlink(many[i].path);
	}
	end(&other);
	unlink(other.path);
	ow_jitmaps_deinit(&j);
}

/* A map that makes room before it was read counts, and none that isn't there does. */
static void test_unread(void)
{
	struct ow_jitmaps j = { 0 };

	enum {
		ROOM = 256
	};
	struct target all[ROOM + 2];
	size_t i;

	for (i = 0; i < ROOM; i++) {
		start(&all[i]);
		want(&j, all[i].pid);
	}
	ow_jitmaps_read(&j, true);
	start(&all[i]);
	want(&j, all[i].pid);
	CHECK(j.nr == ROOM && j.nr_cut == 0);
	/* After it was read, and before it is to be read again. */
	put(&all[1], "w", "1000 10 first\n");
	start(&all[++i]);
	want(&j, all[i].pid);
	CHECK(j.nr == ROOM && j.nr_cut == 1);
	for (i = 0; i < OW_ARRAY_SIZE(all); i++)
		end(&all[i]);
	unlink(all[1].path);
	ow_jitmaps_deinit(&j);
}

/* A line and zeros, as large as is asked for. */
static void put_large(const struct target *t, off_t size)
{
	put(t, "w", "1000 10 first\n");
	if (truncate(t->path, size))
		abort();
}

/* Have maps read until so many were cut, for which one read may be too brief. */
static void read_until_cut(struct ow_jitmaps *j, unsigned int nr)
{
	int i;

	for (i = 0; i < 100 && j->nr_cut < nr; i++) {
		/* As if much time had gone by. */
		ow_usertimes_deinit(&j->times);
		ow_jitmaps_read(j, true);
	}
	CHECK(j->nr_cut >= nr);
}

/* Maps without end take no room of others', and of an ended process none. */
static void test_large(void)
{
	struct ow_jitmaps j = { 0 };
	struct target hostile[4], usual;
	size_t i, nr = OW_ARRAY_SIZE(hostile);

	for (i = 0; i < nr; i++) {
		start(&hostile[i]);
		put_large(&hostile[i], (off_t)8 << 30);
		want(&j, hostile[i].pid);
		ow_jitmaps_read(&j, true);
	}
	read_until_cut(&j, 2);
	CHECK(j.bytes <= (size_t)129 << 20);
	start(&usual);
	put(&usual, "w", "1000 10 first\n");
	want(&j, usual.pid);
	ow_jitmaps_read(&j, true);
	CHECK(names(&j, &usual));
	for (i = 0; i < nr; i++) {
		end(&hostile[i]);
		unlink(hostile[i].path);
	}
	ow_jitmaps_read(&j, false);
	ow_jitmaps_drop(&j, UINT64_MAX);
	CHECK(j.nr == 1 && j.bytes < 100 && names(&j, &usual));
	end(&usual);
	unlink(usual.path);
	ow_jitmaps_read(&j, true);
	ow_jitmaps_drop(&j, UINT64_MAX);
	CHECK(j.nr == 0 && j.bytes == 0);
	ow_jitmaps_deinit(&j);
}

#define GREEDY 65534

/* Maps of any number of processes are looked for in the time that is their user's. */
static void test_many_looked_for(void)
{
	struct ow_jitmaps j = { 0 };
	struct target usual;
	uint64_t now = ow_now_ns();

	start(&usual);
	/* As if maps of others had been looked for. */
	ow_usertimes_pay(&j.times, GREEDY, (uint64_t)3600 * 1000000000, now);
	ow_jitmaps_want(&j, usual.pid, GREEDY);
	ow_jitmaps_want(&j, usual.pid, GREEDY);
	CHECK(j.nr == 0 && j.nr_cut == 1);
	ow_jitmaps_want(&j, usual.pid, GREEDY - 1);
	CHECK(j.nr == 1 && j.nr_cut == 1);
	/* One that is known is wanted as before, and what one takes counts. */
	ow_jitmaps_want(&j, usual.pid, GREEDY);
	CHECK(j.nr == 1 && j.nr_cut == 1);
	CHECK(ow_usertimes_until(&j.times, GREEDY - 1) > now);
	end(&usual);
	ow_jitmaps_deinit(&j);
}

/* Many maps of one user, each smaller than another user's, take no room of that. */
static void test_greedy(void)
{
	struct ow_jitmaps j = { 0 };
	struct target usual, many[20];
	size_t i, nr = OW_ARRAY_SIZE(many);

	if (geteuid() != 0)
		return;
	start_as(&usual, 1);
	put_large(&usual, (off_t)10 << 20);
	want(&j, usual.pid);
	ow_jitmaps_read(&j, true);
	for (i = 0; i < nr; i++) {
		start_as(&many[i], 65534);
		put_large(&many[i], (off_t)9 << 20);
		want(&j, many[i].pid);
		ow_jitmaps_read(&j, true);
	}
	read_until_cut(&j, 6);
	CHECK(j.bytes <= (size_t)129 << 20);
	CHECK(names(&j, &usual));
	for (i = 0; i < nr; i++) {
		end(&many[i]);
		unlink(many[i].path);
	}
	end(&usual);
	unlink(usual.path);
	ow_jitmaps_deinit(&j);
}

#define LINES 64   /* of a map, */
#define LONG  1000 /* each with a name so long */

/* A map of long names, which begin by a letter. */
static void put_long(const struct target *t, char letter)
{
	FILE *f = fopen(t->path, "w");
	int i;

	for (i = 0; i < LINES; i++)
		fprintf(f, "%x 10 %c%010d_%0*d\n", 0x1000 + 16 * i, letter,
			t->pid, LONG, i);
	fclose(f);
}

/* How many of those names there are for a process. */
static int nr_long(struct ow_jitmaps *j, const struct target *t)
{
	struct ow_frame f = { .pc = 0x1000 };
	struct ow_name name;
	int i, nr = 0;

	for (i = 0; i < LINES; i++, f.pc += 16)
		nr += ow_jitmaps_name(j, t->pid, t->pid, ow_now_ns(), &f,
				      &name);
	return nr;
}

/* The names that one process has of so many, and then ends with its map. */
static int use_long(struct ow_jitmaps *j, uid_t uid, char letter)
{
	struct target t;
	int nr;

	start_as(&t, uid);
	put_long(&t, letter);
	want(j, t.pid);
	ow_jitmaps_read(j, true);
	nr = nr_long(j, &t);
	end(&t);
	unlink(t.path);
	ow_jitmaps_read(j, true);
	ow_jitmaps_drop(j, UINT64_MAX);
	return nr;
}

/* Long names of one user's processes, one after the other, leave others room. */
static void test_long_names(void)
{
	struct ow_jitmaps j = { 0 };
	int i, nr = 0;

	if (geteuid() != 0)
		return;
	ow_memory_limit((uint64_t)4 << 20);
	for (i = 0; i < 30; i++)
		nr += use_long(&j, 65534, 'a');
	CHECK(nr > 400 && nr < 520);
	CHECK(use_long(&j, 1, 'b') == LINES);
	CHECK(use_long(&j, 0, 'c') > LINES / 2);
	/* Names that are dropped leave room for others of the user's. */
	CHECK(use_long(&j, 65534, 'd') == 0 && ow_jitmaps_lacks_names(&j));
	ow_jitmaps_drop_names(&j);
	CHECK(!ow_jitmaps_lacks_names(&j));
	CHECK(use_long(&j, 65534, 'd') == LINES);
	ow_memory_limit((uint64_t)512 << 20);
	ow_jitmaps_deinit(&j);
}

/* Has a line that begins so been told of files that were lost? */
static bool is_lost(const char *whose)
{
	size_t i;

	for (i = 0; i < ow_nr_lost_lines(); i++)
		if (strncmp(ow_lost_line(i), whose, strlen(whose)) == 0)
			return true;
	return false;
}

#define MANY_USER 65534

/* Maps of one user, of gigabytes in all, and maps of others. */
struct crowd {
	struct target many[40], other, roots;
};

static void start_crowd(struct ow_jitmaps *j, struct crowd *c)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(c->many); i++) {
		start_as(&c->many[i], MANY_USER);
		put_large(&c->many[i], (off_t)64 << 20);
		want(j, c->many[i].pid);
	}
	start_as(&c->other, 1);
	put(&c->other, "w", "1000 10 first\n");
	want(j, c->other.pid);
	start(&c->roots);
	put(&c->roots, "w", "1000 10 first\n");
	want(j, c->roots.pid);
}

static void end_crowd(const struct crowd *c)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(c->many); i++) {
		end(&c->many[i]);
		unlink(c->many[i].path);
	}
	end(&c->other);
	unlink(c->other.path);
	end(&c->roots);
	unlink(c->roots.path);
}

#define ROUND_MS 500  /* that reading takes, on a machine with much to do, */
#define USER_MS  3000 /* and that of all that a user may have read at once */

/* CPU time of ours and of our delegates, in milliseconds. */
static uint64_t cpu_ms(void)
{
	struct rusage own, delegates;
	uint64_t s, us;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &delegates);
	s = (uint64_t)(own.ru_utime.tv_sec + own.ru_stime.tv_sec +
		       delegates.ru_utime.tv_sec + delegates.ru_stime.tv_sec);
	us = (uint64_t)(own.ru_utime.tv_usec + own.ru_stime.tv_usec +
			delegates.ru_utime.tv_usec +
			delegates.ru_stime.tv_usec);
	return 1000 * s + us / 1000;
}

static uint64_t read_ms(struct ow_jitmaps *j, bool all)
{
	uint64_t begun = cpu_ms();

	ow_jitmaps_read(j, all);
	return cpu_ms() - begun;
}

/* Maps of one user without end leave others time, and the recorder. */
static void test_time(void)
{
	struct ow_jitmaps j = { 0 };
	uint64_t sum = 0;
	struct crowd c;
	size_t i;

	if (geteuid() != 0)
		return;
	start_crowd(&j, &c);
	CHECK(read_ms(&j, false) <= ROUND_MS);
	CHECK(names(&j, &c.other) && names(&j, &c.roots));
	/* The recorder does other work between two rounds. */
	CHECK(read_ms(&j, false) <= 50);
	CHECK(!is_lost("processes of user 65534: "));
	for (i = 0; i < 20; i++)
		sum += read_ms(&j, true);
	CHECK(sum <= USER_MS);
	put(&c.other, "a", "2000 10 second\n");
	CHECK(read_ms(&j, true) <= ROUND_MS);
	CHECK(is(&j, c.other.pid, ow_now_ns(), 0x2008, "second"));
	for (i = 0; i < OW_ARRAY_SIZE(c.many); i++)
		CHECK(is(&j, c.many[i].pid, ow_now_ns(), 0x2008, NULL));
	CHECK(is_lost("processes of user 65534: "));
	CHECK(!is_lost("processes of user 1: "));
	end_crowd(&c);
	/* They are not kept for what can't be read any more. */
	ow_jitmaps_read(&j, true);
	ow_jitmaps_drop(&j, UINT64_MAX);
	CHECK(j.nr == 0 && j.bytes == 0);
	ow_jitmaps_deinit(&j);
}

static volatile int asked;

static void ask(int number)
{
	asked += number == SIGTERM;
}

/* A signal ends the reading, and nothing is told of a map for that. */
static void test_asked(void)
{
	struct ow_jitmaps j = { .asked = &asked };
	struct crowd c;
	size_t before = ow_nr_left_out();
	pid_t parent = getpid(), pid;

	if (geteuid() != 0)
		return;
	start_crowd(&j, &c);
	signal(SIGTERM, ask);
	pid = fork();
	if (pid == 0) {
		usleep(20000);
		kill(parent, SIGTERM);
		_exit(0);
	}
	CHECK(read_ms(&j, true) <= ROUND_MS);
	CHECK(asked == 1);
	CHECK(ow_nr_left_out() == before);
	signal(SIGTERM, SIG_DFL);
	waitpid(pid, NULL, 0);
	end_crowd(&c);
	ow_jitmaps_deinit(&j);
}

#define PARSED_USER 65531

/* A map that has grown is parsed anew, which takes its user's time, too. */
static void test_time_to_parse(void)
{
	struct ow_jitmaps j = { 0 };
	uint64_t now = ow_now_ns();
	struct target t;

	if (geteuid())
		return;
	start_as(&t, PARSED_USER);
	put(&t, "w", "1000 10 first\n");
	want(&j, t.pid);
	ow_jitmaps_read(&j, true);
	CHECK(is(&j, t.pid, ow_now_ns(), 0x1008, "first"));
	CHECK(ow_usertimes_until(&j.times, PARSED_USER) > now);
	put(&t, "a", "2000 10 second\n");
	ow_jitmaps_read(&j, true);
	ow_usertimes_pay(&j.times, PARSED_USER, 100000000000, ow_now_ns());
	CHECK(is(&j, t.pid, ow_now_ns(), 0x1008, "first"));
	CHECK(!is_lost("processes of user 65531: "));
	CHECK(is(&j, t.pid, ow_now_ns(), 0x2008, NULL));
	CHECK(is_lost("processes of user 65531: "));
	ow_jitmaps_deinit(&j);
	end(&t);
	unlink(t.path);
}

#define MANY_LINES 100000
#define BUSY       4 /* other processes, on the same CPU */

static void put_many(const struct target *t)
{
	FILE *f = fopen(t->path, "w");
	unsigned int i;

	for (i = 0; f && i < MANY_LINES; i++)
		fprintf(f, "%x 10 name%u\n", 0x1000 + 16 * i, i);
	CHECK(f && fclose(f) == 0);
}

static void start_busy(pid_t *pids)
{
	cpu_set_t one;
	int i;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	for (i = 0; i < BUSY; i++) {
		pids[i] = fork();
		while (pids[i] == 0)
			;
	}
}

static void end_busy(const pid_t *pids, const cpu_set_t *before)
{
	int i;

	for (i = 0; i < BUSY; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	CHECK(sched_setaffinity(0, sizeof(*before), before) == 0);
}

/* A user pays for what parsing a map takes, not for what other processes do meanwhile. */
static void test_busy(void)
{
	uint64_t begun, cpu, paid;
	struct ow_jitmaps j = { 0 };
	pid_t pids[BUSY];
	cpu_set_t before;
	struct target t;

	if (geteuid() != 0)
		return;
	CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
	start_as(&t, PARSED_USER);
	put_many(&t);
	want(&j, t.pid);
	ow_jitmaps_read(&j, true);
	ow_usertimes_deinit(&j.times);
	start_busy(pids);
	begun = ow_now_ns();
	cpu = ow_cpu_ns();
	CHECK(is(&j, t.pid, begun, 0x1008, "name0"));
	cpu = ow_cpu_ns() - cpu;
	paid = ow_usertimes_until(&j.times, PARSED_USER) - begun;
	CHECK(paid <= ow_now_ns() - begun + 8 * cpu);
	end_busy(pids, &before);
	ow_jitmaps_deinit(&j);
	end(&t);
	unlink(t.path);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a map that grows", test_grows },
		{ "one that is written anew", test_written_anew },
		{ "a process that ended", test_ended },
		{ "a number that is another's", test_number_again },
		{ "a number that is another's later", test_number_later },
		{ "a child's and its parent's", test_parent },
		{ "who is noted", test_who_is_noted },
		{ "many processes", test_many },
		{ "many processes of one user", test_fair },
		{ "a map that was not read", test_unread },
		{ "large maps", test_large },
		{ "many looked for", test_many_looked_for },
		{ "many large maps of one user", test_greedy },
		{ "long names of one user's", test_long_names },
		{ "time for many large maps of one user", test_time },
		{ "time to parse a map", test_time_to_parse },
		{ "parsing on a busy CPU", test_busy },
		{ "a signal while maps are read", test_asked },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
