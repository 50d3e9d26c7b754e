// SPDX-License-Identifier: BSD-2-Clause
/*
 * The first walk of live processes' stacks, with a new capture each time:
 * nothing is open yet but that the files are in the page cache.
 *
 * "set-up" is what comes before the first frame but for the freeze; of libdwfl,
 * reporting the modules; libunwind is given the capture's.  "open" is opening
 * objects, "rest" the walk without that, "all" set-up and walk.
 *
 * Arguments: what to call the program, a folder for tables, a limit to set-up
 * time in us (0: none), and process ids.
 */
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "error.h"
#include "peer.h"

#define ABSENT_TARGET 500.0 /* ns a frame */
#define TABLES_TARGET 250.0

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
	double setup_us[BENCH_REPEATS]; /* a process; without the freeze */
	double open_us[BENCH_REPEATS];  /* a process; part of the walk */
	double rest_ns[BENCH_REPEATS];  /* a frame, without that */
	double all_us[BENCH_REPEATS];   /* a process: set-up and walk */
	double frame_ns[BENCH_REPEATS]; /* a frame, all in all */
	uint64_t frames;
};

struct workload {
	const pid_t *pids;
	size_t nr_pids;
	char empty[256], tables[256]; /* folders for XDG_CACHE_HOME */
	struct times times[NR_WAYS];
};

/* What one round over all processes adds up. */
struct sums {
	struct bench_meter walk;
	uint64_t setup_ns, open_ns;
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
	s->setup_ns += bench_now() - began - stats.freeze_ns;
	return c;
}

/* As ow_capture_walk() does it, with a clock at what opens objects. */
static void walk_outwind(struct ow_capture *c, struct sums *s)
{
	struct ow_frame frames[BENCH_MAX_PCS];
	struct ow_walk *w = &c->walk;
	uint64_t began, took, clock;
	size_t i;

	bench_begin(&s->walk);
	clock = s->walk.overhead; /* of one reading */
	for (i = 0; i < c->nr_threads; i++) {
		if (!c->threads[i].info.captured)
			continue;
		ow_walk_begin(w, &c->target, &c->threads[i].stack, &c->cache,
			      &c->threads[i].regs, frames, BENCH_MAX_PCS);
		while (ow_walk_run(w) == OW_END_WANT) {
			began = bench_cpu_now();
			ow_capture_ready(c,
					 (struct ow_capture_module *)w->wanted);
			took = bench_cpu_now() - began;
			s->open_ns += took > clock ? took - clock : 0;
			s->walk.overhead += 2 * clock;
		}
		s->walk.frames += w->nr;
	}
	bench_end(&s->walk);
}

static void walk_peer(struct bench_peer *p, struct sums *s)
{
	size_t i;

	bench_begin(&s->walk);
	for (i = 0; i < p->c->nr_threads; i++)
		if (p->c->threads[i].info.captured)
			s->walk.frames += p->walk(p, i);
	bench_end(&s->walk);
	p->destroy(p);
}

static void walk_process(int way, pid_t pid, struct sums *s)
{
	struct sums unused = { 0 };
	struct ow_capture *c = capture(pid, way == LIBDWFL ? &unused : s);
	struct bench_peer *p;
	uint64_t began;

	switch (way) {
	case LIBUNWIND:
		walk_peer(bench_libunwind(c, UNW_CACHE_GLOBAL, 0), s);
		break;
	case LIBDWFL:
		began = bench_now();
		p = bench_dwfl(c);
		s->setup_ns += bench_now() - began;
		walk_peer(p, s);
		break;
	default: walk_outwind(c, s);
	}
	ow_capture_destroy(c);
}

static void measure(struct workload *w, int way, size_t repeat)
{
	struct times *t = &w->times[way];
	struct sums s = { 0 };
	size_t i;

	setenv("XDG_CACHE_HOME", way == ON_DISK ? w->tables : w->empty, 1);
	for (i = 0; i < w->nr_pids; i++)
		walk_process(way, w->pids[i], &s);
	t->setup_us[repeat] = s.setup_ns / 1e3 / w->nr_pids;
	t->open_us[repeat] = s.open_ns / 1e3 / w->nr_pids;
	t->all_us[repeat] = (s.setup_ns + s.walk.ns) / 1e3 / w->nr_pids;
	t->frame_ns[repeat] = (double)s.walk.ns / s.walk.frames;
	t->rest_ns[repeat] = ((double)s.walk.ns - s.open_ns) / s.walk.frames;
	t->frames = s.walk.frames;
}

static void make_tables(const struct workload *w)
{
	struct sums unused = { 0 };
	struct ow_capture *c;
	size_t i, m;

	setenv("XDG_CACHE_HOME", w->tables, 1);
	for (i = 0; i < w->nr_pids; i++) {
		c = capture(w->pids[i], &unused);
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

/* A peer opens objects on its way: its walk can't be told from that. */
static void print_ways(struct workload *w)
{
	double all[NR_WAYS];
	struct times *t;
	int way;

	for (way = 0; way < NR_WAYS; way++) {
		t = &w->times[way];
		all[way] = median(t->all_us);
		printf("%-26s %7llu %8.1f %7.2f %8.1f", names[way],
		       (unsigned long long)t->frames, all[way],
		       all[way] / all[ABSENT], median(t->setup_us));
		if (way < LIBUNWIND)
			printf(" %10.1f %9.0f\n", median(t->open_us),
			       median(t->rest_ns));
		else
			printf(" %10s %9.0f\n", "in walk", median(t->frame_ns));
	}
}

static void print_target(const char *what, double value, double limit,
			 const char *unit)
{
	printf("target: %s <= %.0f %s: %.0f, %s\n", what, limit, unit, value,
	       bench_verdict(value <= limit));
}

static void print_workload(struct workload *w, const char *name, double limit)
{
	struct times *absent = &w->times[ABSENT], *disk = &w->times[ON_DISK];

	printf("\nFirst walk: %s (%zu process%s)\n", name, w->nr_pids,
	       w->nr_pids == 1 ? "" : "es");
	printf("%-26s %7s %8s %7s %8s %10s %9s\n", "", "frames", "all us",
	       "ratio", "maps us", "objects us", "ns/frame");
	print_ways(w);
	print_target("no tables", median(absent->rest_ns), ABSENT_TARGET,
		     "ns a frame");
	print_target("tables on disk", median(disk->rest_ns), TABLES_TARGET,
		     "ns a frame");
	if (limit > 0)
		print_target("set-up (maps, objects), no tables",
			     median(absent->setup_us) + median(absent->open_us),
			     limit, "us");
}

int main(int argc, char **argv)
{
	static struct workload w;
	_cleanup_(ow_freep) pid_t *pids = calloc(argc, sizeof(*pids));
	size_t repeat;
	int i;

	if (argc < 5 || !pids)
		bench_die("usage: bench_first NAME FOLDER LIMIT PID...");
	snprintf(w.empty, sizeof(w.empty), "%s/empty", argv[2]);
	snprintf(w.tables, sizeof(w.tables), "%s/tables", argv[2]);
	for (i = 4; i < argc; i++)
		pids[w.nr_pids++] = atoi(argv[i]);
	w.pids = pids;
	make_tables(&w);
	for (repeat = 0; repeat < BENCH_REPEATS; repeat++)
		for (i = 0; i < NR_WAYS; i++)
			measure(&w, i, repeat);
	print_workload(&w, argv[1], atof(argv[3]));
	return 0;
}
