// SPDX-License-Identifier: BSD-2-Clause
/*
 * The first walk of live processes' stacks, with a new capture each time:
 * nothing is open yet but that the files are in the page cache.
 *
 * "stop" is what it takes to stop the threads and let them go, but for the freeze
 * itself; "maps" is what else comes before the first frame but for objects; of
 * libdwfl, which stops nothing here, reporting the modules.  "objects" is opening
 * those that the walk needs (told by a walk before), "ns/frame" the walk after
 * that, "all" all four.  libunwind is given the capture's maps and objects.
 *
 * Arguments: what to call the program, a folder for tables, a limit to set-up
 * time in us (0: none), whether the walk has limits, too (1 or 0; a few frames
 * tell nothing of what one takes), and process ids.
 */
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "error.h"
#include "peer.h"

#define ABSENT_TARGET 500.0 /* ns a frame */
#define TABLES_TARGET 250.0
/* Those limits beside 2000 ns of libunwind's on one machine: for any other. */
#define ABSENT_RATIO  4.0
#define TABLES_RATIO  8.0
#define MAX_NEEDED    256

enum {
	ABSENT,
	ON_DISK,
	LIBUNWIND,
	LIBDWFL,
	NR_WAYS
};

static const char *const names[NR_WAYS] = {
	[ABSENT] = "outwind, no tables",
	[ON_DISK] = "outwind, tables on disk",
	[LIBUNWIND] = "libunwind, our objects",
	[LIBDWFL] = "libdwfl",
};

/* What one way took of all processes, by repeat. */
struct times {
	double stop_us[BENCH_REPEATS];    /* a process; without the freeze */
	double maps_us[BENCH_REPEATS];    /* a process */
	double objects_us[BENCH_REPEATS]; /* a process */
	double all_us[BENCH_REPEATS];     /* a process: all four */
	double frame_ns[BENCH_REPEATS];
	uint64_t frames;
};

struct process {
	pid_t pid;
	size_t nr_needed;
	size_t needed[MAX_NEEDED]; /* by number of the capture's modules */
};

struct workload {
	struct process *processes;
	size_t nr;
	char empty[256], tables[256]; /* folders for XDG_CACHE_HOME */
	struct times times[NR_WAYS];
};

/* What one round over all processes adds up. */
struct sums {
	struct bench_meter walk;
	uint64_t stop_ns, maps_ns, objects_ns;
};

static struct ow_capture *capture(pid_t pid, struct sums *s)
{
	static const struct ow_capture_options options = { .use_tables = true };
	uint64_t began = bench_now();
	struct ow_capture_stats stats;
	struct ow_error err;
	struct ow_capture *c = ow_capture_process(pid, &options, &err);

	if (!c)
		bench_die("%s", err.msg);
	ow_capture_stats(c, &stats);
	s->maps_ns += bench_now() - began - stats.taking_ns;
	s->stop_ns += stats.taking_ns - stats.freeze_ns;
	return c;
}

static void walk(struct bench_peer *p, struct sums *s)
{
	size_t i;

	bench_begin(&s->walk);
	for (i = 0; i < p->c->nr_threads; i++)
		if (p->c->threads[i].info.captured)
			s->walk.frames += p->walk(p, i);
	bench_end(&s->walk);
	p->destroy(p);
}

/* Which objects a walk opens. */
static void find_needed(struct process *p)
{
	struct sums unused = { 0 };
	struct ow_capture *c = capture(p->pid, &unused);
	size_t i;

	walk(bench_outwind(c, false), &unused);
	for (i = 0; i < c->nr_modules; i++) {
		if (!c->modules[i].object)
			continue;
		if (p->nr_needed == MAX_NEEDED)
			bench_die("too many objects");
		p->needed[p->nr_needed++] = i;
	}
	ow_capture_destroy(c);
}

static void open_needed(struct ow_capture *c, const struct process *p,
			struct sums *s)
{
	uint64_t began = bench_now();
	size_t i;

	for (i = 0; i < p->nr_needed; i++)
		ow_capture_ready(c, &c->modules[p->needed[i]]);
	s->objects_ns += bench_now() - began;
}

static struct bench_peer *start_peer(int way, struct ow_capture *c,
				     const struct process *p, struct sums *s)
{
	struct bench_peer *peer;
	uint64_t began;

	if (way == LIBDWFL) {
		began = bench_now();
		peer = bench_dwfl(c);
		s->maps_ns += bench_now() - began;
		return peer;
	}
	open_needed(c, p, s);
	if (way == LIBUNWIND)
		return bench_libunwind(c, UNW_CACHE_GLOBAL, 0);
	return bench_outwind(c, false);
}

static void walk_process(int way, const struct process *p, struct sums *s)
{
	struct sums unused = { 0 };
	struct ow_capture *c = capture(p->pid, way == LIBDWFL ? &unused : s);

	walk(start_peer(way, c, p, s), s);
	ow_capture_destroy(c);
}

