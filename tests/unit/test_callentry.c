// SPDX-License-Identifier: BSD-2-Clause
#include "callentry.h"

#include "arch.h"
#include "test.h"

#define WAIT "[<0>] __x64_sys_pause+0x1a/0x30\n"

static const struct stack_case {
	const char *stack;
	const struct ow_arch *arch;
	bool is_flat;
} cases[] = {
	{ WAIT "[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n",
	  &ow_arch_x86_64, true },
	{ WAIT "[<ffffffff81001234>] entry_SYSCALL_64_fastpath+0x1/0x2\n"
	       "[<ffffffffffffffff>] 0xffffffffffffffff\n",
	  &ow_arch_x86_64, true },
	{ WAIT "[<0>] entry_SYSCALL_compat_after_hwframe+0x45/0x4d\n",
	  &ow_arch_i386, true },
	{ WAIT "[<0>] entry_SYSENTER_compat_after_hwframe+0x84/0x8c\n",
	  &ow_arch_i386, true },
	{ WAIT "[<0>] entry_INT80_compat+0x8b/0x90\n", &ow_arch_i386, false },
	{ WAIT "[<0>] asm_int80_emulation+0x16/0x20\n", &ow_arch_i386, false },
	/* By a page that is waited for, or with more frames than are listed. */
	{ WAIT "[<0>] asm_exc_page_fault+0x22/0x30\n", NULL, false },
	{ WAIT, NULL, false },
	/* What an older call has left on the stack. */
	{ "[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n" WAIT, NULL,
	  false },
	{ "[<0>] not_entry_SYSCALL_64+0x1/0x2\n", NULL, false },
	{ "[<0>] entry_SYSCALL_64", &ow_arch_x86_64, true },
	{ "entry_SYSCALL_64\n", NULL, false },
	{ "[<0>\n", NULL, false },
	{ "[\n>] entry_SYSCALL_64\n", NULL, false },
	{ "", NULL, false },
};

static void test_ways(void)
{
	struct ow_callentry entry;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		printf("# %s\n", cases[i].stack);
		entry = ow_callentry_parse(cases[i].stack);
		CHECK(entry.arch == cases[i].arch);
		CHECK(entry.is_flat == cases[i].is_flat);
	}
}

int main(void)
{
	static const struct test tests[] = {
		{ "ways into the kernel", test_ways },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
