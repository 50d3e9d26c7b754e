// SPDX-License-Identifier: BSD-2-Clause
/*
 * Preloaded into a tool: of the allocations that the tool's own code makes, the
 * one with number FAIL_AT fails, from 0, or with FAIL_ALL=1 that and all later
 * ones.  At the end their number goes to COUNT_TO, a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *p, size_t size);

static unsigned long nr, fail_at;
static int fails, fail_all;
static const char *count_to;
static char *start, *end;

__attribute__((constructor)) static void prepare(void)
{
	const ElfW(Phdr) *p = (const void *)getauxval(AT_PHDR);
	size_t n = getauxval(AT_PHNUM);
	const char *at = getenv("FAIL_AT");
	char *base = NULL;

	for (size_t i = 0; i < n; i++)
		if (p[i].p_type == PT_PHDR)
			base = (char *)p - p[i].p_vaddr;
	for (size_t i = 0; i < n; i++) {
		if (p[i].p_type != PT_LOAD || !(p[i].p_flags & PF_X))
			continue;
		start = base + p[i].p_vaddr;
		end = start + p[i].p_memsz;
	}
	fails = at != NULL;
	fail_at = at ? strtoul(at, NULL, 0) : 0;
	fail_all = getenv("FAIL_ALL") != NULL;
	count_to = getenv("COUNT_TO");
}

__attribute__((destructor)) static void tell(void)
{
	char text[32];
	int fd = count_to ? open(count_to, O_WRONLY | O_CREAT, 0600) : -1;
	int n = snprintf(text, sizeof(text), "%lu", nr);

	if (fd >= 0 && write(fd, text, n) != n)
		abort();
}

static int is_refused(const char *caller)
{
	unsigned long mine;

	if (caller < start || caller >= end)
		return 0;
	mine = __atomic_fetch_add(&nr, 1, __ATOMIC_RELAXED);
	if (!fails || (fail_all ? mine < fail_at : mine != fail_at))
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return is_refused(__builtin_return_address(0)) ? NULL :
							 __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return is_refused(__builtin_return_address(0)) ? NULL :
							 __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return is_refused(__builtin_return_address(0)) ?
		       NULL :
		       __libc_realloc(p, size);
}
