// SPDX-License-Identifier: BSD-2-Clause
#include "samplestore.h"

#include <stdlib.h>

#include "env.h"
#include "test.h"

#define FRAMES 100
#define STACKS 3000 /* more than there is room for at first */

static bool take(void *arg, const struct ow_recorded *r)
{
	(void)r;
	return *(const bool *)arg;
}

static void forget(void *arg, const struct ow_recorded *r)
{
	(void)r;
	++*(size_t *)arg;
}

static struct ow_stored *add_for(struct ow_samplestore *s, uint32_t pid,
				 uint32_t uid, uint64_t hash)
{
	static const uint64_t frames[FRAMES];
	const struct ow_bpf_stack head = { .key = { .hash = hash, .pid = pid },
					   .nr = FRAMES,
					   .uid = uid };

	return ow_samplestore_add(s, &head, frames, 1);
}

/* As many as a process or user may have, up to STACKS. */
static size_t fill(struct ow_samplestore *s, uint32_t pid, uint32_t uid)
{
	uint64_t i;

	for (i = 1; i <= STACKS; i++)
		if (add_for(s, pid, uid, i)->is.is_folded)
			break;
	return i - 1;
}

static struct ow_stored *add(struct ow_samplestore *s, uint64_t hash)
{
	return add_for(s, 0, 0, hash);
}

/* It is known how much memory stacks take, whatever is added and dropped. */
static void test_bytes(void)
{
	const size_t each = sizeof(struct ow_stored) + 8 * FRAMES;
	const struct ow_sample_key first = { .hash = 1 };
	struct ow_samplestore s = { 0 };
	struct ow_stored *counted = NULL;
	bool is_taken = false;
	size_t i, dropped = 0;

	for (i = 1; i <= STACKS; i++)
		counted = add(&s, i);
	CHECK(counted && add(&s, STACKS) == counted);
	CHECK(s.nr == STACKS && s.bytes == STACKS * each);
	counted->is.count = 1;
	/* However often it is drained, stacks are only dropped in turn. */
	for (i = 0; i < 3; i++)
		ow_samplestore_drain(&s, take, &is_taken);
	ow_samplestore_drop(&s, forget, &dropped);
	CHECK(dropped == 0 && s.nr == STACKS);
	ow_samplestore_use(&s, ow_samplestore_find(&s, &first));
	ow_samplestore_drain(&s, take, &is_taken);
	ow_samplestore_drop(&s, forget, &dropped);
	CHECK(dropped == STACKS - 2 && s.nr == 2 && s.bytes == 2 * each);
	ow_samplestore_drain(&s, take, &is_taken);
	ow_samplestore_drop(&s, forget, &dropped);
	CHECK(dropped == STACKS - 1 && s.nr == 1 && s.bytes == each);
	CHECK(s.nr_ever == STACKS && counted->is.count == 1);
	is_taken = true;
	for (i = 0; i < 3; i++) {
		CHECK(s.nr == 1);
		ow_samplestore_drain(&s, take, &is_taken);
		CHECK(counted->is.count == 0);
		ow_samplestore_drop(&s, forget, &dropped);
	}
	CHECK(s.nr == 0 && s.bytes == 0);
	ow_samplestore_deinit(&s);
}

/* What one process has too much is counted as one, and others have room. */
static void test_limit(void)
{
	const size_t each = sizeof(struct ow_stored) + 8 * FRAMES;
	struct ow_samplestore s = { .limit = 1000 * each };
	const struct ow_sample_key unknown = { .hash = STACKS + 1, .pid = 1 };
	const struct ow_sample_key others = { .hash = 1, .pid = 9 };
	bool is_taken = true;
	struct ow_stored *folded;
	size_t i, dropped = 0;

	CHECK(fill(&s, 1, 0) == 500 && s.is_short && s.nr_folded == 1);
	folded = ow_samplestore_find(&s, &unknown);
	CHECK(folded && folded->is.is_folded && folded->is.nr == 0);
	CHECK(!ow_samplestore_find(&s, &others));
	CHECK(add_for(&s, 1, 0, STACKS) == folded);
	CHECK(!add_for(&s, 1, 0, 1)->is.is_folded);
	CHECK(fill(&s, 2, 0) == 249);
	/* A user's second process has the rest of what the user may have. */
	CHECK(fill(&s, 3, 1000) == 125 && fill(&s, 4, 1000) == 0);
	CHECK(fill(&s, 5, 0) > 50 && s.bytes <= s.limit);
	for (i = 0; i < 2; i++) {
		ow_samplestore_drain(&s, take, &is_taken);
		CHECK(!s.is_short);
		ow_samplestore_drop(&s, forget, &dropped);
	}
	CHECK(s.nr == 0 && s.bytes == 0 && s.nr_folded == 0);
	CHECK(fill(&s, 3, 1000) == 500);
	ow_samplestore_deinit(&s);
}

