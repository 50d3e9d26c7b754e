// SPDX-License-Identifier: BSD-2-Clause
/*
 * ns and instructions a frame, from registers and stacks that lie in memory.
 * Nothing has to be asked of the kernel, though libunwind blocks signals
 * around each look-up in its cache.
 */
#include <execinfo.h>
#include <libunwind.h>
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "counts.h"
#include "peer.h"
#include "stacks.h"

#define LARGE_CACHE 2048 /* rows; as many as outwind's cache has */
#define SPAN_NS     10000000.0

#define NS_TARGET_ONE   25.0
#define NS_TARGET_MIXED 60.0
#define RATIO_TARGET    20.0

enum {
	ONE,
	MIXED,
	NR_SETS
};

static const size_t set_sizes[NR_SETS] = { 1, BENCH_STACKS };

enum {
	WARM,
	COLD_CFI,
	COLD_TABLE,
	UNW_GLOBAL,
	UNW_LARGE,
	UNW_NONE,
	DWFL,
	BACKTRACE,
	FP,
	NR_CASES
};

struct bench_case {
	const char *name;
	struct bench_peer *peer;           /* NULL: glibc's backtrace() */
	double ns[NR_SETS][BENCH_REPEATS]; /* a frame */
	double instrs[NR_SETS];            /* a frame */
};

static struct bench_case cases[NR_CASES] = {
	[WARM] = { "outwind, warm" },
	[COLD_CFI] = { "outwind, cold, .eh_frame" },
	[COLD_TABLE] = { "outwind, cold, table" },
	[UNW_GLOBAL] = { "libunwind remote, global cache" },
	[UNW_LARGE] = { "libunwind remote, larger cache" },
	[UNW_NONE] = { "libunwind remote, no cache" },
	[DWFL] = { "libdwfl" },
	[BACKTRACE] = { "glibc backtrace(), in-process" },
	[FP] = { "frame pointers" },
};

/* Captures of the same stacks, each with its own cache of rows. */
enum {
	PLAIN,
	COLD,
	TABLES,
	FRAMED,
	NR_CAPTURES
};

static struct ow_capture *captures[NR_CAPTURES];

static void create_captures(void)
{
	volatile size_t i; /* one call, or their outer pcs would differ */

	for (i = 0; i < NR_CAPTURES; i++)
		captures[i] = bench_stacks(i == FRAMED ? functions_fp :
							 functions_omit,
					   i == TABLES);
}

static void create_peers(void)
{
	struct ow_capture *plain = captures[PLAIN];

	cases[WARM].peer = bench_outwind(plain, false);
	cases[COLD_CFI].peer = bench_outwind(captures[COLD], true);
	cases[COLD_TABLE].peer = bench_outwind(captures[TABLES], true);
	cases[UNW_GLOBAL].peer = bench_libunwind(plain, UNW_CACHE_GLOBAL, 0);
	cases[UNW_LARGE].peer =
		bench_libunwind(plain, UNW_CACHE_GLOBAL, LARGE_CACHE);
	cases[UNW_NONE].peer = bench_libunwind(plain, UNW_CACHE_NONE, 0);
	cases[DWFL].peer = bench_dwfl(plain);
	cases[FP].peer = bench_fp(captures[FRAMED]);
}

static unsigned long leaf(const struct bench_path *p, unsigned int i)
{
	struct bench_meter *m = p->arg;
	void *pcs[BENCH_MAX_PCS];

	bench_begin(m);
	m->frames += backtrace(pcs, BENCH_MAX_PCS);
	bench_end(m);
	return i;
}

/* Walk a set of stacks that many times. */
static void pass(struct bench_peer *p, size_t nr, unsigned int rounds,
		 struct bench_meter *m)
{
	unsigned int round;
	size_t i;

	if (p)
		bench_begin(m);
	for (round = 0; round < rounds; round++)
		for (i = 0; i < nr; i++)
			if (p)
				m->frames += p->walk(p, i);
			else
				bench_visit(functions_omit, i, leaf, m);
	if (p)
		bench_end(m);
}

static void compare(const struct bench_case *a, size_t i,
		    struct bench_peer *want, size_t least)
{
	size_t nr = a->peer->walk(a->peer, i);
	size_t all = want->walk(want, i), k;

	if (nr < least || nr > all || (a != &cases[FP] && nr != all))
		bench_die("%s: stack %zu has %zu frames, not %zu", a->name, i,
			  nr, all);
	for (k = 0; k < nr; k++)
		if (bench_pc(a->peer, k) != bench_pc(want, k))
			bench_die("%s: stack %zu, frame %zu: pc %#llx, not "
				  "%#llx",
				  a->name, i, k,
				  (unsigned long long)bench_pc(a->peer, k),
				  (unsigned long long)bench_pc(want, k));
}

