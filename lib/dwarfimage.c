// SPDX-License-Identifier: BSD-2-Clause
#include "dwarfimage.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "elfsym.h"
#include "error.h"
#include "inflate.h"
#include "object.h"
#include "objectwatch.h"
#include "owner.h"

#define MOST_SECTIONS 4096 /* of an object that is used as it is */

/* The order is of no interest, but that the first ones are copied as they are needed. */
static const char *const names[] = {
	".debug_info",     ".debug_line",        ".debug_str",  ".debug_abbrev",
	".debug_line_str", ".debug_str_offsets", ".debug_addr", ".debug_ranges",
	".debug_rnglists", ".gnu_debugaltlink",
};

#define NR_NAMES      OW_ARRAY_SIZE(names)
#define LONGEST_NAMES 256 /* bytes of all names, and of .shstrtab's */

/* The file so far. */
struct image {
	struct ow_dwarfimage ret;
	size_t size; /* of what there is of it, in ret.size bytes of room */
	struct ow_owner *own;
	Elf64_Shdr headers[NR_NAMES + 2]; /* none, those, the names */
	size_t nr;
	char text[LONGEST_NAMES];
	size_t text_size;
};

static bool is_dwarf(const struct ow_elf *elf, const struct ow_elf_section *sec)
{
	static const char *const begins[] = { ".debug_", ".zdebug_",
					      ".gnu_debug" };

	for (size_t i = 0; i < OW_ARRAY_SIZE(begins); i++) {
		const char *name = begins[i];
		uint32_t k = 0;

		while (name[k] && ow_elf_section_char(elf, sec, k) == name[k])
			k++;
		if (!name[k])
			return true;
	}
	return false;
}

/* Return true if others may write to the bytes while they are read. */
static bool may_change(const struct ow_object *obj)
{
	return obj->is_lent || (obj->map && ow_objectwatch_is_others(obj));
}

bool ow_dwarfimage_is_needed(const struct ow_object *obj)
{
	const struct ow_elf *elf = &obj->elf;
	struct ow_elf_section sec;

	if (may_change(obj))
		return true;
	if (elf->shnum > MOST_SECTIONS || elf->names_size == 0 ||
	    elf->bytes[elf->names_off + elf->names_size - 1] != '\0')
		return true;
	for (uint32_t i = 1; ow_elf_section(elf, i, &sec); i++)
		if (is_dwarf(elf, &sec) && sec.type != SHT_NOBITS &&
		    (sec.type != SHT_PROGBITS ||
		     (sec.flags & OW_SHF_COMPRESSED) ||
		     ow_elf_section_char(elf, &sec, 1) == 'z'))
			return true;
	return false;
}

/*
 * Have room for size bytes more and a zero; they are zeros yet.  A page that is copied
 * takes memory for itself only, not for the large one that it may be a part of.
 */
static int make_room(struct image *im, size_t size)
{
	const size_t page = ow_piececopy_page();
	struct ow_dwarfimage *ret = &im->ret;
	size_t room;
	void *at;

	if (size > SIZE_MAX / 2 - im->size)
		return -OW_CODE_MEMORY;
	room = (im->size + size + page) / page * page;
	if (room <= ret->size)
		return 0;
	if (ret->bytes)
		at = mremap(ret->bytes, ret->size, room, MREMAP_MAYMOVE);
	else
		at = mmap(NULL, room, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -OW_CODE_MEMORY;
	if (!ret->bytes)
		madvise(at, room, MADV_NOHUGEPAGE);
	ret->bytes = at;
	ret->size = room;
	return 0;
}

/* 0, or -OW_CODE_MEMORY. */
static int append(struct image *im, const void *bytes, size_t size)
{
	int failed;

	if (!ow_owner_take(im->own, size))
		return -OW_CODE_MEMORY;
	failed = make_room(im, size);
	if (failed) {
		ow_owner_give(im->own, size);
		return failed;
	}
	memcpy(im->ret.bytes + im->size, bytes, size);
	im->size += size;
	return 0;
}

static void add_header(struct image *im, const char *name, uint32_t type,
		       size_t size)
{
	im->headers[im->nr++] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)im->text_size,
		.sh_type = type,
		.sh_offset = im->size,
		.sh_size = size,
		.sh_addralign = 1,
	};
	im->text_size += (size_t)snprintf(im->text + im->text_size,
					  sizeof(im->text) - im->text_size,
					  "%s", name) +
			 1;
}

