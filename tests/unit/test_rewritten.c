// SPDX-License-Identifier: BSD-2-Clause
/* Files that their owner writes to while they are read, through a shared mapping. */
#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "filemap.h"
#include "symindex.h"
#include "test.h"

#define SYMBOLS     20000
#define MOST_ROUNDS 200
#define MOST_TIME   3 /* seconds */

/* An ELF file of functions, which are variables by turns. */
struct file {
	Elf64_Ehdr head;
	Elf64_Shdr sections[4]; /* none, code, symbols, names */
	Elf64_Sym syms[SYMBOLS];
	char names[4];
};

static void make_file(struct file *f)
{
	f->head = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB },
		.e_machine = EM_X86_64,
		.e_shoff = offsetof(struct file, sections),
		.e_shnum = OW_ARRAY_SIZE(f->sections),
	};
	f->sections[1] = (Elf64_Shdr){
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_EXECINSTR,
		.sh_size = SYMBOLS,
	};
	f->sections[2] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB,
		.sh_offset = offsetof(struct file, syms),
		.sh_size = sizeof(f->syms),
		.sh_link = 3,
	};
	f->sections[3] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct file, names),
		.sh_size = sizeof(f->names),
	};
	memcpy(f->names, "\0f", 3);
	for (int i = 0; i < SYMBOLS; i++)
		f->syms[i] = (Elf64_Sym){ .st_name = 1,
					  .st_shndx = 1,
					  .st_value = (Elf64_Addr)i,
					  .st_size = 1 };
}

/* The file that is read, its owner's mapping, and a thread of the owner's. */
struct written {
	struct ow_filemap *map;
	struct file *file;
	pthread_t owner;
	atomic_bool has_ended;
};

static void *write_types(void *arg)
{
	static const uint8_t types[] = { STT_FUNC, STT_OBJECT };
	struct written *w = arg;

	for (unsigned int turn = 0; !atomic_load(&w->has_ended); turn++)
		for (int i = 1; i < SYMBOLS; i++)
			*(volatile uint8_t *)&w->file->syms[i].st_info =
				types[turn % 2];
	return NULL;
}

static void open_written(struct written *w)
{
	int fd = memfd_create("written", 0);
	void *file;

	CHECK(fd >= 0 && !ftruncate(fd, sizeof(*w->file)));
	file = mmap(NULL, sizeof(*w->file), PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	CHECK(file != MAP_FAILED);
	w->file = file;
	make_file(w->file);
	w->map = ow_filemap_open(fd, sizeof(*w->file), "written", 0);
	CHECK(w->map);
	close(fd);
}

static void close_written(struct written *w)
{
	ow_filemap_close(w->map);
	munmap(w->file, sizeof(*w->file));
}

/* Whatever there is at an address is one of the symbols, which have a byte each. */
static void check_index(const struct ow_symbols *table)
{
	struct ow_symindex *x =
		ow_symindex_create(table, 1, (struct ow_owner){ 0 });
	const struct ow_function *f;
	bool good = true;

	CHECK(x);
	for (uint64_t at = 0; x && at <= SYMBOLS; at++) {
		f = ow_symindex_find(x, at);
		good &= !f || (f->start == at && f->end == at + 1);
	}
	CHECK(good);
	ow_symindex_destroy(x);
}

static void test_symindex(void)
{
	struct written w = { .has_ended = false };
	struct ow_symbols table;
	struct ow_elf elf;
	time_t end = time(NULL) + MOST_TIME;

	open_written(&w);
	table.elf = &elf;
	CHECK(!ow_elf_parse(&elf, ow_filemap_bytes(w.map), sizeof(*w.file)));
	CHECK(ow_elfsyms_init(&table.syms, &elf, OW_SHT_SYMTAB));
	CHECK(!pthread_create(&w.owner, NULL, write_types, &w));
	for (int i = 0; i < MOST_ROUNDS && time(NULL) <= end; i++)
		check_index(&table);
	atomic_store(&w.has_ended, true);
	pthread_join(w.owner, NULL);
	close_written(&w);
}

int main(void)
{
	static const struct test tests[] = {
		{ "symbols that become functions while they are counted",
		  test_symindex },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
