// SPDX-License-Identifier: BSD-2-Clause
/* Whose subordinate user ids are, by a file that is mounted over /etc/subuid. */
#include "subuids.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "owner.h"
#include "scratch.h"
#include "test.h"

static const char text[] = "root:900000:65536\n"
			   "anna:100000:65536\n"
			   "1001:165536:65536\n"
			   "anna:300000:10\n"
			   "nonsense\n"
			   "bert:x:10\n"
			   "carl:400000:10:3\n"
			   "dora:500000:1\n";

static void test_owners(void)
{
	CHECK(ow_subuids_owner(0) == 0 && ow_subuids_owner(1001) == 0);
	CHECK(ow_subuids_owner(99999) == 0);
	CHECK(ow_subuids_owner(100000) == 1 && ow_subuids_owner(165535) == 1);
	CHECK(ow_subuids_owner(165536) == 2);
	CHECK(ow_subuids_owner(300009) == 1 && ow_subuids_owner(300010) == 0);
	/* Root's are its containers'. */
	CHECK(ow_subuids_owner(900000) == 0);
	CHECK(ow_subuids_owner(400000) == 3 && ow_subuids_owner(500000) == 4);
	CHECK(ow_subuids_owner((uid_t)-1) == 0);
}

static void test_shares(void)
{
	CHECK(ow_owner_of(100000).share == ow_owner_of(300005).share);
	CHECK(ow_owner_of(100000).share != ow_owner_of(165536).share);
	CHECK(ow_owner_of(900000).share != ow_owner_of(900001).share);
	CHECK(ow_owner_of(100000).share && ow_owner_of(0).share == 0);
}

/* Have text in place of the file, for this process alone.  Return false if not allowed. */
static bool put_text(void)
{
	int fd = open("/etc/subuid", O_RDONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	scratch_write("subuid", text);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("subuid", "/etc/subuid", NULL, MS_BIND, NULL) == 0;
}

int main(void)
{
	static const struct test tests[] = {
		{ "owners", test_owners },
		{ "shares", test_shares },
	};

	scratch_enter();
	if (!put_text()) {
		printf("# not allowed to mount\n");
		return test_main(tests, 0);
	}
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
