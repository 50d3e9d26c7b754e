// SPDX-License-Identifier: BSD-2-Clause
/* Snapshots: what is saved is what is read. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "scratch.h"
#include "snapformat.h"
#include "snapmake.h"
#include "test.h"

static void test_threads_again(void)
{
	struct ow_capture *c = again(make_rich(), 0);
	const struct ow_thread *t;

	CHECK(c && c->nr_threads == 3 && c->pid == 4711 && c->live == 0);
	CHECK(strcmp(ow_capture_program(c), "/usr/bin/program") == 0);
	CHECK(c->target.arch == &ow_arch_x86_64);
	CHECK(c->target.pc_mask == 0xffffffffffff);
	CHECK(c->stats.freeze_ns == 1 && c->stats.longest_ns == 2 &&
	      c->stats.bytes_copied == 3 && c->stats.stopped == 4 &&
	      c->stats.sleeps == 5);
	t = ow_capture_thread(c, 0);
	CHECK(t->tid == 4711 && t->state == 'S' && t->captured && t->stopped &&
	      t->certain && t->why.code == 0);
	CHECK(strcmp(t->name, "thread 4711") == 0);
	CHECK(t->syscall_nr == 7 && t->syscall_args[0] == 100 &&
	      t->syscall_args[5] == 105);
	CHECK(strcmp(t->wchan, "do_poll") == 0);
	CHECK(strcmp(t->kernel_stack, "[<0>] do_poll+0x1\n[<0>] x+0x2\n") == 0);
	CHECK(c->threads[0].regs.known ==
	      (1ULL << RIP | 1ULL << RSP | 1ULL << RBX));
	CHECK(c->threads[0].regs.val[RIP] == CODE + 0x10);
	CHECK(c->threads[0].regs.val[RSP] == STACK);
	CHECK(c->threads[0].regs.val[RBX] == SECRET);
	t = ow_capture_thread(c, 1);
	CHECK(t->tid == 4712 && t->captured && !t->stopped && !t->certain);
	CHECK(t->syscall_nr == -1 && !t->wchan && !t->kernel_stack);
	t = ow_capture_thread(c, 2);
	CHECK(t->tid == 4713 && t->state == 'Z' && !t->captured);
	CHECK(t->why.code == OW_CODE_ABSENT && t->name[0] == '\0');
	CHECK(strcmp(t->why.msg, "thread exited") == 0);
	ow_capture_destroy(c);
}

static void test_memory_again(void)
{
	struct ow_capture *c = again(make_rich(), 0);
	const struct ow_window *w = &c->threads[0].stack;

	/* Regions that touched are one. */
	CHECK(c->nr_regions == 2);
	CHECK(c->regions[0].start == STACK && c->regions[0].size == 0x80);
	CHECK(memcmp(c->regions[0].bytes, words, 0x80) == 0);
	CHECK(c->regions[1].start == STACK + 0x100);
	CHECK(c->regions[1].size == 0x80);
	CHECK(memcmp(c->regions[1].bytes, words + 32, 0x80) == 0);
	/* This window is in a region, and the other has bytes of its own. */
	CHECK(w->start == STACK + 8 && w->size == 0x78);
	CHECK(w->bytes == c->regions[0].bytes + 8);
	w = &c->threads[1].stack;
	CHECK(w->start == STACK + 0x100 && w->size == sizeof(other_copy));
	CHECK(memcmp(w->bytes, other_copy, sizeof(other_copy)) == 0);
	CHECK(c->threads[2].stack.size == 0);
	ow_capture_destroy(c);
}

