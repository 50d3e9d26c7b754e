// SPDX-License-Identifier: BSD-2-Clause
#include "loaded.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "arch.h"
#include "err.h"
#include "localmem.h"
#include "machine.h"

#define MAX_LASTING 128

/*
 * Objects that the program started with, up to and with the dynamic linker: no
 * dlclose() unloads one.  Written once, before main() or by dlopen(); nr last.
 */
static struct ow_extent lasting[MAX_LASTING];
static size_t nr_lasting;

/* Not in each version of glibc, nor in musl. */
#pragma weak _dl_find_object

struct listing {
	uint64_t linker; /* where the dynamic linker is loaded */
	size_t nr;
	bool complete;
};

static struct ow_extent extent_of(const struct dl_phdr_info *info)
{
	struct ow_extent e = { UINT64_MAX, 0 };
	const ElfW(Phdr) *p = info->dlpi_phdr;
	size_t i;

	for (i = 0; i < info->dlpi_phnum; i++, p++) {
		if (p->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + p->p_vaddr < e.start)
			e.start = info->dlpi_addr + p->p_vaddr;
		if (info->dlpi_addr + p->p_vaddr + p->p_memsz > e.end)
			e.end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	return e;
}

static int list_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct listing *l = arg;

	(void)size;
	if (l->nr == MAX_LASTING)
		return 1;
	lasting[l->nr++] = extent_of(info);
	l->complete = info->dlpi_addr == l->linker;
	return l->complete;
}

__attribute__((constructor)) static void list_lasting(void)
{
	struct listing l = { .linker = getauxval(AT_BASE) };

	dl_iterate_phdr(list_one, &l);
	if (l.complete || (l.linker == 0 && l.nr == 1))
		__atomic_store_n(&nr_lasting, l.nr, __ATOMIC_RELEASE);
}

static bool is_lasting(uint64_t addr)
{
	size_t nr = __atomic_load_n(&nr_lasting, __ATOMIC_ACQUIRE);
	size_t i;

	for (i = 0; i < nr; i++)
		if (addr - lasting[i].start < lasting[i].end - lasting[i].start)
			return true;
	return false;
}

static uint64_t stir(uint64_t tag, uint64_t value)
{
	tag = (tag ^ value) * 0x9e3779b97f4a7c15ULL;
	return tag ^ tag >> 29;
}

/* Of the words at start, each with a factor of its own. */
static uint64_t sum_words(uint64_t start, uint64_t end)
{
	uint64_t factor = 0x9e3779b97f4a7c15ULL, sum = 0, at;

	for (at = start; at < end; at += 8) {
		sum += ow_local_word(at) * factor;
		factor += 0xd1342543de82ef96ULL;
	}
	return sum;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Another object may come to lie where one was, even with the same link_map; so
 * the tag is of its first bytes, too (ELF header, program headers, as a rule
 * the build-id), and of those that its search table begins with, in its page:
 * behind that there may be a hole between segments.
 */
static uint64_t tag_of(const struct ow_loaded *l, const struct link_map *map)
{
	uint64_t tag = stir(stir(l->start, l->end), l->hdr);
	uint64_t table = l->hdr & ~(uint64_t)7;
	uint64_t page_end = (l->hdr | (OW_LOCAL_PAGE - 1)) + 1;

	tag = stir(tag, (uintptr_t)map);
	if (map)
		tag = stir(stir(tag, map->l_addr), (uintptr_t)map->l_ld);
	tag = stir(tag, sum_words(l->start, least(l->end, l->start + 1024)));
	if (l->hdr)
		tag = stir(tag, sum_words(table, least(page_end, table + 128)));
	return tag | 1;
}

static bool find_object(uint64_t addr, struct ow_loaded *ret)
{
	struct dl_find_object o;
	const struct link_map *map;

	if (_dl_find_object((void *)(uintptr_t)addr, &o))
		return false;
	map = o.dlfo_link_map;
	*ret = (struct ow_loaded){
		.start = (uintptr_t)o.dlfo_map_start,
		.end = (uintptr_t)o.dlfo_map_end,
		.hdr = (uintptr_t)o.dlfo_eh_frame,
		.path = map ? map->l_name : NULL,
		.bias = map ? map->l_addr : 0,
	};
	if (!is_lasting(addr))
		ret->tag = tag_of(ret, map);
	return true;
}

struct search {
	uint64_t addr;
	struct ow_loaded *ret;
};

static int match(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct ow_extent e = extent_of(info);
	size_t i;

	if (s->addr - e.start >= e.end - e.start || e.end <= e.start)
		return 0;
	*s->ret = (struct ow_loaded){ .start = e.start,
				      .end = e.end,
				      .path = info->dlpi_name,
				      .bias = info->dlpi_addr };
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			s->ret->hdr =
				info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	if (is_lasting(s->addr))
		return 1;
	s->ret->tag = tag_of(s->ret, NULL);
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + 8)
		s->ret->tag = stir(stir(s->ret->tag, info->dlpi_adds),
				   info->dlpi_subs) |
			      1;
	return 1;
}

