// SPDX-License-Identifier: BSD-2-Clause
/* Whose subordinate user ids are, by files that are mounted over those of the system. */
#include "subuids.h"

#include <stdio.h>

#include "owner.h"
#include "scratch.h"
#include "subuid.h"
#include "test.h"

#define SECOND 1000000000ULL

static const char subuids[] = "root:900000:65536\n"
			      "anna:100000:65536\n"
			      "1001:165536:65536\n"
			      "anna:300000:10\n"
			      "nonsense\n"
			      "bert:x:10\n"
			      "bert:450000:0\n"
			      "bert:4294967295:1\n"
			      "bert:-4294517296:10\n"
			      "carl:410000:10\n"
			      "carl:400000:10:3\n"
			      "toor:700000:10\n"
			      "root:600000:65536\n"
			      "dora:600000:10\n"
			      "emil:600005:10\n"
			      "emil:600006:2\n"
			      "emil:4294967290:100\n"
			      "dora:500000:1";

static const char users[] = "root:x:0:0::/root:/bin/sh\n"
			    "anna:x:1000:100::/:/bin/sh\n"
			    "nonsense\n"
			    "dora::1004:100::/:/bin/sh\n"
			    "emil:x:1005:100::/:/bin/sh\n"
			    "toor:x:0:0::/root:/bin/sh\n"
			    "anna:x:7:100::/:/bin/sh\n";

static bool is_own(uid_t uid)
{
	return ow_subuids_owner(uid) == uid;
}

static void test_owners(void)
{
	CHECK(is_own(0) && is_own(1001) && is_own(99999));
	CHECK(ow_subuids_owner(100000) == 1000);
	CHECK(ow_subuids_owner(165535) == 1000);
	CHECK(ow_subuids_owner(165536) == 1001);
	CHECK(ow_subuids_owner(231071) == 1001 && is_own(231072));
	CHECK(ow_subuids_owner(300009) == 1000 && is_own(300010));
	CHECK(ow_subuids_owner(500000) == 1004 && is_own(500001));
	CHECK(is_own(450000));
	/* Root's are its containers'. */
	CHECK(is_own(700000) && is_own(900000));
	/* Nobody knows that user's number. */
	CHECK(ow_subuids_owner(400000) == 400000);
	CHECK(ow_subuids_owner(410009) == 400000);
	CHECK(ow_subuids_owner(4294967294) == 1005 && is_own((uid_t)-1));
}

/* What several have is the one's whose range begins first, but not root's. */
static void test_overlap(void)
{
	CHECK(ow_subuids_owner(600000) == 1004);
	CHECK(ow_subuids_owner(600009) == 1004);
	CHECK(ow_subuids_owner(600010) == 1005);
	CHECK(ow_subuids_owner(600014) == 1005);
	CHECK(is_own(600015));
}

static void test_order(void)
{
	const struct ow_subuids *s = ow_subuids_list();
	uint32_t i;

	CHECK(s->nr == 9);
	for (i = 0; i < s->nr; i++) {
		CHECK(s->all[i].first <= s->all[i].last);
		CHECK(i == 0 || s->all[i - 1].last < s->all[i].first);
	}
}

static void test_shares(void)
{
	CHECK(ow_owner_of(100000).share == ow_owner_of(300005).share);
	CHECK(ow_owner_of(100000).share == ow_owner_of(1000).share);
	CHECK(ow_owner_of(100000).share != ow_owner_of(165536).share);
	CHECK(ow_owner_of(900000).share != ow_owner_of(900001).share);
	CHECK(ow_owner_of(100000).share && ow_owner_of(0).share == 0);
}

/* The file is looked at from time to time only; who has a list keeps it. */
static void test_change(void)
{
	const struct ow_subuids *before = ow_subuids_list();

	ow_subuids_renew(100 * SECOND);
	CHECK(ow_subuids_list() == before);
	scratch_write("subuid", "anna:100000:1\n");
	ow_subuids_renew(105 * SECOND);
	CHECK(ow_subuids_owner(100001) == 1000);
	ow_subuids_renew(110 * SECOND);
	CHECK(ow_subuids_owner(100000) == 1000 && is_own(100001));
	CHECK(before->nr == 9 && ow_subuids_list()->nr == 1);
	scratch_write("passwd", "anna:x:1234:100::/:/bin/sh\n");
	ow_subuids_renew(120 * SECOND);
	CHECK(ow_subuids_owner(100000) == 1234);
	CHECK(before->all[0].owner == 1000);
}

/* More than there is room for. */
static void test_many(void)
{
	FILE *f = fopen("subuid", "we");
	uid_t i;

	CHECK(f);
	for (i = 2 * OW_SUBUIDS_MOST; f && i > 0; i--)
		fprintf(f, "user%u:%u:10\n", i, 10 * i);
	if (f)
		fclose(f);
	ow_subuids_renew(200 * SECOND);
	CHECK(ow_subuids_list()->nr == OW_SUBUIDS_MOST);
	CHECK(ow_subuids_owner(20 * OW_SUBUIDS_MOST + 9) ==
	      20 * OW_SUBUIDS_MOST);
	CHECK(ow_subuids_owner(10 * OW_SUBUIDS_MOST + 19) ==
	      10 * OW_SUBUIDS_MOST + 10);
	CHECK(is_own(10 * OW_SUBUIDS_MOST + 9));
}

int main(void)
{
	static const struct test tests[] = {
		{ "owners", test_owners }, { "overlap", test_overlap },
		{ "order", test_order },   { "shares", test_shares },
		{ "change", test_change }, { "many", test_many },
	};

	scratch_enter();
	if (!subuid_put(subuids, users)) {
		printf("# not allowed to mount\n");
		return test_main(tests, 0);
	}
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
