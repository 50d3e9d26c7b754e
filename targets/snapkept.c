// SPDX-License-Identifier: BSD-2-Clause
#include "snapkept.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fileobject.h"

void ow_snapkept_free(void *kept)
{
	struct ow_snapkept *k = kept;

	size_t i;

	for (i = 0; i < k->nr_held; i++)
		ow_object_close(k->held[i].object);
	free(k->held);
	ow_openfiles_free(&k->files);
	free(k->bytes);
	free(k->sysroot);
	free(k->exe);
	free(k);
}

int ow_snapkept_find_objects(struct ow_snapkept *k, struct ow_capture *c,
			     struct ow_error *err)
{
	const uint64_t size = k->snap.sections[OW_SNAP_OBJECT_BYTES].nr;
	const uint64_t nr = k->snap.sections[OW_SNAP_OBJECTS].nr;
	struct ow_snap_object rec;
	uint64_t at = 0, i;

	if (!ow_capture_take_memory(c, nr, sizeof(*k->held)))
		return ow_fail(err, OW_CODE_MEMORY,
			       "its objects would take more memory than they "
			       "may (--memory-limit)");
	k->held = calloc(nr + 1, sizeof(*k->held));
	if (!k->held)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	for (i = 0;
	     ow_snap_get(&k->snap, OW_SNAP_OBJECTS, i, &rec, sizeof(rec));
	     i++) {
		if (rec.size == 0 || rec.size > size - at)
			break;
		k->held[k->nr_held++] =
			(struct ow_snapheld){ .at = at, .size = rec.size };
		at += rec.size;
	}
	return 0;
}

/* Object i, which its modules share: what is made of its bytes is made once. */
static struct ow_object *open_held(const struct ow_snapkept *k, uint32_t i,
				   const char *path, struct ow_error *err)
{
	const uint8_t *bytes = k->snap.sections[OW_SNAP_OBJECT_BYTES].bytes;
	struct ow_snapheld *h = k->held + i;

	if (i >= k->nr_held) {
		ow_fail(err, OW_CODE_FORMAT,
			"%s: its bytes are not in the snapshot", path);
		return NULL;
	}
	if (!h->is_tried)
		h->object =
			ow_object_of_bytes(bytes + h->at, h->size, path, NULL);
	h->is_tried = true;
	if (h->object)
		return ow_object_share(h->object);
	ow_fail(err, OW_CODE_FORMAT, "%s: not an ELF file", path);
	return NULL;
}

static struct ow_object *open_file(struct ow_snapkept *k,
				   const struct ow_capture_module *m,
				   const struct ow_snap_module *rec,
				   struct ow_error *err)
{
	struct ow_wanted_file w = {
		.path = m->path,
		.sysroot = m->is_given ? NULL : k->sysroot,
		.build_id = rec->build_id_size ? rec->build_id : NULL,
		.build_id_size = rec->build_id_size,
	};
	struct ow_object *obj =
		ow_openfiles_share(&k->files, ow_fileobject_open(&w, err));

	if (!obj || rec->build_id_size || ow_snap_digest(obj) == rec->digest)
		return obj;
	ow_fail(err, OW_CODE_ABSENT,
		"%s: another build than the one that was running", m->path);
	ow_object_close(obj);
	return NULL;
}

struct ow_object *ow_snapkept_open(struct ow_capture *c,
				   struct ow_capture_module *m,
				   struct ow_error *err)
{
	struct ow_snapkept *k = c->priv;
	struct ow_snap_module rec;
	const char *why;

	ow_snap_get(&k->snap, OW_SNAP_MODULES, m - c->modules, &rec,
		    sizeof(rec));
	if (rec.object != OW_SNAP_NONE)
		return open_held(k, rec.object, m->path, err);
	why = ow_snap_text(&k->snap, rec.why);
	/* Without a path it can't be found, nor if nobody knows what it was. */
	if (rec.flags & OW_SNAP_LOOKED && (m->path[0] == '/' || m->is_given))
		return open_file(k, m, &rec, err);
	if (why)
		ow_fail(err, OW_CODE_ABSENT, "%s", why);
	else
		ow_fail(err, OW_CODE_ABSENT, "%s: not in the snapshot",
			m->path);
	return NULL;
}
