// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Code that ends with a call, as assemblers encode it. */
#include "arch.h"
#include "test.h"

struct code {
	const char *text; /* as an assembler writes it */
	uint8_t bytes[8];
	uint8_t size;
	bool is_call;
};

static const struct code x86[] = {
	{ "call rel32", { 0xe8, 1, 2, 3, 4 }, 5, true },
	{ "call *%rax", { 0xff, 0xd0 }, 2, true },
	{ "call *%r11", { 0x41, 0xff, 0xd3 }, 3, true },
	{ "notrack call *%rax", { 0x3e, 0xff, 0xd0 }, 3, true },
	{ "call *(%rax)", { 0xff, 0x10 }, 2, true },
	{ "call *(%rsp)", { 0xff, 0x14, 0x24 }, 3, true },
	{ "call *8(%rbx)", { 0xff, 0x53, 8 }, 3, true },
	{ "call *8(%rax,%rcx,8)", { 0xff, 0x54, 0xc8, 8 }, 4, true },
	{ "call *0x100(%rax)", { 0xff, 0x90, 0, 1, 0, 0 }, 6, true },
	{ "call *0x100(%rip)", { 0xff, 0x15, 0, 1, 0, 0 }, 6, true },
	{ "call *0x100(,%rax,8)", { 0xff, 0x14, 0xc5, 0, 1, 0, 0 }, 7, true },
	{ "call *0x100(%r12)", { 0x41, 0xff, 0x94, 0x24, 0, 1, 0, 0 }, 8, true },
	{ "call *%gs:0x10", { 0x65, 0xff, 0x15, 0x10, 0, 0, 0 }, 7, true },
	{ "jmp *%rax", { 0xff, 0xe0 }, 2, false },
	{ "jmp rel32", { 0xe9, 1, 2, 3, 4 }, 5, false },
	{ "push (%rax)", { 0xff, 0x30 }, 2, false },
	{ "nop", { 0x90 }, 1, false },
	{ "syscall", { 0x0f, 0x05 }, 2, false },
	{ "call *8(%rbx), less its last byte", { 0xff, 0x53 }, 2, false },
	{ "call rel32, less its last byte", { 0xe8, 1, 2, 3 }, 4, false },
	{ "call *%rax, nop", { 0xff, 0xd0, 0x90 }, 3, false },
	{ "nothing", { 0 }, 0, false },
};

static const struct code aarch64[] = {
	{ "bl .+4", { 0x01, 0, 0, 0x94 }, 4, true },
	{ "bl .-4", { 0xff, 0xff, 0xff, 0x97 }, 4, true },
	{ "blr x16", { 0, 0x02, 0x3f, 0xd6 }, 4, true },
	{ "blraaz x1", { 0x3f, 0x08, 0x3f, 0xd6 }, 4, true },
	{ "blrabz x1", { 0x3f, 0x0c, 0x3f, 0xd6 }, 4, true },
	{ "blraa x1, x2", { 0x22, 0x08, 0x3f, 0xd7 }, 4, true },
	{ "b .+4", { 0x01, 0, 0, 0x14 }, 4, false },
	{ "br x16", { 0, 0x02, 0x1f, 0xd6 }, 4, false },
	{ "ret", { 0xc0, 0x03, 0x5f, 0xd6 }, 4, false },
	{ "nop", { 0x1f, 0x20, 0x03, 0xd5 }, 4, false },
	{ "bl, less its first byte", { 0, 0, 0x94 }, 3, false },
};

static void check(const struct ow_arch *arch, const struct code *c, size_t nr)
{
	uint8_t room[16];
	bool is_call;
	size_t i;

	for (i = 0; i < nr; i++) {
		/* What isn't to be read tells of a call. */
		memset(room, 0xe8, sizeof(room));
		memcpy(room + sizeof(room) - c[i].size, c[i].bytes, c[i].size);
		is_call = arch->ends_with_call(room + sizeof(room), c[i].size);
		if (is_call != c[i].is_call)
			printf("# %s: %s\n", arch->name, c[i].text);
		CHECK(is_call == c[i].is_call);
	}
}

static void test_x86(void)
{
	check(&ow_arch_x86_64, x86, OW_ARRAY_SIZE(x86));
	check(&ow_arch_i386, x86, OW_ARRAY_SIZE(x86));
}

static void test_aarch64(void)
{
	check(&ow_arch_aarch64, aarch64, OW_ARRAY_SIZE(aarch64));
}

int main(void)
{
	static const struct test tests[] = {
		{ "x86", test_x86 },
		{ "aarch64", test_aarch64 },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
