// SPDX-License-Identifier: BSD-2-Clause
#include "objectwatch.h"

#include "elfsym.h"
#include "filemap.h"
#include "hash.h"
#include "monotonic.h"
#include "object.h"
#include "watchshare.h"

#define PT_DYNAMIC 2
#define SHT_RELA   4
#define SHT_REL    9
#define SHF_ALLOC  2
#define LOOK_SHARE 16 /* one part of so many of the time is spent on looks */
#define TELLS_NS   10000000000 /* after a look, its bytes are not unknown yet */

/* Where there is less to read, files take turns: each is looked at so often at most. */
#define SCARCE    ((uint64_t)64 << 20)
#define SCARCE_NS 5000000000

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

	for (uint32_t i = 1; !r->too_many && ow_elf_section(elf, i, &sec); i++)
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

/* The hash of what there is now, which is read for a user. */
static uint64_t hash_now(struct ow_object *file, enum ow_watchshare share,
			 uid_t user)
{
	struct ow_objectwatch *w = &file->watch;
	uint64_t begun = ow_now_ns(), waits = ow_watchshare_waits();
	struct runs taken = take_all(file, false);

	w->looked_ns = ow_now_ns();
	w->cost_ns = w->looked_ns - begun;
	ow_watchshare_spend(share, user, OW_OBJECTWATCH_MAX - taken.left,
			    ow_watchshare_waits() - waits);
	return taken.hash;
}

static void begin(struct ow_object *file, bool with_lines, uid_t user)
{
	struct ow_objectwatch *w = &file->watch;
	struct runs counted;

	if (w->is_hashed || !has_to_be_hashed(file) ||
	    !ow_watchshare_left(OW_WATCHSHARE_BEGIN, user))
		return;
	w->with_lines = with_lines;
	counted = take_all(file, true);
	if (counted.too_many) {
		/* A file can have many headers. */
		ow_watchshare_spend(OW_WATCHSHARE_BEGIN, user,
				    OW_OBJECTWATCH_MAX - counted.left, 0);
		return;
	}
	w->hash = hash_now(file, OW_WATCHSHARE_BEGIN, user);
	w->user = user;
	w->is_hashed = true;
}

void ow_objectwatch_begin(struct ow_object *obj, bool with_lines, uid_t user)
{
	struct ow_object *file;

	for (unsigned int i = 0; (file = ow_objectwatch_file(obj, i)); i++)
		begin(file, with_lines, user);
}

bool ow_objectwatch_is_blind(const struct ow_object *file)
{
	return has_to_be_hashed(file) &&
	       (!file->watch.is_hashed || file->watch.is_unknown);
}

/* Return true if the bytes may be read now. */
static bool may_read(enum ow_objectwatch_look look, uid_t user)
{
	switch (look) {
	case OW_OBJECTWATCH_SOME:
		return ow_watchshare_left(OW_WATCHSHARE_AGAIN, user);
	case OW_OBJECTWATCH_LAST:
		return ow_watchshare_left(OW_WATCHSHARE_LAST, user);
	default: return false;
	}
}

/* Return true if the bytes were read so lately that others come first. */
static bool is_recent(const struct ow_objectwatch *w, uid_t user)
{
	uint64_t since = ow_now_ns() - w->looked_ns;

	return since < LOOK_SHARE * w->cost_ns ||
	       (since < SCARCE_NS &&
		ow_watchshare_left(OW_WATCHSHARE_AGAIN, user) < SCARCE);
}

static bool is_rewritten(struct ow_object *file, enum ow_objectwatch_look look,
			 uid_t user)
{
	bool is_last = look == OW_OBJECTWATCH_LAST;
	struct ow_objectwatch *w = &file->watch;

	if (!w->is_hashed || w->is_changed ||
	    (look == OW_OBJECTWATCH_SOME && is_recent(w, user)))
		return w->is_changed;
	if (may_read(look, user)) {
		w->is_unknown = false;
		w->is_changed = hash_now(file,
					 is_last ? OW_WATCHSHARE_LAST :
						   OW_WATCHSHARE_AGAIN,
					 user) != w->hash;
	} else {
		w->is_unknown = look != OW_OBJECTWATCH_SOME ||
				ow_now_ns() - w->looked_ns > TELLS_NS;
	}
	return w->is_changed;
}

static bool are_debug_files_rewritten(struct ow_object *obj, uid_t user)
{
	struct ow_object *file;

	for (unsigned int i = 1; (file = ow_objectwatch_file(obj, i)); i++)
		if (is_rewritten(file, OW_OBJECTWATCH_SOME, user))
			return true;
	return false;
}

bool ow_objectwatch_is_rewritten(struct ow_object *obj, uid_t user)
{
	return is_rewritten(obj, OW_OBJECTWATCH_SOME, user) ||
	       are_debug_files_rewritten(obj, user);
}

bool ow_objectwatch_is_same(struct ow_object *obj,
			    const struct ow_object *again, uid_t user)
{
	bool is_same = obj->watch.is_hashed && again->watch.is_hashed ?
			       obj->watch.hash == again->watch.hash :
			       !is_rewritten(obj, OW_OBJECTWATCH_SOME, user);

	return is_same && !are_debug_files_rewritten(obj, user);
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

bool ow_objectwatch_is_changed(struct ow_object *file,
			       enum ow_objectwatch_look look)
{
	struct ow_identity now;

	if (!file->watch.is_changed && is_mapped_file(file))
		file->watch.is_changed = look_at_file(file, &now) &&
					 is_newer(file, &now);
	return file->watch.is_changed ||
	       is_rewritten(file, look, file->watch.user);
}
