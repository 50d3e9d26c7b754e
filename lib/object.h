/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF object of a target: the bytes of its file, or of its image in the
 * target's memory, and where in them the unwind data lies.
 */
#ifndef OW_OBJECT_H
#define OW_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi.h"
#include "elf.h"
#include "module.h"

struct ow_error;

#define OW_BUILD_ID_MAX 32

struct ow_object {
	char *path;           /* as the target names it; for people */
	const uint8_t *bytes; /* the file from offset 0, read-only */
	size_t size;
	bool is_image; /* bytes were copied from memory, by file offset */
	bool deleted;  /* the path no longer names this file */
	struct ow_elf elf;
	uint8_t build_id[OW_BUILD_ID_MAX];
	size_t build_id_size; /* 0: it has none */
	struct ow_cfi cfi;    /* points into bytes and into what follows */

	void *hdr_copy;         /* FDE index made here, or NULL */
	uint8_t *debug_frame;   /* decompressed .debug_frame, or NULL */
	struct ow_table *table; /* compact table, or NULL; see tablefile.h */

};

/*
 * Take fd's file as an object.  path is copied; fd stays the caller's.
 * Return NULL and fill err if it is no ELF file that outwind knows.
 */
struct ow_object *ow_object_open_fd(int fd, const char *path,
				    struct ow_error *err);

/* The same by name. */
struct ow_object *ow_object_open(const char *path, struct ow_error *err);

/*
 * Take a copy of an object's memory image, of size bytes by file offset, as an
 * object.  The object owns bytes from now on, also on failure.
 */
struct ow_object *ow_object_from_image(uint8_t *bytes, size_t size,
				       const char *path, struct ow_error *err);

/*
 * Make ready what looking up a pc needs and the open left out: an index of
 * .eh_frame where there is no .eh_frame_hdr, a decompressed .debug_frame.
 * debug_frame_from is a separate debug file's object, or NULL.
 */
int ow_object_load_cfi(struct ow_object *obj, struct ow_error *err);

/* The section of that name, or false.  SHT_NOBITS counts as absent. */
bool ow_object_section(const struct ow_object *obj, const char *name,
		       struct ow_elf_section *ret);

void ow_object_close(struct ow_object *obj);

#endif /* OW_OBJECT_H */
