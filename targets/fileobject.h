/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the file that an object of a dead target was loaded from. */
#ifndef OW_FILEOBJECT_H
#define OW_FILEOBJECT_H

#include "object.h"

struct ow_wanted_file {
	const char *path;        /* as the target named it */
	const char *sysroot;     /* folder that has its files, or NULL */
	const uint8_t *build_id; /* of what was loaded; NULL: not known */
	size_t build_id_size;
	const struct ow_elf *loaded; /* the headers of it; NULL: not known */
};

/*
 * Open the file by its path, below the sysroot if there is one; if that is not
 * there or another build, by its build-id below usr/lib/debug/.build-id of the
 * sysroot and of the system, where only a file that has its code and CFI will
 * do.  The caller closes the object, whose path is that which the target has.
 * Return NULL and fill err with one line: not there, or another build.
 *
 * A dead target tells which file it had, and nobody can check that: a false path
 * or build-id leads to false names of that target's frames, and of no other's.
 * Where its headers were kept, the file's segments have to be where they say.
 */
struct ow_object *ow_fileobject_open(const struct ow_wanted_file *w,
				     struct ow_error *err);

/* The files that are open, each once, whatever names lead to it.  All zero: none. */
struct ow_openfiles {
	void *tree; /* tsearch(3), of objects by their file */
};

/*
 * Return the object of the same file that was opened before, with one user more, in
 * place of obj, which is closed; else obj, which others share from now on.  NULL
 * for NULL.
 */
struct ow_object *ow_openfiles_share(struct ow_openfiles *files,
				     struct ow_object *obj);

void ow_openfiles_free(struct ow_openfiles *files);

#endif /* OW_FILEOBJECT_H */
