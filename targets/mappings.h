/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process has mapped, as /proc/PID/maps tells (proc_pid_maps(5)). */
#ifndef OW_MAPPINGS_H
#define OW_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "intern.h"

struct ow_error;
struct ow_identity;

#define OW_DELETED " (deleted)" /* behind the name of a file that has none */

struct ow_mapping {
	uint64_t start, end, off;
	uint64_t dev; /* as makedev() has it */
	uint64_t inode;
	bool readable, writable, executable;
	bool shared;  /* MAP_SHARED: other processes may write there */
	bool deleted; /* OW_DELETED was behind path (deletednames.h) */
	bool is_remapped; /* its file is that around it, not its own (remapped.h), */
	bool is_around; /* or it is around such a one, and tells the file */
	uint64_t own_dev, own_inode; /* if is_remapped */
	uint64_t hole; /* nothing is mapped from there to start; 0: not known */
	const char *path; /* "" for anonymous memory; borrowed from the list; a
			     path longer than any that can be opened is cut */
};

/* Return true if it is of a file, or the vDSO: not memory that the program filled. */
bool ow_mapping_is_object(const struct ow_mapping *m);

/*
 * Look at the file that a process has mapped there, by the address
 * (proc_pid_map_files(5)); return false if that can't be.
 */
bool ow_mapping_look(pid_t pid, const struct ow_mapping *m,
		     struct ow_identity *ret);

struct ow_mappings {
	struct ow_mapping *list; /* in address order */
	size_t nr, room;
	struct ow_intern names; /* of all paths */
	bool is_part; /* only some are listed: fd tells of the others */
	bool is_open;
	int fd; /* /proc/PID/maps, if is_open: of this memory, not of the process */
	/* When reading, comparing and asking (ow_mappings_from()) is over, of
	   CLOCK_MONOTONIC; 0: no time. */
	uint64_t until_ns;
	pid_t pid;
	/* Of the process' user, once that was asked for (struct ow_owner). */
	uint32_t share;
	bool has_share;
};

/*
 * A copy of a path, which is the list's, or NULL.  It is of memory beside the budget, which
 * others' files can have spent, as without the list nothing is known of a process.
 */
const char *ow_mappings_keep_path(struct ow_mappings *m, const char *path);

/* Read all.  Free with ow_mappings_free(), also after failure. */
int ow_mappings_read(pid_t pid, struct ow_mappings *ret, struct ow_error *err);

/* Likewise, and keep the file open, for ow_mappings_is_plain(). */
int ow_mappings_read_open(pid_t pid, struct ow_mappings *ret,
			  struct ow_error *err);

/*
 * List those of code at least, and where the kernel tells of one by its address
 * (Linux 6.11), no others if there is code: that takes a quarter of the time.
 * x86's [vsyscall], which every process has, is none of them there.
 */
int ow_mappings_read_code(pid_t pid, struct ow_mappings *ret,
			  struct ow_error *err);

/* Any of these, until then of CLOCK_MONOTONIC, where the program may keep us waiting. */
enum ow_mappings_part {
	OW_MAPPINGS_ALL,
	OW_MAPPINGS_OPEN,
	OW_MAPPINGS_CODE,
};

int ow_mappings_read_until(pid_t pid, enum ow_mappings_part part,
			   uint64_t until_ns, struct ow_mappings *ret,
			   struct ow_error *err);
void ow_mappings_free(struct ow_mappings *m);

/* Close the file: what isn't listed by now isn't asked for any more. */
void ow_mappings_close(struct ow_mappings *m);

/*
 * Return true if all of [start, end) is memory without a file: a read of it waits for
 * nothing that SIGKILL doesn't end.  The kernel is asked where that is possible, as
 * the list may be old.
 */
bool ow_mappings_is_plain(struct ow_mappings *m, uint64_t start, uint64_t end);

/*
 * The first listed one from number i on that is code, or tells of code; not the
 * kernel's [vsyscall].  NULL: there is none.
 */
const struct ow_mapping *ow_mappings_next_code(const struct ow_mappings *m,
					       size_t i);

/*
 * Return true if the memory that was listed is known to have ended: its process has
 * executed a program since, or ended.  The open file belongs to that memory, whatever
 * the process has now; false if it isn't open, or if another process shares the
 * memory and has it still.
 */
bool ow_mappings_is_outlived(const struct ow_mappings *m);

/*
 * Return true if all code that is listed is still mapped, in that memory: at its
 * address there may be another program's since.  False as well where the kernel can't
 * be asked (before Linux 6.11).  If the file was open it is opened anew.
 */
bool ow_mappings_is_current(struct ow_mappings *m, pid_t pid);

/* Return true if a process still has that mapping, of that file. */
bool ow_mappings_is_still(pid_t pid, const struct ow_mapping *listed);

/* Is a mapping listed that has addr? */
bool ow_mappings_has(const struct ow_mappings *m, uint64_t addr);

/*
 * The first mapping that ends above addr, or NULL.  Where only some are listed
 * and none of these has addr, the kernel is asked and its answer listed, in place
 * of what it overlaps: what was returned before isn't to be used any more.  NULL, too, if
 * the kernel would be asked after until_ns.
 */
const struct ow_mapping *ow_mappings_from(struct ow_mappings *m, uint64_t addr);

/*
 * Likewise a copy of the mapping, and what the kernel tells is not listed: false if there
 * is none.
 */
bool ow_mappings_peek(const struct ow_mappings *m, uint64_t addr,
		      struct ow_mapping *ret);

/*
 * Have mappings listed that ow_mappings_peek() told, nr of them in address order, as
 * such that are around code (is_around).  What is listed since where they are stays.
 * Return false if there is no memory for it.
 */
bool ow_mappings_add_around(struct ow_mappings *m,
			    const struct ow_mapping *around, size_t nr);

/*
 * Have the path of a listed file's mapping, or of a copy of one, which is "" if the
 * kernel was asked for it alone and it is no code.  False: it can't be had.
 */
bool ow_mappings_name(struct ow_mappings *m, struct ow_mapping *listed);

#endif /* OW_MAPPINGS_H */
