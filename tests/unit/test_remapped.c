// SPDX-License-Identifier: BSD-2-Clause
#include "remapped.h"

#include <string.h>

#include "mappings.h"
#include "test.h"

#define FILE_PART(from, to, at, runs, number)                              \
	{                                                                  \
		.start = (from), .end = (to), .off = (at), .dev = 1,       \
		.inode = (number), .executable = (runs), .path = "/lib.so" \
	}

#define OWN(from, to, name, is_gone)                              \
	{                                                         \
		.start = (from), .end = (to), .executable = true, \
		.inode = (is_gone) ? 9 : 0, .deleted = (is_gone), \
		.path = (name)                                    \
	}

/* What is below, the code itself, and what is above. */
static const struct remapped_case {
	const char *name;
	struct ow_mapping list[3];
	uint64_t off; /* that the code has then; 0: it is left as it was */
} cases[] = {
	{ "all of a file's code",
	  { FILE_PART(0x1000, 0x3000, 0, false, 7), OWN(0x3000, 0x9000, "", 0),
	    FILE_PART(0x9000, 0xa000, 0x8000, false, 7) },
	  0x2000 },
	{ "a part of it, whose memory has a name",
	  { FILE_PART(0x1000, 0x3000, 0x4000, true, 7),
	    OWN(0x3000, 0x9000, "[anon:nodejs Large Page]", 0),
	    FILE_PART(0x9000, 0xa000, 0xc000, true, 7) },
	  0x6000 },
	{ "memory of huge pages",
	  { FILE_PART(0x1000, 0x3000, 0, true, 7),
	    OWN(0x3000, 0x9000, "/anon_hugepage", 1),
	    FILE_PART(0x9000, 0xa000, 0x8000, true, 7) },
	  0x2000 },
	{ "a file of that name",
	  { FILE_PART(0x1000, 0x3000, 0, true, 7),
	    OWN(0x3000, 0x9000, "/code", 1),
	    FILE_PART(0x9000, 0xa000, 0x8000, true, 7) },
	  0 },
	{ "the vDSO",
	  { FILE_PART(0x1000, 0x3000, 0, true, 7),
	    OWN(0x3000, 0x9000, "[vdso]", 0),
	    FILE_PART(0x9000, 0xa000, 0x8000, true, 7) },
	  0 },
	{ "two files",
	  { FILE_PART(0x1000, 0x3000, 0, true, 7), OWN(0x3000, 0x9000, "", 0),
	    FILE_PART(0x9000, 0xa000, 0x8000, true, 8) },
	  0 },
	{ "a gap below",
	  { FILE_PART(0x1000, 0x2000, 0, true, 7), OWN(0x3000, 0x9000, "", 0),
	    FILE_PART(0x9000, 0xa000, 0x8000, true, 7) },
	  0 },
	{ "a gap above",
	  { FILE_PART(0x1000, 0x3000, 0, true, 7), OWN(0x3000, 0x8000, "", 0),
	    FILE_PART(0x9000, 0xa000, 0x8000, true, 7) },
	  0 },
	{ "parts that the linker has shifted",
	  { FILE_PART(0x1000, 0x3000, 0, false, 7), OWN(0x3000, 0x9000, "", 0),
	    FILE_PART(0x9000, 0xa000, 0x6000, false, 7) },
	  0 },
	{ "no files",
	  { OWN(0x1000, 0x3000, "", 0), OWN(0x3000, 0x9000, "", 0),
	    OWN(0x9000, 0xa000, "", 0) },
	  0 },
};

static bool is_as_it_was(const struct ow_mapping *m,
			 const struct ow_mapping *was)
{
	return m->path == was->path && m->inode == was->inode &&
	       m->dev == was->dev && m->off == was->off;
}

static void test_settle(void)
{
	const struct remapped_case *t = cases, *end;
	struct ow_mapping list[3], *m = &list[1];
	struct ow_mappings maps = { .list = list, .nr = 3 };
	int failures;

	for (end = t + OW_ARRAY_SIZE(cases); t < end; t++) {
		failures = test_failures;
		memcpy(list, t->list, sizeof(list));
		ow_remapped_settle(&maps);
		CHECK(m->start == 0x3000 && m->executable);
		if (t->off)
			CHECK(m->off == t->off && m->dev == 1 &&
			      m->inode == 7 && !m->deleted &&
			      strcmp(m->path, "/lib.so") == 0);
		else
			CHECK(is_as_it_was(m, &t->list[1]));
		CHECK(is_as_it_was(&list[0], &t->list[0]));
		CHECK(is_as_it_was(&list[2], &t->list[2]));
		if (test_failures > failures)
			printf("# %s\n", t->name);
	}
}

/* Nothing is below the first one, nor above the last one. */
static void test_alone(void)
{
	struct ow_mapping own = OWN(0, 0x1000, "", 0);
	struct ow_mappings maps = { .list = &own, .nr = 1 };

	ow_remapped_settle(&maps);
	own.start = 0x1000;
	own.end = 0x2000;
	ow_remapped_settle(&maps);
	CHECK(own.inode == 0 && own.off == 0);
	maps.nr = 0;
	ow_remapped_settle(&maps);
}

int main(void)
{
	static const struct test tests[] = {
		{ "code between two parts of a file", test_settle },
		{ "code with nothing around it", test_alone },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
