// SPDX-License-Identifier: BSD-2-Clause
/* Libraries that are loaded when needed. */
#include <string.h>

#include "library.h"
#include "test.h"

#define SONAME "libz.so.1"

static unsigned long (*checksum)(unsigned long sum, const unsigned char *at,
				 unsigned int size);
static void (*absent)(void);

static const struct ow_library_function there = { "crc32", &checksum };
static const struct ow_library_function lacking[] = {
	{ "crc32", &checksum },
	{ "no_such_function", &absent },
};

static void functions_are_found(void)
{
	char why[64] = "untouched";

	CHECK(ow_library_load(SONAME, &there, 1, why, sizeof(why)));
	/* The check value of CRC-32/ISO-HDLC. */
	CHECK(checksum(0, (const unsigned char *)"123456789", 9) == 0xcbf43926);
	CHECK(ow_library_load(SONAME, &there, 1, why, sizeof(why)));
	CHECK(strcmp(why, "untouched") == 0);
}

static void absent_functions_are_told(void)
{
	char why[64];

	CHECK(!ow_library_load(SONAME, lacking, 2, why, sizeof(why)));
	CHECK(strcmp(why, SONAME " has no no_such_function") == 0);
	CHECK(!absent);
}

static void absent_libraries_are_told(void)
{
	char why[64], cut[8];

	CHECK(!ow_library_load("libabsent.so.0", &there, 1, why, sizeof(why)));
	CHECK(strncmp(why, "libabsent.so.0: ", 16) == 0);
	CHECK(!ow_library_load("libabsent.so.0", &there, 1, cut, sizeof(cut)));
	CHECK(strcmp(cut, "libabse") == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "functions are found", functions_are_found },
		{ "absent functions are told", absent_functions_are_told },
		{ "absent libraries are told", absent_libraries_are_told },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
