// SPDX-License-Identifier: BSD-2-Clause
/*
 * libunwind's interface over outwind beside libunwind itself, loaded together:
 * unw_backtrace(), loops of unw_step(), and remote walks over accessors, which
 * are the same functions for both.
 *
 * bench_compat FOLDER FOLDER [check]: of our libraries, of libunwind's; check
 * only makes sure that both find the same.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <libunwind.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "stacks.h"

#define TEXT(x)   #x
#define NAME(x)   TEXT(x)
#define LOCAL(fn) "_UL" NAME(UNW_TARGET) "_" #fn
#define ANY(fn)   "_U" NAME(UNW_TARGET) "_" #fn

#define MAX_TABLES 64
#define SPAN_NS    2000000.0

struct library {
	int (*backtrace)(void **, int);
	int (*getcontext)(unw_context_t *);
	int (*init_local)(unw_cursor_t *, unw_context_t *);
	int (*local_get)(unw_cursor_t *, int, unw_word_t *);
	int (*local_step)(unw_cursor_t *);
	unw_addr_space_t (*create)(unw_accessors_t *, int);
	int (*set_policy)(unw_addr_space_t, unw_caching_policy_t);
	int (*init_remote)(unw_cursor_t *, unw_addr_space_t, void *);
	int (*get)(unw_cursor_t *, int, unw_word_t *);
	int (*step)(unw_cursor_t *);
	int (*search)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
		      unw_proc_info_t *, int, void *);
	unw_addr_space_t cached, plain;
};

enum {
	OURS,
	THEIRS,
	NR_LIBRARIES
};

static struct library libs[NR_LIBRARIES];
static unw_dyn_info_t tables[MAX_TABLES];
static size_t nr_tables;

static void *function(const char *dir, const char *file, const char *name)
{
	char path[4096];
	void *handle, *ret;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ret = handle ? dlsym(handle, name) : NULL;
	if (!ret)
		bench_die("%s", dlerror());
	return ret;
}

/* The accessors: this process read as if it were another one. */

static int find_proc_info(unw_addr_space_t as, unw_word_t ip,
			  unw_proc_info_t *pi, int need, void *arg)
{
	const struct library *l =
		&libs[as == libs[THEIRS].cached || as == libs[THEIRS].plain];
	size_t i;

	for (i = 0; i < nr_tables; i++)
		if (ip >= tables[i].start_ip && ip < tables[i].end_ip)
			return l->search(as, ip, &tables[i], pi, need, arg);
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret,
				  void *arg)
{
	(void)as;
	(void)ret;
	(void)arg;
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val,
		      int write, void *arg)
{
	(void)as;
	(void)arg;
	if (write || addr < 4096)
		return -UNW_EINVAL;
	*val = *(unw_word_t *)(uintptr_t)addr;
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val,
		      int write, void *arg)
{
	static const int gregs[] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
		REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
		REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};
	const ucontext_t *uc = arg;

	(void)as;
	if (write || reg < 0 || reg > UNW_REG_LAST)
		return -UNW_EBADREG;
	*val = uc->uc_mcontext.gregs[gregs[reg]];
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val,
			int write, void *arg)
{
	(void)as;
	(void)reg;
	(void)val;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = get_dyn_info_list_addr,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
};

/* .eh_frame_hdr as all linkers write it: 12 bytes, then the pairs. */
static int add_table(struct dl_phdr_info *info, size_t size, void *arg)
{
	unw_dyn_info_t *t = &tables[nr_tables];
	const uint8_t *hdr;
	uint32_t nr;
	size_t i;

	(void)size;
	(void)arg;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			t->start_ip = start;
			t->end_ip = start + p->p_memsz;
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			hdr = (const uint8_t *)(uintptr_t)start;
			memcpy(&nr, hdr + 8, sizeof(nr));
			t->format = UNW_INFO_FORMAT_REMOTE_TABLE;
			t->u.rti.segbase = start;
			t->u.rti.table_data = start + 12;
			t->u.rti.table_len = nr;
		}
	}
	return t->u.rti.table_len && ++nr_tables == MAX_TABLES;
}

static void open_library(struct library *l, const char *dir)
{
	const char *local = "libunwind.so.8";
	const char *any = "libunwind-x86_64.so.8";

	l->backtrace = function(dir, local, "unw_backtrace");
	l->getcontext = function(dir, local, ANY(getcontext));
	l->init_local = function(dir, local, LOCAL(init_local));
	l->local_get = function(dir, local, LOCAL(get_reg));
	l->local_step = function(dir, local, LOCAL(step));
	l->create = function(dir, any, ANY(create_addr_space));
	l->set_policy = function(dir, any, ANY(set_caching_policy));
	l->init_remote = function(dir, any, ANY(init_remote));
	l->get = function(dir, any, ANY(get_reg));
	l->step = function(dir, any, ANY(step));
	l->search = function(dir, any, ANY(dwarf_search_unwind_table));
	l->cached = l->create(&accessors, 0);
	l->plain = l->create(&accessors, 0);
	if (!l->cached || !l->plain ||
	    l->set_policy(l->cached, UNW_CACHE_GLOBAL))
		bench_die("%s: no address space", dir);
}

static int do_backtrace(const struct library *l, void **pcs)
{
	return l->backtrace(pcs, BENCH_MAX_PCS);
}

static int do_glibc(const struct library *l, void **pcs)
{
	(void)l;
	return backtrace(pcs, BENCH_MAX_PCS);
}

static int do_steps(const struct library *l, void **pcs)
{
	unw_cursor_t cursor;
	unw_context_t uc;
	unw_word_t ip;
	int n = 0;

	l->getcontext(&uc);
	l->init_local(&cursor, &uc);
	do {
		l->local_get(&cursor, UNW_REG_IP, &ip);
		pcs[n++] = (void *)(uintptr_t)ip;
	} while (l->local_step(&cursor) > 0);
	return n;
}

