// SPDX-License-Identifier: BSD-2-Clause
#include "snapkept.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fileobject.h"

void ow_snapkept_free(void *kept)
{
	struct ow_snapkept *k = kept;

	free(k->bytes);
	free(k->sysroot);
	free(k);
}

/* The bytes of object i, which were kept. */
static struct ow_object *open_kept(const struct ow_snapkept *k, uint32_t i,
				   const char *path, struct ow_error *err)
{
	const uint64_t size = k->snap.sections[OW_SNAP_OBJECT_BYTES].nr;
	struct ow_snap_object rec = { 0 };
	uint64_t at = 0;
	uint8_t *bytes;
	uint32_t n;

	for (n = 0; n <= i; n++) {
		at += rec.size;
		if (!ow_snap_get(&k->snap, OW_SNAP_OBJECTS, n, &rec,
				 sizeof(rec)) ||
		    rec.size == 0 || rec.size > size - at) {
			ow_fail(err, OW_CODE_FORMAT,
				"%s: its bytes are not in the snapshot", path);
			return NULL;
		}
	}
	bytes = malloc(rec.size);
	if (!bytes) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		return NULL;
	}
	memcpy(bytes, k->snap.sections[OW_SNAP_OBJECT_BYTES].bytes + at,
	       rec.size);
	return ow_object_from_image(bytes, rec.size, path, err);
}

static struct ow_object *open_file(const struct ow_snapkept *k,
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
	struct ow_object *obj = ow_fileobject_open(&w, err);

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
	const struct ow_snapkept *k = c->priv;
	struct ow_snap_module rec;
	const char *why;

	ow_snap_get(&k->snap, OW_SNAP_MODULES, m - c->modules, &rec,
		    sizeof(rec));
	if (rec.object != OW_SNAP_NONE)
		return open_kept(k, rec.object, m->path, err);
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
