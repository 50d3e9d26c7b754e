// SPDX-License-Identifier: BSD-2-Clause
#include "perfring.h"

#include <stdlib.h>
#include <string.h>

#include "lives.h"
#include "monotonic.h"
#include "test.h"

#define PAGE  4096
#define RINGS 2

struct record {
	struct perf_event_header header;
	uint64_t words[3]; /* of a sample the second is its time, or the last */
};

/* Rings as the kernel makes them, but that no event writes to. */
static void make_of(struct ow_perfrings *r, size_t size, uint64_t from)
{
	size_t i;

	*r = (struct ow_perfrings){ .nr = RINGS };
	r->all = calloc(RINGS, sizeof(*r->all));
	r->record = malloc(65536);
	for (i = 0; i < RINGS; i++) {
		r->all[i].page = calloc(1, PAGE + size);
		r->all[i].size = size;
		r->all[i].page->data_head = r->all[i].page->data_tail = from;
	}
}

static void make(struct ow_perfrings *r, uint64_t from)
{
	make_of(r, PAGE, from);
}

static void end(struct ow_perfrings *r)
{
	size_t i;

	for (i = 0; i < RINGS; i++)
		free(r->all[i].page);
	free(r->all);
	free(r->record);
}

static void put_record(struct ow_perfrings *r, size_t ring,
		       const struct record *record)
{
	struct perf_event_mmap_page *page = r->all[ring].page;
	size_t i;

	for (i = 0; i < sizeof(*record); i++)
		((char *)page + PAGE)[page->data_head++ % r->all[ring].size] =
			((const char *)record)[i];
}

static void put(struct ow_perfrings *r, size_t ring, uint32_t type,
		uint64_t time)
{
	struct record record = { .header = { .type = type,
					     .size = sizeof(record) } };

	record.words[type == PERF_RECORD_SAMPLE ? 1 : 2] = time;
	put_record(r, ring, &record);
}

struct taken {
	uint64_t times[400];
	uint32_t types[400];
	size_t nr;
};

static void take(void *arg, const struct perf_event_header *h)
{
	struct taken *t = arg;

	t->types[t->nr] = h->type;
	t->times[t->nr++] = ow_perfrings_time(h);
}

static void test_records_come_by_their_times(void)
{
	struct taken t = { .nr = 0 };
	struct ow_perfrings r;

	make(&r, 0);
	put(&r, 0, PERF_RECORD_SAMPLE, 2);
	put(&r, 0, PERF_RECORD_MMAP2, 5);
	put(&r, 0, PERF_RECORD_SAMPLE, 6);
	put(&r, 1, PERF_RECORD_COMM, 1);
	put(&r, 1, PERF_RECORD_SAMPLE, 3);
	put(&r, 1, PERF_RECORD_SAMPLE, 7);
	ow_perfrings_read(&r, take, &t);
	CHECK(t.nr == 6);
	CHECK(memcmp(t.times, (uint64_t[]){ 1, 2, 3, 5, 6, 7 },
		     6 * sizeof(*t.times)) == 0);
	CHECK(r.all[0].page->data_tail == r.all[0].page->data_head);
	CHECK(r.all[1].page->data_tail == r.all[1].page->data_head);
	end(&r);
}

static void test_what_is_later_waits(void)
{
	struct taken t = { .nr = 0 };
	struct ow_perfrings r;

	make(&r, 0);
	put(&r, 0, PERF_RECORD_SAMPLE, 2);
	put(&r, 1, PERF_RECORD_SAMPLE, ow_now_ns() + 1000000000);
	ow_perfrings_read(&r, take, &t);
	CHECK(t.nr == 1 && t.times[0] == 2);
	CHECK(r.all[1].page->data_tail == 0);
	end(&r);
}

/* It is told of with the first record that there was room for again. */
static void test_loss_comes_first(void)
{
	struct taken t = { .nr = 0 };
	struct ow_perfrings r;

	make(&r, 0);
	put(&r, 0, PERF_RECORD_SAMPLE, 2);
	put(&r, 0, PERF_RECORD_LOST, 8);
	put(&r, 1, PERF_RECORD_SAMPLE, 1);
	put(&r, 1, PERF_RECORD_SAMPLE, 4);
	ow_perfrings_read(&r, take, &t);
	CHECK(t.nr == 4);
	CHECK(memcmp(t.times, (uint64_t[]){ 1, 2, 8, 4 },
		     4 * sizeof(*t.times)) == 0);
	/* Also if what was before it is done with. */
	put(&r, 0, PERF_RECORD_LOST, 20);
	put(&r, 1, PERF_RECORD_SAMPLE, 12);
	ow_perfrings_read(&r, take, &t);
	CHECK(t.nr == 6 && t.times[4] == 20 && t.times[5] == 12);
	end(&r);
}

