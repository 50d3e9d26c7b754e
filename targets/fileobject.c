// SPDX-License-Identifier: BSD-2-Clause
#include "fileobject.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "filemap.h"
#include "leftout.h"
#include "likeness.h"
#include "reach.h"
#include "sysroot.h"

#define SILENT "what serves it did not answer in time"

static bool is_wanted(const struct ow_wanted_file *w,
		      const struct ow_object *obj)
{
	if (w->loaded && !ow_likeness_of_layout(w->loaded, &obj->elf))
		return false;
	return !w->build_id ||
	       (obj->build_id_size == w->build_id_size &&
		memcmp(obj->build_id, w->build_id, w->build_id_size) == 0);
}

static struct ow_object *open_below(const char *sysroot, const char *path,
				    const char *name, struct ow_error *err)
{
	_cleanup_(ow_reach_closep) int fd = ow_sysroot_open(sysroot, path);
	struct ow_object *obj;

	if (fd < 0 && (errno == EINVAL || errno == OW_LEASED))
		ow_fail_open(err, name, "not an ELF file");
	else if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		ow_fail(err, OW_CODE_ABSENT, "%s: no such file%s%s", name,
			sysroot ? " below " : "", sysroot ? sysroot : "");
	else if (fd < 0)
		ow_fail(err, OW_CODE_SYSTEM, "open %s%s%s", name,
			sysroot ? " below " : "", sysroot ? sysroot : "");
	if (fd < 0)
		return NULL;
	obj = ow_object_take_fd(fd, name, err);
	if (!obj || !sysroot)
		return obj;
	obj->root = strdup(sysroot);
	if (obj->root)
		return obj;
	ow_fail(err, OW_CODE_MEMORY, "out of memory");
	ow_object_close(obj);
	return NULL;
}

/*
 * Files there are whole objects, or what strip(1) took off one: those have
 * headers of segments whose bytes are elsewhere.
 */
static bool has_cfi(struct ow_object *obj)
{
	struct ow_elf_section sec;
	uint32_t i;

	for (i = 1; ow_elf_section(&obj->elf, i, &sec); i++)
		if (sec.type == OW_SHT_NOBITS &&
		    (ow_elf_section_is(&obj->elf, &sec, ".text") ||
		     ow_elf_section_is(&obj->elf, &sec, ".eh_frame")))
			return false;
	return !ow_object_load_cfi(obj, NULL) &&
	       (obj->cfi.hdr_table || obj->cfi.eh_index.nr ||
		obj->cfi.debug_index.nr);
}

static struct ow_object *open_by_id(const struct ow_wanted_file *w,
				    const char *sysroot)
{
	static const char *const endings[] = { "", ".debug" };
	char path[sizeof("/usr/lib/debug/.build-id/.debug") +
		  2 * OW_BUILD_ID_MAX + 2];
	struct ow_object *obj;
	size_t i, k, n;

	for (i = 0; i < OW_ARRAY_SIZE(endings); i++) {
		n = (size_t)sprintf(path, "/usr/lib/debug/.build-id/%02x/",
				    w->build_id[0]);
		for (k = 1; k < w->build_id_size; k++)
			n += (size_t)sprintf(path + n, "%02x", w->build_id[k]);
		sprintf(path + n, "%s", endings[i]);
		obj = open_below(sysroot, path, w->path, NULL);
		if (obj && is_wanted(w, obj) && has_cfi(obj))
			return obj;
		ow_object_close(obj);
	}
	return NULL;
}

/* Any file may be a server's, and so is looked for by a delegate, and lost with it. */
struct search {
	struct ow_wanted_file wanted;
	struct ow_object *found;
	struct ow_error why; /* without found */
};

static void search_file(void *arg)
{
	struct search *s = arg;
	const struct ow_wanted_file *w = &s->wanted;
	struct ow_object *obj =
		open_below(w->sysroot, w->path, w->path, &s->why);

	if (obj && !is_wanted(w, obj)) {
		ow_fail(&s->why, OW_CODE_ABSENT,
			"%s: another build than the one that was running",
			w->path);
		ow_object_close(obj);
		obj = NULL;
	}
	if (!obj && w->build_id && w->build_id_size >= 2 &&
	    w->build_id_size <= OW_BUILD_ID_MAX) {
		if (w->sysroot)
			obj = open_by_id(w, w->sysroot);
		if (!obj)
			obj = open_by_id(w, NULL);
	}
	s->found = obj;
}

/* Return true if nobody has to be asked to find the file: our kernel knows it. */
static bool is_near(const struct ow_wanted_file *w)
{
	_cleanup_(ow_freep) char *path = NULL;
	struct ow_identity id;

	if (asprintf(&path, "%s%s", w->sysroot ? w->sysroot : "", w->path) < 0)
		path = NULL;
	return path && ow_identity_look_cached(path, &id) &&
	       ow_identity_is_near(id.dev);
}

struct ow_object *ow_fileobject_open(const struct ow_wanted_file *w,
				     struct ow_error *err)
{
	bool is_asked = !ow_reach_is_spent() || is_near(w);
	struct search *s = calloc(1, sizeof(*s));
	enum ow_delegation end = OW_DELEGATION_GIVEN_UP;
	struct ow_object *found = NULL;

	if (!s) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		return NULL;
	}
	s->wanted = *w;
	ow_filemap_prepare();
	if (is_asked)
		end = ow_reach(search_file, s);
	if (end == OW_DELEGATION_DONE)
		found = s->found;
	else if (end == OW_DELEGATION_NONE)
		ow_fail(err, OW_CODE_SYSTEM,
			"%s: can't start a process to open it", w->path);
	else if (!err)
		ow_lose_file(w->path, is_asked ? SILENT : OW_REACH_SPENT);
	else
		ow_fail(err, OW_CODE_TIMEOUT, "%s: %s", w->path,
			is_asked ? SILENT : OW_REACH_SPENT);
	if (end == OW_DELEGATION_DONE && !found && err)
		*err = s->why;
	if (end != OW_DELEGATION_LOST)
		free(s);
	return found;
}

/* Files that change meanwhile are other ones. */
static int file_order(const void *a, const void *b)
{
	const struct ow_identity *x = &((const struct ow_object *)a)->file;
	const struct ow_identity *y = &((const struct ow_object *)b)->file;

	if (x->inode != y->inode)
		return x->inode > y->inode ? 1 : -1;
	if (x->dev != y->dev)
		return x->dev > y->dev ? 1 : -1;
	if (x->ctime_ns != y->ctime_ns)
		return x->ctime_ns > y->ctime_ns ? 1 : -1;
	return (x->size > y->size) - (x->size < y->size);
}

struct ow_object *ow_openfiles_share(struct ow_openfiles *files,
				     struct ow_object *obj)
{
	struct ow_object **node;

	if (!obj || obj->is_image)
		return obj;
	node = tsearch(obj, &files->tree, file_order);
	if (!node)
		return obj;
	if (*node != obj)
		ow_object_close(obj);
	return ow_object_share(*node);
}

static void close_object(void *object)
{
	ow_object_close(object);
}

void ow_openfiles_free(struct ow_openfiles *files)
{
	tdestroy(files->tree, close_object);
}
