// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls of the module with arguments at random, from several threads; what is
 * sound is damaged here and there.  fuzz SECONDS SEED.  It fails if the module
 * says what it never says; what the kernel says of it is for the caller to see.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "object.h"
#include "ow_kunwind_proc.h"
#include "raregen.h"
#include "tablegen.h"

#define THREADS 3

/* A table, and behind it what it leaves to the CFI. */
static uint8_t *table;
static size_t table_size, own_size, rare_size; /* all, and of each */
static struct ow_kunwind_segment segments[OW_KUNWIND_MAX_SEGS];
static unsigned int nr_segments;
static time_t until;
static unsigned long calls, taken, odd;

struct state {
	uint64_t rand;
	int dev, proc, exe;
	uint8_t *copy; /* of the table */
	struct ow_frame frames[OW_KUNWIND_MAX_FRAMES];
};

static uint64_t next(struct state *s)
{
	s->rand ^= s->rand << 13;
	s->rand ^= s->rand >> 7;
	s->rand ^= s->rand << 17;
	return s->rand;
}

/* A number that is often at some edge. */
static uint64_t edge(struct state *s)
{
	static const uint64_t edges[] = {
		0,
		1,
		2,
		7,
		8,
		63,
		64,
		65,
		4095,
		4096,
		1024,
		1025,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x100000000,
		0x7fffffffffff,
		0x7ffffffff000,
		0x800000000000,
		0xffff888000000000,
		0xffffffff81000000,
		0xffffffffffffffff,
	};
	uint64_t r = next(s);

	if (r % 3 == 0)
		return r >> (r % 64);
	return edges[r / 3 % (sizeof(edges) / sizeof(edges[0]))];
}

static void note(long ret)
{
	static const int known[] = { EINVAL, EFAULT, ENOSPC,     EBADF,  ENOENT,
				     ENOMEM, EPERM,  ESRCH,      ENOTTY, EAGAIN,
				     EINTR,  EBUSY,  EOPNOTSUPP, EUSERS };
	size_t i;

	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	if (ret >= 0) {
		__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
		return;
	}
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (errno == known[i])
			return;
	printf("not ok - errno %d\n", errno);
	__atomic_fetch_add(&odd, 1, __ATOMIC_RELAXED);
}

/* A table that is sound but for some bytes. */
static uint32_t damaged(struct state *s)
{
	unsigned int n = next(s) % 6;

	memcpy(s->copy, table, table_size);
	while (n-- > 0)
		s->copy[next(s) % (next(s) % 2 ? 48 : table_size)] =
			(uint8_t)edge(s);
	/* As often where there is less of it. */
	if (next(s) % 2)
		s->copy[table_size - rare_size + next(s) % rare_size] =
			(uint8_t)edge(s);
	return next(s) % 20 ? (uint32_t)own_size :
			      (uint32_t)(next(s) % table_size);
}

static void fuzz_table(struct state *s)
{
	struct ow_kunwind_segment segs[OW_KUNWIND_MAX_SEGS];
	struct ow_kunwind_table t = {
		.fd = next(s) % 8 ? s->exe : (int)edge(s),
		.kind = next(s) % 8 ? 0 : (uint32_t)(next(s) % 3),
		.bytes = next(s) % 16 ? (uintptr_t)s->copy : edge(s),
		.size = damaged(s),
		.nr_segments = next(s) % 8 ? nr_segments : (uint32_t)edge(s),
		.segments = next(s) % 16 ? (uintptr_t)segs : edge(s),
		.entry = edge(s),
		.rare_size = next(s) % 16 ? (uint32_t)rare_size :
					    (uint32_t)edge(s),
		.flags = next(s) % 4 ? (uint32_t)(next(s) % 4) :
				       (uint32_t)edge(s),
		.uid = next(s) % 8 ? (uint32_t)(next(s) % 4) :
				     (uint32_t)edge(s),
		.reserved = next(s) % 4 ? 0 : (uint32_t)edge(s),
	};

	memcpy(segs, segments, sizeof(segs));
	if (next(s) % 4 == 0)
		((uint64_t *)segs)[next(s) % 6] = edge(s);
	if (t.kind == OW_KUNWIND_VDSO)
		t.fd = -1;
	if (next(s) % 16 == 0)
		t.size = (uint32_t)edge(s);
	note(ioctl(s->dev, OW_KUNWIND_TABLE, &t));
}

static __attribute__((noinline)) void fuzz_unwind(struct state *s)
{
	struct ow_kunwind_unwind u = {
		.frames = next(s) % 8 ? (uintptr_t)s->frames : edge(s),
		.max = next(s) % 2 ? OW_KUNWIND_MAX_FRAMES : (uint32_t)edge(s),
		.flags = next(s) % 4 ? 0 : (uint32_t)(next(s) % 3),
	};
	long ret = ioctl(s->dev, OW_KUNWIND_UNWIND, &u);
	unsigned int i;

	note(ret);
	if (ret || u.frames != (uintptr_t)s->frames)
		return;
	/* Whatever the table says: no address but the program's own. */
	for (i = 0; i < u.nr && i < OW_KUNWIND_MAX_FRAMES; i++)
		if (s->frames[i].how >= OW_NR_HOWS)
			__atomic_fetch_add(&odd, 1, __ATOMIC_RELAXED);
	if (u.nr == 0 || u.nr > OW_KUNWIND_MAX_FRAMES || u.end >= OW_NR_ENDS)
		__atomic_fetch_add(&odd, 1, __ATOMIC_RELAXED);
}

