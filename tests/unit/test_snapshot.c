// SPDX-License-Identifier: BSD-2-Clause
/* Snapshots: what is saved is what is read, and damage is told from it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arch.h"
#include "bytebuf.h"
#include "capture.h"
#include "error.h"
#include "scratch.h"
#include "snapbuild.h"
#include "snapformat.h"
#include "snapshot.h"
#include "test.h"

enum {
	RAX = 0,
	RBX = 3,
	RBP = 6,
	RSP = 7,
	R12 = 12,
	RIP = 16
};

#define STACK  0x7000ULL
#define CODE   0x100000ULL /* without an object, as a JIT's */
#define SECRET 0x5ec2e75ec2e75ec2ULL

static uint64_t words[64]; /* at STACK */
static uint8_t other_copy[64];

static struct ow_object *open_nothing(struct ow_capture *c,
				      struct ow_capture_module *m,
				      struct ow_error *err)
{
	(void)c;
	ow_fail(err, OW_CODE_ABSENT, "%s: gone", m->path);
	return NULL;
}

static struct ow_object *open_path(struct ow_capture *c,
				   struct ow_capture_module *m,
				   struct ow_error *err)
{
	(void)c;
	return ow_object_open(m->path, err);
}

static struct ow_capture *make_capture(size_t threads, size_t modules)
{
	struct ow_capture *c = ow_capture_create(NULL);

	if (!c)
		abort();
	c->target.arch = &ow_arch_x86_64;
	c->open = open_nothing;
	c->pid = 4711;
	c->program = strdup("/usr/bin/program");
	c->threads = calloc(threads, sizeof(*c->threads));
	c->nr_threads = threads;
	c->modules = calloc(modules + 1, sizeof(*c->modules));
	c->nr_modules = modules;
	c->ranges = calloc(modules + 1, sizeof(*c->ranges));
	c->regions = calloc(4, sizeof(*c->regions));
	c->ranges[0] = (struct ow_range){ CODE, CODE + 0x1000, NULL };
	c->target.map.nr = 1;
	return c;
}

static void set_thread(struct ow_capture *c, size_t i, pid_t tid)
{
	struct ow_capture_thread *t = &c->threads[i];

	t->info.tid = tid;
	t->info.state = 'S';
	t->info.captured = true;
	t->info.syscall_nr = -1;
	snprintf(t->info.name, sizeof(t->info.name), "thread %d", tid);
	ow_regs_set(&t->regs, RIP, CODE + 0x10);
	ow_regs_set(&t->regs, RSP, STACK);
}

/* Two threads with all there is to tell, and one that was not captured. */
static struct ow_capture *make_rich(void)
{
	struct ow_capture *c = make_capture(3, 2);
	struct ow_thread *info;
	size_t i;

	for (i = 0; i < 64; i++)
		words[i] = 0x1000 + i;
	memset(other_copy, 0x77, sizeof(other_copy));
	set_thread(c, 0, 4711);
	info = &c->threads[0].info;
	info->stopped = true;
	info->certain = true;
	info->syscall_nr = 7;
	for (i = 0; i < 6; i++)
		info->syscall_args[i] = 100 + i;
	info->wchan = strdup("do_poll");
	info->kernel_stack = strdup("[<0>] do_poll+0x1\n[<0>] x+0x2\n");
	ow_regs_set(&c->threads[0].regs, RBX, SECRET);
	/* A window over two regions that touch. */
	c->threads[0].stack =
		(struct ow_window){ STACK + 8, 0x78, (uint8_t *)words + 8 };
	set_thread(c, 1, 4712);
	/* One that was copied at another moment than the region. */
	c->threads[1].stack = (struct ow_window){ STACK + 0x100,
						  sizeof(other_copy),
						  other_copy };
	c->threads[2].info.tid = 4713;
	c->threads[2].info.state = 'Z';
	c->threads[2].info.syscall_nr = -1;
	ow_fail(&c->threads[2].info.why, OW_CODE_ABSENT, "thread exited");
	c->regions[0] = (struct ow_region){ STACK, 0x40, (uint8_t *)words };
	c->regions[1] = (struct ow_region){ STACK + 0x40, 0x40,
					    (uint8_t *)words + 0x40 };
	c->regions[2] = (struct ow_region){ STACK + 0x100, 0x80,
					    (uint8_t *)words + 0x100 };
	c->nr_regions = 3;
	c->modules[0] = (struct ow_capture_module){
		.path = strdup("/usr/lib/gone.so"),
		.start = 0x200000,
		.end = 0x201000,
		.off = 0x3000,
		.dev = 5,
		.inode = 6,
		.deleted = true,
	};
	c->modules[1] = (struct ow_capture_module){ .path = strdup("[vdso]"),
						    .start = 0x300000,
						    .end = 0x302000 };
	c->ranges[1] =
		(struct ow_range){ 0x200000, 0x201000, &c->modules[0].base };
	c->ranges[2] =
		(struct ow_range){ 0x300000, 0x302000, &c->modules[1].base };
	c->target.map.nr = 3;
	c->target.pc_mask = 0xffffffffffff;
	c->stats = (struct ow_capture_stats){
		.freeze_ns = 1,
		.longest_ns = 2,
		.bytes_copied = 3,
		.stopped = 4,
		.sleeps = 5,
	};
	c->jit_names = "100000 100 fast\n100800 10 slow\n";
	c->jit_names_size = strlen(c->jit_names);
	c->jit_path = "/tmp/perf-4711.map";
	ow_capture_sort(c);
	return c;
}

