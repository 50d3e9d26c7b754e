// SPDX-License-Identifier: BSD-2-Clause
#include "syscalls.h"

#include <stddef.h>

#include "arch.h"

/* Names in place: pointers would have to be relocated at every start. */
#define SYSCALL_NAME_SIZE 32

#include "syscallnames.h"

static const struct {
	const struct ow_arch *arch;
	const char (*names)[SYSCALL_NAME_SIZE]; /* by number; "" for none */
	size_t nr;
} tables[] = {
	{ &ow_arch_x86_64, x86_64_names, OW_ARRAY_SIZE(x86_64_names) },
	{ &ow_arch_i386, i386_names, OW_ARRAY_SIZE(i386_names) },
	{ &ow_arch_aarch64, aarch64_names, OW_ARRAY_SIZE(aarch64_names) },
};

/* The name of a number among so many; or NULL. */
static const char *name_in(const char (*names)[SYSCALL_NAME_SIZE], size_t nr_of,
			   int nr)
{
	return nr >= 0 && (size_t)nr < nr_of && names[nr][0] ? names[nr] : NULL;
}

const char *ow_syscall_name(const struct ow_arch *arch, int nr)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(tables); i++)
		if (tables[i].arch == arch)
			return name_in(tables[i].names, tables[i].nr, nr);
	return NULL;
}

const char *ow_syscall_x32_name(int nr)
{
	return name_in(x32_names, OW_ARRAY_SIZE(x32_names), nr);
}
