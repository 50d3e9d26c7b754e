// SPDX-License-Identifier: BSD-2-Clause
#include "procname.h"

#include <elf.h>
#include <fcntl.h>
#include <libunwind.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loaded.h"

/* The best symbol so far. */
struct best {
	uint64_t vaddr, away;
	const char *name; /* NULL: none */
	size_t room;      /* bytes that follow name in its table */
};

static const void *bytes_of(const struct ow_elf *elf,
			    const struct ow_elf_section *sec)
{
	if (sec->type == SHT_NOBITS || sec->flags & OW_SHF_COMPRESSED ||
	    sec->off > elf->size || sec->size > elf->size - sec->off)
		return NULL;
	return elf->bytes + sec->off;
}

static void look_at(struct best *b, const Elf64_Sym *sym, const char *names,
		    size_t names_size)
{
	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC ||
	    sym->st_shndx == SHN_UNDEF || sym->st_value > b->vaddr ||
	    b->vaddr - sym->st_value >= b->away || sym->st_name >= names_size)
		return;
	b->away = b->vaddr - sym->st_value;
	b->name = names + sym->st_name;
	b->room = names_size - sym->st_name;
}

static void look_through(struct best *b, const struct ow_elf *elf,
			 const struct ow_elf_section *sec)
{
	const char *symbols = bytes_of(elf, sec), *names;
	struct ow_elf_section strings;
	Elf64_Sym sym;
	uint64_t at;

	if (!symbols || !ow_elf_section(elf, sec->link, &strings))
		return;
	names = bytes_of(elf, &strings);
	if (!names)
		return;
	for (at = 0; sec->size - at >= sizeof(sym); at += sizeof(sym)) {
		memcpy(&sym, symbols + at, sizeof(sym));
		look_at(b, &sym, names, strings.size);
	}
}

int ow_procname_copy(char *buf, size_t size, const char *name, size_t length)
{
	size_t n = length < size ? length : size - 1;

	if (size == 0)
		return -UNW_ENOMEM;
	memcpy(buf, name, n);
	buf[n] = '\0';
	return n < length ? -UNW_ENOMEM : 0;
}

int ow_procname_in(const struct ow_elf *elf, uint64_t vaddr, char *buf,
		   size_t size, uint64_t *off_ret)
{
	struct best b = { .vaddr = vaddr, .away = UINT64_MAX };
	struct ow_elf_section sec;
	uint32_t i;

	if (!elf->is_64)
		return -UNW_ENOINFO;
	for (i = 0; ow_elf_section(elf, i, &sec); i++)
		if (sec.type == SHT_SYMTAB || sec.type == SHT_DYNSYM)
			look_through(&b, elf, &sec);
	if (!b.name)
		return -UNW_ENOINFO;
	if (off_ret)
		*off_ret = b.away;
	return ow_procname_copy(buf, size, b.name, strnlen(b.name, b.room));
}

/* The path that can be opened; the program's own needs no name. */
static const char *path_of(const struct ow_loaded *l)
{
	if (!l->path)
		return NULL;
	return *l->path ? l->path : "/proc/self/exe";
}

static int name_in_file(const char *path, uint64_t vaddr, char *buf,
			size_t size, uint64_t *off_ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = -UNW_ENOINFO;
	struct ow_elf elf;
	struct stat st;
	void *bytes;

	if (fd < 0)
		return err;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size == 0) {
		close(fd);
		return err;
	}
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return err;
	if (ow_elf_parse(&elf, bytes, st.st_size) == 0)
		err = ow_procname_in(&elf, vaddr, buf, size, off_ret);
	munmap(bytes, st.st_size);
	return err;
}

/* The vDSO has no file; what is in memory is all that there is of it. */
static int name_in_memory(const struct ow_loaded *l, uint64_t vaddr, char *buf,
			  size_t size, uint64_t *off_ret)
{
	struct ow_elf elf;

	if (ow_elf_parse(&elf, (const uint8_t *)(uintptr_t)l->start,
			 l->end - l->start))
		return -UNW_ENOINFO;
	return ow_procname_in(&elf, vaddr, buf, size, off_ret);
}

int ow_procname_local(uint64_t addr, char *buf, size_t size, uint64_t *off_ret)
{
	struct ow_loaded l;
	const char *path;

	if (!ow_loaded_find(addr, &l))
		return -UNW_ENOINFO;
	path = path_of(&l);
	if (!path)
		return -UNW_ENOINFO;
	if (!strchr(path, '/'))
		return name_in_memory(&l, addr - l.bias, buf, size, off_ret);
	return name_in_file(path, addr - l.bias, buf, size, off_ret);
}

int ow_procname_file(uint64_t addr, char *buf, size_t size, uint64_t *off_ret)
{
	char link[PATH_MAX];
	struct ow_loaded l;
	const char *path;
	ssize_t n;

	if (!ow_loaded_find(addr, &l))
		return -UNW_ENOINFO;
	path = path_of(&l);
	if (!path)
		return -UNW_ENOINFO;
	if (off_ret)
		*off_ret = addr - l.bias;
	if (*l.path)
		return ow_procname_copy(buf, size, path, strlen(path));
	n = readlink(path, link, sizeof(link));
	if (n < 0)
		return -UNW_ENOINFO;
	return ow_procname_copy(buf, size, link, (size_t)n);
}