static int add_section(struct image *im, const char *name, uint32_t type,
		       const void *bytes, size_t size)
{
	add_header(im, name, type, size);
	return append(im, bytes, size);
}

/* A section whose pages are copied when they are needed. */
static int add_pieces(struct image *im, const char *name, const uint8_t *bytes,
		      size_t size)
{
	const size_t page = ow_piececopy_page();
	struct ow_dwarfimage *ret = &im->ret;
	size_t off = (im->size + page - 1) / page * page;
	int failed = make_room(im, off - im->size + size);

	if (failed)
		return failed;
	if (!ow_piececopy_init(&ret->pieces[ret->nr], bytes, size, im->own))
		return -OW_CODE_MEMORY;
	im->size = off;
	ret->offs[ret->nr++] = off;
	add_header(im, name, SHT_PROGBITS, size);
	/* A text at its end has an end, whatever is copied. */
	im->size += size + 1;
	return 0;
}

/* 0, also if the object has no such section, or what is wrong. */
static int take_section(struct image *im, const struct ow_object *obj, size_t i)
{
	const char *name = names[i];
	struct ow_unpacked got = { NULL, 0, 0 };
	struct ow_packed packed = { .is_64 = obj->elf.is_64 };
	struct ow_elf_section sec;
	char gnu_name[32];
	int failed;

	snprintf(gnu_name, sizeof(gnu_name), ".z%s", name + 1);
	if (!ow_object_section(obj, name, &sec)) {
		packed.is_gnu = ow_object_section(obj, gnu_name, &sec);
		if (!packed.is_gnu)
			return 0;
	}
	packed.bytes = obj->bytes + sec.off;
	packed.size = sec.size;
	if (!packed.is_gnu && !(sec.flags & OW_SHF_COMPRESSED))
		return i < OW_DWARFIMAGE_PIECES ?
			       add_pieces(im, name, packed.bytes, packed.size) :
			       add_section(im, name, SHT_PROGBITS, packed.bytes,
					   packed.size);
	failed = ow_inflate(&packed, im->own, &got);
	if (failed)
		return failed;
	failed = add_section(im, name, SHT_PROGBITS, got.bytes, got.size);
	ow_inflate_free(&got, im->own);
	return failed;
}

static int put_headers64(struct image *im)
{
	Elf64_Ehdr *head = (void *)im->ret.bytes;

	head->e_phoff = 0;
	head->e_phnum = 0;
	head->e_shoff = im->size;
	head->e_shentsize = sizeof(im->headers[0]);
	head->e_shnum = (Elf64_Half)im->nr;
	head->e_shstrndx = (Elf64_Half)(im->nr - 1);
	return append(im, im->headers, im->nr * sizeof(im->headers[0]));
}

static int put_headers32(struct image *im)
{
	Elf32_Ehdr *head = (void *)im->ret.bytes;
	Elf32_Shdr list[NR_NAMES + 2];

	/* Sections may be of the same bytes. */
	if (im->size > UINT32_MAX)
		return -OW_CODE_FORMAT;
	for (size_t i = 0; i < im->nr; i++)
		list[i] = (Elf32_Shdr){
			.sh_name = im->headers[i].sh_name,
			.sh_type = im->headers[i].sh_type,
			.sh_offset = (Elf32_Off)im->headers[i].sh_offset,
			.sh_size = (Elf32_Word)im->headers[i].sh_size,
			.sh_addralign = 1,
		};
	head->e_phoff = 0;
	head->e_phnum = 0;
	head->e_shoff = (Elf32_Off)im->size;
	head->e_shentsize = sizeof(list[0]);
	head->e_shnum = (Elf32_Half)im->nr;
	head->e_shstrndx = (Elf32_Half)(im->nr - 1);
	return append(im, list, im->nr * sizeof(list[0]));
}

