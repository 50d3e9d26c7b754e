// SPDX-License-Identifier: BSD-2-Clause
/* The scan against the index, which sorts: random symbols, every address. */
#include "symscan.h"

#include <elf.h>
#include <stdlib.h>

#include "symindex.h"
#include "test.h"

#define SYMBOLS 24
#define SPACE   96 /* addresses that symbols are spread over */
#define ROUNDS  20000

/* An ELF file with one symbol table, and two sections of code beside data. */
struct file {
	Elf64_Ehdr head;
	Elf64_Shdr sections[6]; /* none, code, code, data, symbols, names */
	Elf64_Sym syms[SYMBOLS];
	char names[64];
};

static const struct ow_owner nobodys = { .bytes = 0 };
static uint32_t seed = 1;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void make_sections(struct file *f)
{
	static const char names[] = "\0a\0_a\0__b\0bb\0$x\0.L1\0longer\0a";

	memcpy(f->names, names, sizeof(names));
	f->sections[1] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
				       .sh_flags = SHF_EXECINSTR,
				       .sh_addr = 0,
				       .sh_size = SPACE / 2 };
	f->sections[2] = f->sections[1];
	f->sections[2].sh_addr = SPACE / 2;
	f->sections[3] = f->sections[1];
	f->sections[3].sh_flags = 0;
	f->sections[4] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB,
		.sh_offset = offsetof(struct file, syms),
		.sh_size = sizeof(f->syms),
		.sh_link = 5,
	};
	f->sections[5] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct file, names),
		.sh_size = sizeof(f->names),
	};
}

static void make_file(struct file *f)
{
	static const uint8_t types[] = { STT_FUNC, STT_FUNC, STT_GNU_IFUNC,
					 STT_NOTYPE, STT_OBJECT };
	static const uint8_t names[] = { 0, 1, 3, 6, 10, 13, 16, 20, 27 };
	static const uint16_t sections[] = { 1, 1, 1, 2, 3, 0, SHN_ABS };

	*f = (struct file){ .head = { .e_ident = { 0x7f, 'E', 'L', 'F',
						   ELFCLASS64, ELFDATA2LSB },
				      .e_machine = EM_X86_64,
				      .e_shoff =
					      offsetof(struct file, sections),
				      .e_shnum = 6 } };
	make_sections(f);
	for (size_t i = 1; i < SYMBOLS; i++)
		f->syms[i] = (Elf64_Sym){
			.st_name = names[any(sizeof(names))],
			.st_info = ELF64_ST_INFO(any(3),
						 types[any(sizeof(types))]),
			.st_shndx = sections[any(7)],
			.st_value = any(SPACE),
			.st_size = any(3) == 0 ? 0 :
				   any(4)      ? any(16) :
						 any(SPACE),
		};
}

/* Does the scan say of an address what the index says? */
static bool agrees(const struct ow_symscan *w, const struct ow_symindex *x)
{
	const struct ow_function *f = ow_symindex_find(x, w->vaddr);

	if (w->state == OW_SYMSCAN_UNSURE)
		return true;
	if (w->state == OW_SYMSCAN_NONE || !f)
		return w->state == OW_SYMSCAN_NONE && !f;
	return w->function.start == f->start && w->function.end == f->end &&
	       w->function.rank == f->rank && w->function.sized == f->sized &&
	       strcmp(w->function.name, f->name) == 0;
}

