// SPDX-License-Identifier: BSD-2-Clause
#include "kwobject.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>

#include "error.h"
#include "object.h"
#include "tablegen.h"

#define VDSO_MAX (1u << 20)

/* What has code; false if there is none, or too much of it. */
static bool take_segments(const struct ow_object *obj,
			  struct ow_kunwind_segment *segments, uint32_t *nr)
{
	struct ow_elf_segment seg;
	uint32_t i;

	*nr = 0;
	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++) {
		if (seg.type != OW_PT_LOAD || !(seg.flags & OW_PF_X))
			continue;
		if (*nr == OW_KUNWIND_MAX_SEGS)
			return false;
		segments[(*nr)++] = (struct ow_kunwind_segment){
			.off = seg.off,
			.size = seg.filesz,
			.vaddr = seg.vaddr,
		};
	}
	return *nr > 0;
}

static void take_build_id(const struct ow_object *obj,
			  struct ow_kunwind_table *arg)
{
	_Static_assert(OW_BUILD_ID_MAX <= OW_KUNWIND_BUILD_ID, "fits");
	arg->build_id_size = (uint32_t)obj->build_id_size;
	memcpy(arg->build_id, obj->build_id, obj->build_id_size);
}

/* Hand in a table, or with size 0 ask for one of the same build-id. */
static int hand_in(int dev, const struct ow_object *obj,
		   struct ow_kunwind_table *arg, struct ow_error *err)
{
	struct ow_table_stats stats;
	size_t size;
	_cleanup_(ow_freep) uint8_t *bytes = NULL;

	if (arg->build_id_size && ioctl(dev, OW_KUNWIND_TABLE, arg) == 0)
		return 0;
	bytes = ow_table_generate(obj, &size, &stats, err);
	if (!bytes)
		return -OW_CODE_FORMAT;
	if (size > OW_KUNWIND_MAX_TABLE)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: its table is too large", obj->path);
	arg->bytes = (uintptr_t)bytes;
	arg->size = (uint32_t)size;
	if (ioctl(dev, OW_KUNWIND_TABLE, arg) == 0)
		return 0;
	return ow_fail(err, OW_CODE_SYSTEM, "%s: hand in its table", obj->path);
}

static int add(int dev, struct ow_object *obj, int fd, uint32_t kind,
	       struct ow_error *err)
{
	struct ow_kunwind_segment segments[OW_KUNWIND_MAX_SEGS];
	struct ow_kunwind_table arg = {
		.fd = fd,
		.kind = kind,
		.segments = (uintptr_t)segments,
		.entry = obj->elf.entry,
	};

	if (!take_segments(obj, segments, &arg.nr_segments))
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: no segment with code, or too many",
			       obj->path);
	if (ow_object_load_cfi(obj, err))
		return -OW_CODE_FORMAT;
	take_build_id(obj, &arg);
	return hand_in(dev, obj, &arg, err);
}

int ow_kunwind_add(int dev, int fd, const char *path, struct ow_error *err)
{
	struct ow_object *obj = ow_object_open_fd(fd, path, err);
	int failed;

	if (!obj)
		return -OW_CODE_FORMAT;
	failed = add(dev, obj, fd, OW_KUNWIND_FILE, err);
	ow_object_close(obj);
	return failed;
}

/* The end of what the vDSO's section headers and segments take. */
static size_t vdso_size(const uint8_t *image)
{
	const Elf64_Ehdr *head = (const void *)image;
	size_t size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;

	return size < VDSO_MAX ? size : 0;
}

int ow_kunwind_add_vdso(int dev, struct ow_error *err)
{
	const uint8_t *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t size = image ? vdso_size(image) : 0;
	struct ow_object *obj;
	uint8_t *copy;
	int failed;

	if (size == 0)
		return ow_fail(err, OW_CODE_ABSENT, "there is no vDSO");
	copy = malloc(size);
	if (!copy)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	memcpy(copy, image, size);
	obj = ow_object_from_image(copy, size, "[vdso]", err);
	if (!obj)
		return -OW_CODE_FORMAT;
	failed = add(dev, obj, -1, OW_KUNWIND_VDSO, err);
	ow_object_close(obj);
	return failed;
}
