/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF object of a target: the bytes of its file, or of its image in the
 * target's memory, and where in them the unwind data lies.
 */
#ifndef OW_OBJECT_H
#define OW_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi.h"
#include "elf.h"
#include "identity.h"
#include "inflate.h"
#include "orc.h"
#include "owner.h"
#include "readonly.h"

struct ow_error;
struct ow_filemap;

#define OW_BUILD_ID_MAX 32

/* An object with more segments is not looked through by them: any has few. */
#define OW_MOST_SEGMENTS 128

/* What is known of the file's changes; objectwatch.h. */
struct ow_objectwatch {
	bool is_changed; /* that was found */
	bool is_hashed, with_lines;
	bool is_unknown; /* it was to be hashed again, and was not */
	uid_t user;      /* whose processes it was hashed for */
	uint64_t hash;   /* when it was opened */
	uint64_t looked_ns, cost_ns; /* the last hash, CLOCK_MONOTONIC */
};

struct ow_object {
	char *path;           /* as the target names it; for people */
	char *root;           /* folder that path is below, or NULL */
	const uint8_t *bytes; /* the file from offset 0, read-only */
	size_t size;
	struct ow_filemap *map;  /* that bytes are in, or NULL */
	int fd;                  /* its file, for ow_object_read(), or -1 */
	int reads_left;          /* of fd, before it is closed */
	bool is_image;           /* bytes are of memory, by file offset */
	bool is_lent;            /* they are somebody else's */
	bool is_counted;         /* as one of the names of a file of root's */
	unsigned int nr_more;    /* users, other than the first */
	struct ow_identity file; /* as it was when it was opened; 0: an image */
	struct ow_objectwatch watch;
	/* Files that names in it come from, too, or NULL, and whether they have been
	   looked for; debugfile.h. */
	struct ow_object *debug, *shared;
	bool is_debug_known, is_shared_known;
	struct ow_elf elf;
	uint8_t build_id[OW_BUILD_ID_MAX];
	size_t build_id_size; /* 0: it has none */
	struct ow_readonly readonly;

	bool cfi_loaded;
	bool cfi_is_late;       /* there was no time for some of it, yet */
	unsigned int cfi_tries; /* that failed for that, */
	uint64_t cfi_since;     /* the first one then (CLOCK_MONOTONIC, ns) */
	struct ow_cfi cfi;      /* points into bytes and into what follows */
	uint64_t cfi_size;      /* of .eh_frame and .eh_frame_hdr */
	struct ow_unpacked debug_frame; /* decompressed, or none */
	struct ow_orc orc;              /* nr 0: it has none */
	struct ow_owner owner;          /* for what is made of it */
};

/* errno of a file that another process has a lease of; no other error is called so. */
#define OW_LEASED EXFULL

/*
 * Open a file for reading if it is a regular one, and none of the kernel's own (procfs,
 * sysfs, ...): opening a device, which a target may name, could do something, and so
 * could reading such a file.  Return -1 with errno if not: EINVAL if it
 * is none, OW_LEASED if another process has a lease of it.
 */
int ow_open_regular(const char *path);

/* Likewise of what our user has named, which may be the kernel's: /proc/vmcore. */
int ow_open_input(const char *path);

/*
 * Fail with why a file could not be opened, as errno says; isnt is what it is not
 * if it is no regular one ("not an ELF file").  Without err, a file that is leased
 * is noted for ow_file_lost().
 */
int ow_fail_open(struct ow_error *err, const char *path, const char *isnt);

/*
 * The same, and only if it can be the file of which a process's list of mappings tells
 * that device and inode: where a file system has several devices, as btrfs and overlay
 * have, the device need not be the one that stat(2) tells.
 */
int ow_open_listed(const char *path, uint64_t dev, uint64_t inode);

/* The same, and only if it is just that file: of that device, too. */
int ow_open_file(const char *path, uint64_t dev, uint64_t inode);

/*
 * The same, if the kernel's cache has all that the name leads over (RESOLVE_CACHED,
 * Linux 5.12): no server is asked, if the device is none's.
 */
int ow_open_cached(const char *path, uint64_t dev, uint64_t inode);

/*
 * Return true if a read of fd's file, of that device, may ask a program of a user.
 * That may be asked, too.
 */
bool ow_is_served(int fd, uint64_t dev);

/* As ow_open_regular(), of what look, an fd with O_PATH, is of; that stays open. */
int ow_reopen_regular(int look);

