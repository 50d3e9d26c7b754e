// SPDX-License-Identifier: BSD-2-Clause
/* Which functions without names have labels of their own. */
#include "proflabels.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

#define LONG 250                               /* bytes of a module's name */
#define FEW  1000                              /* functions */
#define MANY 500000                            /* likewise: 125 MB of labels */
#define SIZE (LONG + sizeof("+0x1000000") - 1) /* of a label, about */

static char module[LONG + 1];

/* Add stacks of one frame each, of functions from first on.  Return the first frame. */
static uint32_t add(struct profile *p, const char *of, uint32_t uid,
		    uint64_t first, uint32_t nr)
{
	const struct profile_stack s = {
		.comm = profile_string(p, "thread"),
		.owner = profile_owner(p, uid),
		.end = OW_END_OUTERMOST,
		.count = 1,
	};
	struct profile_frame f = {
		.module = profile_string(p, of),
		.has_start = 1,
	};
	uint32_t begin = 0, id, i;

	for (i = 0; i < nr; i++) {
		f.pc = f.module_offset = first + i;
		id = profile_frame(p, &f);
		begin = i ? begin : id;
		CHECK(profile_add(p, &s, &id, 1));
	}
	return begin;
}

static uint32_t count(const struct proflabels *l, uint32_t first, uint32_t nr)
{
	uint32_t made = 0, i;

	for (i = 0; i < nr; i++)
		made += proflabels_has(l, first + i);
	return made;
}

/* Return true if labels of about that size take what there is for all, less some bytes. */
static bool takes_all(uint64_t nr, uint64_t less)
{
	uint64_t size = nr * SIZE + less;

	return size > PROFILE_MOST_LABELS / 100 * 97 &&
	       size < PROFILE_MOST_LABELS / 100 * 103;
}

static void test_few(void)
{
	struct profile p = { .is_placeless = false };
	struct proflabels l = { .states = NULL };
	uint32_t first = add(&p, module, 1, 0x1000000, FEW);
	uint64_t nr = 0;

	CHECK(proflabels_share(&l, &p, &nr) && !l.states);
	CHECK(count(&l, first, FEW) == FEW && nr == 0);
	proflabels_deinit(&l);
	profile_deinit(&p);
}

/* Whoever is alone has all. */
static void test_one(void)
{
	struct profile p = { .is_placeless = false };
	struct proflabels l = { .states = NULL };
	uint32_t first = add(&p, module, 1, 0x1000000, MANY), made;
	uint64_t nr = 1;

	CHECK(proflabels_share(&l, &p, &nr));
	made = count(&l, first, MANY);
	CHECK(takes_all(made, 0));
	CHECK(nr == 1 + MANY - made);
	proflabels_deinit(&l);
	profile_deinit(&p);
}

/* Users who want little have that, wherever their stacks are; others as much as each other. */
static void test_users(void)
{
	struct profile p = { .is_placeless = false };
	struct proflabels l = { .states = NULL };
	uint32_t one = add(&p, module, 1, 0x1000000, MANY);
	uint32_t two = add(&p, module, 2, 0x2000000, MANY);
	uint32_t few = add(&p, "libfoo.so", 3, 0x1000, FEW);
	uint64_t nr = 0, of_one, of_two;

	CHECK(proflabels_share(&l, &p, &nr));
	CHECK(count(&l, few, FEW) == FEW);
	of_one = count(&l, one, MANY);
	of_two = count(&l, two, MANY);
	CHECK(of_one == of_two && takes_all(of_one + of_two, 0));
	CHECK(nr == 2 * MANY - of_one - of_two);
	proflabels_deinit(&l);
	profile_deinit(&p);
}

/* What one user has no room for, another one has who runs it, too. */
static void test_shared(void)
{
	struct profile p = { .is_placeless = false };
	struct proflabels l = { .states = NULL };
	uint32_t one = add(&p, module, 1, 0x1000000, MANY);
	uint32_t two = add(&p, module, 2, 0x2000000, MANY);

	add(&p, module, 3, 0x1000000 + MANY - FEW, FEW);
	CHECK(proflabels_share(&l, &p, NULL));
	CHECK(count(&l, one + MANY - FEW, FEW) == FEW);
	CHECK(count(&l, one, MANY) > 10 * FEW);
	CHECK(count(&l, two, MANY) > 10 * FEW);
	proflabels_deinit(&l);
	profile_deinit(&p);
}

/* As it is written. */
static void test_written(void)
{
	struct profile p = { .is_placeless = true };
	struct profile_options o = { 0 };
	uint64_t nr = 0;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	add(&p, module, 1, 0x1000000, MANY);
	add(&p, "libfoo.so", 3, 0x1234, 1);
	o.nr_coarse_ret = &nr;
	CHECK(profile_folded.write(out, &p, &o));
	CHECK(fclose(out) == 0 && nr > MANY / 2 && nr < MANY);
	CHECK(strstr(text, "thread;libfoo.so+0x1234 1\n"));
	CHECK(strstr(text, "ooo+0x1000000 1\n") && strstr(text, "ooo] "));
	free(text);
	profile_deinit(&p);
}

int main(void)
{
	static const struct test tests[] = {
		{ "few labels", test_few },
		{ "labels of one user", test_one },
		{ "labels of several users", test_users },
		{ "labels that users share", test_shared },
		{ "labels as they are written", test_written },
	};

	memset(module, 'o', LONG);
	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
