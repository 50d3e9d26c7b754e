// SPDX-License-Identifier: BSD-2-Clause
#include "likeness.h"

#include <lzma.h>
#include <string.h>

#include "object.h"

#define SHT_PROGBITS 1
#define SHF_ALLOC    2

/* The telling bytes of an object, one run after another. */
struct runs {
	const struct ow_object *obj;
	bool is_whole; /* the file is the only run */
	uint32_t next; /* of the FIXED ones, then of the sections */
	uint64_t left; /* of OW_LIKENESS_MAX */
	bool too_many;
};

struct run {
	uint64_t off, size;
};

enum {
	FILE_HEADER,
	SEGMENT_HEADERS,
	SECTION_HEADERS,
	EH_FRAME_HDR,
	FIXED
};

static struct runs runs_of(const struct ow_object *obj)
{
	struct ow_elf_section sec;

	return (struct runs){
		.obj = obj,
		.is_whole = obj->is_image ||
			    !ow_object_section(obj, ".eh_frame", &sec),
		.left = OW_LIKENESS_MAX,
	};
}

static struct run fixed_run(const struct ow_elf *elf, uint32_t which)
{
	struct ow_elf_segment seg;

	switch (which) {
	case FILE_HEADER: return (struct run){ 0, elf->is_64 ? 64 : 52 };
	case SEGMENT_HEADERS:
		return (struct run){ elf->phoff,
				     (uint64_t)elf->phnum *
					     (elf->is_64 ? 56 : 32) };
	case SECTION_HEADERS:
		return (struct run){ elf->shoff,
				     (uint64_t)elf->shnum *
					     (elf->is_64 ? 64 : 40) };
	default: break;
	}
	for (uint32_t i = 0; ow_elf_segment(elf, i, &seg); i++)
		if (seg.type == OW_PT_GNU_EH_FRAME)
			return (struct run){ seg.off, seg.filesz };
	return (struct run){ 0, 0 };
}

/* Of what is loaded, CFI and the stubs of the PLT, which are named by code. */
static bool is_telling(const struct ow_elf *elf,
		       const struct ow_elf_section *sec)
{
	static const char *const telling[] = { ".eh_frame", ".eh_frame_hdr",
					       ".plt",      ".plt.got",
					       ".plt.sec",  ".got",
					       ".got.plt" };

	if (sec->type == OW_SHT_NOBITS)
		return false;
	if (sec->type != SHT_PROGBITS || !(sec->flags & SHF_ALLOC))
		return true;
	for (size_t i = 0; i < OW_ARRAY_SIZE(telling); i++)
		if (ow_elf_section_is(elf, sec, telling[i]))
			return true;
	return false;
}

/* The next run that may be one, also of no bytes; false after the last. */
static bool next_candidate(struct runs *r, struct run *ret)
{
	const struct ow_elf *elf = &r->obj->elf;
	struct ow_elf_section sec;
	uint32_t i = r->next++;

	if (r->is_whole) {
		*ret = (struct run){ 0, r->obj->size };
		return i == 0;
	}
	if (i < FIXED) {
		*ret = fixed_run(elf, i);
		return true;
	}
	if (!ow_elf_section(elf, i - FIXED, &sec))
		return false;
	*ret = (struct run){ sec.off, is_telling(elf, &sec) ? sec.size : 0 };
	return true;
}

/* The next run within the file; false after the last, or if there are too many. */
static bool next_run(struct runs *r, struct run *ret)
{
	while (next_candidate(r, ret)) {
		if (ret->off >= r->obj->size)
			continue;
		if (ret->size > r->obj->size - ret->off)
			ret->size = r->obj->size - ret->off;
		r->too_many = ret->size > r->left;
		if (r->too_many)
			return false;
		r->left -= ret->size;
		return true;
	}
	return false;
}

/* The number of telling bytes; 0: too many. */
static uint64_t count_bytes(const struct ow_object *obj)
{
	struct runs runs = runs_of(obj);
	struct run run;

	while (next_run(&runs, &run))
		;
	return runs.too_many ? 0 : OW_LIKENESS_MAX - runs.left;
}

uint64_t ow_likeness_hash(const struct ow_object *obj, uint64_t *ret)
{
	uint64_t size = count_bytes(obj), hash = obj->size;
	struct runs runs = runs_of(obj);
	struct run run;

	/* Where there are too many, not one is read. */
	while (size && next_run(&runs, &run))
		hash = lzma_crc64(obj->bytes + run.off, run.size, hash);
	*ret = hash;
	return size;
}

bool ow_likeness_is_same(const struct ow_object *a, const struct ow_object *b)
{
	struct runs runs = runs_of(a);
	struct run run;

	/* With equal headers all runs lie at the same places in both. */
	if (a->size != b->size || a->is_image != b->is_image)
		return false;
	while (next_run(&runs, &run))
		if (memcmp(a->bytes + run.off, b->bytes + run.off, run.size) !=
		    0)
			return false;
	return !runs.too_many;
}

/* The next PT_LOAD from header *i on, which moves past it; false at the end. */
static bool next_load(const struct ow_elf *elf, uint32_t *i,
		      struct ow_elf_segment *ret)
{
	while (ow_elf_segment(elf, (*i)++, ret))
		if (ret->type == OW_PT_LOAD)
			return true;
	return false;
}

static bool find_text(const struct ow_elf *elf, struct ow_elf_section *ret)
{
	for (uint32_t i = 1; ow_elf_section(elf, i, ret); i++)
		if (ow_elf_section_is(elf, ret, ".text"))
			return true;
	return false;
}

static bool is_same_text(const struct ow_elf *a, const struct ow_elf *b)
{
	struct ow_elf_section x, y;

	return find_text(a, &x) && find_text(b, &y) && x.vaddr == y.vaddr &&
	       x.size == y.size;
}

bool ow_likeness_of_layout(const struct ow_elf *a, const struct ow_elf *b)
{
	struct ow_elf_segment x, y;
	uint32_t i = 0, k = 0;
	bool has_x, has_y;

	if (a->arch != b->arch)
		return false;
	has_x = next_load(a, &i, &x);
	has_y = next_load(b, &k, &y);
	if (!has_x || !has_y)
		return is_same_text(a, b);
	while (has_x && has_y) {
		if (x.vaddr != y.vaddr || x.memsz != y.memsz ||
		    x.flags != y.flags)
			return false;
		has_x = next_load(a, &i, &x);
		has_y = next_load(b, &k, &y);
	}
	return has_x == has_y;
}