bool ow_loaded_find(uint64_t addr, struct ow_loaded *ret)
{
	struct search s = { addr, ret };

	if (_dl_find_object)
		return find_object(addr, ret);
	return dl_iterate_phdr(match, &s) != 0;
}

/* The end of the segment that holds addr, for a bound on what is read there. */
static uint64_t segment_end(const struct ow_loaded *l, uint64_t addr)
{
	const ElfW(Ehdr) *eh = (const void *)(uintptr_t)l->start;
	const ElfW(Phdr) * p;
	uint64_t at;
	size_t i;

	if (l->end - l->start < OW_LOCAL_PAGE ||
	    memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_phoff > OW_LOCAL_PAGE ||
	    eh->e_phoff + eh->e_phnum * sizeof(*p) > OW_LOCAL_PAGE)
		return l->end;
	p = (const void *)(uintptr_t)(l->start + eh->e_phoff);
	for (i = 0; i < eh->e_phnum; i++, p++) {
		at = l->bias + p->p_vaddr;
		if (p->p_type == PT_LOAD && addr - at < p->p_memsz)
			return at + p->p_memsz;
	}
	return l->end;
}

int ow_loaded_cfi(const struct ow_loaded *l, struct ow_cfi *ret)
{
	struct ow_section hdr = { (const uint8_t *)(uintptr_t)l->hdr, 0,
				  l->hdr };
	uint64_t eh_frame;
	int err;

	if (!l->hdr)
		return -OW_ENOENT;
	hdr.size = segment_end(l, l->hdr) - l->hdr;
	*ret = (struct ow_cfi){ .arch = ow_machine.arch };
	err = ow_cfi_set_hdr(ret, &hdr, &eh_frame);
	if (err)
		return err;
	if (eh_frame - l->start >= l->end - l->start)
		return -OW_EFORMAT;
	ret->eh_frame = (struct ow_section){
		.bytes = (const uint8_t *)(uintptr_t)eh_frame,
		.size = segment_end(l, eh_frame) - eh_frame,
		.vaddr = eh_frame,
	};
	return 0;
}

static const ElfW(Dyn) * dynamic_of(const struct ow_loaded *l)
{
	struct dl_find_object o;
	const struct link_map *map;

	if (!_dl_find_object ||
	    _dl_find_object((void *)(uintptr_t)l->start, &o))
		return NULL;
	map = o.dlfo_link_map;
	return map ? map->l_ld : NULL;
}

uint64_t ow_loaded_gp(const struct ow_loaded *l)
{
	const ElfW(Dyn) *d = dynamic_of(l);

	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_PLTGOT)
			return d->d_un.d_ptr;
	return 0;
}
