// SPDX-License-Identifier: BSD-2-Clause
#include "object.h"

#include <elf.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch.h"
#include "budget.h"
#include "bulk.h"
#include "err.h"
#include "error.h"
#include "fdeindex.h"
#include "filemap.h"
#include "hash.h"
#include "inflate.h"
#include "leftout.h"
#include "monotonic.h"

#define PAGE_MASK       0xfffULL /* the smallest page of any target */
#define MOST_PREFAULTED (4 << 20)
#define FEW_SECTIONS    256 /* that need not be counted */
#define LOOKS           8   /* for sections, of an object that frames are in */
#define MOST_NAMES      (16U << 20) /* bytes of sections' names, in a user's file */
#define AROUND          65536       /* bytes of pages that come with one */

/* How often CFI is tried again, and how long it may miss a part that is to come. */
#define MOST_TRIES 8
#define LATE_NS    120000000000ULL

/*
 * Files are mapped in whole, and a user can make files of holes, without end, of up to 8
 * EiB each: so that there are addresses left for others, large ones may have so many bytes
 * of these in all, and no file more than a part of what is left.
 */
#define LARGE       ((uint64_t)2 << 30)
#define MOST_MAPPED ((uint64_t)32 << 40)
#define SHARES      4

#define MOST_HOLES  (4U << 20) /* bytes of a file that may be holes anyway */
#define MOST_PACKED 8          /* bytes that one on disk stands for */
#define BLOCK       512        /* of st_blocks */

#define MOST_ALIASES 8 /* of a file; others count for users who are not known */
#define SLOTS        4096

static atomic_uint_least64_t mapped; /* by large files */

static bool take_addresses(uint64_t size)
{
	uint64_t before = atomic_load(&mapped);

	if (size <= LARGE)
		return true;
	do {
		if (size > (MOST_MAPPED - before) / SHARES)
			return false;
	} while (
		!atomic_compare_exchange_weak(&mapped, &before, before + size));
	return true;
}

static void give_addresses(uint64_t size)
{
	if (size > LARGE)
		atomic_fetch_sub(&mapped, size);
}

/*
 * Return true if nearly all of a user's file is holes, which cost the user nothing; each page
 * of them that is looked at is memory, of a file in memory for good.  What compresses files
 * leaves an eighth of programs, and may tell of no blocks yet of a new one.
 */
static bool is_hollow(int fd, const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;
	off_t at, hole;

	if (size <= MOST_HOLES ||
	    (uint64_t)st->st_blocks * BLOCK >= size / MOST_PACKED)
		return false;
	at = lseek(fd, 0, SEEK_CUR);
	hole = lseek(fd, 0, SEEK_HOLE);
	lseek(fd, at, SEEK_SET);
	return hole < st->st_size;
}

static struct ow_filemap *map(int fd, const struct ow_identity *file,
			      const char *path)
{
	const uint64_t size = file->size;
	struct ow_filemap *m;

	if (!take_addresses(size)) {
		ow_lose_file(path, "too large to be mapped beside others");
		errno = EFBIG;
		return NULL;
	}
	m = ow_identity_is_ours(file) ?
		    ow_filemap_open(fd, size, path, 0) :
		    ow_filemap_open_growing(fd, size, path, 0);
	if (!m)
		give_addresses(size);
	return m;
}

static void unmap(struct ow_filemap *m, uint64_t size)
{
	ow_filemap_close(m);
	give_addresses(size);
}

static void give_back(const struct ow_object *obj)
{
	if (obj->map)
		unmap(obj->map, obj->size);
	else if (!obj->is_lent)
		free((void *)obj->bytes);
}

/*
 * Each look for a section goes through all headers, and their names, which may lie anywhere
 * among others.  An object that has more than the run has time for goes without: its program
 * headers tell of frames, too.
 */
