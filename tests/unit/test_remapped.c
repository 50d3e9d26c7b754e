// SPDX-License-Identifier: BSD-2-Clause
#include "remapped.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mappings.h"
#include "test.h"

#define PAGE 4096

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

/* Have the page be that of the file, or memory of its own if fd is -1. */
static void map_page(uint8_t *at, int prot, int fd, off_t off)
{
	int flags = MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0);

	if (mmap(at, PAGE, prot, flags, fd, off) != at)
		abort();
}

static void change_around(uint8_t *at, int file, int other)
{
	struct ow_mappings maps;
	const struct ow_mapping *m;

	map_page(at, PROT_READ, file, 0);
	map_page(at + PAGE, PROT_READ | PROT_EXEC, -1, 0);
	map_page(at + 2 * (size_t)PAGE, PROT_READ, file, 2 * PAGE);
	CHECK(ow_mappings_read_code(getpid(), &maps, NULL) == 0);
	if (maps.is_part) {
		ow_remapped_settle(&maps);
		m = ow_mappings_from(&maps, (uintptr_t)at + PAGE);
		CHECK(m && m->inode != 0 && m->off == PAGE);
		CHECK(ow_mappings_is_current(&maps, getpid()));
		map_page(at, PROT_READ, other, 0);
		CHECK(!ow_mappings_is_current(&maps, getpid()));
		map_page(at, PROT_READ, file, 0);
		CHECK(ow_mappings_is_current(&maps, getpid()));
		map_page(at + PAGE, PROT_READ | PROT_EXEC, file, PAGE);
		CHECK(!ow_mappings_is_current(&maps, getpid()));
	}
	ow_mappings_free(&maps);
}

/* What was listed as a part of a file is no more when the file is replaced. */
static void test_change(void)
{
	size_t size = 3 * (size_t)PAGE;
	int file = memfd_create("file", 0), other = memfd_create("other", 0);
	uint8_t *at =
		mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || ftruncate(file, (off_t)size) ||
	    ftruncate(other, (off_t)size))
		abort();
	change_around(at, file, other);
	munmap(at, size);
	close(file);
	close(other);
}

/* However much code there is, only what tells of a file is listed around it. */
static void test_many(void)
{
	enum {
		NR = 1000
	};

	size_t size = 2 * NR * (size_t)PAGE, i, nr;
	uint8_t *at =
		mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ow_mappings maps;

	if (at == MAP_FAILED)
		abort();
	for (i = 0; i < NR; i++)
		map_page(at + 2 * i * PAGE, PROT_READ | PROT_EXEC, -1, 0);
	CHECK(ow_mappings_read_code(getpid(), &maps, NULL) == 0);
	nr = maps.nr;
	CHECK(nr >= NR);
	ow_remapped_settle(&maps);
	CHECK(maps.nr == nr);
	ow_mappings_free(&maps);
	munmap(at, size);
}

/* Parts of a file in turns with code: each part is around two, and listed once. */
static void test_turns(void)
{
	enum {
		NR = 100
	};

	size_t size = (2 * NR + 1) * (size_t)PAGE, i, nr;
	int file = memfd_create("file", 0);
	uint8_t *at =
		mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct ow_mapping *m;
	struct ow_mappings maps;

	if (at == MAP_FAILED || ftruncate(file, (off_t)size))
		abort();
	for (i = 0; i < 2 * NR + 1; i++)
		if (i % 2)
			map_page(at + i * PAGE, PROT_READ | PROT_EXEC, -1, 0);
		else
			map_page(at + i * PAGE, PROT_READ, file,
				 (off_t)i * PAGE);
	CHECK(ow_mappings_read_code(getpid(), &maps, NULL) == 0);
	nr = maps.nr;
	ow_remapped_settle(&maps);
	CHECK(!maps.is_part || maps.nr == nr + NR + 1);
	for (i = 0; i < 2 * NR + 1; i++) {
		m = ow_mappings_from(&maps, (uintptr_t)at + i * PAGE);
		CHECK(m && m->start == (uintptr_t)at + i * PAGE &&
		      m->end == m->start + PAGE && m->off == i * PAGE &&
		      m->inode != 0 && m->is_around == !(i % 2) &&
		      m->is_remapped == i % 2 &&
		      strcmp(m->path, "/memfd:file") == 0);
	}
	CHECK(!maps.is_part || maps.nr == nr + NR + 1);
	ow_mappings_free(&maps);
	munmap(at, size);
	close(file);
}

int main(void)
{
	static const struct test tests[] = {
		{ "code between two parts of a file", test_settle },
		{ "code with nothing around it", test_alone },
		{ "code around which another file is mapped", test_change },
		{ "much code with nothing around it", test_many },
		{ "code and parts of a file in turns", test_turns },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
