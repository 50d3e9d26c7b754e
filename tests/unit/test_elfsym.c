// SPDX-License-Identifier: BSD-2-Clause
#include "elfsym.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "env.h"
#include "test.h"

#define MOST ((size_t)1 << 22)
#define ROOM (MOST + 8) /* symbols */

/* A file, whose symbols but two are zeros that nobody has written. */
struct file {
	Elf64_Ehdr head;
	Elf64_Shdr sections[3];
	char names[16];
	Elf64_Sym syms[ROOM];
};

static struct file *make_file(void)
{
	struct file *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			      0);

	if (f == MAP_FAILED)
		abort();
	f->head = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
		.e_machine = EM_X86_64,
		.e_shoff = offsetof(struct file, sections),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
	};
	f->sections[1] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB,
		.sh_link = 2,
		.sh_offset = offsetof(struct file, syms),
		.sh_size = sizeof(f->syms),
		.sh_entsize = sizeof(Elf64_Sym),
	};
	f->sections[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct file, names),
		.sh_size = sizeof(f->names),
	};
	memcpy(f->names, "\0early\0late", 12);
	f->syms[MOST - 1] = (Elf64_Sym){ .st_name = 1, .st_value = 11 };
	f->syms[MOST] = (Elf64_Sym){ .st_name = 7, .st_value = 22 };
	return f;
}

/* The search for a name ends, however long the table is. */
static void test_bound(void)
{
	struct file *f = make_file();
	struct ow_elf elf;
	uint64_t value = 0;

	CHECK(!ow_elf_parse(&elf, (const uint8_t *)f, sizeof(*f)));
	CHECK(ow_elfsym_value(&elf, "early", &value) && value == 11);
	CHECK(!ow_elfsym_value(&elf, "late", &value) && value == 11);
	munmap(f, sizeof(*f));
}

static const struct test tests[] = {
	{ "a name among symbols without end", test_bound },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