static void test_against_index(void)
{
	size_t states[3] = { 0 }, wrong = 0;
	struct ow_symscan wanted[SPACE];

	for (int round = 0; round < ROUNDS && wrong == 0; round++) {
		struct ow_symbols table;
		struct ow_symindex *x;
		struct ow_elf elf;
		struct file f;
		size_t nr = 0;

		make_file(&f);
		if (ow_elf_parse(&elf, (const uint8_t *)&f, sizeof(f)) ||
		    !ow_elfsyms_init(&table.syms, &elf, OW_SHT_SYMTAB))
			abort();
		table.elf = &elf;
		for (uint64_t at = 0; at < SPACE; at++)
			if (any(3))
				wanted[nr++].vaddr = at;
		x = ow_symindex_create(&table, 1, (struct ow_owner){ 0 });
		if (!x || !ow_symscan_run(&table, 1, &nobodys, wanted, nr))
			abort();
		for (size_t i = 0; i < nr; i++) {
			wrong += !agrees(&wanted[i], x);
			states[wanted[i].state]++;
		}
		ow_symindex_destroy(x);
	}
	CHECK(wrong == 0);
	printf("# none %zu, found %zu, unsure %zu\n", states[0], states[1],
	       states[2]);
	CHECK(states[OW_SYMSCAN_NONE] > ROUNDS);
	CHECK(states[OW_SYMSCAN_FOUND] > ROUNDS);
	CHECK(states[OW_SYMSCAN_UNSURE] > ROUNDS);
}

/* Where everything covers everything, sorting is cheaper: it gives up. */
static void test_overlaps(void)
{
	struct ow_symscan wanted[SPACE];
	struct ow_symbols table;
	struct ow_elf elf;
	struct file f;

	make_file(&f);
	for (size_t i = 1; i < SYMBOLS; i++)
		f.syms[i] = (Elf64_Sym){
			.st_name = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_size = SPACE,
		};
	if (ow_elf_parse(&elf, (const uint8_t *)&f, sizeof(f)) ||
	    !ow_elfsyms_init(&table.syms, &elf, OW_SHT_SYMTAB))
		abort();
	table.elf = &elf;
	for (size_t i = 0; i < SPACE; i++)
		wanted[i].vaddr = i;
	CHECK(!ow_symscan_run(&table, 1, &nobodys, wanted, SPACE));
	CHECK(ow_symscan_run(&table, 1, &nobodys, wanted, 2));
	CHECK(wanted[1].state == OW_SYMSCAN_FOUND);
	CHECK(ow_symscan_run(&table, 1, &nobodys, wanted, 0));
}

/* Far apart, as in the largest address space, and close together at its end. */
static void test_distances(void)
{
	struct ow_symscan wanted[] = { { .vaddr = 5 },
				       { .vaddr = SPACE },
				       { .vaddr = UINT64_MAX - 1 },
				       { .vaddr = UINT64_MAX } };
	struct ow_symbols table;
	struct ow_elf elf;
	struct file f;

	make_file(&f);
	memset(f.syms, 0, sizeof(f.syms));
	f.syms[1] = (Elf64_Sym){ .st_name = 1,
				 .st_info = ELF64_ST_INFO(0, STT_FUNC),
				 .st_shndx = 1,
				 .st_value = 5,
				 .st_size = 1 };
	f.syms[2] = f.syms[1];
	f.syms[2].st_value = UINT64_MAX - 1;
	f.syms[3] = f.syms[2];
	f.syms[3].st_size = UINT64_MAX; /* wraps around */
	if (ow_elf_parse(&elf, (const uint8_t *)&f, sizeof(f)) ||
	    !ow_elfsyms_init(&table.syms, &elf, OW_SHT_SYMTAB))
		abort();
	table.elf = &elf;
	CHECK(ow_symscan_run(&table, 1, &nobodys, wanted, 4));
	CHECK(wanted[0].state == OW_SYMSCAN_FOUND);
	CHECK(wanted[0].function.start == 5);
	CHECK(wanted[1].state == OW_SYMSCAN_NONE);
	CHECK(wanted[2].state == OW_SYMSCAN_FOUND);
	CHECK(wanted[2].function.start == UINT64_MAX - 1);
	CHECK(wanted[3].state == OW_SYMSCAN_NONE);
}

int main(void)
{
	static const struct test tests[] = {
		{ "the same as the index", test_against_index },
		{ "too many overlaps", test_overlaps },
		{ "addresses far apart", test_distances },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
