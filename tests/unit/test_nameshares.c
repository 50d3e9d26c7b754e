// SPDX-License-Identifier: BSD-2-Clause
/* What names of one user's files leave to other users. */
#include "nameshares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#include "budget.h"
#include "test.h"

#define SOMEONE 65534
#define OTHER   65533
#define FILES   45
#define NAMES \
	20 /* of a file, of 1000 bytes: all take four times what there is */

/* How many lines tell of names that there was no room for. */
static int nr_told(const char *whose)
{
	const char *line;
	int nr = 0;
	size_t i;

	for (i = 0; (line = ow_left_out(i)); i++)
		nr += strncmp(line, whose, strlen(whose)) == 0 &&
		      strstr(line, ": a copy of more of ");
	return nr;
}

static const char *keep(struct ow_nameshares *n, uid_t uid,
			struct ow_namesource *from, int number)
{
	char name[1024];

	snprintf(name, sizeof(name), "%01000d", number);
	return ow_nameshares_keep(n, uid, from, name);
}

/* Ask for the names of many files. */
static int fill(struct ow_nameshares *n, uid_t uid)
{
	struct ow_namesource files[FILES] = { 0 };
	int i, nr = 0;

	for (i = 0; i < FILES * NAMES; i++) {
		files[i / NAMES].path = "/hostile";
		nr += keep(n, uid, &files[i / NAMES], i) != NULL;
	}
	return nr;
}

static void test_others(void)
{
	struct ow_namesource libc = { .path = "/libc" }, own = { "/own", 0 };
	struct ow_nameshares n = { 0 };
	const char *shared, *kept;
	int nr;

	ow_memory_limit(1 << 20);
	shared = keep(&n, SOMEONE, &libc, -1);
	nr = fill(&n, SOMEONE);
	CHECK(nr >= 100 && nr <= 128);
	CHECK(!keep(&n, SOMEONE, &own, 5000));
	CHECK(nr_told("processes of user 65534") == 1);
	CHECK(nr_told("/hostile") == 0);
	/* What is kept is for all, and what isn't is kept for others. */
	CHECK(shared && keep(&n, SOMEONE, &libc, -1) == shared);
	CHECK(keep(&n, OTHER, &libc, -1) == shared);
	CHECK(!keep(&n, SOMEONE, &libc, -2));
	kept = keep(&n, OTHER, &libc, -2);
	CHECK(kept && keep(&n, SOMEONE, &libc, -2) == kept);
	CHECK(keep(&n, (uid_t)-1, &own, -3) && keep(&n, 0, &own, -4));
	CHECK(nr_told("processes of user 65533") == 0);
	CHECK(nr_told("processes of unknown") == 0 && nr_told("/") == 0);
	/* After all were forgotten there is as much room as at first, and all is told. */
	CHECK(n.is_short);
	ow_nameshares_clear(&n);
	CHECK(!n.is_short && ow_budget_share(0) == (1 << 20) / 4);
	CHECK(fill(&n, SOMEONE) >= nr);
	CHECK(nr_told("processes of user 65534") == 1);
	ow_nameshares_deinit(&n);
	CHECK(ow_budget_share(0) == (1 << 20) / 4);
	ow_memory_limit((uint64_t)512 << 20);
}

/* Several such users leave something, and root's processes may have what is left. */
static void test_several(void)
{
	struct ow_namesource own = { .path = "/own" };
	struct ow_nameshares n = { 0 };
	int nr;

	ow_memory_limit(1 << 20);
	CHECK(fill(&n, SOMEONE) && fill(&n, OTHER) && fill(&n, (uid_t)-1));
	CHECK(keep(&n, 1000, &own, -1) && keep(&n, 0, &own, -2));
	CHECK(nr_told("processes of unknown users") == 1);
	CHECK(nr_told("/own") == 0 && nr_told("processes of user 0") == 0);
	ow_nameshares_deinit(&n);

	nr = fill(&n, 0);
	CHECK(nr > 200 && nr_told("/hostile") == 1);
	CHECK(nr_told("processes of user 0") == 0);
	ow_nameshares_deinit(&n);
	ow_memory_limit((uint64_t)512 << 20);
}

static void test_nothing(void)
{
	struct ow_namesource own = { .path = "/nothing" };
	struct ow_nameshares n = { 0 };

	CHECK(!ow_nameshares_keep(&n, SOMEONE, &own, NULL));
	CHECK(nr_told("/nothing") == 0);
	ow_nameshares_deinit(&n);
}

int main(void)
{
	static const struct test tests[] = {
		{ "one user's", test_others },
		{ "several users'", test_several },
		{ "no name", test_nothing },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