static void test_map_again(void)
{
	struct ow_capture *c = again(make_rich(), 0);
	const struct ow_capture_module *m = c->modules;
	struct ow_module_info info;
	struct ow_error why;

	CHECK(c->nr_modules == 2 && c->target.map.nr == 3);
	CHECK(c->ranges[0].start == CODE && c->ranges[0].end == CODE + 0x1000);
	CHECK(c->ranges[0].module == NULL);
	CHECK(c->ranges[1].module == &c->modules[0].base);
	CHECK(c->ranges[2].start == 0x300000 && c->ranges[2].end == 0x302000);
	CHECK(c->ranges[2].module == &c->modules[1].base);
	CHECK(strcmp(m->path, "/usr/lib/gone.so") == 0 && m->deleted);
	CHECK(m->start == 0x200000 && m->end == 0x201000 && m->off == 0x3000);
	CHECK(m->dev == 5 && m->inode == 6);
	CHECK(strcmp(m[1].path, "[vdso]") == 0 && !m[1].deleted);
	/* Of its names, the one that a frame has. */
	CHECK(c->jit_names_size == strlen("100000 100 fast\n"));
	CHECK(memcmp(c->jit_names, "100000 100 fast\n", 16) == 0);
	CHECK(strcmp(c->jit_path, "/tmp/perf-4711.map") == 0);
	/* Nobody could look at it then, so nobody can tell what it was. */
	CHECK(!ow_capture_lacks(c, 0, &info, &why));
	ow_capture_ready(c, &c->modules[0]);
	CHECK(ow_capture_lacks(c, 0, &info, &why));
	CHECK(strcmp(why.msg, "/usr/lib/gone.so: gone") == 0);
	CHECK(strcmp(info.path, "/usr/lib/gone.so") == 0);
	CHECK(!ow_capture_lacks(c, 1, &info, &why));
	CHECK(!ow_capture_lacks(c, 2, &info, &why));
	ow_capture_destroy(c);
}

/* Saved, read, and saved: the same bytes but for the time. */
static void test_twice(void)
{
	struct ow_bytebuf one = build(make_rich(), 0), two;
	struct ow_snap a, b;
	struct ow_snap_meta x, y;
	struct ow_error err;

	two = build(take(&one, &err), 0);
	CHECK(!ow_snap_parse(&a, one.bytes, one.size, NULL));
	CHECK(!ow_snap_parse(&b, two.bytes, two.size, NULL));
	ow_snap_get(&a, OW_SNAP_META, 0, &x, sizeof(x));
	ow_snap_get(&b, OW_SNAP_META, 0, &y, sizeof(y));
	CHECK(x.time > 1700000000 && y.time >= x.time);
	CHECK(ow_snap_text(&a, x.kernel) != NULL);
	CHECK(one.size == two.size);
	memset((uint8_t *)a.sections[OW_SNAP_META].bytes +
		       offsetof(struct ow_snap_meta, time),
	       0, 8);
	memset((uint8_t *)b.sections[OW_SNAP_META].bytes +
		       offsetof(struct ow_snap_meta, time),
	       0, 8);
	CHECK(memcmp(one.bytes, two.bytes, one.size) == 0);
	ow_bytebuf_deinit(&one);
	ow_bytebuf_deinit(&two);
}

#define SHARERS 16

/*
 * Threads whose stacks are parts of the same bytes, of which every other one was copied
 * later than what reads find.
 */
static struct ow_capture *make_sharers(const uint8_t *first,
				       const uint8_t *later, size_t size)
{
	struct ow_capture *c = make_capture(SHARERS, 0);
	size_t i;

	for (i = 0; i < SHARERS; i++) {
		set_thread(c, i, 4711 + (pid_t)i);
		c->threads[i].stack =
			(struct ow_window){ STACK + 8 * i, size - 8 * i,
					    (i % 2 ? later : first) + 8 * i };
	}
	c->regions[0] = (struct ow_region){ .start = STACK,
					    .size = size,
					    .bytes = first };
	c->nr_regions = 1;
	ow_capture_sort(c);
	return c;
}