/* A file header as ow_elf_parse() has read it, which the file's own may not be any more. */
static int begin(struct image *im, const struct ow_elf *elf)
{
	union {
		Elf64_Ehdr is_64;
		Elf32_Ehdr is_32;
	} head = { .is_64 = { .e_type = elf->type,
			      .e_machine = elf->arch->machine,
			      .e_version = EV_CURRENT } };

	/* These are at the same places in both. */
	memcpy(head.is_64.e_ident, ELFMAG, SELFMAG);
	head.is_64.e_ident[EI_CLASS] = elf->is_64 ? ELFCLASS64 : ELFCLASS32;
	head.is_64.e_ident[EI_DATA] = ELFDATA2LSB;
	head.is_64.e_ident[EI_VERSION] = EV_CURRENT;
	if (!elf->is_64) {
		head.is_32.e_ehsize = sizeof(head.is_32);
		return append(im, &head.is_32, sizeof(head.is_32));
	}
	head.is_64.e_ehsize = sizeof(head.is_64);
	return append(im, &head.is_64, sizeof(head.is_64));
}

static int make(struct image *im, const struct ow_object *obj)
{
	static const uint8_t zeros[8];
	bool is_64 = obj->elf.is_64;
	int failed = begin(im, &obj->elf);

	for (size_t i = 0; !failed && i < NR_NAMES; i++)
		failed = take_section(im, obj, i);
	if (!failed)
		failed = add_section(im, ".shstrtab", SHT_STRTAB, im->text,
				     sizeof(im->text));
	/* libelf wants headers aligned. */
	if (!failed)
		failed = append(im, zeros, -im->size & 7);
	if (!failed)
		failed = is_64 ? put_headers64(im) : put_headers32(im);
	return failed;
}

bool ow_dwarfimage_make(struct ow_dwarfimage *d, const struct ow_object *obj,
			struct ow_owner *own)
{
	struct image im = { .own = own, .nr = 1, .text_size = 1 };
	size_t before = own->bytes;
	int failed = make(&im, obj);

	*d = im.ret;
	for (size_t i = 0; i < d->nr; i++)
		d->pieces[i].to = d->bytes + d->offs[i];
	if (!failed)
		return true;
	if (failed == -OW_CODE_MEMORY || failed == -OW_CODE_TIMEOUT)
		ow_object_refuse(obj, failed, "its DWARF");
	ow_owner_give(own, own->bytes - before);
	ow_dwarfimage_deinit(d);
	return false;
}

void ow_dwarfimage_deinit(struct ow_dwarfimage *d)
{
	for (size_t i = 0; i < d->nr; i++)
		ow_piececopy_deinit(&d->pieces[i]);
	if (d->bytes)
		munmap(d->bytes, d->size);
	*d = (struct ow_dwarfimage){ .nr = 0 };
}

/* The section that is copied as it is needed in which a place is, or NULL. */
static struct ow_piececopy *find_pieces(struct ow_dwarfimage *d, const void *at)
{
	for (size_t i = 0; i < d->nr; i++)
		if (ow_piececopy_has(&d->pieces[i], at))
			return &d->pieces[i];
	return NULL;
}

bool ow_dwarfimage_want(struct ow_dwarfimage *d, const void *at, size_t size)
{
	struct ow_piececopy *p = find_pieces(d, at);

	return !p || ow_piececopy_want(p, at, size);
}

bool ow_dwarfimage_want_text(struct ow_dwarfimage *d, const char *at)
{
	struct ow_piececopy *p = find_pieces(d, at);

	return !p || ow_piececopy_want_text(p, at, OW_DWARFIMAGE_TEXT);
}

void ow_dwarfimage_drop(struct ow_dwarfimage *d, const void *from,
			const void *to)
{
	struct ow_piececopy *p = find_pieces(d, from);

	if (p)
		ow_piececopy_drop(p, from, to);
}

#define EMPTY_NAMES "\0.debug_info\0.shstrtab"

static const struct empty {
	Elf64_Ehdr head;
	Elf64_Shdr sections[3]; /* none, too short for a unit, the names */
	char names[sizeof(EMPTY_NAMES)];
} empty = {
	.head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = offsetof(struct empty, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	},
	.sections = {
		[1] = {
			.sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_offset = offsetof(struct empty, names),
			.sh_size = 1,
			.sh_addralign = 1,
		},
		[2] = {
			.sh_name = sizeof("\0.debug_info"),
			.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct empty, names),
			.sh_size = sizeof(EMPTY_NAMES),
			.sh_addralign = 1,
		},
	},
	.names = EMPTY_NAMES,
};

const uint8_t *ow_dwarfimage_empty(size_t *size_ret)
{
	*size_ret = sizeof(empty);
	return (const uint8_t *)&empty;
}
