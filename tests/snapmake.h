/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures made by hand, for tests of what is saved of them and read again. */
#ifndef TESTS_SNAPMAKE_H
#define TESTS_SNAPMAKE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "bytebuf.h"
#include "capture.h"
#include "error.h"
#include "snapbuild.h"
#include "snapshot.h"

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

static inline struct ow_object *open_nothing(struct ow_capture *c,
					     struct ow_capture_module *m,
					     struct ow_error *err)
{
	(void)c;
	ow_fail(err, OW_CODE_ABSENT, "%s: gone", m->path);
	return NULL;
}

static inline struct ow_capture *make_capture(size_t threads, size_t modules)
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

static inline void set_thread(struct ow_capture *c, size_t i, pid_t tid)
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

/* One with all there is to tell, one, and one that was not captured. */
static inline void set_rich_threads(struct ow_capture *c)
{
	struct ow_thread *info = &c->threads[0].info;
	size_t i;

	set_thread(c, 0, 4711);
	info->stopped = true;
	info->certain = true;
	info->syscall_nr = 7;
	for (i = 0; i < 6; i++)
		info->syscall_args[i] = 100 + i;
	info->wchan = strdup("do_poll");
	info->kernel_stack = strdup("[<0>] do_poll+0x1\n[<0>] x+0x2\n");
	ow_regs_set(&c->threads[0].regs, RBX, SECRET);
	set_thread(c, 1, 4712);
	c->threads[2].info.tid = 4713;
	c->threads[2].info.state = 'Z';
	c->threads[2].info.syscall_nr = -1;
	ow_fail(&c->threads[2].info.why, OW_CODE_ABSENT, "thread exited");
}

static inline void set_rich_memory(struct ow_capture *c)
{
	size_t i;

	for (i = 0; i < 64; i++)
		words[i] = 0x1000 + i;
	memset(other_copy, 0x77, sizeof(other_copy));
	/* A window over two regions that touch. */
	c->threads[0].stack =
		(struct ow_window){ STACK + 8, 0x78, (uint8_t *)words + 8 };
	/* One that was copied at another moment than the region. */
	c->threads[1].stack = (struct ow_window){ STACK + 0x100,
						  sizeof(other_copy),
						  other_copy };
	c->regions[0] = (struct ow_region){ .start = STACK,
					    .size = 0x40,
					    .bytes = (uint8_t *)words };
	c->regions[1] = (struct ow_region){ .start = STACK + 0x40,
					    .size = 0x40,
					    .bytes = (uint8_t *)words + 0x40 };
	c->regions[2] = (struct ow_region){ .start = STACK + 0x100,
					    .size = 0x80,
					    .bytes = (uint8_t *)words + 0x100 };
	c->nr_regions = 3;
}

static inline void set_rich_map(struct ow_capture *c)
{
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
}

/* Two threads with all there is to tell, and one that was not captured. */
static inline struct ow_capture *make_rich(void)
{
	struct ow_capture *c = make_capture(3, 2);

	set_rich_threads(c);
	set_rich_memory(c);
	set_rich_map(c);
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
static inline struct ow_bytebuf build(struct ow_capture *c, unsigned int flags)
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

static inline struct ow_capture *take(const struct ow_bytebuf *b,
				      struct ow_error *err)
{
	uint8_t *copy = malloc(b->size + 1);

	memcpy(copy, b->bytes, b->size);
	return ow_snapshot_take(copy, b->size, "x.snap", NULL, NULL, err);
}

static inline struct ow_capture *again(struct ow_capture *c, unsigned int flags)
{
	struct ow_bytebuf b = build(c, flags);
	struct ow_error err = { 0 };

	c = take(&b, &err);
	if (!c)
		printf("# %s\n", err.msg);
	ow_bytebuf_deinit(&b);
	return c;
}

#endif
