// SPDX-License-Identifier: BSD-2-Clause
/* What users' stacks may take of the time for names, by a clock of the test's. */
#include "profiling.h"

#include <stdio.h>
#include <string.h>

#include "interrupt.h"
#include "test.h"

#define MS 1000000ULL

#define ROOT   0
#define SLOW   65534 /* its frames take the work that the test says */
#define HONEST 1000  /* others take none */

#define DEEP 100 /* frames of a stack of SLOW's */

/* What the recorder has for the next drain, and what that takes. */
static struct {
	const uid_t *uids; /* of each stack */
	size_t nr;
	uint64_t name_ns, mapping_ns; /* of each look at a frame of SLOW's */
	uint64_t roots_ns;            /* of each look at a frame of ROOT's */
	uint64_t now;
	size_t nr_named; /* frames of SLOW's */
} fake;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	uint64_t now = fake.now;

	if (clock == CLOCK_MONOTONIC_COARSE)
		now -= now % (4 * MS);
	*ret = (struct timespec){ .tv_sec = (time_t)(now / (1000 * MS)),
				  .tv_nsec = (long)(now % (1000 * MS)) };
	return 0;
}

bool interrupt_came_again(void)
{
	return false;
}

struct ow_frame ow_recorded_frame(const struct ow_recorded *s, size_t i)
{
	return (struct ow_frame){ .pc = s->packed[i] };
}

bool ow_recorder_mapping(struct ow_recorder *r, const struct ow_recorded *s,
			 size_t i, struct ow_module_info *ret)
{
	(void)r;
	(void)i;
	fake.now += s->uid == SLOW ? fake.mapping_ns :
		    s->uid == ROOT ? fake.roots_ns :
				     0;
	*ret = (struct ow_module_info){
		.path = s->uid == SLOW ? "/slow" : "/honest",
		.build_id = "",
	};
	return true;
}

bool ow_recorder_module(struct ow_recorder *r, const struct ow_recorded *s,
			size_t i, struct ow_module_info *ret)
{
	return ow_recorder_mapping(r, s, i, ret);
}

size_t ow_recorder_name(struct ow_recorder *r, const struct ow_recorded *s,
			size_t i, struct ow_name *names, size_t max)
{
	(void)r;
	(void)i;
	CHECK(max > 0);
	names[0] = (struct ow_name){ .function = "f", .module = "/m" };
	if (s->uid == SLOW) {
		fake.now += fake.name_ns;
		fake.nr_named++;
	}
	return 1;
}

void ow_recorder_stats(struct ow_recorder *r, struct ow_recorder_stats *ret)
{
	(void)r;
	*ret = (struct ow_recorder_stats){ 0 };
}

/* No place comes twice. */
static uint64_t next_place(void)
{
	static uint64_t pc = 0x1000;

	return pc += 16;
}

int ow_recorder_drain(struct ow_recorder *r,
		      void (*take)(void *arg, const struct ow_recorded *s),
		      void *arg, struct ow_error *err)
{
	uint64_t frames[DEEP];
	size_t i, k;

	(void)r;
	(void)err;
	for (i = 0; i < fake.nr; i++) {
		struct ow_recorded s = {
			.pid = 1 + (pid_t)fake.uids[i],
			.uid = fake.uids[i],
			.comm = "thread",
			.count = 1,
			.nr = fake.uids[i] == SLOW ? DEEP : 2,
			.packed = frames,
			.image = 1,
		};

		for (k = 0; k < s.nr; k++)
			frames[k] = next_place();
		take(arg, &s);
	}
	return 0;
}

int ow_recorder_drain_some(struct ow_recorder *r,
			   void (*take)(void *arg, const struct ow_recorded *s),
			   void *arg, struct ow_error *err)
{
	return ow_recorder_drain(r, take, arg, err);
}

/* How many stacks of a user are in the profile as what. */
struct counts {
	uint64_t named, placed, folded;
};

static struct counts counts_of(const struct profile *p, uid_t uid)
{
	struct counts c = { 0 };
	uint32_t i;

	for (i = 0; i < p->nr_stacks; i++) {
		const struct profile_stack *s = &p->stacks[i];
		const struct profile_frame *f = &p->frames[p->ids[s->first]];
		const char *name = profile_text(p, f->function);

		if (s->pid != 1 + (pid_t)uid)
			continue;
		if (!*name)
			c.placed += s->count;
		else if (strcmp(name, "[too many different stacks]") == 0)
			c.folded += s->count;
		else
			c.named += s->count;
	}
	return c;
}

