// SPDX-License-Identifier: BSD-2-Clause
#include "demangled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <outwind/outwind.h>

#include "budget.h"
#include "costlyname.h"
#include "demangle.h"
#include "error.h"
#include "test.h"

static bool is_refused;

static const char *find(struct ow_demangled *d, const char *name, uid_t uid)
{
	return ow_demangled_find(d, name, uid, &is_refused);
}

static void test_kept(void)
{
	struct ow_demangled d = { .text = NULL };
	const char *text = find(&d, "_Z3addii", 0);

	CHECK(text && strcmp(text, "add(int, int)") == 0);
	CHECK(find(&d, "_Z3addii", 0) == text);
	CHECK(!find(&d, "_Znot", 0));
	CHECK(!find(&d, "_Znot", 0));
	CHECK(!find(&d, "main", 0));
	CHECK(!is_refused);
	ow_demangled_deinit(&d);
}

/* The names of one user don't take the place of another one's. */
static void test_users(void)
{
	struct ow_demangled d = { .text = NULL };
	const char *text = find(&d, "_Z3addii", 1);
	size_t share = ow_budget_share(0);
	char name[16], want[16];

	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "_Z4f%03ui", i);
		snprintf(want, sizeof(want), "f%03u(int)", i);
		text = find(&d, name, 2);
		CHECK(text && strcmp(text, want) == 0);
	}
	/* The last 64 at most are kept. */
	CHECK(share - ow_budget_share(0) < 64 * (sizeof(name) + sizeof(want)));
	text = find(&d, "_Z3addii", 1);
	CHECK(find(&d, "_Z3addii", 1) == text);
	ow_demangled_deinit(&d);
	CHECK(ow_budget_share(0) >= share);
}

/* f<path, path, ...>, for a path that is long and says nothing; it takes 300 us. */
static void put_paths(char *name)
{
	name += sprintf(name, "_RINvC1a1b");
	for (int i = 0; i < 19; i++)
		name += sprintf(name, "Nv");
	name += sprintf(name, "C10abcdefghij");
	for (int i = 0; i < 19; i++)
		*name++ = '0';
	for (int i = 0; i < 1300; i++)
		name += sprintf(name, "B8_");
	strcpy(name, "E");
}

/* One name of many addresses takes its time once. */
static void test_slow(void)
{
	struct ow_demangled d = { .text = NULL };
	clock_t begun = clock();
	char name[4096];

	put_paths(name);
	for (int i = 0; i < 20000; i++)
		CHECK(find(&d, name, 0));
	CHECK(clock() - begun < 2 * CLOCKS_PER_SEC);
	ow_demangled_deinit(&d);
}

/* A name that is refused is not kept: later there may be time for it. */
static void test_refused(void)
{
	static const char *const pair =
		"_ZSt9make_pairIiiESt4pairINSt25__strip_reference_wrapperINSt5"
		"decayIT_E4typeEE6__typeENS1_INS2_IT0_E4typeEE6__typeEEOS3_OS8_";
	struct ow_demangled d = { .text = NULL };

	costlyname_use_up(3);
	CHECK(!find(&d, pair, 3) && is_refused);
	CHECK(find(&d, "_Z3addii", 3) && !is_refused);
	CHECK(find(&d, pair, 4) && !is_refused);
	sleep(1);
	CHECK(find(&d, pair, 3));
	ow_demangled_deinit(&d);
}

int main(void)
{
	static const struct test tests[] = {
		{ "kept names", test_kept },
		{ "names of several users", test_users },
		{ "a slow name at many addresses", test_slow },
		{ "names that are refused", test_refused },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
