/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of the running kernel's code, one at a time: all of /proc/kallsyms takes as
 * long to be read as ten thousand of them.
 */
#ifndef OW_KERNELASK_H
#define OW_KERNELASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_kernelask;

/*
 * NULL where that isn't to be had: it takes Linux 5.16, and the permission to
 * load BPF programs.  errno is of no use.
 */
struct ow_kernelask *ow_kernelask_open(void);

/*
 * The function that holds addr, and how far from its start that is; of several
 * names the kernel's first choice.  False: none.  The text is good until the next
 * call.
 */
bool ow_kernelask_name(struct ow_kernelask *k, uint64_t addr,
		       const char **name_ret, uint64_t *off_ret);

/*
 * The address of a symbol, of up to 31 characters; false: there is none, or it
 * may not be told (kernel.kptr_restrict), where names may.
 */
bool ow_kernelask_address(struct ow_kernelask *k, const char *name,
			  uint64_t *ret);

/* NULL is fine. */
void ow_kernelask_close(struct ow_kernelask *k);

#endif /* OW_KERNELASK_H */