static void count_headers(struct ow_object *obj)
{
	uint64_t size = (uint64_t)obj->elf.shnum * sizeof(Elf64_Shdr);

	if (obj->elf.shnum <= FEW_SECTIONS)
		return;
	if ((!obj->owner.share || obj->elf.names_size <= MOST_NAMES) &&
	    ow_bulk_take(OW_BULK_SECTIONS, &obj->owner, LOOKS * size))
		return;
	ow_object_refuse(obj, -OW_CODE_TIMEOUT, "its section headers");
	obj->elf.shnum = 0;
}

/* Read the file header.  No frame is in code of a core file, whose segments have no limit. */
static int parse(struct ow_object *obj, struct ow_error *err)
{
	int why = ow_elf_parse(&obj->elf, obj->bytes, obj->size);

	if (why && ow_object_is_cut(obj))
		return ow_object_fail_cut(obj, err);
	if (why == -OW_EUNSUPPORTED)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: ELF file of a machine that outwind "
			       "doesn't know",
			       obj->path);
	if (why)
		return ow_fail(err, OW_CODE_FORMAT, "%s: not an ELF file",
			       obj->path);
	if (obj->elf.type == OW_ET_CORE)
		return ow_fail(err, OW_CODE_FORMAT,
			       "%s: a core file, not an object", obj->path);
	return 0;
}

/*
 * Names by which root's files are open, counted by the hash of the file: a user can give one
 * any number of names, by mounts of its own, and what is made of each is of no user's share.
 */
static atomic_uint aliases[SLOTS];

static atomic_uint *aliases_of(const struct ow_identity *file)
{
	return &aliases[ow_hash_word(file->dev ^ ow_hash_word(file->inode)) %
			SLOTS];
}

/* One more name; for a file with too many the owner is another one. */
static void count_alias(struct ow_object *obj)
{
	if (obj->owner.share || !obj->map)
		return;
	obj->is_counted = true;
	if (atomic_fetch_add(aliases_of(&obj->file), 1) >= MOST_ALIASES)
		obj->owner = ow_owner_of((uid_t)-1);
}

static void uncount_alias(const struct ow_object *obj)
{
	if (obj->is_counted)
		atomic_fetch_sub(aliases_of(&obj->file), 1);
}

/* An object with these bytes, which are given back if that fails. */
static struct ow_object *create(const struct ow_object *with, const char *path,
				struct ow_error *err)
{
	struct ow_object *obj = malloc(sizeof(*obj));
	struct ow_owner own = with->owner;
	const uint8_t *id;

	if (!obj) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		ow_owner_give(&own, own.bytes);
		give_back(with);
		return NULL;
	}
	*obj = *with;
	obj->fd = -1;
	obj->is_image = !obj->map;
	count_alias(obj);
	obj->path = strdup(path);
	if (!obj->path)
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
	if (!obj->path || parse(obj, err)) {
		ow_object_close(obj);
		return NULL;
	}
	id = ow_elf_build_id(&obj->elf, &obj->build_id_size);
	if (id && obj->build_id_size > sizeof(obj->build_id))
		obj->build_id_size = sizeof(obj->build_id);
	if (id)
		memcpy(obj->build_id, id, obj->build_id_size);
	else
		obj->build_id_size = 0;
	count_headers(obj);
	if (obj->elf.phnum <= OW_MOST_SEGMENTS &&
	    ow_readonly_make(&obj->readonly, &obj->elf)) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		ow_object_close(obj);
		return NULL;
	}
	return obj;
}

/* The owner of what is made of a file; who else may write to a file of root's isn't known. */
static struct ow_owner owner_of(const struct ow_identity *file)
{
	if (ow_identity_is_ours(file))
		return ow_owner_of(0);
	return ow_owner_of(file->uid ? file->uid : (uid_t)-1);
}

struct ow_object *ow_object_open_fd(int fd, const char *path,
				    struct ow_error *err)
{
	struct ow_object with = { 0 }, *obj;
	struct stat st;

