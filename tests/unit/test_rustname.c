// SPDX-License-Identifier: BSD-2-Clause
/* In which names the demangler may come to Punycode. */
#include "rustname.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#define LONGEST 96
#define TRIES   400000
#define MOST    65536 /* bytes of text */

/* With letters as Punycode has them in what is no part of the name. */
static bool may_be(const char *name)
{
	char text[256];

	snprintf(text, sizeof(text), "%s.u1", name);
	return ow_rustname_may_be_punycode(text);
}

static void test_none(void)
{
	static const char *const names[] = {
		"_RNvCsL39EUhRVRM_7mycrate8read_u32",
		"_RNvCsL39EUhRVRM_7mycrate5menu2.llvm.123",
		"_RINvNtCs1234_7mycrate3foo3barlE",
		"_RNvMs4_NtCs1234_4core3numj7pow_u64",
		"_RNvXs_Cs1_1aNtB4_3FooNtNtCs2_4core3fmt5Debug3fmt",
		"_RNvYNtC1a3FooNtC1b5Trait6method",
		"_RINvC1a1fAhj4_Kanf_KB9_KpKb1_Kc75_E",
		"_RINvC1a1fFG_UKCRL_hOuEzFK5cdecllEuFEuE",
		"_RINvC1a1fDG_INtC1b1tlEp3u32mp1xaEL_L0_E",
		"_RNCNvC1a1f0Cs9_1b",
		"_RNvMC1as3u32",
		"_RINvC1a3__u2TtmEBa_Bb_E",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool wrong = may_be(names[i]);

		CHECK(!wrong);
		if (wrong)
			printf("# %s\n", names[i]);
	}
}

static void test_some(void)
{
	static const char *const names[] = {
		"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hl"
		"q6y",
		"_RNvC1au6b_2n7c",
		"_RNvCs_u6b_2n7c1f",
		"_RNvMCu6b_2n7cl1f",
		"_RNvC1a1fCu6b_2n7c",
		/* By references to what is in an identifier, or comes later. */
		"_RINvC1a8Cu5b_2n7B6_E",
		"_RINvC1a1fB9_C1bE",
		"_RINvC1a1fB8_E",
		"_RINvC1a1fBzzzzzzzzzzzzzzzzzzz_E",
		/* Not of a compiler. */
		"_R",
		"_RC",
		"_RN",
		"_RNv",
		"_RNvC1a",
		"_RNvC9a1f",
		"_RNvC99999999999999999999991a1f",
		"_RNvC1a1f!",
		"_RINvC1a1fg",
		"_RINvC1a1fDC1bE",
		"_RINvC1a1fKjx_E",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool wrong = !may_be(names[i]);

		CHECK(!wrong);
		if (wrong)
			printf("# %s\n", names[i]);
	}
}

static void test_deep(void)
{
	char name[2 * OW_RUSTNAME_MAX];

	for (char c = 'A'; c <= 'Z'; c++) {
		snprintf(name, sizeof(name), "_RINvC2u11f");
		memset(name + strlen("_RINvC2u11f"), c, OW_RUSTNAME_MAX - 20);
		name[OW_RUSTNAME_MAX - 20] = '\0';
		CHECK(ow_rustname_may_be_punycode(name));
	}
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	CHECK(!ow_rustname_may_be_punycode(name));
	memcpy(name + 100, "u1", 2);
	CHECK(ow_rustname_may_be_punycode(name));
}

struct text {
	size_t size;
	bool is_odd; /* a character is not ASCII, as is one at least in Punycode */
	jmp_buf too_long;
};

static void note(const char *s, size_t n, void *opaque)
{
	struct text *t = opaque;

	bool is_odd = false;

	for (size_t i = 0; i < n; i++)
		is_odd = is_odd || (unsigned char)s[i] >= 0x80;
	t->is_odd = t->is_odd || is_odd;
	t->size += n;
	/* While it says what is in Punycode, the demangler owns memory. */
	if (t->size > MOST && !is_odd)
		longjmp(t->too_long, 1);
}

static bool has_punycode(const char *name)
{
	static struct text t;

	memset(&t, 0, sizeof(t));
	if (!setjmp(t.too_long))
		rust_demangle_callback(name, 0, note, &t);
	return t.is_odd;
}

static uint32_t any(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % below;
}

/* Change, insert or remove some letters; a binder could have lifetimes without end. */
static void change(char *name, size_t room)
{
	static const char letters[] =
		"CNMXYIBKLETDFASRPUsup_aehjlntv0123456789b";
	size_t at, size;

	for (uint32_t n = 1 + any(4); n > 0; n--) {
		size = strlen(name);
		at = 2 + any((uint32_t)size - 2);
		if (any(3) == 0 && size + 1 < room) {
			memmove(name + at + 1, name + at, size + 1 - at);
			name[at] = letters[any(sizeof(letters) - 1)];
		} else if (any(2) && size > 6) {
			memmove(name + at, name + at + 1, size - at);
		} else {
			name[at] = letters[any(sizeof(letters) - 1)];
		}
	}
}

/* Where the demangler does come to it, there may be one. */
static void test_any(void)
{
	static const char *const seeds[] = {
		"_RINvC1au6b_2n7cTB5_B6_EE",
		"_RINvNtC1a8Cu7b_2n73fooTB8_NtB7_1ubB8_EKj3_E",
		"_RNvXs_Cs1_1aINtB4_3FooAhj4_ENtC4core5Debug7au3b_2n",
		"_RINvC1a9u6b_2n7cCDNtC1b1tp7u3b_2n_B9_EL_FK1CB7_EuE",
		"_RNvMs4_NtC1a4Cu3bRL_SNtB4_6u3b_2nNvYB5_B4_u3b_2",
	};
	size_t nr = 0, wrong = 0;
	char name[LONGEST];

	for (int i = 0; i < TRIES; i++) {
		snprintf(name, sizeof(name), "%s", seeds[any(5)]);
		change(name, sizeof(name));
		if (!has_punycode(name))
			continue;
		nr++;
		if (ow_rustname_may_be_punycode(name))
			continue;
		if (wrong++ < 5)
			printf("# %s\n", name);
	}
	printf("# %zu names in Punycode\n", nr);
	CHECK(nr > 1000 && wrong == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names without Punycode", test_none },
		{ "names that may have some", test_some },
		{ "deep and long names", test_deep },
		{ "any names", test_any },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
