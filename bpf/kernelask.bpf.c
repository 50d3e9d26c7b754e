// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What the kernel knows of its own symbols, one at a time: run by who asks
 * (BPF_PROG_TEST_RUN), never attached.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__u64 address;
char text[768]; /* of a name, an offset, a size and a module */
char name[32];

/* Say what is at the address, as vsprintf.c's %pS does. */
SEC("syscall")

int say_symbol(void *ctx)
{
	static const char format[] = "%pS";

	return (int)bpf_snprintf(text, sizeof(text), format, &address,
				 sizeof(address));
}

/* The address of what has the name; it has come with Linux 5.16. */
SEC("syscall")

int find_symbol(void *ctx)
{
	return (int)bpf_kallsyms_lookup_name(name, sizeof(name), 0, &address);
}
