// SPDX-License-Identifier: BSD-2-Clause
/*
 * twindiff [-t] PID|FILE...: each thread of processes, core files and snapshots
 * is walked by core/ and by the BPF walker, compiled for user space; what
 * differs is listed.  With -t core walks by compact tables, too.  The exit
 * status is 1 if anything differs but rows that BPF can't execute, at which it
 * says that it ends; 2 if there is nothing to compare.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twin.h"

#define WALKS 3 /* of each stack: by tables, then by what it learned of them */

struct tally {
	unsigned int stacks, frames, differ, refused;
};

/*
 * Tables and the CFI that they are made of are the same to us, and so is whether
 * a trampoline was known by that or by its code.
 */
static unsigned int kind_of(unsigned int how)
{
	return how == OW_HOW_TABLE || how == OW_HOW_DEBUG ||
			       how == OW_HOW_SIGNAL ?
		       OW_HOW_CFI :
		       how;
}

static bool is_same(const struct ow_frame *f, uint64_t other)
{
	return f->pc == OW_SAMPLE_PC(other) &&
	       f->flags == OW_SAMPLE_FLAGS(other) &&
	       kind_of(f->how) == kind_of(OW_SAMPLE_HOW(other));
}

static void say(const char *what, pid_t tid, size_t i, const struct ow_frame *f,
		const uint64_t *other)
{
	printf("%s %d #%zu: core", what, (int)tid, i);
	if (f)
		printf(" %#" PRIx64 " %d %s", (uint64_t)f->pc, f->flags,
		       ow_how_text(f->how));
	printf(", twin");
	if (other)
		printf(" %#" PRIx64 " %d %s", (uint64_t)OW_SAMPLE_PC(*other),
		       (int)OW_SAMPLE_FLAGS(*other),
		       ow_how_text(OW_SAMPLE_HOW(*other)));
	printf("\n");
}

static void compare(struct ow_capture *c, struct twin *t, const char *what,
		    size_t i, struct tally *sum)
{
	static struct ow_frame mine[OW_BPF_FRAMES];
	enum ow_end end, other_end;
	pid_t tid = c->threads[i].info.tid;
	const uint64_t *other;
	size_t nr, other_nr, k;

	nr = ow_capture_walk(c, i, mine, OW_BPF_FRAMES, &end, NULL);
	other_nr = twin_walk(t, i, &other, &other_end);
	for (k = 0; k < nr && k < other_nr; k++)
		if (!is_same(&mine[k], other[k]))
			break;
	sum->stacks++;
	sum->frames += (unsigned int)k;
	if (k == nr && k == other_nr && end == other_end)
		return;
	if (k == other_nr && k < nr && other_end == OW_END_UNSUPPORTED) {
		sum->refused++;
		say(what, tid, k, &mine[k], NULL);
		return;
	}
	sum->differ++;
	say(what, tid, k, k < nr ? &mine[k] : NULL,
	    k < other_nr ? &other[k] : NULL);
	printf("%s %d: core %zu frames, %s; twin %zu frames, %s\n", what,
	       (int)tid, nr, ow_end_text(end), other_nr,
	       ow_end_text(other_end));
}

static struct ow_capture *capture(const char *what, bool by_tables)
{
	struct ow_capture_options options = { .use_tables = by_tables };
	struct ow_error err = { 0 };
	struct ow_capture *c;
	char *end;
	long pid = strtol(what, &end, 10);

	c = *end ? ow_capture_file(what, NULL, &options, &err) :
		   ow_capture_process((pid_t)pid, &options, &err);
	if (!c)
		fprintf(stderr, "twindiff: %s: %s\n", what, err.msg);
	return c;
}

static void compare_threads(struct ow_capture *c, struct twin *t,
			    const char *what, struct tally *sum)
{
	size_t i, n;

	if (c->target.arch != &ow_arch_x86_64 &&
	    c->target.arch != &ow_arch_i386)
		return;
	for (n = 0; n < WALKS; n++)
		for (i = 0; i < c->nr_threads; i++)
			if (c->threads[i].info.captured)
				compare(c, t, what, i, sum);
}

static bool compare_all(const char *what, bool by_tables, struct tally *sum)
{
	struct ow_capture *c = capture(what, by_tables);
	struct twin *t = c ? twin_create(c) : NULL;
	unsigned int before = sum->stacks;

	if (t)
		compare_threads(c, t, what, sum);
	twin_destroy(t);
	if (c)
		ow_capture_destroy(c);
	return sum->stacks > before;
}

int main(int argc, char **argv)
{
	bool by_tables = false, empty = false;
	struct tally sum = { 0 };
	int i = 1;

	if (i < argc && strcmp(argv[i], "-t") == 0) {
		by_tables = true;
		i++;
	}
	for (; i < argc; i++)
		empty |= !compare_all(argv[i], by_tables, &sum);
	printf("%u stacks, %u frames, %u differ, %u refused\n", sum.stacks,
	       sum.frames, sum.differ, sum.refused);
	return empty || sum.stacks == 0 ? 2 : sum.differ > 0;
}