	if (fstat(fd, &st)) {
		ow_fail(err, OW_CODE_SYSTEM, "stat %s", path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size == 0) {
		ow_fail(err, OW_CODE_FORMAT, "%s: not an ELF file", path);
		return NULL;
	}
	with.file = ow_identity_of(&st);
	with.owner = owner_of(&with.file);
	if (with.owner.share && is_hollow(fd, &st)) {
		ow_lose_file(path, "a file that is nearly all holes");
		ow_fail(err, OW_CODE_ABSENT, "%s: nearly all of it is holes",
			path);
		return NULL;
	}
	with.map = map(fd, &with.file, path);
	if (!with.map) {
		ow_fail(err, OW_CODE_SYSTEM, "map %s", path);
		return NULL;
	}
	with.bytes = ow_filemap_bytes(with.map);
	with.size = (size_t)st.st_size;
	obj = create(&with, path, err);
	if (!ow_object_is_cut(obj))
		return obj;
	ow_object_fail_cut(obj, err);
	ow_object_close(obj);
	return NULL;
}

struct ow_object *ow_object_open(const char *path, struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = ow_open_regular(path);

	if (fd < 0)
		ow_fail_open(err, path, "not an ELF file");
	return fd < 0 ? NULL : ow_object_open_fd(fd, path, err);
}

struct ow_object *ow_object_from_image(uint8_t *bytes, size_t size,
				       struct ow_owner own, const char *path,
				       struct ow_error *err)
{
	const struct ow_object with = {
		.bytes = bytes,
		.size = size,
		.owner = own,
	};

	return create(&with, path, err);
}

struct ow_object *ow_object_of_bytes(const uint8_t *bytes, size_t size,
				     const char *path, struct ow_error *err)
{
	const struct ow_object with = {
		.bytes = bytes,
		.size = size,
		.is_lent = true,
		.owner = ow_owner_of((uid_t)-1),
	};

	return create(&with, path, err);
}

struct ow_object *ow_object_share(struct ow_object *obj)
{
	obj->nr_more++;
	return obj;
}

void ow_object_close(struct ow_object *obj)
{
	if (!obj || (obj->nr_more && obj->nr_more--))
		return;
	ow_object_drop_fd(obj);
	ow_object_close(obj->debug);
	ow_object_close(obj->shared);
	give_back(obj);
	free((void *)obj->cfi.eh_index.refs);
	free((void *)obj->cfi.debug_index.refs);
	free((void *)obj->cfi.known);
	free(obj->debug_frame.bytes);
	ow_readonly_deinit(&obj->readonly);
	ow_owner_give(&obj->owner, obj->owner.bytes);
	uncount_alias(obj);
	free(obj->path);
	free(obj->root);
	free(obj);
}

/*
 * The first section of each name, of one pass over them all; bit i: the section
 * names[i] is there, and lies in the file.
 */
static unsigned int find_sections(const struct ow_object *obj,
				  const char *const *names, unsigned int nr,
				  struct ow_elf_section *ret)
{
	unsigned int left = (1u << nr) - 1, there = 0, k;
	struct ow_elf_section sec;
	char second; /* of the name: the first one is a dot mostly */
	uint32_t i;

	for (i = 1; left && ow_elf_section(&obj->elf, i, &sec); i++) {
		if (sec.type == OW_SHT_NOBITS)
			continue;
		second = ow_elf_section_char(&obj->elf, &sec, 1);
		for (k = 0; k < nr; k++)
			if (left >> k & 1 && names[k][1] == second &&
			    ow_elf_section_is(&obj->elf, &sec, names[k]))
				break;
		if (k == nr)
			continue;
		left &= ~(1u << k);
		if (sec.off > obj->size || sec.size > obj->size - sec.off)
			continue;
		there |= 1u << k;
		ret[k] = sec;
	}
	return there;
}

bool ow_object_section(const struct ow_object *obj, const char *name,
		       struct ow_elf_section *ret)
{
	return find_sections(obj, &name, 1, ret);
}

bool ow_object_bias(const struct ow_object *obj, uint64_t addr, uint64_t off,
		    uint64_t *ret)
{
	struct ow_elf_segment seg;
	bool found = false;
	uint32_t i;

	if (obj->elf.phnum > OW_MOST_SEGMENTS)
		return false;
	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++) {
		/* Mappings begin at pages; two segments may share one. */
		if (seg.type != OW_PT_LOAD || off < (seg.off & ~PAGE_MASK) ||
		    off >= seg.off + seg.filesz)
			continue;
		if (found && !(seg.flags & OW_PF_X))
			continue;
		*ret = addr - (seg.vaddr + (off - seg.off));
		found = true;
	}
	return found;
}

