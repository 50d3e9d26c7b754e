/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel that runs: names of its code, where that lies, and its build. */
#ifndef OW_KERNELNAMES_H
#define OW_KERNELNAMES_H

#include "capture.h"
#include "elf.h"
#include "intern.h"
#include "kernelask.h"
#include "namecache.h"

/* All zero is one that wasn't looked at; it is, when it is asked. */
struct ow_kernelnames {
	bool tried, listed;         /* it was looked at; and the list read */
	struct ow_kernelask *ask;   /* NULL: that isn't to be had */
	struct ow_nametable *table; /* of the list, or NULL */
	struct ow_namecache known;
	struct ow_intern texts; /* that its names borrow */
	uint64_t start, end; /* of its code, without modules'; 0: not known */
	uint64_t entry_start, entry_end;        /* of what enters it; as well */
	char build_id[2 * OW_BUILD_ID_MAX + 1]; /* "": not known */
};

/* Have /proc/kallsyms, too: that takes as long as ten thousand questions. */
void ow_kernelnames_read_list(struct ow_kernelnames *k);

/* Name a frame, whose module_offset is the address. */
void ow_kernelnames_name(struct ow_kernelnames *k, const struct ow_frame *f,
			 struct ow_name *name);

/*
 * Return true if the outermost of the kernel's frames of a program is where that entered
 * the kernel; also if that can't be known.
 */
bool ow_kernelnames_is_entry(struct ow_kernelnames *k,
			     const struct ow_frame *f);

/* The kernel's code; false if the frame isn't in it, or that isn't known. */
bool ow_kernelnames_module(struct ow_kernelnames *k, const struct ow_frame *f,
			   struct ow_module_info *ret);

void ow_kernelnames_deinit(struct ow_kernelnames *k);

#endif /* OW_KERNELNAMES_H */
