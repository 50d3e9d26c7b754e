/* SPDX-License-Identifier: GPL-2.0-only */
/* Build-ids of what is mapped. */
#ifndef LK_BUILDID_H
#define LK_BUILDID_H

#include <linux/fs.h>

#define LK_BUILD_ID 32

/*
 * The build-id of an ELF file, to ret; its size, or 0: it has none, or its first
 * page isn't in memory.  Any context but NMI: it does not wait.
 */
unsigned int lk_build_id(struct file *file, u8 ret[LK_BUILD_ID]);

#endif /* LK_BUILDID_H */
