// SPDX-License-Identifier: BSD-2-Clause
#include "objectwatch.h"

#include "elfsym.h"
#include "filemap.h"
#include "hash.h"
#include "monotonic.h"
#include "object.h"

#define PT_DYNAMIC 2
#define SHT_RELA   4
#define SHT_REL    9
#define SHF_ALLOC  2
#define LOOK_SHARE 16 /* one part of so many of the time is spent on looks */

/* What is hashed of a file, one run of bytes after another. */
struct runs {
	const struct ow_object *obj;
	bool is_counted; /* none is read */
	bool too_many;
	uint64_t left; /* of OW_OBJECTWATCH_MAX */
	uint64_t hash;
};

static void take_run(struct runs *r, uint64_t off, uint64_t size)
{
	const struct ow_object *obj = r->obj;

	if (off >= obj->size || !size)
		return;
	if (size > obj->size - off)
		size = obj->size - off;
	r->too_many |= size > r->left;
	if (r->too_many)
		return;
	r->left -= size;
	if (!r->is_counted)
		r->hash =
			ow_hash((uint64_t[]){ r->hash, off, size,
					      ow_hash(obj->bytes + off, size) },
				32);
}

/* The headers, and what program headers lead to. */
static void take_headers(struct runs *r)
{
	const struct ow_elf *elf = &r->obj->elf;
	struct ow_elf_segment seg;

	take_run(r, 0, elf->is_64 ? 64 : 52);
	take_run(r, elf->phoff, (uint64_t)elf->phnum * (elf->is_64 ? 56 : 32));
	take_run(r, elf->shoff, (uint64_t)elf->shnum * (elf->is_64 ? 64 : 40));
	take_run(r, elf->names_off, elf->names_size);
	for (uint32_t i = 0; ow_elf_segment(elf, i, &seg); i++)
		if (seg.type == OW_PT_GNU_EH_FRAME || seg.type == PT_DYNAMIC)
			take_run(r, seg.off, seg.filesz);
}

static void take_symbols(struct runs *r, uint32_t type)
{
	const uint8_t *bytes = r->obj->bytes;
	struct ow_elfsyms t;

	if (!ow_elfsyms_init(&t, &r->obj->elf, type))
		return;
	take_run(r, (uint64_t)(t.syms - bytes), ow_elfsyms_size(&t));
	take_run(r, (uint64_t)((const uint8_t *)t.names - bytes), t.names_size);
}

/* CFI, packed symbols, and the stubs of the PLT, which are named by code, */
static bool is_of_frames(const struct ow_elf *elf,
			 const struct ow_elf_section *sec)
{
	static const char *const names[] = {
		".eh_frame",      ".eh_frame_hdr",  ".debug_frame",
		".zdebug_frame",  ".plt",           ".plt.got",
		".plt.sec",       ".got",           ".got.plt",
		".gnu_debugdata", ".gnu_debuglink", ".gnu_debugaltlink",
	};

	for (size_t i = 0; i < OW_ARRAY_SIZE(names); i++)
		if (ow_elf_section_is(elf, sec, names[i]))
			return true;
	return false;
}

/* and by relocations, whatever these are called (plt.c). */
static bool has_relocations(const struct ow_elf_section *sec)
{
	return (sec->type == SHT_RELA || sec->type == SHT_REL) &&
	       sec->flags & SHF_ALLOC;
}

static bool is_of_lines(const struct ow_elf *elf,
			const struct ow_elf_section *sec)
{
	bool is_packed = ow_elf_section_char(elf, sec, 1) == 'z';
	const char *begin = is_packed ? ".zdebug_" : ".debug_";

	for (uint32_t i = 0; begin[i]; i++)
		if (ow_elf_section_char(elf, sec, i) != begin[i])
			return false;
	return true;
}

static void take_sections(struct runs *r, bool with_lines)
{
	const struct ow_elf *elf = &r->obj->elf;
	struct ow_elf_section sec;

	for (uint32_t i = 1; ow_elf_section(elf, i, &sec); i++)
		if (sec.type != OW_SHT_NOBITS &&
		    (is_of_frames(elf, &sec) || has_relocations(&sec) ||
		     (with_lines && is_of_lines(elf, &sec))))
			take_run(r, sec.off, sec.size);
}

static struct runs take_all(const struct ow_object *obj, bool is_counted)
{
	struct runs r = {
		.obj = obj,
		.is_counted = is_counted,
		.left = OW_OBJECTWATCH_MAX,
		.hash = obj->size,
	};

	take_headers(&r);
	take_symbols(&r, OW_SHT_SYMTAB);
	take_symbols(&r, OW_SHT_DYNSYM);
	take_sections(&r, obj->watch.with_lines);
	return r;
}