static unsigned long compare_leaf(const struct bench_path *p, unsigned int i)
{
	void *pcs[BENCH_MAX_PCS];
	size_t nr = backtrace(pcs, BENCH_MAX_PCS), k;
	struct bench_peer *want = cases[WARM].peer;

	/* The leaf is another one, and what called the first function. */
	for (k = 1; k <= BENCH_DEPTH; k++)
		if (k >= nr || (uintptr_t)pcs[k] != bench_pc(want, k))
			bench_die("backtrace(): frame %zu of %zu differs", k,
				  nr);
	(void)p;
	return i;
}

/* All must give the same pcs, or times mean nothing. */
static void check(void)
{
	struct bench_peer *want = cases[WARM].peer;
	struct bench_peer *framed = bench_outwind(cases[FP].peer->c, false);
	size_t i, n;

	for (i = 0; i < BENCH_STACKS; i++) {
		for (n = 0; n < NR_CASES; n++)
			if (cases[n].peer)
				compare(&cases[n], i, n == FP ? framed : want,
					BENCH_DEPTH + 2);
		want->walk(want, i);
		bench_visit(functions_omit, i, compare_leaf, NULL);
	}
	framed->destroy(framed);
}

static void measure(struct bench_case *c, size_t set, size_t repeat)
{
	struct bench_meter trial = { 0 }, m = { 0 };

	pass(c->peer, set_sizes[set], 1, &trial);
	pass(c->peer, set_sizes[set], (unsigned int)(SPAN_NS / trial.ns) + 1,
	     &m);
	c->ns[set][repeat] = (double)m.ns / m.frames;
}

/* What runs under callgrind; the order is that of read_counts(). */
static void count(void)
{
	struct bench_meter m;
	size_t set, n;

	for (set = 0; set < NR_SETS; set++) {
		for (n = 0; n < NR_CASES; n++) {
			pass(cases[n].peer, set_sizes[set], 2, &m);
			bench_count_clear();
			pass(cases[n].peer, set_sizes[set], 1, &m);
			bench_count_done();
		}
	}
}

/* Return false if a count is missing. */
static bool read_counts(const char *self)
{
	bool has_all = true;
	struct bench_meter m;
	size_t set, n, i = 1;

	for (set = 0; set < NR_SETS; set++) {
		for (n = 0; n < NR_CASES; n++) {
			m = (struct bench_meter){ 0 };
			pass(cases[n].peer, set_sizes[set], 1, &m);
			cases[n].instrs[set] =
				(double)bench_count(self, i++) / m.frames;
			has_all = has_all && cases[n].instrs[set] > 0;
		}
	}
	return has_all;
}

static double ns_of(size_t n, size_t set)
{
	return bench_median(cases[n].ns[set], BENCH_REPEATS);
}

static void print_targets(void)
{
	static const double limits[NR_SETS] = { NS_TARGET_ONE,
						NS_TARGET_MIXED };
	static const char *const names[NR_SETS] = { "one stack", "200 stacks" };
	double ns, ratio;
	size_t set;

	for (set = 0; set < NR_SETS; set++) {
		ns = ns_of(WARM, set);
		printf("target: %s warm <= %.0f ns a frame: %.1f, %s\n",
		       names[set], limits[set], ns,
		       bench_verdict(ns <= limits[set]));
		ratio = ns_of(UNW_GLOBAL, set) / ns;
		printf("target: %s warm >= %.0f times as fast as %s: "
		       "%.1f, %s\n",
		       names[set], RATIO_TARGET, cases[UNW_GLOBAL].name, ratio,
		       bench_verdict(ratio >= RATIO_TARGET));
	}
}

static void print_table(void)
{
	const struct bench_case *c;
	size_t n, set;

	printf("\nStacks in memory: a frame, and times outwind's warm ns\n");
	printf("%-34s %26s %26s\n", "", "one stack", "200 stacks");
	printf("%-34s", "");
	for (set = 0; set < NR_SETS; set++)
		printf(" %8s %8s %8s", "ns", "instrs", "ratio");
	putchar('\n');
	for (n = 0; n < NR_CASES; n++) {
		c = &cases[n];
		printf("%-34s", c->name);
		for (set = 0; set < NR_SETS; set++)
			printf(" %8.1f %8.0f %8.2f", ns_of(n, set),
			       c->instrs[set],
			       ns_of(n, set) / ns_of(WARM, set));
		putchar('\n');
	}
	print_targets();
}

int main(int argc, char **argv)
{
	size_t repeat, set, n;

	create_captures();
	create_peers();
	check();
	if (argc > 1 && strcmp(argv[1], "count") == 0) {
		count();
		return 0;
	}
	bench_rouse_cpu();
	for (repeat = 0; repeat < BENCH_REPEATS; repeat++)
		for (n = 0; n < NR_CASES; n++)
			for (set = 0; set < NR_SETS; set++)
				measure(&cases[n], set, repeat);
	if (!bench_count_run(argv[0], "count") || !read_counts(argv[0]))
		printf("no instruction counts: valgrind failed\n");
	print_table();
	return 0;
}
