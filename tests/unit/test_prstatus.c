// SPDX-License-Identifier: BSD-2-Clause
/* What a 32-bit thread's selectors say: where its thread pointer is, and its code. */
#include <string.h>

#include "prstatus.h"
#include "test.h"

#define I386_SIZE 68
#define I386_GS   40
#define I386_CS   52

static unsigned int tls_of(uint32_t gs)
{
	uint8_t bytes[I386_SIZE] = { 0 };

	memcpy(bytes + I386_GS, &gs, sizeof(gs));
	return ow_prstatus_tls(&ow_arch_i386, bytes, sizeof(bytes));
}

static void test_tls(void)
{
	CHECK(tls_of(0) == 0);
	CHECK(tls_of(0x33) == 6);
	CHECK(tls_of(0x63) == 12);
	CHECK(tls_of(0xabcd0063) == 12);
}

/* Bit 2 is the table: one of the process' own has none of the kernel's TLS. */
static void test_local_table(void)
{
	uint32_t nr;

	for (nr = 0; nr < 16; nr++)
		CHECK(tls_of(nr << 3 | 7) == 0);
}

static bool has_address(uint32_t cs)
{
	uint8_t bytes[I386_SIZE] = { 0 };

	memcpy(bytes + I386_CS, &cs, sizeof(cs));
	return ow_prstatus_has_address(&ow_arch_i386, bytes, sizeof(bytes));
}

/* Those of a 64-bit and a 32-bit kernel, and of one that Xen runs; and own ones. */
static void test_code_segments(void)
{
	CHECK(has_address(0x23));
	CHECK(has_address(0x73));
	CHECK(has_address(0xe023));
	CHECK(!has_address(0x07));
	CHECK(!has_address(0x0f));
}

static void test_others(void)
{
	uint8_t bytes[512];

	memset(bytes, 0x67, sizeof(bytes));
	CHECK(ow_prstatus_has_address(&ow_arch_x86_64, bytes, sizeof(bytes)));
	CHECK(ow_prstatus_has_address(&ow_arch_aarch64, bytes, sizeof(bytes)));
	memset(bytes, 0x63, sizeof(bytes));
	CHECK(ow_prstatus_tls(&ow_arch_i386, bytes, I386_SIZE - 1) == 0);
	CHECK(ow_prstatus_tls(&ow_arch_x86_64, bytes, sizeof(bytes)) == 0);
	CHECK(ow_prstatus_tls(&ow_arch_aarch64, bytes, sizeof(bytes)) == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "descriptors of TLS", test_tls },
		{ "local table", test_local_table },
		{ "code segments", test_code_segments },
		{ "other sets", test_others },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