struct ow_object *ow_objectwatch_file(struct ow_object *obj, unsigned int i)
{
	struct ow_object *debug = obj->debug;
	struct ow_object *const all[] = {
		obj,
		debug,
		obj->shared,
		debug ? debug->shared : NULL,
	};

	for (size_t k = 0; k < OW_ARRAY_SIZE(all); k++)
		if (all[k] && i-- == 0)
			return all[k];
	return NULL;
}

static bool is_mapped_file(const struct ow_object *obj)
{
	return obj->map && !obj->is_image &&
	       ow_identity_is_file(obj->file.dev, obj->file.inode);
}

bool ow_objectwatch_is_others(const struct ow_object *obj)
{
	return !is_mapped_file(obj) || !ow_identity_is_ours(&obj->file);
}

static bool has_to_be_hashed(const struct ow_object *file)
{
	return is_mapped_file(file) && ow_objectwatch_is_others(file);
}

/* The hash of what there is now. */
static uint64_t look(struct ow_object *obj)
{
	uint64_t begun = ow_now_ns(), hash = take_all(obj, false).hash;

	obj->watch.looked_ns = ow_now_ns();
	obj->watch.cost_ns = obj->watch.looked_ns - begun;
	return hash;
}

static uint64_t begin(struct ow_object *file, bool with_lines)
{
	struct runs counted;

	if (file->watch.is_hashed || !has_to_be_hashed(file))
		return 0;
	file->watch.with_lines = with_lines;
	counted = take_all(file, true);
	if (counted.too_many)
		return 0;
	file->watch.hash = look(file);
	file->watch.is_hashed = true;
	return OW_OBJECTWATCH_MAX - counted.left;
}

uint64_t ow_objectwatch_begin(struct ow_object *obj, bool with_lines)
{
	struct ow_object *file;
	uint64_t read = 0;

	for (unsigned int i = 0; (file = ow_objectwatch_file(obj, i)); i++)
		read += begin(file, with_lines);
	return read;
}

bool ow_objectwatch_is_blind(const struct ow_object *file)
{
	return has_to_be_hashed(file) && !file->watch.is_hashed;
}

static bool is_rewritten(struct ow_object *file, bool is_due)
{
	struct ow_objectwatch *w = &file->watch;

	if (w->is_hashed && !w->is_changed &&
	    (is_due || ow_now_ns() - w->looked_ns >= LOOK_SHARE * w->cost_ns))
		w->is_changed = look(file) != w->hash;
	return w->is_changed;
}

static bool are_debug_files_rewritten(struct ow_object *obj)
{
	struct ow_object *file;

	for (unsigned int i = 1; (file = ow_objectwatch_file(obj, i)); i++)
		if (is_rewritten(file, false))
			return true;
	return false;
}

bool ow_objectwatch_is_rewritten(struct ow_object *obj)
{
	return is_rewritten(obj, false) || are_debug_files_rewritten(obj);
}

bool ow_objectwatch_is_same(struct ow_object *obj,
			    const struct ow_object *again)
{
	bool is_same = obj->watch.is_hashed && again->watch.is_hashed ?
			       obj->watch.hash == again->watch.hash :
			       !is_rewritten(obj, false);

	return is_same && !are_debug_files_rewritten(obj);
}

/*
 * A file that gets or loses a name, or other permissions, has another ctime, too.  But
 * who may write to it may have done that, and set its mtime back.  Of one that has lost
 * its name, as a package that is upgraded has it, the hash tells, if there is one.
 */
static bool is_newer(const struct ow_object *obj, const struct ow_identity *now)
{
	const struct ow_identity *before = &obj->file;

	if (!ow_identity_is_inode(before, now))
		return false; /* the name is another file's by now */
	if (before->size != now->size || before->mtime_ns != now->mtime_ns)
		return true;
	return before->ctime_ns != now->ctime_ns &&
	       !(ow_identity_is_ours(before) && ow_identity_is_ours(now)) &&
	       !(now->is_unlinked && obj->watch.is_hashed);
}

static bool look_at_file(const struct ow_object *obj, struct ow_identity *ret)
{
	return ow_filemap_look(obj->map, ret) ||
	       ow_identity_look_cached(obj->path, ret);
}

bool ow_objectwatch_is_changed(struct ow_object *file, bool is_due)
{
	struct ow_identity now;

	if (!file->watch.is_changed && is_mapped_file(file))
		file->watch.is_changed = look_at_file(file, &now) &&
					 is_newer(file, &now);
	return file->watch.is_changed || is_rewritten(file, is_due);
}