/* The sections of a capture, which is no longer needed. */
static struct ow_bytebuf build(struct ow_capture *c, unsigned int flags)
{
	struct ow_bytebuf b = { 0 };
	struct ow_error err = { 0 };

	if (ow_snap_build(c, flags, &b, &err)) {
		printf("# %s\n", err.msg);
		abort();
	}
	ow_capture_destroy(c);
	return b;
}

static struct ow_capture *take(const struct ow_bytebuf *b, struct ow_error *err)
{
	uint8_t *copy = malloc(b->size + 1);

	memcpy(copy, b->bytes, b->size);
	return ow_snapshot_take(copy, b->size, "x.snap", NULL, NULL, err);
}

static struct ow_capture *again(struct ow_capture *c, unsigned int flags)
{
	struct ow_bytebuf b = build(c, flags);
	struct ow_error err = { 0 };

	c = take(&b, &err);
	if (!c)
		printf("# %s\n", err.msg);
	ow_bytebuf_deinit(&b);
	return c;
}

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

/* A stack by frame pointers, with secrets between and around them. */
static struct ow_capture *make_secretive(void)
{
	struct ow_capture *c = make_capture(1, 0);
	struct ow_regs *regs;
	size_t i;

	for (i = 0; i < 64; i++)
		words[i] = SECRET;
	words[4] = STACK + 8 * 10; /* caller's rbp, and where it goes on */
	words[5] = CODE + 0x20;
	words[10] = STACK + 8 * 20;
	words[11] = CODE + 0x30;
	words[20] = 0; /* outermost */
	words[21] = CODE + 0x40;
	set_thread(c, 0, 1);
	regs = &c->threads[0].regs;
	ow_regs_set(regs, RBP, STACK + 8 * 4);
	ow_regs_set(regs, RAX, SECRET);
	ow_regs_set(regs, RBX, SECRET);
	ow_regs_set(regs, R12, STACK + 8); /* looks well, leads nowhere */
	c->threads[0].info.syscall_nr = 1;
	c->threads[0].info.syscall_args[1] = SECRET;
	c->threads[0].stack =
		(struct ow_window){ STACK, sizeof(words), (uint8_t *)words };
	c->regions[0] =
		(struct ow_region){ STACK, sizeof(words), (uint8_t *)words };
	c->nr_regions = 1;
	ow_capture_sort(c);
	return c;
}

static bool has_secret(const struct ow_bytebuf *b)
{
	uint64_t secret = SECRET;

	return memmem(b->bytes, b->size, &secret, sizeof(secret)) != NULL;
}

