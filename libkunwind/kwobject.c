// SPDX-License-Identifier: BSD-2-Clause
#include "kwobject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bytebuf.h"
#include "cpulimit.h"
#include "error.h"
#include "filemap.h"
#include "kwvdso.h"
#include "object.h"
#include "raregen.h"
#include "reach.h"
#include "tablegen.h"

/*
 * ns of CPU time for one table, which other processes' tables wait for meanwhile; and steps
 * (worktime.h) that a table may take in any case, as those of usual files do: a slow
 * machine takes longer for them.
 */
#define MOST_CPU   5000000000ULL
#define FREE_STEPS (64u << 20)

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

/* The object's table, and behind it what it leaves to the CFI; until *stop is set. */
static int generate(const struct ow_object *obj, const bool *stop,
		    struct ow_bytebuf *ret, struct ow_kunwind_table *arg,
		    struct ow_error *err)
{
	struct ow_table_stats stats;
	struct ow_table t;
	size_t size, behind;
	_cleanup_(ow_freep) uint8_t *bytes =
		ow_table_generate(obj, &size, &stats, stop, err);

	if (!bytes)
		return -OW_CODE_FORMAT;
	if (size > OW_KUNWIND_MAX_TABLE)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: its table is too large", obj->path);
	ow_bytebuf_add(ret, bytes, size);
	ow_bytebuf_pad(ret, 8);
	behind = ret->size;
	if (!ow_table_open(&t, bytes, size))
		ow_rare_generate(obj, &t, stop, ret);
	if (ret->failed)
		return ow_fail(err, OW_CODE_MEMORY, "%s: out of memory",
			       obj->path);
	arg->bytes = (uintptr_t)ret->bytes;
	arg->size = (uint32_t)size;
	arg->rare_size = (uint32_t)(ret->size - behind);
	return 0;
}

/* The same in bounded time. */
static int make_table(const struct ow_object *obj, struct ow_bytebuf *ret,
		      struct ow_kunwind_table *arg, struct ow_error *err)
{
	struct ow_cpulimit limit;
	int failed;

	ow_cpulimit_begin(&limit, MOST_CPU, FREE_STEPS, NULL);
	failed = generate(obj, &limit.stop, ret, arg, err);
	ow_cpulimit_end(&limit);
	/* The rows behind the table may end early without a failure. */
	if (limit.stop)
		failed = ow_fail(err, OW_CODE_UNSUPPORTED,
				 "%s: its table takes too long to make",
				 obj->path);
	return failed;
}

/* Make the table and hand it in. */
static int hand_in(int dev, const struct ow_object *obj,
		   struct ow_kunwind_table *arg, struct ow_error *err)
{
	struct ow_bytebuf bytes = { .bytes = NULL };
	int failed;

	failed = make_table(obj, &bytes, arg, err);
	if (!failed && ioctl(dev, OW_KUNWIND_TABLE, arg))
		failed = ow_fail(err, OW_CODE_SYSTEM, "%s: hand in its table",
				 obj->path);
	ow_bytebuf_deinit(&bytes);
	return failed;
}

/* Hand in the table of an object, which arg says what it is of, and who pays. */
static int add(int dev, struct ow_object *obj, struct ow_kunwind_table *arg,
	       struct ow_error *err)
{
	struct ow_kunwind_segment segments[OW_KUNWIND_MAX_SEGS];

	arg->segments = (uintptr_t)segments;
	arg->entry = obj->elf.entry;
	if (!take_segments(obj, segments, &arg->nr_segments))
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: no segment with code, or too many",
			       obj->path);
	if (ow_object_load_cfi(obj, err))
		return -OW_CODE_FORMAT;
	return hand_in(dev, obj, arg, err);
}

/* A file that is opened as an object by a delegate, and lost with it. */
struct opening {
	int fd;
	char *path;
	struct ow_object *obj;
	struct ow_error why; /* without obj */
};

static void open_object(void *arg)
{
	struct opening *o = arg;

	o->obj = ow_object_take_fd(o->fd, o->path, &o->why);
}

static struct ow_object *take_opened(struct opening *o, enum ow_delegation end,
				     struct ow_error *err)
{
	switch (end) {
	case OW_DELEGATION_DONE:
		if (!o->obj && err)
			*err = o->why;
		return o->obj;
	case OW_DELEGATION_NONE: ow_delegate_fail(err); return NULL;
	default:
		ow_fail(err, OW_CODE_TIMEOUT,
			"%s: what serves it did not answer in time", o->path);
		return NULL;
	}
}

/* Any user's program may serve the file, and need not answer. */
static struct ow_object *reach_object(int fd, const char *path,
				      struct ow_error *err)
{
	struct opening *o = calloc(1, sizeof(*o));
	struct ow_object *obj = NULL;
	enum ow_delegation end;

	if (o)
		o->path = strdup(path);
	if (!o || !o->path) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		free(o);
		return NULL;
	}
	o->fd = fd;
	ow_filemap_prepare();
	end = ow_reach_by(fd, open_object, o);
	obj = take_opened(o, end, err);
	if (end != OW_DELEGATION_LOST) {
		free(o->path);
		free(o);
	}
	return obj;
}

/* Whose process it is that lacks the table. */
static void take_payer(struct ow_kunwind_table *arg,
		       const struct ow_kunwind_event *what)
{
	if (!what || what->uid == OW_KUNWIND_NO_USER)
		return;
	arg->uid = what->uid;
	arg->flags = OW_KUNWIND_FOR_USER;
	if (what->privileged)
		arg->flags |= OW_KUNWIND_FOR_PRIVILEGED;
}

int ow_kwobject_add(int dev, int fd, const char *path,
		    const struct ow_kunwind_event *what, struct ow_error *err)
{
	struct ow_kunwind_table arg = { .fd = fd, .kind = OW_KUNWIND_FILE };
	struct ow_object *obj = reach_object(fd, path, err);
	int failed;

	if (!obj)
		return -OW_CODE_FORMAT;
	take_payer(&arg, what);
	failed = add(dev, obj, &arg, err);
	ow_object_close(obj);
	return failed;
}

int ow_kunwind_add(int dev, int fd, const char *path, struct ow_error *err)
{
	return ow_kwobject_add(dev, fd, path, NULL, err);
}

int ow_kunwind_add_vdso(int dev, pid_t pid, uint64_t start, uint64_t size,
			struct ow_error *err)
{
	struct ow_kunwind_table arg = { .fd = -1, .kind = OW_KUNWIND_VDSO };
	struct ow_object *obj = ow_kwvdso_open(pid, start, size, err);
	int failed;

	if (!obj)
		return -OW_CODE_FORMAT;
	failed = add(dev, obj, &arg, err);
	ow_object_close(obj);
	return failed;
}