/* Drain stacks of these users. */
static void drain(struct profiling *g, const struct profiling_limits *most,
		  const uid_t *uids, size_t nr)
{
	struct ow_error err;

	fake.uids = uids;
	fake.nr = nr;
	fake.nr_named = 0;
	CHECK(profiling_drain(g, most, &err) == 0);
}

static void deinit(struct profiling *g)
{
	profiling_deinit(g);
	profile_deinit(g->p);
}

static bool is_counts(struct counts c, uint64_t named, uint64_t placed,
		      uint64_t folded)
{
	if (c.named == named && c.placed == placed && c.folded == folded)
		return true;
	printf("# %llu named, %llu placed, %llu folded\n",
	       (unsigned long long)c.named, (unsigned long long)c.placed,
	       (unsigned long long)c.folded);
	return false;
}

static const struct profiling_limits limits = {
	.naming = { 5000 * MS, 20000 * MS },
	.placing = { 2000 * MS, 8000 * MS },
};

/*
 * A user's stacks have three quarters of the time for names, which is 3.75 s, and of
 * all time, which is 5.25 s.  What places take of it isn't missing for names of others.
 */
static void test_places(void)
{
	uid_t uids[400];
	struct profile p = { 0 };
	struct profiling g = { .p = &p };
	size_t i;

	for (i = 0; i < 400; i++)
		uids[i] = i % 4 == 2 ? HONEST : i % 4 == 3 ? ROOT : SLOW;
	/* With names a stack takes 50 ms, and without 30 ms. */
	fake.name_ns = 3 * MS / 10;
	fake.mapping_ns = MS / 10;
	drain(&g, &limits, uids, 400);
	CHECK(is_counts(counts_of(&p, SLOW), 75, 50, 75));
	CHECK(is_counts(counts_of(&p, HONEST), 100, 0, 0));
	CHECK(is_counts(counts_of(&p, ROOT), 100, 0, 0));
	CHECK(g.unnamed == 50 && g.crowded == 75);

	/* The next time begins anew. */
	drain(&g, &limits, uids, 4);
	CHECK(is_counts(counts_of(&p, SLOW), 77, 50, 75));
	deinit(&g);
}

/* However many users take their shares, there is an end. */
static void test_all(void)
{
	uid_t uids[1000];
	struct profile p = { 0 };
	struct profiling g = { .p = &p };
	uint64_t begun = fake.now;
	size_t i;

	for (i = 0; i < 1000; i++)
		uids[i] = ROOT;
	fake.mapping_ns = 0;
	fake.roots_ns = 50 * MS;
	drain(&g, &limits, uids, 1000);
	CHECK(fake.now - begun <= 7300 * MS);
	fake.roots_ns = 0;
	deinit(&g);
}

/* A single name may take longer than all that there is: others have their time. */
static void test_one_name(void)
{
	uid_t uids[101];
	struct profile p = { 0 };
	struct profiling g = { .p = &p };
	size_t i;

	for (i = 0; i <= 100; i++)
		uids[i] = i == 0 ? SLOW : i % 2 ? HONEST : ROOT;
	fake.name_ns = 8200 * MS;
	fake.mapping_ns = 0;
	fake.roots_ns = MS;
	drain(&g, &limits, uids, 101);
	CHECK(fake.nr_named == 1);
	CHECK(is_counts(counts_of(&p, HONEST), 50, 0, 0));
	CHECK(is_counts(counts_of(&p, ROOT), 50, 0, 0));
	fake.roots_ns = 0;
	deinit(&g);
}

/* A name that takes long is the last one, where the time is over. */
static void test_slow_names(void)
{
	static const struct profiling_limits short_limits = {
		.naming = { 700 * MS, 700 * MS },
		.placing = { 300 * MS, 300 * MS },
	};
	static const uid_t uids[] = { SLOW, SLOW };
	struct profile p = { 0 };
	struct profiling g = { .p = &p };

	fake.name_ns = 65 * MS;
	fake.mapping_ns = 0;
	drain(&g, &short_limits, uids, 2);
	CHECK(fake.nr_named == 9);
	CHECK(g.unnamed == 2 && g.crowded == 0);
	deinit(&g);
}

int main(void)
{
	static const struct test tests[] = {
		{ "places of one user leave time to others", test_places },
		{ "the time for all is limited", test_all },
		{ "names that take long", test_slow_names },
		{ "one name that takes all time", test_one_name },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