static void fuzz_follow(struct state *s)
{
	struct ow_kunwind_follow f = {
		.pid = next(s) % 4 ? 0 : (int)(next(s) % 400),
		.flags = next(s) % 8 ? (uint32_t)(next(s) % 2) :
				       (uint32_t)edge(s),
	};

	note(ioctl(s->dev,
		   next(s) % 4 ? OW_KUNWIND_FOLLOW : OW_KUNWIND_UNFOLLOW, &f));
}

static void fuzz_proc(struct state *s)
{
	struct ow_kunwind_proc_backtrace bt = {
		.max_entries = (uint32_t)edge(s),
		.entries = next(s) % 8 ? (uintptr_t)s->frames : edge(s),
	};

	/* So many entries are there. */
	if (bt.entries == (uintptr_t)s->frames)
		bt.max_entries %= 1025;
	note(next(s) % 4 ? ioctl(s->proc, OW_KUNWIND_PROC_UNWIND, &bt) :
			   ioctl(s->proc, OW_KUNWIND_PROC_INFO, edge(s)));
}

static void fuzz_raw(struct state *s)
{
	static const unsigned long cmds[] = {
		OW_KUNWIND_INFO,      OW_KUNWIND_UNWIND,
		OW_KUNWIND_TABLE,     OW_KUNWIND_FOLLOW,
		OW_KUNWIND_UNFOLLOW,  OW_KUNWIND_STATS,
		OW_KUNWIND_PROC_INFO, OW_KUNWIND_PROC_UNWIND,
		OW_KUNWIND_SUBUIDS,
	};
	const size_t nr_cmds = sizeof(cmds) / sizeof(*cmds);
	uint64_t args[64]; /* more than any call writes */
	size_t i;

	for (i = 0; i < 64; i++)
		args[i] = edge(s) & ~0xffffffff00000000 * (next(s) & 1);
	/* Where the module may write, it must not be into something in use. */
	args[0] = next(s) % 2 ? (uintptr_t)s->frames : 0;
	note(ioctl(next(s) % 2 ? s->dev : s->proc,
		   next(s) % 16 ? cmds[next(s) % nr_cmds] : edge(s),
		   next(s) % 8 ? (void *)args :
				 (void *)(uintptr_t)0xffffffff81000000));
}

static void fuzz_read(struct state *s)
{
	struct pollfd p = { .fd = s->dev, .events = POLLIN };
	struct ow_kunwind_event events[4];
	size_t size = (size_t)edge(s) % (sizeof(events) + 1);

	poll(&p, 1, 0);
	note(read(s->dev, next(s) % 8 ? (void *)events : (void *)1, size));
}

static void reopen(struct state *s)
{
	if (s->dev >= 0)
		close(s->dev);
	if (s->proc >= 0)
		close(s->proc);
	s->dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK);
	s->proc = open(OW_KUNWIND_PROC, O_RDWR);
}

static void (*const all[])(struct state *s) = {
	fuzz_table,  fuzz_table, fuzz_unwind, fuzz_unwind, fuzz_unwind,
	fuzz_follow, fuzz_proc,  fuzz_raw,    fuzz_read,
};

/* Its mappings change meanwhile. */
static void shake(struct state *s)
{
	void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	mprotect(p, 4096, PROT_READ);
	munmap(p, 8192);
	if (next(s) % 8)
		return;
	pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void *run(void *arg)
{
	struct state *s = calloc(1, sizeof(*s));

	s->rand = (uintptr_t)arg;
	s->dev = s->proc = -1;
	s->exe = open("/proc/self/exe", O_RDONLY);
	s->copy = malloc(table_size);
	reopen(s);
	while (time(NULL) < until) {
		all[next(s) % (sizeof(all) / sizeof(all[0]))](s);
		if (next(s) % 200 == 0)
			reopen(s);
		if (next(s) % 100 == 0)
			shake(s);
	}
	free(s->copy);
	free(s);
	return NULL;
}

static void make_table(void)
{
	struct ow_bytebuf all_bytes = { .bytes = NULL };
	struct ow_table_stats stats;
	struct ow_elf_segment seg;
	struct ow_table t;
	struct ow_error err;
	struct ow_object *obj = ow_object_open("/proc/self/exe", &err);
	uint32_t i;

	if (!obj || ow_object_load_cfi(obj, &err))
		exit(1);
	table = ow_table_generate(obj, &own_size, &stats, NULL, &err);
	if (!table || ow_table_open(&t, table, own_size))
		exit(1);
	ow_bytebuf_add(&all_bytes, table, own_size);
	ow_bytebuf_pad(&all_bytes, 8);
	rare_size = all_bytes.size;
	ow_rare_generate(obj, &t, NULL, &all_bytes);
	free(table);
	rare_size = all_bytes.size - rare_size;
	table_size = all_bytes.size;
	table = all_bytes.bytes;
	if (rare_size == 0) /* its stubs, at least */
		exit(1);
	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++)
		if (seg.type == OW_PT_LOAD && seg.flags & OW_PF_X)
			segments[nr_segments++] = (struct ow_kunwind_segment){
				seg.off, seg.filesz, seg.vaddr
			};
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	pthread_t t[THREADS];
	size_t i;

	make_table();
	until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run,
			       (void *)(uintptr_t)(seed * 77 + i + 1));
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("# %lu calls, %lu taken, seed %llu\n", calls, taken,
	       (unsigned long long)seed);
	printf("%d passed, %d failed\n", odd == 0 && taken > 0,
	       odd != 0 || taken == 0);
	return odd != 0;
}
