// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two files of a btrfs, in subvolumes of their own, that have the same number,
 * generation, size and time: a table of one isn't the other's.  Run as root, with a
 * folder there, which has to be new.
 */
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>

#include <outwind/kunwind.h>

#include "handin.h"
#include "say.h"

#define TRIES 5

/* A new subvolume, or -1. */
static int make_subvolume(int folder, const char *name)
{
	struct btrfs_ioctl_vol_args args = { 0 };

	snprintf(args.name, sizeof(args.name), "%s", name);
	if (ioctl(folder, BTRFS_IOC_SUBVOL_CREATE, &args))
		return -1;
	return openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The subvolume's next file, of a page, or -1. */
static int make_file(int subvolume, const char *name)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	int fd = openat(subvolume, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			0600);

	return fd < 0 || ftruncate(fd, 4096) || futimens(fd, times) ? -1 : fd;
}

static bool is_alike(int a, int b)
{
	struct stat x = { 0 }, y = { 0 };
	unsigned int of_x = 1, of_y = 2;

	return !fstat(a, &x) && !fstat(b, &y) &&
	       !ioctl(a, FS_IOC_GETVERSION, &of_x) &&
	       !ioctl(b, FS_IOC_GETVERSION, &of_y) && x.st_ino == y.st_ino &&
	       of_x == of_y;
}

/* Files that are made within one transaction. */
static bool make_alike(const int *subvolumes, int *fds)
{
	char name[16];
	int i;

	for (i = 0; i < TRIES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		fds[0] = make_file(subvolumes[0], name);
		fds[1] = make_file(subvolumes[1], name);
		if (is_alike(fds[0], fds[1]))
			return true;
	}
	return false;
}

static void compare(const int *fds)
{
	int dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct ow_kunwind_follow f = { 0 };
	size_t size;
	uint8_t *table = make_table(1, 4096, &size);
	int told;

	say(ioctl(dev, OW_KUNWIND_FOLLOW, &f) == 0, "follow", dev);
	say(hand_in(dev, fds[0], table, size) == 0, "a table", fds[0]);
	told = map_and_read(dev, fds[0]);
	say(told == 0, "the file has its table", told);
	told = map_and_read(dev, fds[1]);
	say(told == 1, "the one of the other subvolume has none", told);
	munmap(table, size);
	close(dev);
}

int main(int argc, char **argv)
{
	int subvolumes[2], fds[2], folder;

	if (argc != 2)
		return 64;
	folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	subvolumes[0] = make_subvolume(folder, "first");
	subvolumes[1] = make_subvolume(folder, "second");
	say(subvolumes[0] >= 0 && subvolumes[1] >= 0, "subvolumes", folder);
	if (make_alike(subvolumes, fds))
		compare(fds);
	else
		say(false, "files that are alike", fds[0]);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
