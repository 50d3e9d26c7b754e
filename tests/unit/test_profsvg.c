// SPDX-License-Identifier: BSD-2-Clause
/* What pictures of stacks cost. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test.h"

#define DEEP  8000  /* frames */
#define SHORT 50000 /* stacks */

static uint32_t number_frame(struct profile *p, int i)
{
	char text[16];
	const struct ow_name name = { .function = text };

	snprintf(text, sizeof(text), "f%d", i);
	return profile_name(p, &name, 0, false, 0);
}

static void add(struct profile *p, const char *comm, const uint32_t *ids,
		uint32_t nr)
{
	const struct profile_stack s = {
		.comm = profile_string(p, comm),
		.count = 1,
	};

	CHECK(profile_add(p, &s, ids, nr));
}

static void add_deep(struct profile *p)
{
	uint32_t ids[DEEP];
	int i;

	for (i = 0; i < DEEP; i++)
		ids[i] = number_frame(p, i);
	add(p, "deep", ids, DEEP);
}

static void add_short(struct profile *p)
{
	uint32_t ids[2];
	int i;

	for (i = 0; i < SHORT; i++) {
		ids[0] = number_frame(p, i % 1000);
		ids[1] = number_frame(p, i / 1000);
		add(p, "short", ids, 2);
	}
}

/* The seconds of a CPU that it takes to write a profile, which is freed. */
static double cost(struct profile *p)
{
	const struct profile_options o = { 0 };
	FILE *out = fopen("/dev/null", "w");
	clock_t begun = clock();

	CHECK(profile_svg.write(out, p, &o));
	begun = clock() - begun;
	fclose(out);
	profile_deinit(p);
	return (double)begun / CLOCKS_PER_SEC;
}

/* Rows of a deep stack cost nothing of stacks that end before them. */
static void test_deep(void)
{
	struct profile p = { .is_placeless = true };
	double alone, both;

	add_deep(&p);
	alone = cost(&p);
	p.is_placeless = true;
	add_short(&p);
	alone += cost(&p);
	p.is_placeless = true;
	add_short(&p);
	add_deep(&p);
	both = cost(&p);
	CHECK(both < 3 * alone);
	if (both >= 3 * alone)
		printf("# %.3f s and %.3f s\n", alone, both);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a deep stack beside many short ones", test_deep },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
