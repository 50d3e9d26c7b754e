// SPDX-License-Identifier: BSD-2-Clause
/* Strings kept once each. */
#include "intern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <outwind/outwind.h>

#include "budget.h"
#include "test.h"

#define STAGES 14 /* of names that collide: there are two pieces for each */
#define PIECE  4
#define MANY   (1 << STAGES)

static void test_once(void)
{
	struct ow_intern in = { 0 };
	char text[] = "name";
	const char *kept = ow_intern_add(&in, text);

	CHECK(kept && kept != text && strcmp(kept, "name") == 0);
	CHECK(ow_intern_add(&in, "name") == kept && in.nr == 1);
	CHECK(ow_intern_add(&in, "other") != kept && in.nr == 2);
	CHECK(!ow_intern_add(&in, NULL));
	ow_intern_deinit(&in);
}

static void test_long(void)
{
	size_t size = OW_INTERN_LONGEST + 1;
	char *text = malloc(size + 1);
	struct ow_intern in = { 0 };
	const char *kept;

	memset(text, 'x', size);
	text[size] = '\0';
	kept = ow_intern_add(&in, text);
	CHECK(strlen(kept) == OW_INTERN_LONGEST + 3);
	CHECK(strcmp(kept + OW_INTERN_LONGEST, "...") == 0);
	CHECK(ow_intern_add(&in, text) == kept);
	ow_intern_deinit(&in);
	free(text);
}

/* A user may have a quarter of what others leave over, and all of them a share. */
static void test_budget(void)
{
	struct ow_intern in = { 0 };
	size_t used[2] = { 0 };
	char text[1024];
	int i, nr[2] = { 0 };

	ow_memory_limit(1 << 20);
	memset(text, 'x', sizeof(text));
	for (i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "%01000d", i);
		nr[i / 1000] += ow_intern_add_for(&in, text, &used[i / 1000]) !=
				NULL;
	}
	CHECK(nr[0] >= 50 && nr[0] <= 64 && used[0] <= 65536);
	CHECK(nr[1] >= 35 && nr[1] < nr[0] && used[1] < used[0]);
	/* What is kept is found, and there is room for others' names. */
	snprintf(text, sizeof(text), "%01000d", 0);
	CHECK(ow_intern_add_for(&in, text, &used[0]));
	CHECK(ow_intern_add(&in, "name"));
	CHECK(in.own >= used[0] + used[1]);
	ow_intern_deinit(&in);
	CHECK(ow_budget_share(0) == (1 << 20) / 4);
	ow_memory_limit((uint64_t)512 << 20);
}

/* Users without end of one group leave half, and get no more by that. */
static void test_group(void)
{
	struct ow_intern_group greedy = { 0 }, modest = { 0 };
	struct ow_intern in = { 0 };
	size_t used[200] = { 0 }, later = 0;
	char text[1024];
	int i, nr = 0;

	ow_memory_limit(1 << 20);
	for (i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "%01000d", i);
		nr += ow_intern_add_in(&in, text, &used[i / 10], &greedy) !=
		      NULL;
	}
	CHECK(nr >= 110 && nr <= 128 && greedy.is_short);
	CHECK(greedy.used <= 131072 && in.own < 150000);
	for (i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "%01000d", 5000 + i);
		CHECK(ow_intern_add_in(&in, text, &later, &modest));
	}
	CHECK(!modest.is_short && modest.used == later);
	/* What is kept takes nothing. */
	CHECK(ow_intern_add_in(&in, text, &used[0], &greedy));
	CHECK(greedy.used <= 131072);
	ow_intern_deinit(&in);
	ow_memory_limit((uint64_t)512 << 20);
}

static uint32_t fnv(uint32_t state, uint32_t piece)
{
	for (int i = 0; i < PIECE; i++, piece >>= 6)
		state = (state ^ (' ' + (piece & 63))) * 16777619u;
	return state;
}

/* Two pieces that FNV-1a of 32 bits takes from a state to one other. */
static uint32_t collide(uint32_t state, uint32_t pair[2])
{
	static uint32_t seen[1 << 20]; /* 1 + piece */
	uint32_t i, end;

	memset(seen, 0, sizeof(seen));
	for (i = 0;; i++) {
		uint32_t *at;

		end = fnv(state, i);
		at = &seen[end >> 12];
		if (*at && fnv(state, *at - 1) == end)
			break;
		if (!*at)
			*at = i + 1;
	}
	pair[0] = seen[end >> 12] - 1;
	pair[1] = i;
	return end;
}

static double time_for(uint32_t pairs[STAGES][2])
{
	struct ow_intern in = { 0 };
	char name[STAGES * PIECE + 1] = "";
	clock_t begun = clock();
	int i, k, c;

	for (i = 0; i < MANY; i++) {
		for (k = 0; k < STAGES; k++)
			for (c = 0; c < PIECE; c++)
				name[k * PIECE + c] =
					' ' +
					(pairs[k][i >> k & 1] >> 6 * c & 63);
		ow_intern_add(&in, name);
	}
	CHECK(in.nr == MANY);
	ow_intern_deinit(&in);
	return (double)(clock() - begun);
}

/* An unkeyed hash makes a list of them, which is gone through for each. */
static void test_collisions(void)
{
	uint32_t hostile[STAGES][2], usual[STAGES][2], state = 2166136261u;

	for (uint32_t k = 0; k < STAGES; k++) {
		state = collide(state, hostile[k]);
		usual[k][0] = k;
		usual[k][1] = STAGES + k;
	}
	CHECK(time_for(hostile) < 10 * time_for(usual) + CLOCKS_PER_SEC / 20);
}

int main(void)
{
	static const struct test tests[] = {
		{ "each once", test_once },
		{ "long ones are cut", test_long },
		{ "shares of the budget", test_budget },
		{ "shares of groups", test_group },
		{ "names that collide", test_collisions },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
