// SPDX-License-Identifier: BSD-2-Clause
/* libunwind-xen without Xen: it links, says what is wrong, and takes NULL. */
#include <libunwind-xen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	char said[256] = "", file[] = "/proc/self/exe";
	unw_addr_space_t as = unw_create_addr_space(&_UXEN_accessors, 0);
	int fds[2], good;
	void *ui;

	if (pipe(fds) || dup2(fds[1], STDERR_FILENO) < 0)
		return 2;
	ui = _UXEN_create(1, 0, file);
	if (read(fds[0], said, sizeof(said) - 1) < 0)
		return 2;
	_UXEN_destroy(ui);
	good = as && !ui && strncmp(said, "libunwind-xen: domain 1: ", 25) == 0;
	unw_destroy_addr_space(as);
	printf("%d passed, %d failed\n", good, !good);
	return !good;
}