void ow_object_build_id(const struct ow_object *obj, char *buf)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < obj->build_id_size; i++) {
		*buf++ = digits[obj->build_id[i] >> 4];
		*buf++ = digits[obj->build_id[i] & 15];
	}
	*buf = '\0';
}

/* The program header's .eh_frame_hdr, and the .eh_frame that it points to. */
static void take_hdr(struct ow_object *obj)
{
	struct ow_cfi *cfi = &obj->cfi;
	struct ow_elf_segment seg;
	struct ow_section hdr;
	uint64_t eh_frame, size;
	uint32_t i;

	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++)
		if (seg.type == OW_PT_GNU_EH_FRAME)
			break;
	/* Headers may end before their number says so. */
	if (!ow_elf_segment(&obj->elf, i, &seg))
		return;
	hdr.vaddr = seg.vaddr;
	hdr.bytes = ow_elf_at(&obj->elf, seg.vaddr, &hdr.size);
	if (!hdr.bytes)
		return;
	if (hdr.size > seg.filesz)
		hdr.size = seg.filesz;
	if (ow_cfi_set_hdr(cfi, &hdr, &eh_frame))
		return;
	cfi->eh_frame.bytes = ow_elf_at(&obj->elf, eh_frame, &size);
	if (!cfi->eh_frame.bytes) {
		cfi->hdr_table = NULL;
		return;
	}
	/* It ends at its terminator; the segment is the bound. */
	cfi->eh_frame.size = size;
	cfi->eh_frame.vaddr = eh_frame;
}

/* Sections that tell of frames; only some objects have section headers. */
enum {
	EH_FRAME,
	DEBUG_FRAME,
	ZDEBUG_FRAME,
	ORC_IPS,
	ORC_ENTRIES,
	ORC_HEADER,
	NR_SECTIONS
};

static const char *const section_names[NR_SECTIONS] = {
	[EH_FRAME] = ".eh_frame",         [DEBUG_FRAME] = ".debug_frame",
	[ZDEBUG_FRAME] = ".zdebug_frame", [ORC_IPS] = ".orc_unwind_ip",
	[ORC_ENTRIES] = ".orc_unwind",    [ORC_HEADER] = ".orc_header",
};

struct frame_sections {
	struct ow_elf_section list[NR_SECTIONS];
	unsigned int there; /* bit n: list[n] */
};

static bool has(const struct frame_sections *s, unsigned int which)
{
	return s->there >> which & 1;
}

static void take_eh_frame(struct ow_object *obj, const struct frame_sections *s)
{
	const struct ow_elf_section *sec = &s->list[EH_FRAME];
	struct ow_section *eh = &obj->cfi.eh_frame;

	if (!has(s, EH_FRAME))
		return;
	obj->cfi_size = sec->size + obj->cfi.hdr.size;
	if (eh->bytes && sec->vaddr != eh->vaddr)
		return;
	*eh = (struct ow_section){ obj->bytes + sec->off, sec->size,
				   sec->vaddr };
}

/* Leave some of the object's CFI out: for now, if it is for want of time. */
static void refuse_cfi(struct ow_object *obj, int failed, const char *what)
{
	obj->cfi_is_late |= failed == -OW_CODE_TIMEOUT;
	ow_object_refuse(obj, failed, what);
}

