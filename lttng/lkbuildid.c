// SPDX-License-Identifier: GPL-2.0-only
#include "lkbuildid.h"

#include <linux/elf.h>
#include <linux/highmem.h>
#include <linux/pagemap.h>

#define MAX_PHDRS   64
#define NT_BUILD_ID 3 /* NT_GNU_BUILD_ID */

/*
 * One page of a file: all that is looked at.  Whoever may write to the file may do so at any
 * time, and what was read twice may be two things.
 */
struct page_view {
	const u8 *bytes;
	size_t size;
};

/* Where [off, off + size) is, or NULL. */
static const void *at(const struct page_view *v, u64 off, u64 size)
{
	return off <= v->size && size <= v->size - off ? v->bytes + off : NULL;
}

/* Copy what is at [off, off + size), once.  Return false if that isn't in the page. */
static bool take(const struct page_view *v, u64 off, void *ret, u64 size)
{
	const void *from = at(v, off, size);

	if (!from)
		return false;
	memcpy(ret, from, size);
	barrier(); /* so that what is compared is what is used */
	return true;
}

static unsigned int find_note(const struct page_view *v, u64 off, u64 size,
			      u8 ret[LK_BUILD_ID])
{
	u64 end = off + min_t(u64, size, v->size), name, desc;
	struct elf32_note n;
	const void *text;

	while (off < end && take(v, off, &n, sizeof(n))) {
		name = off + sizeof(n);
		desc = name + ALIGN((u64)n.n_namesz, 4);
		off = desc + ALIGN((u64)n.n_descsz, 4);
		text = at(v, name, n.n_namesz);
		if (!text || !at(v, desc, n.n_descsz))
			return 0;
		if (n.n_type == NT_BUILD_ID && n.n_namesz == 4 &&
		    memcmp(text, "GNU", 4) == 0 && n.n_descsz > 0 &&
		    n.n_descsz <= LK_BUILD_ID)
			return take(v, desc, ret, n.n_descsz) ? n.n_descsz : 0;
	}
	return 0;
}

static unsigned int find_64(const struct page_view *v, u8 ret[LK_BUILD_ID])
{
	unsigned int i, n = 0;
	Elf64_Ehdr e;
	Elf64_Phdr p;

	if (!take(v, 0, &e, sizeof(e)))
		return 0;
	for (i = 0; !n && i < min_t(u32, e.e_phnum, MAX_PHDRS); i++) {
		if (!take(v, e.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return 0;
		if (p.p_type == PT_NOTE)
			n = find_note(v, p.p_offset, p.p_filesz, ret);
	}
	return n;
}

static unsigned int find_32(const struct page_view *v, u8 ret[LK_BUILD_ID])
{
	unsigned int i, n = 0;
	Elf32_Ehdr e;
	Elf32_Phdr p;

	if (!take(v, 0, &e, sizeof(e)))
		return 0;
	for (i = 0; !n && i < min_t(u32, e.e_phnum, MAX_PHDRS); i++) {
		if (!take(v, (u64)e.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return 0;
		if (p.p_type == PT_NOTE)
			n = find_note(v, p.p_offset, p.p_filesz, ret);
	}
	return n;
}

static unsigned int find(const struct page_view *v, u8 ret[LK_BUILD_ID])
{
	if (memcmp(v->bytes, ELFMAG, SELFMAG) != 0)
		return 0;
	return v->bytes[EI_CLASS] == ELFCLASS64 ? find_64(v, ret) :
						  find_32(v, ret);
}

unsigned int lk_build_id(struct file *file, u8 ret[LK_BUILD_ID])
{
	struct page_view v = { .size = PAGE_SIZE };
	struct page *page = find_get_page(file->f_mapping, 0);
	unsigned int n = 0;
	void *bytes;

	if (!page)
		return 0;
	if (PageUptodate(page)) {
		bytes = kmap_local_page(page);
		v.bytes = bytes;
		n = find(&v, ret);
		kunmap_local(bytes);
	}
	put_page(page);
	return n;
}
