// SPDX-License-Identifier: BSD-2-Clause
#include "stacks.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "capture.h"
#include "common.h"
#include "mappings.h"
#include "procobject.h"
#include "tablegen.h"

#define RED_ZONE 128

/* What DWARF's numbers 0 to 16 are called in a ucontext. */
static const int greg_of[17] = {
	REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
	REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
	REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
};

/* The leaf's order: take this thread's registers and stack. */
struct taking {
	struct ow_capture_thread *thread;
	uint64_t end; /* of the stack's mapping */
};

static unsigned long take(const struct bench_path *p, unsigned int i)
{
	struct taking *t = p->arg;
	struct ow_capture_thread *thread = t->thread;
	uint64_t start, sp;
	uint8_t *bytes;
	ucontext_t uc;
	unsigned int n;

	getcontext(&uc);
	for (n = 0; n < OW_ARRAY_SIZE(greg_of); n++)
		ow_regs_set(&thread->regs, ow_arch_slot(&ow_arch_x86_64, n),
			    uc.uc_mcontext.gregs[greg_of[n]]);
	sp = uc.uc_mcontext.gregs[REG_RSP];
	start = sp - RED_ZONE;
	bytes = malloc(t->end - start);
	if (!bytes)
		bench_die("out of memory");
	memcpy(bytes, (void *)(uintptr_t)start, t->end - start);
	thread->stack = (struct ow_window){ start, t->end - start, bytes };
	thread->info.captured = true;
	return i;
}

/* As a target does it; but only files count here. */
static void list_modules(struct ow_capture *c, const struct ow_mappings *maps)
{
	const struct ow_mapping *p;
	struct ow_capture_module *m;

	c->modules = calloc(maps->nr, sizeof(*c->modules));
	c->ranges = calloc(maps->nr, sizeof(*c->ranges));
	if (!c->modules || !c->ranges)
		bench_die("out of memory");
	for (p = maps->list; p < maps->list + maps->nr; p++) {
		if (!p->executable || p->inode == 0)
			continue;
		m = &c->modules[c->nr_modules++];
		c->ranges[c->target.map.nr++] =
			(struct ow_range){ p->start, p->end, &m->base };
		m->path = strdup(p->path);
		m->start = p->start;
		m->end = p->end;
		m->off = p->off;
		m->dev = p->dev;
		m->inode = p->inode;
	}
	ow_capture_sort(c);
}

static void add_table(struct ow_capture_module *m)
{
	struct ow_table_stats stats;
	struct ow_error err;
	struct ow_table *table = malloc(sizeof(*table));
	uint8_t *bytes;
	size_t size;

	if (!m->object)
		return;
	bytes = ow_table_generate(m->object, &size, &stats, NULL, &err);
	if (!bytes || !table || ow_table_open(table, bytes, size))
		bench_die("%s: no table", m->path);
	m->base.table = table;
}

struct ow_capture *bench_stacks(bench_fn *const *functions, bool tables)
{
	struct ow_error err;
	struct ow_capture *c = ow_capture_create(&err);
	struct ow_mappings maps;
	struct taking t;
	size_t i;

	if (!c || ow_mappings_read(getpid(), &maps, &err))
		bench_die("%s", err.msg);
	c->pid = getpid();
	c->open = ow_procobject_open;
	c->target.arch = &ow_arch_x86_64;
	c->threads = calloc(BENCH_STACKS, sizeof(*c->threads));
	if (!c->threads)
		bench_die("out of memory");
	list_modules(c, &maps);
	for (i = 0; i < c->nr_modules; i++) {
		ow_capture_ready(c, &c->modules[i]);
		if (tables)
			add_table(&c->modules[i]);
	}
	/* valgrind's is not called [stack]. */
	t.end = ow_mappings_from(&maps, (uintptr_t)&t)->end;
	for (i = 0; i < BENCH_STACKS; i++) {
		t.thread = &c->threads[c->nr_threads++];
		bench_visit(functions, i, take, &t);
	}
	ow_mappings_free(&maps);
	return c;
}