static int walk_remote(const struct library *l, unw_addr_space_t as, void **pcs)
{
	unw_cursor_t cursor;
	unw_context_t uc;
	unw_word_t ip;
	int n = 0;

	l->getcontext(&uc);
	l->init_remote(&cursor, as, &uc);
	do {
		l->get(&cursor, UNW_REG_IP, &ip);
		pcs[n++] = (void *)(uintptr_t)ip;
	} while (l->step(&cursor) > 0);
	return n;
}

static int do_cached(const struct library *l, void **pcs)
{
	return walk_remote(l, l->cached, pcs);
}

static int do_plain(const struct library *l, void **pcs)
{
	return walk_remote(l, l->plain, pcs);
}

static struct bench_row {
	const char *name;
	int (*walk)(const struct library *l, void **pcs);
	double target; /* times as fast as libunwind */
	double ns[NR_LIBRARIES][2];
} rows[] = {
	{ "unw_backtrace()", do_backtrace, 1, { { 0 } } },
	{ "unw_step() loop", do_steps, 8, { { 0 } } },
	{ "remote, cache", do_cached, 15, { { 0 } } },
	{ "remote, no cache (default)", do_plain, 0, { { 0 } } },
	{ "glibc backtrace()", do_glibc, 0, { { 0 } } },
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

struct order {
	const struct bench_row *row;
	const struct library *lib;
	unsigned int rounds;
	struct bench_meter *meter;
};

static unsigned long leaf(const struct bench_path *p, unsigned int i)
{
	const struct order *o = p->arg;
	void *pcs[BENCH_MAX_PCS];
	unsigned int round;

	bench_begin(o->meter);
	for (round = 0; round < o->rounds; round++)
		o->meter->frames += o->row->walk(o->lib, pcs);
	bench_end(o->meter);
	return i;
}

static double measure(const struct bench_row *row, const struct library *lib,
		      size_t set)
{
	double ns[BENCH_REPEATS];
	struct bench_meter m = { 0 };
	struct order o = { row, lib, set ? 1 : 50, &m };
	size_t repeat, i;

	bench_visit(functions_omit, 0, leaf, &o);
	if (!set)
		o.rounds = (unsigned int)(SPAN_NS * 50 / (m.ns + 1)) + 1;
	for (repeat = 0; repeat < BENCH_REPEATS; repeat++) {
		m = (struct bench_meter){ 0 };
		for (i = 0; i < (set ? BENCH_STACKS : 1); i++)
			bench_visit(functions_omit, i, leaf, &o);
		ns[repeat] = (double)m.ns / m.frames;
	}
	return bench_median(ns, BENCH_REPEATS);
}

/* Both have to find the same, or times mean nothing. */
static unsigned long check_leaf(const struct bench_path *p, unsigned int i)
{
	void *pcs[NR_LIBRARIES][BENCH_MAX_PCS];
	int n[NR_LIBRARIES], k;
	size_t r;

	(void)p;
	for (r = 0; r + 1 < NR_ROWS; r++) {
		for (volatile int l = 0; l < NR_LIBRARIES; l = l + 1)
			n[l] = rows[r].walk(&libs[l], pcs[l]);
		for (k = 0; k < n[OURS] && k < n[THEIRS]; k++)
			if (pcs[OURS][k] != pcs[THEIRS][k])
				break;
		if (k < BENCH_DEPTH || k != n[OURS] || k != n[THEIRS])
			bench_die("%s: frame %d of %d and %d differs",
				  rows[r].name, k, n[OURS], n[THEIRS]);
	}
	return i;
}

static void print_table(void)
{
	struct bench_row *r;
	double ratio;
	size_t set;

	printf("\nlibunwind's interface: ns a frame of %d\n", BENCH_DEPTH + 4);
	printf("%-28s %26s %26s\n", "", "one stack", "200 stacks");
	printf("%-28s", "");
	for (set = 0; set < 2; set++)
		printf(" %8s %9s %7s", "outwind", "libunwind", "ratio");
	putchar('\n');
	for (r = rows; r < rows + NR_ROWS; r++) {
		printf("%-28s", r->name);
		for (set = 0; set < 2; set++)
			printf(" %8.1f %9.1f %7.2f", r->ns[OURS][set],
			       r->ns[THEIRS][set],
			       r->ns[THEIRS][set] / r->ns[OURS][set]);
		putchar('\n');
	}
	for (r = rows; r < rows + NR_ROWS && r->target > 0; r++) {
		ratio = r->ns[THEIRS][0] / r->ns[OURS][0];
		printf("target: %s >= %.0f times as fast: %.1f, %s\n", r->name,
		       r->target, ratio, bench_verdict(ratio >= r->target));
	}
}

int main(int argc, char **argv)
{
	size_t r, l, set;

	if (argc < 3)
		bench_die("usage: bench_compat OURS THEIRS [check]");
	open_library(&libs[OURS], argv[1]);
	open_library(&libs[THEIRS], argv[2]);
	dl_iterate_phdr(add_table, NULL);
	for (r = 0; r < BENCH_STACKS; r++)
		bench_visit(functions_omit, r, check_leaf, NULL);
	if (argc > 3) {
		printf("%d passed, 0 failed\n", BENCH_STACKS);
		return 0;
	}
	bench_rouse_cpu();
	for (r = 0; r < NR_ROWS; r++)
		for (set = 0; set < 2; set++)
			for (l = 0; l < NR_LIBRARIES; l++)
				rows[r].ns[l][set] =
					measure(&rows[r], &libs[l], set);
	print_table();
	return 0;
}
