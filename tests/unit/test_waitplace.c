// SPDX-License-Identifier: BSD-2-Clause
/* What stands at a pc where a thread waits in a system call. */
#include "waitplace.h"

#include "arch.h"
#include "test.h"

#define GIB (1ULL << 30)

#define SYSCALL 0x0f, 0x05
#define INT80   0xcd, 0x80
#define NOPS    0x90, 0x90

static bool makes_call(const struct ow_arch *arch, uint8_t b0, uint8_t b1,
		       uint8_t b2, uint8_t b3)
{
	const uint8_t code[] = { b0, b1, b2, b3 };

	return ow_waitplace_makes_call(arch, code, sizeof(code));
}

static void test_doubtful(void)
{
	CHECK(ow_waitplace_is_doubtful(&ow_arch_x86_64, 0x401000));
	CHECK(ow_waitplace_is_doubtful(&ow_arch_x86_64, 4 * GIB - 1));
	CHECK(!ow_waitplace_is_doubtful(&ow_arch_x86_64, 4 * GIB));
	CHECK(!ow_waitplace_is_doubtful(&ow_arch_x86_64, 0xffffffffff600009));
	CHECK(ow_waitplace_is_doubtful(&ow_arch_i386, 0x8049000));
	CHECK(!ow_waitplace_is_doubtful(&ow_arch_aarch64, 0x401000));
}

static void test_before(void)
{
	CHECK(makes_call(&ow_arch_x86_64, SYSCALL, NOPS));
	CHECK(makes_call(&ow_arch_i386, INT80, NOPS));
	CHECK(!makes_call(&ow_arch_x86_64, NOPS, NOPS));
	CHECK(!makes_call(&ow_arch_i386, NOPS, NOPS));
}

/* A call that is to be made again, as the thread was stopped in it. */
static void test_again(void)
{
	CHECK(makes_call(&ow_arch_x86_64, NOPS, SYSCALL));
	CHECK(makes_call(&ow_arch_i386, NOPS, INT80));
}

/* By these 64-bit programs make calls of another kind, and 32-bit ones none. */
static void test_others(void)
{
	CHECK(!makes_call(&ow_arch_x86_64, INT80, NOPS));
	CHECK(!makes_call(&ow_arch_i386, SYSCALL, NOPS));
	CHECK(!makes_call(&ow_arch_x86_64, 0x90, SYSCALL, 0x90));
	CHECK(!makes_call(&ow_arch_aarch64, SYSCALL, NOPS));
}

/* The mapping ends at pc, or nothing could be read. */
static void test_cut(void)
{
	static const uint8_t code[] = { SYSCALL, SYSCALL },
			     late[] = { NOPS, SYSCALL };

	CHECK(ow_waitplace_makes_call(&ow_arch_x86_64, code, 2));
	CHECK(!ow_waitplace_makes_call(&ow_arch_x86_64, code, 1));
	CHECK(!ow_waitplace_makes_call(&ow_arch_x86_64, code, 0));
	CHECK(!ow_waitplace_makes_call(&ow_arch_x86_64, late, 3));
}

static const struct ow_arch *call_arch(uint8_t b0, uint8_t b1, uint8_t b2,
				       uint8_t b3)
{
	const uint8_t code[] = { b0, b1, b2, b3 };

	return ow_waitplace_call_arch(code, sizeof(code));
}

/* Whose call it is, by its instruction, which does not depend on the program. */
static void test_call_arch(void)
{
	static const uint8_t cut[] = { NOPS, INT80 };

	CHECK(call_arch(SYSCALL, NOPS) == &ow_arch_x86_64);
	CHECK(call_arch(NOPS, SYSCALL) == &ow_arch_x86_64);
	CHECK(call_arch(INT80, NOPS) == &ow_arch_i386);
	CHECK(call_arch(NOPS, INT80) == &ow_arch_i386);
	CHECK(call_arch(INT80, INT80) == &ow_arch_i386);
	CHECK(!call_arch(NOPS, NOPS));
	CHECK(!call_arch(INT80, SYSCALL));
	CHECK(!call_arch(SYSCALL, INT80));
	CHECK(!call_arch(0x90, INT80, 0x90));
	CHECK(!ow_waitplace_call_arch(cut, 3));
	CHECK(!ow_waitplace_call_arch(cut, 0));
	CHECK(!ow_waitplace_call_arch(NULL, 0));
}

int main(void)
{
	static const struct test tests[] = {
		{ "places that need a look", test_doubtful },
		{ "a call before pc", test_before },
		{ "a call that is made again", test_again },
		{ "other instructions", test_others },
		{ "whose call it is", test_call_arch },
		{ "less could be read", test_cut },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
