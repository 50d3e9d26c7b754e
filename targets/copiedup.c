// SPDX-License-Identifier: BSD-2-Clause
#include "copiedup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "monotonic.h"
#include "object.h"
#include "processmem.h"
#include "procfs.h"
#include "reach.h"

#define HEAD 4096 /* bytes: headers, and most often the build-id */
#define MARGIN_NS \
	INT64_C(60000000000) /* by which the clock may have been set */
#define SECOND_NS UINT64_C(1000000000)
#define MOST      64 /* comparisons for a process, in a second */

/*
 * When a process began, by CLOCK_REALTIME; 0: not known.  The last one is remembered;
 * if another process has its number by now, that one began later.
 */
static int64_t start_of(pid_t pid)
{
	static __thread pid_t last;
	static __thread int64_t start_ns;
	int64_t began;

	if (pid == last)
		return start_ns;
	began = ow_process_start_by(pid, CLOCK_REALTIME);
	if (!began)
		return 0;
	last = pid;
	start_ns = began;
	return start_ns;
}

/* Return true if the file may have been written to since the process began. */
static bool may_have_changed(pid_t pid, const struct ow_object *obj)
{
	return obj->is_image ||
	       (major(obj->file.dev) == 0 &&
		obj->file.ctime_ns > start_of(pid) - MARGIN_NS);
}

/* Return true if one more comparison may be made for the process now. */
static bool may_compare(pid_t pid)
{
	static __thread pid_t last;
	static __thread uint64_t since;
	static __thread unsigned int nr;
	uint64_t now = ow_now_ns();

	if (pid != last || now - since > SECOND_NS) {
		last = pid;
		since = now;
		nr = 0;
	}
	return nr++ < MOST;
}

/* The address of the file's begin, if it has that in memory. */
static bool find_head(const struct ow_object *obj, uint64_t addr, uint64_t off,
		      uint64_t *ret, size_t *size_ret)
{
	struct ow_elf_segment seg;
	uint64_t bias;
	uint32_t i;

	if (!ow_object_bias(obj, addr, off, &bias))
		return false;
	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++) {
		if (seg.type != OW_PT_LOAD || seg.off != 0)
			continue;
		*ret = bias + seg.vaddr;
		*size_ret = seg.filesz < HEAD ? (size_t)seg.filesz : HEAD;
		return *size_ret <= obj->size;
	}
	return false;
}

/* What a process has in memory there. */
struct head {
	pid_t pid;
	uint64_t addr;
	size_t size, got;
	uint8_t bytes[HEAD];
};

static void read_head(void *arg)
{
	struct head *h = arg;
	struct ow_processmem mem;

	ow_processmem_open(&mem, h->pid, OW_READING_VM);
	h->got = ow_processmem_read(&mem, h->addr, h->bytes, h->size);
	ow_processmem_close(&mem);
}

bool ow_copiedup_is(pid_t pid, uint64_t addr, uint64_t off,
		    const struct ow_object *obj)
{
	enum ow_delegation end;
	bool is = false;
	struct head *h;

	if (!may_have_changed(pid, obj) || !may_compare(pid))
		return false;
	h = calloc(1, sizeof(*h));
	if (!h)
		return false;
	h->pid = pid;
	if (!find_head(obj, addr, off, &h->addr, &h->size)) {
		free(h);
		return false;
	}
	end = ow_reach(read_head, h);
	if (end == OW_DELEGATION_DONE)
		is = memcmp(h->bytes, obj->bytes, h->got) != 0;
	if (end != OW_DELEGATION_LOST)
		free(h);
	return is;
}
