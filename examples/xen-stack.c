// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks of a Xen guest by libunwind's interface: xen-stack DOMID ELF VCPU...
 * A guest that runs meanwhile moves its frames away: pause it before (xl pause).
 *
 * cc xen-stack.c $(pkg-config --cflags --libs libunwind-xen) -o xen-stack
 */
#include <libunwind-xen.h>
#include <stdio.h>
#include <stdlib.h>

/* Print the frames of a vCPU; 0 where its stack ends, or an error. */
static int print_stack(unw_addr_space_t as, void *guest)
{
	unw_word_t ip, offset;
	unw_cursor_t cursor;
	char name[256];
	int ret = unw_init_remote(&cursor, as, guest), n = 0;

	if (ret)
		return ret;
	do {
		ret = unw_get_reg(&cursor, UNW_REG_IP, &ip);
		if (ret)
			return ret;
		if (unw_get_proc_name(&cursor, name, sizeof(name), &offset))
			printf("#%-3d %#018lx\n", n++, (long)ip);
		else
			printf("#%-3d %#018lx %s+%#lx\n", n++, (long)ip, name,
			       (long)offset);
		ret = unw_step(&cursor);
	} while (ret > 0);
	return ret;
}

int main(int argc, char **argv)
{
	unw_addr_space_t as = unw_create_addr_space(&_UXEN_accessors, 0);
	int i, ret, status = 0;
	void *guest;

	if (argc < 4 || !as) {
		fprintf(stderr, "usage: xen-stack DOMID ELF VCPU...\n");
		return 64;
	}
	guest = _UXEN_create(atoi(argv[1]), atoi(argv[3]), argv[2]);
	if (!guest)
		return 2;
	for (i = 3; i < argc; i++) {
		_UXEN_change_vcpu(guest, atoi(argv[i]));
		printf("vCPU %s\n", argv[i]);
		ret = print_stack(as, guest);
		if (ret) {
			fprintf(stderr, "xen-stack: vCPU %s: %s\n", argv[i],
				unw_strerror(ret));
			status = 1;
		}
	}
	_UXEN_destroy(guest);
	unw_destroy_addr_space(as);
	return status;
}
