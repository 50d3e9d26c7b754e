/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a kernel tells about itself to who finds it dead: lines of KEY=VALUE
 * (Linux, Documentation/admin-guide/kdump/vmcoreinfo.rst).
 */
#ifndef OW_VMCOREINFO_H
#define OW_VMCOREINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_vmcoreinfo {
	const char *text; /* borrowed; not terminated */
	size_t size;
};

/* The value of a key as text of less than size bytes; false: not there. */
bool ow_vmcoreinfo_text(const struct ow_vmcoreinfo *v, const char *key,
			char *buf, size_t size);

/*
 * The same as a number, hexadecimal (KERNELOFFSET, SYMBOL) or, with a sign,
 * decimal (NUMBER).
 */
bool ow_vmcoreinfo_hex(const struct ow_vmcoreinfo *v, const char *key,
		       uint64_t *ret);
bool ow_vmcoreinfo_number(const struct ow_vmcoreinfo *v, const char *key,
			  int64_t *ret);

#endif /* OW_VMCOREINFO_H */
