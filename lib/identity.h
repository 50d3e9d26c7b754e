/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which file a file is, and in which state.  A build-id says nothing about that:
 * anybody can give a file the build-id of another one.  Users can set a file's
 * mtime, but only the kernel sets its ctime, at each change (inode(7)).
 */
#ifndef OW_IDENTITY_H
#define OW_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct ow_identity {
	uint64_t dev, inode, size;
	int64_t mtime_ns, ctime_ns; /* CLOCK_REALTIME */
	uint32_t uid, gid, mode;    /* st_uid and so on */
	bool is_unlinked;           /* no name leads to it any more */
};

static inline struct ow_identity ow_identity_of(const struct stat *st)
{
	return (struct ow_identity){
		.dev = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * INT64_C(1000000000) +
			    st->st_mtim.tv_nsec,
		.ctime_ns = st->st_ctim.tv_sec * INT64_C(1000000000) +
			    st->st_ctim.tv_nsec,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.mode = st->st_mode,
		.is_unlinked = st->st_nlink == 0,
	};
}

/*
 * Return true if a mapping with these numbers is one of a file.  Memory of no file has
 * no device either, and no file system has the device 0 (Linux, fs/super.c,
 * get_anon_bdev()); but what serves a FUSE file system may give a file the inode 0.
 * Of a core, whose devices aren't known, the inode tells.
 */
static inline bool ow_identity_is_file(uint64_t dev, uint64_t inode)
{
	return dev != 0 || inode != 0;
}

/* Return true if it is the same inode, whatever was written to it since. */
static inline bool ow_identity_is_inode(const struct ow_identity *a,
					const struct ow_identity *b)
{
	return a->dev == b->dev && a->inode == b->inode;
}

/* Return true if it is the same inode, and was not changed in between. */
static inline bool ow_identity_is_same(const struct ow_identity *a,
				       const struct ow_identity *b)
{
	return ow_identity_is_inode(a, b) && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/*
 * Return true if nobody but root and we may write to the file.  Of all others, equal
 * times don't tell that nothing was written: a page that a process has mapped, shared
 * and dirty, takes what it writes without a new time, until the page is written back:
 * some 30 s on a disk, for ever in tmpfs.
 */
bool ow_identity_is_ours(const struct ow_identity *file);

/*
 * Look at the file that a name leads to, without asking who serves its file
 * system: what is known here is told, and nobody can make us wait for it.  path
 * must not lead through such a file system itself, as /proc/PID/map_files/ doesn't.
 */
bool ow_identity_look(const char *path, struct ow_identity *ret);

/*
 * Look at any path, if the kernel's cache has all of it (RESOLVE_CACHED,
 * Linux 5.12).
 */
bool ow_identity_look_cached(const char *path, struct ow_identity *ret);

/*
 * Likewise of a path as who has that root has it: an fd of the folder.  It may lead over
 * no symbolic link: each may take the kernel as long as a whole path.
 */
bool ow_identity_look_below(int root, const char *path,
			    struct ow_identity *ret);

/*
 * Return true if only root can have mounted the file system of that device, and
 * the kernel has its bytes, as far as our mount namespace tells: no FUSE, nothing
 * that is mounted in other namespaces only, and no disk that a user may mount
 * (both nosuid and nodev).  Of btrfs subvolumes nothing tells that.  It may have been
 * mounted for a second before that is known.
 */
bool ow_identity_is_roots(uint64_t dev);

/*
 * Likewise; but it may also have been unmounted for a second.  Where the list of mounts
 * is long, this takes no time again and again.
 */
bool ow_identity_was_roots(uint64_t dev);

/*
 * Return true if nobody but the kernel is asked for what is on that device: it is a
 * disk's, or ow_identity_is_roots().
 */
bool ow_identity_is_near(uint64_t dev);

/*
 * Return true if the identity of fd's file may be written down: only the kernel
 * sets times there.  What serves a FUSE or a network file system can tell any
 * times, and the image of a disk that a user may mount can have any.
 */
bool ow_identity_is_kept(int fd);

#endif /* OW_IDENTITY_H */