/* Each copy of what threads share is saved once. */
static void test_sharers(void)
{
	static uint8_t first[4096], later[4096];
	struct ow_bytebuf b;
	const struct ow_window *w;
	struct ow_capture *c;
	struct ow_error err;
	size_t i;

	for (i = 0; i < sizeof(first); i++)
		first[i] = later[i] = (uint8_t)(i * i >> 3);
	later[sizeof(later) - 1] ^= 1;
	b = build(make_sharers(first, later, sizeof(first)), 0);
	CHECK(b.size > sizeof(first) + sizeof(later) &&
	      b.size < 3 * sizeof(first));
	c = take(&b, &err);
	CHECK(c && c->nr_threads == SHARERS && c->nr_regions == 1);
	for (i = 0; c && i < SHARERS; i++) {
		w = &c->threads[i].stack;
		CHECK(w->start == STACK + 8 * i);
		CHECK(w->size == sizeof(first) - 8 * i);
		CHECK(memcmp(w->bytes, (i % 2 ? later : first) + 8 * i,
			     w->size) == 0);
	}
	ow_capture_destroy(c);
	ow_bytebuf_deinit(&b);
}

/* What is larger than any snapshot is refused before it is copied. */
static void test_too_large(void)
{
	const size_t size = OW_SNAP_LARGEST + 4096;
	uint8_t *bytes = mmap(NULL, size, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			      0);
	struct ow_bytebuf b = { 0 };
	struct ow_error err = { 0 };
	struct ow_capture *c;

	CHECK(bytes != MAP_FAILED);
	c = make_sharers(bytes, bytes, size);
	CHECK(ow_snap_build(c, 0, &b, &err) != 0);
	CHECK(err.code == OW_CODE_UNSUPPORTED);
	CHECK(strncmp(err.msg, "1024 MiB are too much", 21) == 0);
	CHECK(b.room == 0);
	ow_capture_destroy(c);
	ow_bytebuf_deinit(&b);
	munmap(bytes, size);
}

static struct ow_object *open_path(struct ow_capture *c,
				   struct ow_capture_module *m,
				   struct ow_error *err)
{
	(void)c;
	return ow_object_open(m->path, err);
}

static const struct ow_capture_options below = { .sysroot = "root" };

/* Save one module of a file, and open what is found of it later. */
static struct ow_capture *save_module(const char *path, bool deleted)
{
	struct ow_capture *c = make_capture(1, 1);
	struct ow_error err = { 0 };
	char full[128];

	snprintf(full, sizeof(full), "%s/%s", scratch_dir, path);
	set_thread(c, 0, 1);
	c->open = open_path;
	c->modules[0] = (struct ow_capture_module){
		.path = strdup(full),
		.start = 0x400000,
		.end = 0x500000,
		.inode = 1,
		.deleted = deleted,
	};
	c->ranges[1] =
		(struct ow_range){ 0x400000, 0x500000, &c->modules[0].base };
	c->target.map.nr = 2;
	CHECK(ow_capture_save(c, "module.snap", 0, &err) == 0);
	ow_capture_destroy(c);
	return NULL;
}

static bool opens(const struct ow_capture_options *options, const char *exe,
		  const char *why)
{
	struct ow_error err = { 0 };
	struct ow_capture *c =
		ow_capture_snapshot("module.snap", exe, options, &err);
	struct ow_module_info info;
	bool lacks;

	CHECK(c != NULL);
	if (!c)
		return false;
	ow_capture_ready(c, &c->modules[0]);
	lacks = ow_capture_lacks(c, 0, &info, &err);
	CHECK(!lacks || (why && strstr(err.msg, why)));
	if (lacks && why && !strstr(err.msg, why))
		printf("# %s\n", err.msg);
	/* Known even if it isn't there. */
	CHECK(strlen(c->modules[0].build_id) == 40 ||
	      strcmp(c->modules[0].path + strlen(scratch_dir), "/no-id") == 0);
	ow_capture_destroy(c);
	return !lacks;
}

static void test_objects_found(void)
{
	char copy[160];

	CHECK(scratch_run("cc -Wl,--build-id=sha1 prog.c -o prog"));
	save_module("prog", false);
	CHECK(opens(NULL, NULL, NULL));
	/* below a folder only */
	CHECK(!opens(&below, NULL, "no such file"));
	snprintf(copy, sizeof(copy), "mkdir -p root%s && mv prog root%s/",
		 scratch_dir, scratch_dir);
	CHECK(scratch_run("%s", copy));
	CHECK(opens(&below, NULL, NULL));
	CHECK(!opens(NULL, NULL, "no such file"));
	/* another build */
	CHECK(scratch_run("cc -O2 -Wl,--build-id=sha1 other.c -o prog"));
	CHECK(!opens(NULL, NULL, "another build"));
	/* no file at all */
	CHECK(scratch_run("rm prog && mkdir prog"));
	CHECK(!opens(NULL, NULL, "not an ELF file"));
	CHECK(scratch_run("rmdir prog"));
}

