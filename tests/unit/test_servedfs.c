// SPDX-License-Identifier: BSD-2-Clause
#include "servedfs.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "test.h"

static const char mountinfo[] =
	"22 28 0:21 / /sys rw,nosuid - sysfs sysfs rw\n"
	"28 1 8:1 / / rw,noatime shared:1 - ext4 /dev/sda1 rw\n"
	"40 28 0:39 / /mnt/a\\040-\\040b rw - fuse.sshfs host:/ rw,user_id=0\n"
	"41 28 0:40 / /mnt/c rw,relatime shared:9 master:2 - nfs4 srv:/x rw\n"
	"42 28 0:41 / /mnt/d rw - fuse hostile rw\n"
	"43 28 0:42 / /run/fusectl rw - fusectl none rw\n"
	"44 28 0:43 / /merged rw - overlay overlay rw,lowerdir=/fuse\n";

static void test_kinds(void)
{
	CHECK(ow_servedfs_find(mountinfo, makedev(0, 21)) == OW_SERVEDFS_LOCAL);
	CHECK(ow_servedfs_find(mountinfo, makedev(8, 1)) == OW_SERVEDFS_LOCAL);
	CHECK(ow_servedfs_find(mountinfo, makedev(0, 39)) == OW_SERVEDFS_USER);
	CHECK(ow_servedfs_find(mountinfo, makedev(0, 40)) ==
	      OW_SERVEDFS_REMOTE);
	CHECK(ow_servedfs_find(mountinfo, makedev(0, 41)) == OW_SERVEDFS_USER);
	CHECK(ow_servedfs_find(mountinfo, makedev(0, 42)) == OW_SERVEDFS_LOCAL);
	CHECK(ow_servedfs_find(mountinfo, makedev(0, 43)) ==
	      OW_SERVEDFS_LAYERED);
}

/* Of what is not told, the worst is to be expected. */
static void test_unknown(void)
{
	CHECK(ow_servedfs_find(mountinfo, makedev(0, 99)) == OW_SERVEDFS_USER);
	CHECK(ow_servedfs_find("", makedev(0, 21)) == OW_SERVEDFS_USER);
	CHECK(ow_servedfs_find("22 28 0:21 / /sys rw\n", makedev(0, 21)) ==
	      OW_SERVEDFS_USER);
	CHECK(ow_servedfs_of(1 << 30, makedev(0, 0xfffff)) == OW_SERVEDFS_USER);
	CHECK(ow_servedfs_of(1 << 30, makedev(8, 1)) == OW_SERVEDFS_LOCAL);
}

static void test_this_machine(void)
{
	struct stat st;

	CHECK(stat("/proc/self", &st) == 0);
	CHECK(ow_servedfs_of(getpid(), st.st_dev) == OW_SERVEDFS_LOCAL);
}

static const struct test tests[] = {
	{ "kinds of file systems", test_kinds },
	{ "what is not told", test_unknown },
	{ "this machine", test_this_machine },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
