// SPDX-License-Identifier: BSD-2-Clause
/*
 * Input: a core file, as it is, compressed, or a machine's dump; every thread
 * is walked.  Objects are not there, but that a small program is given as the
 * executable, so that what a run does depends on the input alone.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture.h"
#include "error.h"
#include "fuzz.h"

#define MOST_FRAMES 64

int LLVMFuzzerInitialize(int *argc, char ***argv);

static char program[64], input[64];

/* A file in memory, and in path how to open it. */
static int make_file(char *path, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	ASSERT(fd >= 0);
	snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}

/*
 * An object of one executable segment at 0x400000, whose .dynamic is at
 * 0x400100, entered at 0x400180.
 */
static void put(uint8_t *at, uint64_t value, size_t size)
{
	memcpy(at, &value, size);
}

static void make_program(uint8_t elf[512])
{
	memcpy(elf, "\177ELF\2\1\1", 7);
	put(elf + 16, OW_ET_EXEC, 2);
	put(elf + 18, 62, 2); /* EM_X86_64 */
	put(elf + 24, 0x400180, 8);
	put(elf + 32, 64, 8); /* e_phoff */
	put(elf + 54, 56, 2);
	put(elf + 56, 2, 2); /* e_phnum */
	put(elf + 64, OW_PT_LOAD, 4);
	put(elf + 68, OW_PF_X, 4);
	put(elf + 80, 0x400000, 8);
	put(elf + 96, 512, 8);
	put(elf + 104, 512, 8);
	put(elf + 120, OW_PT_DYNAMIC, 4);
	put(elf + 136, 0x400100, 8);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	uint8_t elf[512] = { 0 };
	int fd = make_file(program, sizeof(program));

	(void)argc;
	(void)argv;
	make_program(elf);
	ASSERT(write(fd, elf, sizeof(elf)) == sizeof(elf));
	return 0;
}

static void check_regions(const struct ow_capture *c)
{
	uint64_t start, size, end = 0;
	size_t i;

	for (i = 0; ow_capture_region(c, i, &start, &size); i++) {
		ASSERT(size > 0 && start >= end);
		ASSERT(c->regions[i].bytes[0] <= 255);
		ASSERT(c->regions[i].bytes[size - 1] <= 255);
		end = start + size;
		ASSERT(end > start || i + 1 == c->nr_regions);
	}
	ASSERT(i == c->nr_regions);
}

static void check_ranges(const struct ow_capture *c)
{
	const struct ow_range *r = c->target.map.ranges;
	size_t i;

	for (i = 0; i < c->target.map.nr; i++) {
		ASSERT(r[i].start < r[i].end);
		ASSERT(i == 0 || r[i - 1].end <= r[i].start);
	}
}

static void check_capture(struct ow_capture *c)
{
	struct ow_frame frames[MOST_FRAMES];
	const struct ow_thread *t;
	enum ow_end end;
	struct ow_error why;
	size_t i, nr;

	check_regions(c);
	check_ranges(c);
	ASSERT(ow_capture_nr_threads(c) > 0);
	for (i = 0; i < ow_capture_nr_threads(c); i++) {
		t = ow_capture_thread(c, i);
		ASSERT(strnlen(t->name, sizeof(t->name)) < sizeof(t->name));
		if (!t->captured) {
			ASSERT(t->why.code && t->why.msg[0]);
			continue;
		}
		nr = ow_capture_walk(c, i, frames, MOST_FRAMES, &end, &why);
		ASSERT(nr >= 1 && nr <= MOST_FRAMES);
		ASSERT(end != OW_END_NOT_YET && end != OW_END_WANT);
		ASSERT(end == OW_END_OUTERMOST || why.msg[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ow_capture_options options = {
		.sysroot = "/proc/self/fdinfo", /* no such files there */
	};
	int fd = make_file(input, sizeof(input));
	struct ow_error err = { 0 };
	struct ow_capture *c;

	ASSERT(write(fd, data, size) == (ssize_t)size);
	c = ow_capture_core(input, program, &options, &err);
	ASSERT(c || (err.code && err.msg[0] && !strchr(err.msg, '\n')));
	if (c)
		check_capture(c);
	ow_capture_destroy(c);
	close(fd);
	return 0;
}
