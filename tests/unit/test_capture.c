// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "err.h"
#include "error.h"
#include "monotonic.h"
#include "test.h"

#define NR_MAPPINGS 5

static unsigned int nr_opened;
static enum ow_code why;

static struct ow_object *fail_to_open(struct ow_capture *c,
				      struct ow_capture_module *m,
				      struct ow_error *err)
{
	(void)c;
	nr_opened++;
	ow_fail(err, why, "%s: try %u", m->path, nr_opened);
	return NULL;
}

/* The files are a, b, a, a, and a of another inode. */
static struct ow_capture *make_capture(uint64_t inode)
{
	static const char *const paths[NR_MAPPINGS] = { "a", "b", "a", "a",
							"a" };
	struct ow_capture *c = ow_capture_create(NULL);
	size_t i;

	c->open = fail_to_open;
	c->modules = calloc(NR_MAPPINGS, sizeof(*c->modules));
	for (i = 0; i < NR_MAPPINGS; i++) {
		c->modules[i].path = strdup(paths[i]);
		c->modules[i].inode = inode && i == 4 ? inode + 1 : inode;
	}
	c->nr_modules = NR_MAPPINGS;
	return c;
}

/* Open all; return by which tries, a digit each. */
static unsigned int open_all(uint64_t inode, enum ow_code code)
{
	struct ow_capture *c = make_capture(inode);
	unsigned int tries = 0;
	size_t i;

	nr_opened = 0;
	why = code;
	for (i = 0; i < c->nr_modules; i++) {
		ow_capture_ready(c, &c->modules[i]);
		CHECK(c->modules[i].base.state == OW_MODULE_READY &&
		      c->modules[i].why.code == (int)code);
		tries = 10 * tries + (unsigned int)atoi(c->modules[i].why.msg +
							strlen("a: try "));
	}
	ow_capture_destroy(c);
	return tries;
}

/* What is no file of code is not opened again for each of its mappings. */
static void test_no_code(void)
{
	CHECK(open_all(7, OW_CODE_FORMAT) == 12113);
}

/* Another mapping may lead to a file that one did not lead to. */
static void test_not_found(void)
{
	CHECK(open_all(7, OW_CODE_ABSENT) == 12345);
}

/* A process may have mapped any number of files. */
static void test_many(void)
{
	struct ow_capture *c = ow_capture_create(NULL);
	size_t i, nr = 5000;

	nr_opened = 0;
	why = OW_CODE_FORMAT;
	c->open = fail_to_open;
	c->modules = calloc(nr, sizeof(*c->modules));
	c->nr_modules = nr;
	for (i = 0; i < nr; i++) {
		c->modules[i].path = strdup("a");
		c->modules[i].inode = i + 1;
		ow_capture_ready(c, &c->modules[i]);
	}
	CHECK(nr_opened == 4096);
	CHECK(strcmp(c->modules[4095].why.msg, "a: try 4096") == 0);
	CHECK(strcmp(c->modules[4096].why.msg,
		     "a: not opened, after 4096 other files of the process") ==
	      0);
	ow_capture_destroy(c);
}

/* Without an inode, as of a core, only the mapping tells what is there. */
static void test_no_inode(void)
{
	CHECK(open_all(0, OW_CODE_FORMAT) == 12345);
}

#define CODE  0x10000
#define CHAIN 0x100000000 /* of frame pointers, without an end */
#define MANY  5000

static uint64_t slow_ns; /* of CPU time, that a read takes */

static int read_chain(const struct ow_memory *mem, uint64_t addr, void *buf,
		      size_t size)
{
	uint64_t word = addr & 8 ? CODE + 16 : addr + 16;
	uint64_t end = ow_cpu_ns() + slow_ns;

	(void)mem;
	if (addr < CHAIN || size != sizeof(word))
		return -OW_EFAULT;
	while (slow_ns && ow_cpu_ns() < end)
		;
	memcpy(buf, &word, sizeof(word));
	return 0;
}

static struct ow_capture *capture_chain(void)
{
	struct ow_capture *c = ow_capture_create(NULL);

	c->target.arch = &ow_arch_x86_64;
	c->target.mem.read = read_chain;
	c->ranges = calloc(1, sizeof(*c->ranges));
	c->ranges[0] = (struct ow_range){ CODE, CODE + 4096, NULL };
	c->target.map.ranges = c->ranges;
	c->target.map.nr = 1;
	c->threads = calloc(1, sizeof(*c->threads));
	c->nr_threads = 1;
	c->threads[0].info.captured = true;
	ow_regs_set(&c->threads[0].regs, ow_arch_x86_64.pc, CODE + 16);
	ow_regs_set(&c->threads[0].regs, ow_arch_x86_64.sp, CHAIN);
	ow_regs_set(&c->threads[0].regs, ow_arch_x86_64.fp, CHAIN);
	return c;
}

static size_t walk_chain(struct ow_capture *c, enum ow_end *end)
{
	struct ow_frame *frames = calloc(MANY, sizeof(*frames));
	struct ow_error err = { 0 };
	size_t nr = ow_capture_walk(c, 0, frames, MANY, end, &err), i;

	for (i = 1; i < nr && frames[i].sp == CHAIN + 16 * i; i++)
		;
	CHECK(i == nr);
	free(frames);
	return nr;
}

/* A stack of which each frame takes a thousand times as long as usual is cut. */
static void test_slow_walk(void)
{
	struct ow_capture *c = capture_chain();
	enum ow_end end;

	CHECK(walk_chain(c, &end) == MANY && end == OW_END_LIMIT);
	slow_ns = 200000;
	c->walk_time.closer = 1;
	CHECK(walk_chain(c, &end) < MANY && end == OW_END_COSTLY);
	slow_ns = 0;
	CHECK(walk_chain(c, &end) == MANY && end == OW_END_LIMIT);
	ow_capture_destroy(c);
}

int main(void)
{
	static const struct test tests[] = {
		{ "many mappings of what is no code", test_no_code },
		{ "many mappings of what was not found", test_not_found },
		{ "any number of files", test_many },
		{ "many mappings of no inode", test_no_inode },
		{ "a walk that takes long", test_slow_walk },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
