// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Input: a byte, then the sections of a snapshot; or, if the byte's bit 0 is
 * set, what zstd made of them, in a file whose head is put right, as chance
 * doesn't find checksums.
 */
#include <string.h>

#include "budget.h"
#include "bytebuf.h"
#include "capture.h"
#include "fuzz.h"
#include "snapbuild.h"
#include "snapformat.h"
#include "snapshot.h"
#include "table.h"

#define MOST_THREADS 8
#define MOST_FRAMES  64

static struct ow_capture *take(const uint8_t *bytes, size_t size)
{
	/* Nothing of this machine is to be looked at. */
	static const struct ow_capture_options options = { .sysroot = "/no" };
	struct ow_error err = { 0 };
	uint8_t *copy = malloc(size + 1);
	struct ow_capture *c;
	size_t i;

	memcpy(copy, bytes, size);
	c = ow_snapshot_take(copy, size, "f", NULL, &options, &err);
	ASSERT(!c == (err.code != 0));
	ASSERT(c || strncmp(err.msg, "f: ", 3) == 0);
	for (i = 0; c && i < c->nr_modules; i++)
		ow_capture_ready(c, &c->modules[i]);
	return c;
}

/* Reading every byte finds those that aren't there. */
static volatile uint8_t sink;

/* What the readers of a capture rely on. */
static void check_order(const struct ow_capture *c)
{
	const struct ow_window *w;
	uint64_t end = 0;
	size_t i, k;

	for (i = 0; i < c->nr_regions; i++) {
		ASSERT(c->regions[i].start >= end && c->regions[i].size > 0);
		end = c->regions[i].start + c->regions[i].size;
		ASSERT(end > c->regions[i].start);
		for (k = 0; k < c->regions[i].size; k++)
			sink = c->regions[i].bytes[k];
	}
	for (i = 0, end = 0; i < c->target.map.nr; i++) {
		ASSERT(c->ranges[i].start >= end);
		end = c->ranges[i].end;
		ASSERT(end > c->ranges[i].start);
	}
	for (i = 0; i < c->nr_threads; i++) {
		w = &c->threads[i].stack;
		for (k = 0; k < w->size; k++)
			sink = w->bytes[k];
	}
}

static size_t walk(struct ow_capture *c, size_t i, struct ow_frame *frames,
		   enum ow_end *end)
{
	struct ow_error err;
	size_t nr = ow_capture_walk(c, i, frames, MOST_FRAMES, end, &err);

	ASSERT(nr <= MOST_FRAMES && *end < OW_NR_ENDS);
	return nr;
}

/* Stacks that go on and on take their time; that is no hang. */
static bool is_deep(struct ow_capture *c)
{
	struct ow_frame frames[MOST_FRAMES];
	enum ow_end end;
	size_t i;

	for (i = 0; i < c->nr_threads; i++)
		if (walk(c, i, frames, &end) == MOST_FRAMES)
			return true;
	return false;
}

/* Saved again, with less or not, it gives the same stacks. */
static void check_saved(struct ow_capture *c, unsigned int flags)
{
	struct ow_frame one[MOST_FRAMES], two[MOST_FRAMES];
	struct ow_bytebuf b = { 0 };
	struct ow_error err = { 0 };
	struct ow_capture *again;
	enum ow_end end, end_again;
	size_t i, nr;

	if (ow_snap_build(c, flags, &b, &err)) {
		ASSERT(flags && err.code == OW_CODE_UNSUPPORTED);
		return;
	}
	again = take(b.bytes, b.size);
	ow_bytebuf_deinit(&b);
	ASSERT(again && again->nr_threads == c->nr_threads);
	ASSERT(again->nr_modules == c->nr_modules);
	check_order(again);
	for (i = 0; i < c->nr_threads && i < MOST_THREADS; i++) {
		nr = walk(c, i, one, &end);
		ASSERT(walk(again, i, two, &end_again) == nr);
		ASSERT(end == end_again);
		ASSERT(memcmp(one, two, nr * sizeof(*one)) == 0);
	}
	ow_capture_destroy(again);
}

/* The sections out of a file, or NULL. */
static uint8_t *unpack(const uint8_t *data, size_t size, size_t *size_ret)
{
	struct ow_snap_head head = {
		.magic = OW_SNAP_MAGIC,
		.version = OW_SNAP_VERSION,
		.size = fuzz_take(&data, &size, 4),
	};
	uint8_t *file = malloc(sizeof(head) + size);
	struct ow_unpacked sections;
	struct ow_error err = { 0 };

	memcpy(file, &head, sizeof(head));
	memcpy(file + sizeof(head), data, size);
	head.check = ow_table_checksum(file, sizeof(head) + size);
	memcpy(file, &head, sizeof(head));
	ow_snap_unpack(file, sizeof(head) + size, "f", &sections, &err);
	ASSERT(!sections.bytes == (err.code != 0));
	free(file);
	ow_budget_give(&sections.room, sections.room);
	*size_ret = sections.size;
	return sections.bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t first = fuzz_take(&data, &size, 1), *bytes = NULL;
	struct ow_capture *c;

	if (first & 1)
		bytes = unpack(data, size, &size);
	if (first & 1 && !bytes)
		return 0;
	c = take(bytes ? bytes : data, size);
	free(bytes);
	if (!c)
		return 0;
	check_order(c);
	if (!is_deep(c)) {
		check_saved(c, 0);
		check_saved(c, OW_SAVE_REDACT);
	}
	ow_capture_destroy(c);
	return 0;
}
