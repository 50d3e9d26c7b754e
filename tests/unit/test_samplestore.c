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
	struct ow_samplestore s = { 0 };
	struct ow_stored *counted = NULL;
	bool is_taken = false;
	size_t i, dropped = 0;

	for (i = 1; i <= STACKS; i++)
		counted = add(&s, i);
	CHECK(counted && add(&s, STACKS) == counted);
	CHECK(s.nr == STACKS && s.bytes == STACKS * each);
	counted->is.count = 1;
	for (i = 0; i < 2; i++)
		ow_samplestore_drain(&s, take, &is_taken);
	ow_samplestore_drop(&s, forget, &dropped);
	CHECK(dropped == STACKS - 1 && s.nr == 1 && s.bytes == each);
	CHECK(s.nr_ever == STACKS && counted->is.count == 1);
	is_taken = true;
	for (i = 0; i < 3; i++)
		ow_samplestore_drain(&s, take, &is_taken);
	CHECK(counted->is.count == 0);
	ow_samplestore_drop(&s, forget, &dropped);
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
	for (i = 0; i < 3; i++)
		ow_samplestore_drain(&s, take, &is_taken);
	CHECK(!s.is_short);
	ow_samplestore_drop(&s, forget, &dropped);
	CHECK(s.nr == 0 && s.bytes == 0 && s.nr_folded == 0);
	CHECK(fill(&s, 3, 1000) == 500);
	ow_samplestore_deinit(&s);
}

int main(void)
{
	static const struct test tests[] = {
		{ "memory of stacks", test_bytes },
		{ "limits of processes and users", test_limit },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