/* Return false if there is no memory, or time, for what is decompressed. */
static bool take_debug_frame(struct ow_object *obj,
			     const struct frame_sections *s)
{
	bool is_plain = has(s, DEBUG_FRAME);
	const struct ow_elf_section *sec =
		&s->list[is_plain ? DEBUG_FRAME : ZDEBUG_FRAME];
	struct ow_section *df = &obj->cfi.debug_frame;
	struct ow_packed packed;
	int failed;

	if (df->bytes || (!is_plain && !has(s, ZDEBUG_FRAME)))
		return true;
	if (is_plain && !(sec->flags & OW_SHF_COMPRESSED)) {
		*df = (struct ow_section){ obj->bytes + sec->off, sec->size,
					   0 };
		return true;
	}
	packed = (struct ow_packed){ obj->bytes + sec->off, sec->size,
				     obj->elf.is_64, !is_plain };
	failed = ow_inflate(&packed, &obj->owner, &obj->debug_frame);
	if (!failed)
		*df = (struct ow_section){ obj->debug_frame.bytes,
					   obj->debug_frame.size, 0 };
	if (failed != -OW_CODE_MEMORY && failed != -OW_CODE_TIMEOUT)
		return true;
	refuse_cfi(obj, failed, "its .debug_frame");
	return false;
}

/* Linux's; its build sorts it. */
static void take_orc(struct ow_object *obj, const struct frame_sections *s)
{
	const struct ow_elf_section *ips = &s->list[ORC_IPS];
	const struct ow_elf_section *entries = &s->list[ORC_ENTRIES];

	if (obj->elf.arch != &ow_arch_x86_64 || !has(s, ORC_IPS) ||
	    !has(s, ORC_ENTRIES))
		return;
	obj->orc = (struct ow_orc){
		.ips = obj->bytes + ips->off,
		.ips_vaddr = ips->vaddr,
		.entries = obj->bytes + entries->off,
		.nr = ips->size / 4 < entries->size / 6 ? ips->size / 4 :
							  entries->size / 6,
		/* The header came with 6.4; 6.3 has no mark. */
		.has_signal = has(s, ORC_HEADER),
	};
}

/*
 * Of a section without a table to search; what has no index is not found.
 * Return false if there is no memory or time for it.
 */
static bool add_index(struct ow_object *obj, bool is_debug,
		      struct ow_fde_index *ret)
{
	const struct ow_section *sec = is_debug ? &obj->cfi.debug_frame :
						  &obj->cfi.eh_frame;
	int failed;

	if (!sec->bytes || ret->refs)
		return true;
	if (!ow_bulk_take(OW_BULK_UNWIND, &obj->owner, sec->size)) {
		refuse_cfi(obj, -OW_CODE_TIMEOUT,
			   is_debug ? "its .debug_frame" : "its .eh_frame");
		return false;
	}
	failed = ow_fde_index_build(&obj->cfi, is_debug, &obj->owner, ret);
	if (!failed)
		return true;
	refuse_cfi(obj, failed,
		   is_debug ? "an index of its .debug_frame" :
			      "an index of its .eh_frame");
	return false;
}

static bool has_some_cfi(const struct ow_object *obj)
{
	const struct ow_cfi *cfi = &obj->cfi;

	return cfi->hdr_table || cfi->eh_index.nr || cfi->debug_index.nr;
}

/* Return true if the object's CFI is to be loaded, at first or again. */
static bool is_cfi_due(struct ow_object *obj)
{
	if (obj->cfi_is_late && has_some_cfi(obj) &&
	    ow_now_ns() - obj->cfi_since > LATE_NS)
		obj->cfi_is_late = false;
	return !obj->cfi_loaded ||
	       (obj->cfi_is_late &&
		ow_bulk_may_retry(&obj->owner, obj->cfi_tries));
}

