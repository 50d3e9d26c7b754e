// SPDX-License-Identifier: BSD-2-Clause
/* What a run may look through: shares, and that they come to an end. */
#include "bulk.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <outwind/outwind.h>

#include "object.h"
#include "owner.h"
#include "scratch.h"
#include "test.h"

#define MB ((uint64_t)1 << 20)

static void test_shares(void)
{
	struct ow_owner own = { 0 };
	int i, nr = 0;

	CHECK(!ow_bulk_take(OW_BULK_SYMBOLS, &own, 256 * MB + 1));
	CHECK(ow_bulk_take(OW_BULK_SYMBOLS, &own, 256 * MB));
	for (i = 0; i < 20; i++)
		nr += ow_bulk_take(OW_BULK_SYMBOLS, &own, 128 * MB);
	CHECK(nr >= 2 && nr < 8);
	/* What needs little has it yet, and what is of another kind. */
	CHECK(ow_bulk_take(OW_BULK_SYMBOLS, &own, 16 * MB));
	CHECK(ow_bulk_take(OW_BULK_UNWIND, &own, 256 * MB));
	CHECK(ow_bulk_take(OW_BULK_RELOCATIONS, &own, 256 * MB));
}

/* What one user's files take, another one's have. */
static void test_users(void)
{
	struct ow_owner one = ow_owner_of(1000), other = ow_owner_of(1001);

	while (ow_bulk_take(OW_BULK_SYMBOLS, &one, 16 * MB))
		;
	CHECK(ow_bulk_take(OW_BULK_SYMBOLS, &other, 256 * MB));
}

static uint64_t worked(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Whatever takes it: a user has a second, and others of the user's files have no more. */
static void test_time(void)
{
	struct ow_owner one = ow_owner_of(1002), other = ow_owner_of(1003);
	struct ow_owner own = ow_owner_of(0);
	uint64_t since = 0, begun = worked();

	while (ow_bulk_has_time(&one, &since) && worked() - begun < 10000)
		;
	CHECK(worked() - begun >= 900 && worked() - begun < 5000);
	since = 0;
	CHECK(!ow_bulk_has_time(&one, &since));
	since = 0;
	CHECK(ow_bulk_has_time(&other, &since));
	since = 0;
	CHECK(ow_bulk_has_time(&own, &since));
}

/* A file of some bytes that says it has as many sections as headers are looked at of. */
static void write_sections(const char *path)
{
	static const size_t nr = 1 << 18;
	size_t size = sizeof(Elf64_Ehdr) + nr * sizeof(Elf64_Shdr);
	uint8_t *bytes = calloc(1, size);
	FILE *out = fopen(path, "we");
	Elf64_Ehdr head = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_shoff = sizeof(head),
	};
	Elf64_Shdr zero = { .sh_size = nr };

	CHECK(bytes && out);
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), &zero, sizeof(zero));
	CHECK(fwrite(bytes, size, 1, out) == 1 && fclose(out) == 0);
	free(bytes);
}

/* Each look for a section goes through all headers of an object. */
static void test_sections(void)
{
	struct ow_error err = { 0 };
	struct ow_object *obj;
	int nr = 0;

	write_sections("many");
	for (int i = 0; i < 200; i++) {
		obj = ow_object_open("many", &err);
		CHECK(obj);
		CHECK(obj->elf.shnum == 0 || obj->elf.shnum == 1 << 18);
		nr += obj->elf.shnum != 0;
		CHECK(i > 0 || nr == 1);
		ow_object_close(obj);
	}
	CHECK(nr < 100);
	CHECK(strcmp(ow_left_out(0),
		     "many: its section headers would take too long to look "
		     "through: left out") == 0);
	CHECK(!ow_left_out(1));
}

int main(void)
{
	static const struct test tests[] = {
		{ "shares", test_shares },
		{ "users", test_users },
		{ "time", test_time },
		{ "section headers", test_sections },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
