// SPDX-License-Identifier: GPL-2.0-only
#include "lksyscalls.h"

#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

/* What the kernel's own table of system calls is made of. */
#define __SYSCALL(nr, sym) [nr] = #sym,
static const char *const names[] = {
#ifdef CONFIG_X86_64
#include <asm/syscalls_64.h>
#endif
	NULL,
};
#undef __SYSCALL

static bool is_called(const char *sym, const char *name)
{
	if (strncmp(sym, "sys_", 4) != 0)
		return false;
	sym += 4;
	return strcmp(sym, name) == 0 ||
	       (strncmp(sym, "new", 3) == 0 && strcmp(sym + 3, name) == 0);
}

static int number_of(const char *name)
{
	unsigned int nr;

	if (kstrtouint(name, 0, &nr) == 0)
		return nr < LK_MAX_SYSCALLS ? nr : -EINVAL;
	for (nr = 0; nr < min_t(size_t, ARRAY_SIZE(names), LK_MAX_SYSCALLS);
	     nr++)
		if (names[nr] && is_called(names[nr], name))
			return nr;
	return -EINVAL;
}

int lk_syscalls_parse(const char *text, struct lk_syscalls *ret)
{
	char *copy = kstrdup(text, GFP_KERNEL), *rest, *word;
	int nr = 0;

	*ret = (struct lk_syscalls){ .any = false };
	if (!copy)
		return -ENOMEM;
	rest = strim(copy);
	ret->any = strcmp(rest, "all") == 0;
	if (ret->any)
		bitmap_fill(ret->wanted, LK_MAX_SYSCALLS);
	while (!ret->any && nr >= 0 && (word = strsep(&rest, ","))) {
		word = strim(word);
		if (!*word)
			continue;
		nr = number_of(word);
		if (nr >= 0)
			__set_bit(nr, ret->wanted);
	}
	kfree(copy);
	return min(nr, 0);
}