static void test_redacted(void)
{
	struct ow_bytebuf b = build(make_secretive(), 0);
	struct ow_frame frames[8];
	struct ow_capture *c;
	struct ow_error err;
	enum ow_end end;
	uint64_t word;

	CHECK(has_secret(&b));
	ow_bytebuf_deinit(&b);
	b = build(make_secretive(), OW_SAVE_REDACT);
	CHECK(!has_secret(&b));
	c = take(&b, &err);
	CHECK(c != NULL);
	/* Three records, and nothing beside them. */
	CHECK(c->nr_regions == 3 && c->threads[0].stack.size == 0);
	CHECK(c->regions[0].start == STACK + 32 && c->regions[0].size == 16);
	CHECK(c->regions[1].start == STACK + 80 && c->regions[1].size == 16);
	CHECK(c->regions[2].start == STACK + 160 && c->regions[2].size == 16);
	CHECK(memcmp(c->regions[1].bytes, words + 10, 16) == 0);
	CHECK(c->target.mem.read(&c->target.mem, STACK, &word, 8) != 0);
	CHECK(c->threads[0].regs.known ==
	      (1ULL << RIP | 1ULL << RSP | 1ULL << RBP));
	CHECK(c->threads[0].info.syscall_nr == OW_SYSCALL_UNKNOWN);
	CHECK(c->threads[0].info.syscall_args[1] == 0);
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &err) == 4);
	CHECK(end == OW_END_OUTERMOST);
	CHECK(frames[0].pc == CODE + 0x10 && frames[1].pc == CODE + 0x20 &&
	      frames[2].pc == CODE + 0x30 && frames[3].pc == CODE + 0x40);
	ow_capture_destroy(c);
	ow_bytebuf_deinit(&b);
}

/* Where a stack ends is told alike, though a secret may be what ended it. */
static void test_redacted_end(void)
{
	struct ow_capture *c = make_secretive();
	struct ow_error before, after;
	struct ow_frame frames[8];
	enum ow_end end;

	words[20] = 0x1234567; /* not towards the base */
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &before) == 4);
	CHECK(end == OW_END_NO_CFI);
	c = again(c, OW_SAVE_REDACT);
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &after) == 4);
	CHECK(end == OW_END_NO_CFI && strcmp(before.msg, after.msg) == 0);
	CHECK(c->nr_regions == 3 && c->regions[2].size == 16);
	ow_capture_destroy(c);
	/* What was not captured is missing as before. */
	c = make_secretive();
	c->threads[0].stack.size = c->regions[0].size = 8 * 11;
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &before) == 2);
	CHECK(end == OW_END_FAULT);
	c = again(c, OW_SAVE_REDACT);
	CHECK(ow_capture_walk(c, 0, frames, 8, &end, &after) == 2);
	CHECK(end == OW_END_FAULT && strcmp(before.msg, after.msg) == 0);
	ow_capture_destroy(c);
}

/* Two copies of the same addrs that differ: both are read by their threads. */
static void test_redacted_overlap(void)
{
	static uint64_t later[64];
	struct ow_capture *c = make_secretive();
	struct ow_bytebuf b = { 0 };
	struct ow_error err = { 0 };

	free(c->threads);
	c->threads = calloc(2, sizeof(*c->threads));
	c->nr_threads = 2;
	memcpy(later, words, sizeof(later));
	later[11] = CODE + 0x50;
	set_thread(c, 0, 1);
	set_thread(c, 1, 2);
	ow_regs_set(&c->threads[0].regs, RBP, STACK + 8 * 4);
	ow_regs_set(&c->threads[1].regs, RBP, STACK + 8 * 4);
	c->threads[0].stack =
		(struct ow_window){ STACK, sizeof(words), (uint8_t *)words };
	c->threads[1].stack =
		(struct ow_window){ STACK, sizeof(later), (uint8_t *)later };
	CHECK(ow_snap_build(c, OW_SAVE_REDACT, &b, &err) != 0);
	CHECK(err.code == OW_CODE_UNSUPPORTED && strstr(err.msg, "overlaps"));
	ow_bytebuf_deinit(&b);
	/* Without it each has its own. */
	c = again(c, 0);
	CHECK(memcmp(c->threads[0].stack.bytes, words, sizeof(words)) == 0);
	CHECK(memcmp(c->threads[1].stack.bytes, later, sizeof(later)) == 0);
	ow_capture_destroy(c);
}