static void test_objects_without_build_id(void)
{
	CHECK(scratch_run("cc -Wl,--build-id=none prog.c -o no-id"));
	save_module("no-id", false);
	CHECK(opens(NULL, NULL, NULL));
	CHECK(scratch_run("cc -Wl,--build-id=none other.c -o no-id"));
	CHECK(!opens(NULL, NULL, "another build"));
	CHECK(scratch_run("rm no-id"));
	CHECK(!opens(NULL, NULL, "no such file"));
}

/* What has no name any more can be had here alone. */
static void test_objects_kept(void)
{
	CHECK(scratch_run("cc -Wl,--build-id=sha1 prog.c -o prog"));
	save_module("prog", true);
	CHECK(scratch_run("rm prog"));
	CHECK(opens(NULL, NULL, NULL));
	CHECK(opens(&below, NULL, NULL));
}

static void test_file(void)
{
	struct ow_capture *c = make_rich();
	struct ow_error err = { 0 };
	struct stat st;

	scratch_write("a.snap", "older");
	CHECK(ow_capture_save(c, "a.snap", 0, &err) == 0);
	CHECK(stat("a.snap", &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(scratch_run("test \"$(ls a.snap*)\" = a.snap"));
	/* Nothing but regular files is replaced. */
	CHECK(ow_capture_save(c, "/dev/null", 0, &err) != 0);
	CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
	CHECK(scratch_run("ln -s a.snap link"));
	CHECK(ow_capture_save(c, "link", 0, &err) != 0);
	CHECK(ow_capture_save(c, "no/such/folder", 0, &err) != 0);
	CHECK(err.code == OW_CODE_SYSTEM);
	CHECK(ow_capture_save(c, "here/", 0, &err) != 0);
	CHECK(scratch_run("mkdir here && ln -s . here/own && chmod 777 here"));
	CHECK(ow_capture_save(c, "here/own/b.snap", 0, &err) == 0);
	CHECK(scratch_run("rm here/b.snap && test \"$(ls here)\" = own"));
	if (geteuid() == 0) {
		CHECK(lchown("here/own", 12345, 12345) == 0);
		CHECK(ow_capture_save(c, "here/own/b.snap", 0, &err) ==
		      -OW_CODE_ARGUMENT);
		CHECK(scratch_run("test \"$(ls here)\" = own"));
	}
	ow_capture_destroy(c);
	/* By its first bytes it is known. */
	c = ow_capture_file("a.snap", NULL, NULL, &err);
	CHECK(c && c->nr_threads == 3);
	ow_capture_destroy(c);
	CHECK(!ow_capture_file("prog.c", NULL, NULL, &err));
	CHECK(strstr(err.msg, "not a core") || strstr(err.msg, "ELF"));
	CHECK(!ow_capture_file("nothing", NULL, NULL, &err));
	CHECK(err.code == OW_CODE_ABSENT);
}

int main(void)
{
	static const struct test tests[] = {
		{ "threads again", test_threads_again },
		{ "memory again", test_memory_again },
		{ "map again", test_map_again },
		{ "saved twice", test_twice },
		{ "stacks that threads share", test_sharers },
		{ "too large a one", test_too_large },
		{ "objects found", test_objects_found },
		{ "objects without build-id", test_objects_without_build_id },
		{ "objects kept", test_objects_kept },
		{ "file", test_file },
	};

	scratch_enter();
	scratch_write("prog.c", "int main(void) { return 0; }\n");
	scratch_write("other.c", "int more[999] = { 1 };\n"
				 "int main(void) { return more[7]; }\n");
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