static void measure(struct workload *w, int way, size_t repeat)
{
	struct times *t = &w->times[way];
	struct sums s = { 0 };
	size_t i;

	setenv("XDG_CACHE_HOME", way == ON_DISK ? w->tables : w->empty, 1);
	for (i = 0; i < w->nr; i++)
		walk_process(way, &w->processes[i], &s);
	t->stop_us[repeat] = s.stop_ns / 1e3 / w->nr;
	t->maps_us[repeat] = s.maps_ns / 1e3 / w->nr;
	t->objects_us[repeat] = s.objects_ns / 1e3 / w->nr;
	t->all_us[repeat] = (s.stop_ns + s.maps_ns + s.objects_ns + s.walk.ns) /
			    1e3 / w->nr;
	t->frame_ns[repeat] = (double)s.walk.ns / s.walk.frames;
	t->frames = s.walk.frames;
}

static void make_tables(const struct workload *w)
{
	struct sums unused = { 0 };
	struct ow_capture *c;
	size_t i, m;

	setenv("XDG_CACHE_HOME", w->tables, 1);
	for (i = 0; i < w->nr; i++) {
		c = capture(w->processes[i].pid, &unused);
		for (m = 0; m < c->nr_modules; m++)
			if (c->modules[m].inode)
				ow_table_make(c->modules[m].path, NULL, NULL);
		ow_capture_destroy(c);
	}
}

static double median(double *values)
{
	return bench_median(values, BENCH_REPEATS);
}

/* libdwfl opens objects on its way: its walk can't be told from that. */
static void print_ways(struct workload *w)
{
	double all[NR_WAYS];
	struct times *t;
	int way;

	for (way = 0; way < NR_WAYS; way++) {
		t = &w->times[way];
		all[way] = median(t->all_us);
		printf("%-26s %7llu %8.1f %7.2f", names[way],
		       (unsigned long long)t->frames, all[way],
		       all[way] / all[ABSENT]);
		if (way == LIBDWFL)
			printf(" %8s %8.1f %10s", "-", median(t->maps_us),
			       "in walk");
		else
			printf(" %8.1f %8.1f %10.1f", median(t->stop_us),
			       median(t->maps_us), median(t->objects_us));
		printf(" %9.0f\n", median(t->frame_ns));
	}
}

static void print_target(const char *what, double value, double limit,
			 const char *unit)
{
	printf("target: %s <= %.0f %s: %.0f, %s\n", what, limit, unit, value,
	       bench_verdict(value <= limit));
}

static void print_ratio(const char *what, double value, double least)
{
	printf("target: %s >= %.0f times as fast as libunwind: %.1f, %s\n",
	       what, least, value, bench_verdict(value >= least));
}

static void print_limits(struct workload *w)
{
	double absent = median(w->times[ABSENT].frame_ns);
	double disk = median(w->times[ON_DISK].frame_ns);
	double libunwind = median(w->times[LIBUNWIND].frame_ns);

	print_target("no tables", absent, ABSENT_TARGET, "ns a frame");
	print_ratio("no tables", libunwind / absent, ABSENT_RATIO);
	print_target("tables on disk", disk, TABLES_TARGET, "ns a frame");
	print_ratio("tables on disk", libunwind / disk, TABLES_RATIO);
}

static void print_workload(struct workload *w, const char *name, double limit,
			   bool limited)
{
	struct times *absent = &w->times[ABSENT];

	printf("\nFirst walk: %s (%zu process%s)\n", name, w->nr,
	       w->nr == 1 ? "" : "es");
	printf("%-26s %7s %8s %7s %8s %8s %10s %9s\n", "", "frames", "all us",
	       "ratio", "stop us", "maps us", "objects us", "ns/frame");
	print_ways(w);
	if (limited)
		print_limits(w);
	if (limit > 0)
		print_target("set-up (maps, objects), no tables",
			     median(absent->maps_us) +
				     median(absent->objects_us),
			     limit, "us");
}

int main(int argc, char **argv)
{
	static struct workload w;
	_cleanup_(ow_freep) struct process *list = calloc(argc, sizeof(*list));
	size_t repeat;
	int i;

	if (argc < 6 || !list)
		bench_die("usage: bench_first NAME FOLDER LIMIT 0|1 PID...");
	snprintf(w.empty, sizeof(w.empty), "%s/empty", argv[2]);
	snprintf(w.tables, sizeof(w.tables), "%s/tables", argv[2]);
	w.processes = list;
	setenv("XDG_CACHE_HOME", w.empty, 1);
	for (i = 5; i < argc; i++) {
		list[w.nr].pid = atoi(argv[i]);
		find_needed(&list[w.nr++]);
	}
	make_tables(&w);
	bench_rouse_cpu();
	for (repeat = 0; repeat < BENCH_REPEATS; repeat++)
		for (i = 0; i < NR_WAYS; i++)
			measure(&w, i, repeat);
	print_workload(&w, argv[1], atof(argv[3]), atoi(argv[4]));
	return 0;
}