static uint8_t *read_whole(const char *path, size_t *size_ret)
{
	FILE *f = fopen(path, "re");
	uint8_t *bytes = malloc(1 << 20);

	if (!f || !bytes)
		abort();
	*size_ret = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	return bytes;
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

/* Is it refused, in one line that names the file? */
static bool refused(const uint8_t *bytes, size_t size)
{
	struct ow_error err = { 0 };
	size_t got;
	uint8_t *to = ow_snap_unpack(bytes, size, "x.snap", &got, &err);

	free(to);
	return !to && err.code && strncmp(err.msg, "x.snap: ", 8) == 0 &&
	       !strchr(err.msg, '\n');
}

static void test_damage(void)
{
	size_t size, i, missed = 0;
	uint8_t *bytes = read_whole("a.snap", &size);

	CHECK(size > 300 && !refused(bytes, size));
	for (i = 0; i < size; i++)
		missed += !refused(bytes, i);
	CHECK(missed == 0);
	for (i = 0; i < 8 * size; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		missed += !refused(bytes, size);
		bytes[i / 8] ^= 1 << i % 8;
	}
	CHECK(missed == 0);
	bytes[size] = 0;
	CHECK(refused(bytes, size + 1));
	free(bytes);
}

/* Heads that are right by their checksum, but not by what they say. */
static void test_hostile_heads(void)
{
	struct ow_bytebuf b = build(make_rich(), 0);
	struct ow_error err = { 0 };
	size_t size, got;
	uint8_t *bytes = ow_snap_pack(b.bytes, b.size, &size, NULL);
	struct ow_snap_head head;

	static const struct {
		uint32_t version, reserved;
		int64_t size; /* added to the right one */
		const char *msg;
	} cases[] = {
		{ 1, 0, 0, NULL },
		{ 2, 0, 0,
		  "x.snap: a snapshot of version 2; this outwind knows 1" },
		{ 1, 1, 0, "x.snap: the snapshot is damaged or cut off" },
		{ 1, 0, 1, "x.snap: the snapshot is damaged" },
		{ 1, 0, -1, "x.snap: the snapshot is damaged" },
		{ 1, 0, 1LL << 29,
		  "x.snap: the snapshot is damaged or cut "
		  "off" },
		{ 1, 0, 1LL << 31,
		  "x.snap: the snapshot is damaged or cut "
		  "off" },
		{ 1, 0, INT64_MIN,
		  "x.snap: the snapshot is damaged or cut "
		  "off" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t *to;

		memcpy(&head, bytes, sizeof(head));
		head.version = cases[i].version;
		head.reserved = cases[i].reserved;
		head.size = b.size + (uint64_t)cases[i].size;
		memcpy(bytes, &head, sizeof(head));
		head.check = ow_table_checksum(bytes, size);
		memcpy(bytes, &head, sizeof(head));
		to = ow_snap_unpack(bytes, size, "x.snap", &got, &err);
		CHECK(!to == (cases[i].msg != NULL));
		if (cases[i].msg && strcmp(err.msg, cases[i].msg) != 0)
			printf("# case %zu: %s\n", i, err.msg);
		CHECK(!cases[i].msg || strcmp(err.msg, cases[i].msg) == 0);
		free(to);
	}
	free(bytes);
	ow_bytebuf_deinit(&b);
}

/* One field of one record made wrong. */
#define FIELD(kind, type)                      \
	offsetof(struct ow_snap_##kind, type), \
		sizeof(((struct ow_snap_##kind *)0)->type)

static void test_hostile_records(void)
{
	static const struct {
		enum ow_snap_type type;
		uint32_t i;
		size_t at, size;
		uint64_t value;
		const char *msg; /* NULL: it does no harm */
	} cases[] = {
		{ OW_SNAP_META, 0, FIELD(meta, machine), 8,
		  "of a machine that outwind doesn't know (8)" },
		{ OW_SNAP_META, 0, FIELD(meta, word), 4,
		  "of a machine that outwind doesn't know (62)" },
		{ OW_SNAP_META, 0, FIELD(meta, program), 0xfffffff, NULL },
		{ OW_SNAP_META, 0, FIELD(meta, jit_path), 0xfffffff, NULL },
		{ OW_SNAP_META, 0, FIELD(meta, nr_shared), 4,
		  "number of pieces, 3 makes no sense" },
		{ OW_SNAP_META, 0, FIELD(meta, nr_shared), 0xffffffff,
		  "number of pieces, 3 makes no sense" },
		{ OW_SNAP_META, 0, FIELD(meta, nr_shared), 3,
		  "piece of memory 2 makes no sense" },
		{ OW_SNAP_META, 0, FIELD(meta, nr_shared), 0, NULL },
		{ OW_SNAP_REG_NAMES, 3, 0, 4, 0, "register 3 makes no sense" },
		{ OW_SNAP_PIECES, 0, FIELD(piece, size), 0,
		  "piece of memory 0 makes no sense" },
		{ OW_SNAP_PIECES, 0, FIELD(piece, size), 0x100000,
		  "piece of memory 0 makes no sense" },
		{ OW_SNAP_PIECES, 0, FIELD(piece, size), 0x78,
		  "number of pieces, 3 makes no sense" },
		{ OW_SNAP_PIECES, 2, FIELD(piece, size), UINT64_MAX,
		  "piece of memory 2 makes no sense" },
		{ OW_SNAP_PIECES, 0, FIELD(piece, start), -8ULL,
		  "piece of memory 0 makes no sense" },
		{ OW_SNAP_PIECES, 1, FIELD(piece, start), STACK + 0x7f,
		  "piece of memory 1 makes no sense" },
		{ OW_SNAP_THREADS, 0, FIELD(thread, known), 1ULL << RIP,
		  "thread 0 makes no sense" },
		{ OW_SNAP_THREADS, 0, FIELD(thread, known), UINT64_MAX,
		  "thread 0 makes no sense" },
		{ OW_SNAP_THREADS, 1, FIELD(thread, regs), 5,
		  "thread 1 makes no sense" },
		{ OW_SNAP_THREADS, 1, FIELD(thread, regs), UINT64_MAX,
		  "thread 1 makes no sense" },
		{ OW_SNAP_THREADS, 1, FIELD(thread, piece), 3,
		  "thread 1 makes no sense" },
		{ OW_SNAP_THREADS, 0, FIELD(thread, stack), STACK - 8,
		  "thread 0 makes no sense" },
		{ OW_SNAP_THREADS, 0, FIELD(thread, stack), STACK + 0x10,
		  "thread 0 makes no sense" },
		{ OW_SNAP_THREADS, 0, FIELD(thread, stack_size), UINT64_MAX,
		  "thread 0 makes no sense" },
		{ OW_SNAP_THREADS, 0, FIELD(thread, name), 0xffffff, NULL },
		{ OW_SNAP_THREADS, 2, FIELD(thread, why_text), 0xffffff, NULL },
		{ OW_SNAP_MODULES, 0, FIELD(module, path), 0,
		  "object 0 makes no sense" },
		{ OW_SNAP_MODULES, 1, FIELD(module, path), 0xffffff,
		  "object 1 makes no sense" },
		{ OW_SNAP_MODULES, 0, FIELD(module, end), 0x200000,
		  "object 0 makes no sense" },
		{ OW_SNAP_MODULES, 0, FIELD(module, build_id_size), 33,
		  "object 0 makes no sense" },
		{ OW_SNAP_MODULES, 0, FIELD(module, object), 0, NULL },
		{ OW_SNAP_RANGES, 1, FIELD(range, start), CODE + 0xfff,
		  "executable range 1 makes no sense" },
		{ OW_SNAP_RANGES, 1, FIELD(range, end), 0x200000,
		  "executable range 1 makes no sense" },
		{ OW_SNAP_RANGES, 1, FIELD(range, module), 2,
		  "executable range 1 makes no sense" },
	};
	struct ow_bytebuf b = build(make_rich(), 0);
	struct ow_module_info info;
	struct ow_error err;
	struct ow_snap s;
	char want[128];

	CHECK(!ow_snap_parse(&s, b.bytes, b.size, NULL));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t *at = (uint8_t *)s.sections[cases[i].type].bytes +
			      cases[i].i * s.sections[cases[i].type].entry +
			      cases[i].at;
		struct ow_capture *c;
		uint8_t old[8];

		memcpy(old, at, cases[i].size);
		memcpy(at, &cases[i].value, cases[i].size);
		memset(&err, 0, sizeof(err));
		c = take(&b, &err);
		memcpy(at, old, cases[i].size);
		snprintf(want, sizeof(want), "x.snap: damaged snapshot: %s",
			 cases[i].msg ? cases[i].msg : "");
		CHECK(!c == (cases[i].msg != NULL));
		CHECK(c || strcmp(err.msg, want) == 0);
		if (!c == !cases[i].msg || (!c && strcmp(err.msg, want) != 0))
			printf("# case %zu: %s\n", i, err.msg);
		if (!c)
			continue;
		ow_capture_ready(c, &c->modules[0]);
		CHECK(ow_capture_lacks(c, 0, &info, &err));
		ow_capture_destroy(c);
	}
	ow_bytebuf_deinit(&b);
}

static void add_section(struct ow_bytebuf *b, uint32_t type, uint32_t entry,
			uint64_t nr, const void *bytes, size_t size)
{
	struct ow_snap_section head = { type, entry, nr };

	ow_bytebuf_add(b, &head, sizeof(head));
	ow_bytebuf_add(b, bytes, size);
	ow_bytebuf_pad(b, 8);
}

static void check_sections(struct ow_bytebuf *b, const char *want)
{
	struct ow_error err = { 0 };
	struct ow_snap s;
	int failed = ow_snap_parse(&s, b->bytes, b->size, &err);

	CHECK(failed == (want ? -OW_CODE_FORMAT : 0));
	CHECK(!want || strcmp(err.msg, want) == 0);
	if (want && strcmp(err.msg, want) != 0)
		printf("# %s\n", err.msg);
	ow_bytebuf_deinit(b);
}

static void test_sections(void)
{
	static const uint8_t meta[sizeof(struct ow_snap_meta) + 8];
	struct ow_bytebuf b = { 0 };

	check_sections(&b, "no section says what it is of");
	/* Longer records and unknown sections are a later writer's. */
	add_section(&b, OW_SNAP_META, sizeof(meta), 1, meta, sizeof(meta));
	add_section(&b, 1000, 3, 1, "abc", 3);
	add_section(&b, OW_SNAP_STRINGS, 1, 3, "\0a\0", 3);
	check_sections(&b, NULL);
	/* shorter ones are nobody's */
	add_section(&b, OW_SNAP_META, sizeof(meta) - 9, 1, meta,
		    sizeof(meta) - 9);
	check_sections(&b, "malformed section, at byte 0 of it");
	add_section(&b, OW_SNAP_META, sizeof(meta), 1, meta, sizeof(meta));
	add_section(&b, OW_SNAP_META, sizeof(meta), 1, meta, sizeof(meta));
	check_sections(&b, "malformed section, at byte 104 of it");
	add_section(&b, OW_SNAP_META, sizeof(meta), 2, meta, sizeof(meta));
	check_sections(&b, "malformed section, at byte 0 of it");
	add_section(&b, OW_SNAP_THREADS, 1U << 31, 1ULL << 33, "", 0);
	check_sections(&b, "malformed section, at byte 0 of it");
	add_section(&b, OW_SNAP_STRINGS, 2, 2, "\0\0\0", 4);
	check_sections(&b, "malformed section, at byte 0 of it");
	add_section(&b, OW_SNAP_STRINGS, 1, 2, "\0a", 2);
	check_sections(&b, "text without an end, at byte 17 of it");
	add_section(&b, OW_SNAP_META, sizeof(meta), 1, meta, sizeof(meta));
	ow_bytebuf_add(&b, "abc", 3);
	check_sections(&b, "malformed section, at byte 104 of it");
}

int main(void)
{
	static const struct test tests[] = {
		{ "threads again", test_threads_again },
		{ "memory again", test_memory_again },
		{ "map again", test_map_again },
		{ "saved twice", test_twice },
		{ "objects found", test_objects_found },
		{ "objects without build-id", test_objects_without_build_id },
		{ "objects kept", test_objects_kept },
		{ "redacted", test_redacted },
		{ "redacted: ends", test_redacted_end },
		{ "redacted: overlap", test_redacted_overlap },
		{ "file", test_file },
		{ "damage", test_damage },
		{ "hostile heads", test_hostile_heads },
		{ "hostile records", test_hostile_records },
		{ "sections", test_sections },
	};

	scratch_enter();
	scratch_write("prog.c", "int main(void) { return 0; }\n");
	scratch_write("other.c", "int more[999] = { 1 };\n"
				 "int main(void) { return more[7]; }\n");
	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