/* What the kernel has counted as one is one here, too. */
static void test_folded(void)
{
	const struct ow_bpf_stack head = {
		.key = { .pid = 1,
			 .kind = OW_SAMPLE_OFF_CPU,
			 .end = OW_END_LIMIT },
	};
	struct ow_samplestore s = { .limit = 1 << 20 };
	struct ow_stored *folded = ow_samplestore_add(&s, &head, NULL, 0);

	CHECK(folded && folded->is.is_folded && folded->is.nr == 0);
	CHECK(ow_samplestore_find(&s, &head.key) == folded);
	CHECK(ow_samplestore_add(&s, &head, NULL, 0) == folded && s.nr == 1);
	/* The store itself has room. */
	CHECK(!s.is_short && !add_for(&s, 1, 0, 1)->is.is_folded);
	ow_samplestore_deinit(&s);
}

struct order {
	size_t nr;
	pid_t pids[3 * STACKS];
	uint64_t counts[3 * STACKS];
};

static bool note(void *arg, const struct ow_recorded *r)
{
	struct order *o = arg;

	o->pids[o->nr] = r->pid;
	o->counts[o->nr++] = r->count;
	return true;
}

static void count_for(struct ow_samplestore *s, uint32_t pid, uint32_t uid,
		      uint64_t nr)
{
	uint64_t i;

	for (i = 1; i <= nr; i++)
		add_for(s, pid, uid, i)->is.count = i;
}

/* Where the last stack of a process came; its stacks come by their counts. */
static size_t last_of(const struct order *o, pid_t pid)
{
	uint64_t count = UINT64_MAX;
	bool is_sorted = true;
	size_t i, last = 0;

	for (i = 0; i < o->nr; i++) {
		if (o->pids[i] != pid)
			continue;
		is_sorted = is_sorted && o->counts[i] < count;
		count = o->counts[i];
		last = i;
	}
	CHECK(is_sorted);
	return last;
}

/* Whoever has few stacks comes before most stacks of those who have many. */
static void test_turns(void)
{
	static struct order o;
	struct ow_samplestore s = { 0 };
	uint32_t pid;

	count_for(&s, 1, 0, 1000);
	for (pid = 10; pid < 20; pid++)
		count_for(&s, pid, 1000, 100);
	count_for(&s, 30, 0, 3);
	count_for(&s, 31, 1000, 3);
	count_for(&s, 32, 1001, 3);
	ow_samplestore_drain(&s, note, &o);
	CHECK(o.nr == 1000 + 10 * 100 + 3 * 3);
	CHECK(last_of(&o, 30) < 12 && last_of(&o, 32) < 12);
	/* Processes of one user take turns among themselves. */
	CHECK(last_of(&o, 31) < 4 * 33 + 12);
	CHECK(last_of(&o, 1) > 1900 && last_of(&o, 10) > 1900);
	o.nr = 0;
	ow_samplestore_drain(&s, note, &o);
	CHECK(o.nr == 0);
	ow_samplestore_deinit(&s);
}

int main(void)
{
	static const struct test tests[] = {
		{ "memory of stacks", test_bytes },
		{ "limits of processes and users", test_limit },
		{ "a stack that the kernel has folded", test_folded },
		{ "turns of processes and users", test_turns },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
