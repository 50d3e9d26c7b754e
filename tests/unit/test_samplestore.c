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

static struct ow_stored *add(struct ow_samplestore *s, uint64_t hash)
{
	static const uint64_t frames[FRAMES];
	const struct ow_bpf_stack head = { .key = { .hash = hash },
					   .nr = FRAMES };

	return ow_samplestore_add(s, &head, frames, 1);
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

int main(void)
{
	static const struct test tests[] = {
		{ "memory of stacks", test_bytes },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