/* Leave less room in a ring than a record may need. */
static void fill(struct ow_perfrings *r, size_t ring)
{
	size_t i;

	for (i = 0; i < 100; i++)
		put(r, ring, PERF_RECORD_MMAP2, 10 + i);
}

/* The kernel tells of it with the next record only, and another ring's may be earlier. */
static void test_full_ring_tells_of_a_loss(void)
{
	uint64_t begun = ow_now_ns();
	struct taken t = { .nr = 0 };
	struct ow_perfrings r;

	make_of(&r, 8192, 0);
	r.all[0].tells_lives = true;
	fill(&r, 0);
	put(&r, 1, PERF_RECORD_SAMPLE, 50);
	put(&r, 1, PERF_RECORD_SAMPLE, 200);
	ow_perfrings_read(&r, take, &t);
	CHECK(t.nr == 103);
	CHECK(t.types[41] == PERF_RECORD_SAMPLE && t.times[41] == 50);
	CHECK(t.types[101] == PERF_RECORD_LOST && t.times[101] >= begun);
	CHECK(t.types[102] == PERF_RECORD_SAMPLE && t.times[102] == 200);
	end(&r);
}

/* Only what processes do changes what later samples mean. */
static void test_full_ring_of_samples_tells_nothing(void)
{
	struct taken t = { .nr = 0 };
	struct ow_perfrings r;

	make_of(&r, 8192, 0);
	fill(&r, 0);
	ow_perfrings_read(&r, take, &t);
	CHECK(t.nr == 100);
	end(&r);
}

/* Records that go on at the ring's begin are in one piece. */
static void test_rings_are_round(void)
{
	struct taken t = { .nr = 0 };
	struct ow_perfrings r;
	size_t i, k;

	make(&r, PAGE - 8);
	for (k = 0; k < 3; k++) {
		for (i = 0; i < 100; i++)
			put(&r, i % RINGS,
			    i % 3 ? PERF_RECORD_SAMPLE : PERF_RECORD_EXIT,
			    100 * k + i);
		ow_perfrings_read(&r, take, &t);
	}
	CHECK(t.nr == 300);
	for (i = 0; i < t.nr; i++)
		CHECK(t.times[i] == i);
	end(&r);
}

static bool is_wanted(void *arg, pid_t pid, uint64_t time)
{
	(void)arg;
	(void)pid;
	(void)time;
	return true;
}

static void changed(void *arg, pid_t pid)
{
	(void)arg;
	(void)pid;
}

/* So many events of processes were lost: that is told once, and counted. */
static void test_lost_lives(void)
{
	const struct record lost = {
		.header = { .type = PERF_RECORD_LOST, .size = sizeof(lost) },
		.words = { 1, 70, 20 },
	};
	struct ow_images images = { 0 };
	struct ow_lives l = { 0 };

	make(&l.rings, 0);
	put_record(&l.rings, 1, &lost);
	put_record(&l.rings, 0, &lost);
	CHECK(!ow_lives_apply(&l, &images, is_wanted, changed, NULL));
	CHECK(l.nr_lost == 140);
	CHECK(ow_lives_apply(&l, &images, is_wanted, changed, NULL));
	CHECK(l.nr_lost == 140);
	end(&l.rings);
}

int main(void)
{
	static const struct test tests[] = {
		{ "records come by their times",
		  test_records_come_by_their_times },
		{ "what is later waits", test_what_is_later_waits },
		{ "a loss comes first", test_loss_comes_first },
		{ "a full ring tells of a loss",
		  test_full_ring_tells_of_a_loss },
		{ "a full ring of samples tells nothing",
		  test_full_ring_of_samples_tells_nothing },
		{ "rings are round", test_rings_are_round },
		{ "events of processes that were lost", test_lost_lives },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