/*
 * Take fd's file as an object.  path is copied; fd stays the caller's.
 * Return NULL and fill err if it is no ELF file that outwind knows.
 */
struct ow_object *ow_object_open_fd(int fd, const char *path,
				    struct ow_error *err);

/*
 * The same, for work that a delegate does (reach.h), after ow_filemap_prepare(): what
 * a server has, or hugetlbfs, is copied.
 */
struct ow_object *ow_object_take_fd(int fd, const char *path,
				    struct ow_error *err);

/* The same by name. */
struct ow_object *ow_object_open(const char *path, struct ow_error *err);

/*
 * Open a file that a target has named, for work that a delegate does (reach.h),
 * after ow_filemap_prepare(): by a name below root, which may be "", that leads over
 * no link of /proc.  What a server has is copied.  Return NULL if there is no such
 * object.
 */
struct ow_object *ow_object_reach(const char *root, const char *path);

/*
 * Take a copy of an object's memory image, of size bytes by file offset, as an
 * object.  bytes come from malloc(); they, and the memory that own has taken for them, are
 * the object's from now on, also on failure.
 */
struct ow_object *ow_object_from_image(uint8_t *bytes, size_t size,
				       struct ow_owner own, const char *path,
				       struct ow_error *err);

/*
 * The same of bytes that outlive the object, and stay what they are of.  Nobody tells whose
 * process had them: what is made of them is of the share of users who are not known.
 */
struct ow_object *ow_object_of_bytes(const uint8_t *bytes, size_t size,
				     const char *path, struct ow_error *err);

/* Have one user more of an object, who closes it, too.  Return the object. */
struct ow_object *ow_object_share(struct ow_object *obj);

/*
 * Fill obj->cfi: find .eh_frame_hdr, .eh_frame and .debug_frame, and index what
 * has no search table.  Once is enough.  An object without CFI is no error.  What
 * takes more memory or time than it may is left out (ow_object_refuse()), and nothing
 * being left is an error.  What there was no time for is tried again by later calls when
 * there is some (ow_bulk_may_retry()), as long as cfi_is_late says so: not often, and where
 * there is other CFI for two minutes.  Meanwhile no other thread may use obj->cfi.
 */
int ow_object_load_cfi(struct ow_object *obj, struct ow_error *err);

/*
 * Map the pages of the object's CFI in one go, for a walk that is about to look
 * here and there in them: a fault for each would cost more than the walk.  And
 * read what most FDEs share.
 */
void ow_object_prefault_cfi(struct ow_object *obj);

/* The section of that name with bytes in the file, or false. */
bool ow_object_section(const struct ow_object *obj, const char *name,
		       struct ow_elf_section *ret);

/*
 * addr - vaddr of an object that has the file offset off mapped at addr; false
 * if no segment holds that offset.
 */
bool ow_object_bias(const struct ow_object *obj, uint64_t addr, uint64_t off,
		    uint64_t *ret);

/* The build-id in hexadecimal; buf holds 2 * OW_BUILD_ID_MAX + 1. */
void ow_object_build_id(const struct ow_object *obj, char *buf);

/*
 * Take fd, which the object was opened by, for its first few reads: of a page
 * that isn't mapped in yet they cost less than the fault.  From now on it is the
 * object's; true, or false if there are many fds already.
 */
bool ow_object_keep_fd(struct ow_object *obj, int fd);

/* Close the fd that was kept, if one was. */
void ow_object_drop_fd(struct ow_object *obj);

/*
 * Return true if the file was cut off while it was read: what was made of it so
 * far is not to be relied on.  NULL was not.
 */
bool ow_object_is_cut(const struct ow_object *obj);

/* Fail with what is wrong with such an object. */
int ow_object_fail_cut(const struct ow_object *obj, struct ow_error *err);

/*
 * Note, once, that what of the object ("its .symtab") is left out: it would take too
 * long to look through (failed is -OW_CODE_TIMEOUT), or more memory than it may
 * (-OW_CODE_MEMORY).  ow_left_out() tells of it.
 */
void ow_object_refuse(const struct ow_object *obj, int failed,
		      const char *what);

/* Copy size of obj->bytes from at on, all of which are there. */
void ow_object_read(struct ow_object *obj, const uint8_t *at, void *buf,
		    size_t size);

/* Free the object, if its other users have closed it.  NULL does nothing. */
void ow_object_close(struct ow_object *obj);

#endif /* OW_OBJECT_H */
