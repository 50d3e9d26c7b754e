// SPDX-License-Identifier: BSD-2-Clause
#include "procname.h"

#include <elf.h>
#include <fcntl.h>
#include <libunwind.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loaded.h"

#define MOST_SYMBOLS  64 /* that are read at once, onto the stack */
#define MOST_SECTIONS (1U << 18)

/*
 * An ELF file in memory, or one that is read: mapped, it would raise SIGBUS if its
 * owner cut it off meanwhile.
 */
struct source {
	const uint8_t *bytes; /* or NULL */
	uint64_t size;
	int fd;
};

/* The best symbol so far, and where its name is. */
struct best {
	uint64_t vaddr, away; /* away is UINT64_MAX: none */
	uint64_t name, names_end;
};

static bool read_at(const struct source *s, uint64_t off, void *buf,
		    size_t size)
{
	if (off > s->size || size > s->size - off)
		return false;
	if (!s->bytes)
		return pread(s->fd, buf, size, (off_t)off) == (ssize_t)size;
	memcpy(buf, s->bytes + off, size);
	return true;
}

static bool section_at(const struct source *s, const Elf64_Ehdr *eh, uint64_t i,
		       Elf64_Shdr *ret)
{
	return eh->e_shentsize == sizeof(*ret) && eh->e_shoff != 0 &&
	       eh->e_shoff <= s->size &&
	       i < (s->size - eh->e_shoff) / sizeof(*ret) &&
	       read_at(s, eh->e_shoff + i * sizeof(*ret), ret, sizeof(*ret));
}

/* Return true if the section is in the file, as it is. */
static bool is_plain(const struct source *s, const Elf64_Shdr *sec)
{
	return sec->sh_type != SHT_NOBITS &&
	       !(sec->sh_flags & SHF_COMPRESSED) && sec->sh_offset <= s->size &&
	       sec->sh_size <= s->size - sec->sh_offset;
}

static void look_at(struct best *b, const Elf64_Sym *sym,
		    const Elf64_Shdr *names)
{
	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC ||
	    sym->st_shndx == SHN_UNDEF || sym->st_value > b->vaddr ||
	    b->vaddr - sym->st_value >= b->away ||
	    sym->st_name >= names->sh_size)
		return;
	b->away = b->vaddr - sym->st_value;
	b->name = names->sh_offset + sym->st_name;
	b->names_end = names->sh_offset + names->sh_size;
}

static void look_through(struct best *b, const struct source *s,
			 const Elf64_Ehdr *eh, const Elf64_Shdr *sec)
{
	Elf64_Sym symbols[MOST_SYMBOLS];
	uint64_t left = sec->sh_size / sizeof(*symbols);
	uint64_t at = sec->sh_offset;
	Elf64_Shdr names;
	size_t n, i;

	if (!is_plain(s, sec) || !section_at(s, eh, sec->sh_link, &names) ||
	    !is_plain(s, &names))
		return;
	for (; left > 0; left -= n, at += n * sizeof(*symbols)) {
		n = left < MOST_SYMBOLS ? left : MOST_SYMBOLS;
		if (!read_at(s, at, symbols, n * sizeof(*symbols)))
			return;
		for (i = 0; i < n; i++)
			look_at(b, &symbols[i], &names);
	}
}

/* The name is cut short where the table ends, or where buf does. */
static int copy_name(const struct best *b, const struct source *s, char *buf,
		     size_t size)
{
	uint64_t left = b->names_end - b->name;
	size_t n = left < size ? left : size;

	if (size == 0)
		return -UNW_ENOMEM;
	if (!read_at(s, b->name, buf, n) || buf[0] == '\0')
		return -UNW_ENOINFO;
	if (memchr(buf, '\0', n))
		return 0;
	if (n < size) {
		buf[n] = '\0';
		return 0;
	}
	buf[size - 1] = '\0';
	return -UNW_ENOMEM;
}

/* An object has one section of either type (gABI 4.1, "Sections"): the first counts. */
static void look_through_all(struct best *b, const struct source *s,
			     const Elf64_Ehdr *eh)
{
	bool has_symtab = false, has_dynsym = false, *has;
	uint64_t nr = eh->e_shnum, i;
	Elf64_Shdr sec;

	/* Where there are too many for the header, the first section tells. */
	if (nr == 0 && section_at(s, eh, 0, &sec))
		nr = sec.sh_size;
	if (nr > MOST_SECTIONS)
		nr = MOST_SECTIONS;
	for (i = 0; i < nr && section_at(s, eh, i, &sec); i++) {
		if (sec.sh_type != SHT_SYMTAB && sec.sh_type != SHT_DYNSYM)
			continue;
		has = sec.sh_type == SHT_SYMTAB ? &has_symtab : &has_dynsym;
		if (!*has)
			look_through(b, s, eh, &sec);
		*has = true;
	}
}

static int name_in(const struct source *s, uint64_t vaddr, char *buf,
		   size_t size, uint64_t *off_ret)
{
	struct best b = { .vaddr = vaddr, .away = UINT64_MAX };
	Elf64_Ehdr eh;

	if (!read_at(s, 0, &eh, sizeof(eh)) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64)
		return -UNW_ENOINFO;
	look_through_all(&b, s, &eh);
	if (b.away == UINT64_MAX)
		return -UNW_ENOINFO;
	if (off_ret)
		*off_ret = b.away;
	return copy_name(&b, s, buf, size);
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

/* The path that can be opened; the program's own needs no name. */
static const char *path_of(const struct ow_loaded *l)
{
	if (!l->path)
		return NULL;
	return *l->path ? l->path : "/proc/self/exe";
}

/* A name may be that of a pipe or of a device by now, which is not waited for. */
static int name_in_file(const char *path, uint64_t vaddr, char *buf,
			size_t size, uint64_t *off_ret)
{
	struct source s = {
		.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
	};
	int err = -UNW_ENOINFO;
	struct stat st;

	if (s.fd < 0)
		return err;
	if (fstat(s.fd, &st) == 0 && S_ISREG(st.st_mode)) {
		s.size = (uint64_t)st.st_size;
		err = name_in(&s, vaddr, buf, size, off_ret);
	}
	close(s.fd);
	return err;
}

/* The vDSO has no file; what is in memory is all that there is of it. */
static int name_in_memory(const struct ow_loaded *l, uint64_t vaddr, char *buf,
			  size_t size, uint64_t *off_ret)
{
	const struct source s = {
		.bytes = (const uint8_t *)(uintptr_t)l->start,
		.size = l->end - l->start,
	};

	return name_in(&s, vaddr, buf, size, off_ret);
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
