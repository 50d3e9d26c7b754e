// SPDX-License-Identifier: BSD-2-Clause
/* Which bytes of a file tell it apart from one of the same build-id. */
#include "likeness.h"

#include <string.h>
#include <unistd.h>

#include "error.h"
#include "object.h"
#include "scratch.h"
#include "test.h"

static uint8_t *read_file(const char *name, size_t *size_ret)
{
	FILE *in = fopen(name, "re");
	uint8_t *bytes;
	long size;

	if (!in || fseek(in, 0, SEEK_END))
		abort();
	size = ftell(in);
	rewind(in);
	bytes = malloc((size_t)size);
	if (!bytes || fread(bytes, 1, (size_t)size, in) != (size_t)size)
		abort();
	fclose(in);
	*size_ret = (size_t)size;
	return bytes;
}

static struct ow_object *open_bytes(const uint8_t *bytes, size_t size)
{
	FILE *out = fopen("changed", "we");
	struct ow_object *obj;

	if (!out || fwrite(bytes, 1, size, out) != size || fclose(out))
		abort();
	obj = ow_object_open("changed", NULL);
	if (!obj)
		abort();
	unlink("changed");
	return obj;
}

/* Is the program told apart from itself with another byte at off? */
static bool is_told_apart(const struct ow_object *prog, size_t off)
{
	uint64_t hash, changed_hash;
	struct ow_object *changed;
	uint8_t *bytes;
	size_t size;
	bool is_same;

	bytes = read_file("prog", &size);
	bytes[off] ^= 1;
	changed = open_bytes(bytes, size);
	free(bytes);
	is_same = ow_likeness_is_same(prog, changed);
	CHECK(is_same == ow_likeness_is_same(changed, prog));
	CHECK(ow_likeness_hash(prog, &hash) > 0);
	CHECK(ow_likeness_hash(changed, &changed_hash) > 0);
	CHECK((hash == changed_hash) == is_same);
	ow_object_close(changed);
	return !is_same;
}

/* The first and the last byte of each section that there is. */
static void test_sections(void)
{
	static const struct {
		const char *name;
		bool is_telling;
	} sections[] = {
		{ ".text", false },        { ".rodata", false },
		{ ".data", false },        { ".eh_frame", true },
		{ ".eh_frame_hdr", true }, { ".symtab", true },
		{ ".strtab", true },       { ".dynsym", true },
		{ ".dynstr", true },       { ".rela.plt", true },
		{ ".plt", true },          { ".dynamic", true },
		{ ".debug_info", true },   { ".debug_line", true },
		{ ".shstrtab", true },     { ".note.gnu.build-id", true },
	};
	struct ow_object *prog = ow_object_open("prog", NULL);
	struct ow_elf_section sec;
	size_t i;

	CHECK(ow_likeness_is_same(prog, prog));
	for (i = 0; i < OW_ARRAY_SIZE(sections); i++) {
		CHECK(ow_object_section(prog, sections[i].name, &sec));
		CHECK(is_told_apart(prog, sec.off) == sections[i].is_telling);
		CHECK(is_told_apart(prog, sec.off + sec.size - 1) ==
		      sections[i].is_telling);
	}
	CHECK(is_told_apart(prog, 24)); /* e_entry */
	CHECK(is_told_apart(prog, prog->elf.phoff + 16));
	CHECK(is_told_apart(prog, prog->elf.shoff + 4 * 64 + 16));
	ow_object_close(prog);
}

/* Without section headers nothing tells what is code, and all is telling. */
static void test_without_sections(void)
{
	struct ow_object *prog = ow_object_open("prog", NULL), *a, *b;
	struct ow_elf_section text;
	uint64_t hash, other;
	uint8_t *bytes;
	size_t size;

	CHECK(ow_object_section(prog, ".text", &text));
	bytes = read_file("prog", &size);
	memset(bytes + 40, 0, 8); /* e_shoff */
	a = open_bytes(bytes, size);
	bytes[text.off] ^= 1;
	b = open_bytes(bytes, size);
	free(bytes);
	CHECK(!ow_likeness_is_same(a, prog) && !ow_likeness_is_same(a, b));
	CHECK(ow_likeness_hash(a, &hash) == size);
	CHECK(ow_likeness_hash(b, &other) == size && other != hash);
	ow_object_close(a);
	ow_object_close(b);
	ow_object_close(prog);
}

/* A file of more telling bytes than the limit is like no other one. */
static void test_too_much(void)
{
	struct ow_object *prog, *copy;
	uint64_t hash;

	CHECK(scratch_run("head -c 70000000 /dev/zero >zeroes && "
			  "objcopy --add-section .debug_x=zeroes prog big && "
			  "rm zeroes && cp big copy"));
	prog = ow_object_open("big", NULL);
	copy = ow_object_open("copy", NULL);
	CHECK(prog->size > OW_LIKENESS_MAX);
	CHECK(ow_likeness_hash(prog, &hash) == 0);
	CHECK(!ow_likeness_is_same(prog, copy));
	ow_object_close(prog);
	ow_object_close(copy);
	CHECK(unlink("big") == 0 && unlink("copy") == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "sections", test_sections },
		{ "no section headers", test_without_sections },
		{ "too much", test_too_much },
	};

	scratch_enter();
	scratch_write("prog.c",
		      "#include <stdio.h>\n"
		      "int number = 1;\n"
		      "int main(void) { return puts(\"x\") + number; }\n");
	if (!scratch_run("cc -g -O1 -Wl,-z,lazy -Wl,--build-id prog.c -o prog"))
		abort();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