/* There was no time for some of the object's CFI, once more. */
static void count_try(struct ow_object *obj)
{
	if (!obj->cfi_tries)
		obj->cfi_since = ow_now_ns();
	obj->cfi_is_late = ++obj->cfi_tries < MOST_TRIES;
}

/* Return false if there is no memory, or time, for some of it. */
static bool load_cfi(struct ow_object *obj)
{
	struct ow_cfi *cfi = &obj->cfi;
	struct frame_sections s;
	bool whole;

	cfi->arch = obj->elf.arch;
	if (!obj->cfi_loaded)
		take_hdr(obj);
	obj->cfi_loaded = true;
	obj->cfi_is_late = false;
	s.there = find_sections(obj, section_names, NR_SECTIONS, s.list);
	take_eh_frame(obj, &s);
	whole = take_debug_frame(obj, &s);
	take_orc(obj, &s);
	if (!cfi->hdr_table)
		whole &= add_index(obj, false, &cfi->eh_index);
	whole &= add_index(obj, true, &cfi->debug_index);
	if (obj->cfi_is_late)
		count_try(obj);
	return whole;
}

int ow_object_load_cfi(struct ow_object *obj, struct ow_error *err)
{
	bool whole = is_cfi_due(obj) ? load_cfi(obj) : !obj->cfi_is_late;

	if (whole || has_some_cfi(obj))
		return 0;
	return ow_fail(
		err, OW_CODE_MEMORY,
		"%s: its unwind data would take more memory or time than "
		"it may",
		obj->path);
}

static void know_cie(struct ow_cfi *cfi)
{
	struct ow_known_cie *known = cfi->known ? NULL : malloc(sizeof(*known));
	struct ow_cfa cfa;

	if (known && ow_cfi_know_cie(cfi, &cfa, known))
		cfi->known = known;
	else
		free(known);
}

void ow_object_prefault_cfi(struct ow_object *obj)
{
	const uint8_t *start = obj->cfi.hdr.bytes;
	const uint8_t *end = obj->cfi.eh_frame.bytes;

	/* Linkers put .eh_frame right behind .eh_frame_hdr. */
	if (obj->is_image || !start || end < start)
		return;
	end += obj->cfi_size - obj->cfi.hdr.size;
	if (end - start > MOST_PREFAULTED || end > obj->bytes + obj->size)
		return;
	start -= (uintptr_t)start & PAGE_MASK;
	/*
	 * One page is mapped with those around it (Linux, mm/memory.c,
	 * fault_around_bytes), which takes less than each page by itself.  Older
	 * kernels (before 5.14) refuse, and then pages fault in later.
	 */
	for (; start < end; start += AROUND - ((uintptr_t)start & (AROUND - 1)))
		madvise((void *)start, 1, MADV_POPULATE_READ);
	know_cie(&obj->cfi);
}

bool ow_object_is_cut(const struct ow_object *obj)
{
	return obj && ow_filemap_is_cut(obj->map);
}

int ow_object_fail_cut(const struct ow_object *obj, struct ow_error *err)
{
	return ow_fail(err, OW_CODE_FORMAT,
		       "%s: cut off, or not readable, while it was read",
		       obj->path);
}

/* Return true if nobody but root and we may write to the object's file. */
static bool is_ours(const struct ow_object *obj)
{
	return obj->map && !obj->is_image &&
	       ow_identity_is_file(obj->file.dev, obj->file.inode) &&
	       ow_identity_is_ours(&obj->file);
}

void ow_object_refuse(const struct ow_object *obj, int failed, const char *what)
{
	char text[128];

	snprintf(text, sizeof(text), "%s %s", what,
		 failed == -OW_CODE_MEMORY ?
			 OW_BUDGET_SPENT :
			 "would take too long to look through");
	if (is_ours(obj))
		ow_leave_out_ours(obj->path, text);
	else
		ow_leave_out(obj->path, text);
}
