// SPDX-License-Identifier: BSD-2-Clause
/* Frames of a trace's stacks: names that are kept, and those there is no time for. */
#include "tracenames.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define PLENTY ((uint64_t)1 << 60)

struct naming {
	struct profile profile;
	struct tracemaps maps;
	struct trace_names names;
	unsigned int object; /* this program */
};

/* Where code of this program is in its file, whose code is a piece of it. */
static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *at = arg, start;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		if (info->dlpi_phdr[i].p_type == PT_LOAD && *at >= start &&
		    *at - start < info->dlpi_phdr[i].p_filesz) {
			*at += info->dlpi_phdr[i].p_offset - start;
			return 1;
		}
	}
	return 0;
}

static uint64_t offset_of(void (*code)(void))
{
	uint64_t at = (uintptr_t)code;

	CHECK(dl_iterate_phdr(find_code, &at) == 1);
	return at;
}

static void begin(struct naming *n, uint64_t most, bool is_placeless)
{
	char path[4096] = "";
	struct ow_error err;

	*n = (struct naming){ .profile.is_placeless = is_placeless };
	n->names.profile = &n->profile;
	n->names.work = (struct shares){ .most = most, .eighths = 6 };
	n->maps.places = ow_places_create(NULL, 0, &err);
	CHECK(n->maps.places);
	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	n->object = ow_places_object(n->maps.places, path, NULL, 0, NULL);
	CHECK(n->object);
}

static void end(struct naming *n)
{
	CHECK(!n->profile.failed);
	trace_names_deinit(&n->names);
	ow_places_destroy(n->maps.places);
	profile_deinit(&n->profile);
}

/* Take the only frame of a stack; return its number. */
static uint32_t take(struct naming *n, int64_t pid, unsigned int object,
		     uint64_t off, uint64_t pc, bool *is_placed_ret)
{
	struct trace_place place = { object, off };
	struct trace_stack s = {
		.host = "", .pid = pid, .nr = 1, .places = &place, .pcs = &pc
	};
	uint32_t ids[OW_VIEW_NAMES] = { 0 };

	*is_placed_ret = false;
	CHECK(trace_names_take(&n->names, &s, &n->maps, 0, ids,
			       is_placed_ret) == 1);
	return ids[0];
}

static const char *function_of(const struct naming *n, uint32_t id)
{
	return profile_text(&n->profile, n->profile.frames[id].function);
}

static void test_kept(void)
{
	uint64_t off, taken;
	struct naming n;
	uint32_t id;
	bool is_placed;

	begin(&n, PLENTY, true);
	off = offset_of(test_kept);
	id = take(&n, 1, n.object, off, 0x1000, &is_placed);
	CHECK(!is_placed && strcmp(function_of(&n, id), "test_kept") == 0);
	taken = n.names.work.taken;
	CHECK(taken > 0);
	CHECK(take(&n, 2, n.object, off, 0x2000, &is_placed) == id);
	CHECK(n.names.work.taken == taken);
	CHECK(n.profile.nr_frames == 1);
	end(&n);
}

/* A place may be mapped at more than one address. */
static void test_moved(void)
{
	const struct profile_frame *f;
	struct naming n;
	uint64_t off;
	uint32_t id;
	bool is_placed;

	begin(&n, PLENTY, false);
	off = offset_of(test_kept);
	id = take(&n, 1, n.object, off + 1, 0x1001, &is_placed);
	CHECK(take(&n, 1, n.object, off + 1, 0x1001, &is_placed) == id);
	id = take(&n, 2, n.object, off + 1, 0x2001, &is_placed);
	f = &n.profile.frames[id];
	CHECK(f->pc == 0x2001 && f->offset == 1);
	CHECK(strcmp(function_of(&n, id), "test_kept") == 0);
	CHECK(n.profile.nr_frames == 2);
	end(&n);
}

/* What is known keeps its names; other places have none, and an object isn't opened. */
static void test_late(void)
{
	uint64_t off = offset_of(test_kept), other = offset_of(test_late);
	const struct profile_frame *f;
	struct naming n;
	struct ow_error why;
	unsigned int absent;
	uint32_t id;
	bool is_placed;

	begin(&n, PLENTY, false);
	absent = ow_places_object(n.maps.places, "/no/such", NULL, 0, NULL);
	id = take(&n, 1, n.object, off, 0x1000, &is_placed);
	n.names.work.most = 0;
	CHECK(take(&n, 1, n.object, off, 0x1000, &is_placed) == id);
	CHECK(!is_placed);
	id = take(&n, 1, n.object, other, 0x3000, &is_placed);
	f = &n.profile.frames[id];
	CHECK(is_placed && !f->function && f->module);
	CHECK(f->pc == 0x3000 && f->module_offset == other);
	id = take(&n, 1, absent, 7, 0x4007, &is_placed);
	f = &n.profile.frames[id];
	CHECK(is_placed &&
	      strcmp(profile_text(&n.profile, f->module), "/no/such") == 0);
	CHECK(!ow_places_lacks(n.maps.places, absent, &why));
	end(&n);
}

/* A process that names long leaves something for others. */
static void test_shares(void)
{
	struct naming n;
	uint64_t off = offset_of(test_kept);
	bool is_placed;

	begin(&n, PLENTY, true);
	take(&n, 1, n.object, off, 0, &is_placed);
	n.names.work.most = n.names.work.taken;
	take(&n, 1, n.object, off + 1, 0, &is_placed);
	CHECK(is_placed);
	n.names.work.most *= 1000;
	take(&n, 2, n.object, off + 1, 0, &is_placed);
	CHECK(!is_placed);
	end(&n);
}

/* Frames where nothing is mapped are addresses, and cost no time. */
static void test_nothing_mapped(void)
{
	const struct profile_frame *f;
	struct naming n;
	uint32_t id;
	bool is_placed;

	begin(&n, 0, true);
	id = take(&n, 1, 0, 0x5000, 0x5000, &is_placed);
	f = &n.profile.frames[id];
	CHECK(!is_placed && !f->function && !f->module && f->pc == 0x5000);
	CHECK(n.names.work.taken == 0);
	end(&n);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names of a place are kept", test_kept },
		{ "a place at another address", test_moved },
		{ "no time for names", test_late },
		{ "time of others", test_shares },
		{ "nothing is mapped", test_nothing_mapped },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
