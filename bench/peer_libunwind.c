// SPDX-License-Identifier: BSD-2-Clause
/*
 * libunwind as lean as it can be used: search tables that it reads by
 * access_mem() (perf uses it so), objects mapped once, nothing looked up twice.
 */
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/* Exported, but in no header. */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
int search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
			unw_proc_info_t *pi, int need_unwind_info, void *arg);

struct libunwind {
	struct bench_peer base; /* first */
	unw_addr_space_t as;
	size_t thread;
	const struct ow_capture_module *last; /* that find_proc_info() found */
	unw_word_t pcs[BENCH_MAX_PCS];
};

static int find_proc_info(unw_addr_space_t as, unw_word_t ip,
			  unw_proc_info_t *pi, int need, void *arg)
{
	struct libunwind *l = arg;
	struct ow_capture_module *m = ow_capture_module_at(l->base.c, ip);
	const struct ow_cfi *cfi = m ? m->base.cfi : NULL;
	unw_dyn_info_t di = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	uint64_t hdr;

	if (!cfi || !cfi->hdr_table)
		return -UNW_ENOINFO;
	l->last = m;
	hdr = cfi->hdr.vaddr + m->base.bias;
	di.start_ip = m->start;
	di.end_ip = m->end;
	di.u.rti.segbase = hdr;
	di.u.rti.table_data = hdr + (cfi->hdr_table - cfi->hdr.bytes);
	di.u.rti.table_len = cfi->hdr_nr * 8 / sizeof(unw_word_t);
	return search_unwind_table(as, ip, &di, pi, need, arg);
}

static bool copy_word(const uint8_t *bytes, uint64_t start, uint64_t size,
		      unw_word_t addr, unw_word_t *ret)
{
	if (addr - start >= size || size - (addr - start) < sizeof(*ret))
		return false;
	memcpy(ret, bytes + (addr - start), sizeof(*ret));
	return true;
}

static bool copy_section(const struct ow_capture_module *m,
			 const struct ow_section *sec, unw_word_t addr,
			 unw_word_t *ret)
{
	return copy_word(sec->bytes, sec->vaddr + m->base.bias, sec->size, addr,
			 ret);
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val,
		      int write, void *arg)
{
	struct libunwind *l = arg;
	const struct ow_memory *mem = &l->base.c->target.mem;
	const struct ow_window *w = &l->base.c->threads[l->thread].stack;
	const struct ow_capture_module *m = l->last;

	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (copy_word(w->bytes, w->start, w->size, addr, val))
		return 0;
	if (m && (copy_section(m, &m->object->cfi.hdr, addr, val) ||
		  copy_section(m, &m->object->cfi.eh_frame, addr, val)))
		return 0;
	return mem->read(mem, addr, val, sizeof(*val)) ? -UNW_EINVAL : 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val,
		      int write, void *arg)
{
	struct libunwind *l = arg;

	(void)as;
	if (write || reg < UNW_X86_64_RAX || reg > UNW_X86_64_RIP)
		return -UNW_EBADREG;
	*val = bench_reg(l->base.c, l->thread, reg); /* they are DWARF's */
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
	return -UNW_EINVAL;
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret,
				  void *arg)
{
	(void)as;
	(void)ret;
	(void)arg;
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = get_dyn_info_list_addr,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
};

static size_t walk(struct bench_peer *p, size_t i)
{
	struct libunwind *l = (struct libunwind *)p;
	unw_cursor_t cursor;
	size_t n = 0;

	l->thread = i;
	if (unw_init_remote(&cursor, l->as, l))
		return 0;
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &l->pcs[n++]);
	} while (n < BENCH_MAX_PCS && unw_step(&cursor) > 0);
	return n;
}

static void destroy(struct bench_peer *p)
{
	struct libunwind *l = (struct libunwind *)p;

	unw_destroy_addr_space(l->as);
	free(l);
}

struct bench_peer *bench_libunwind(struct ow_capture *c, int policy,
				   size_t cache)
{
	struct libunwind *l = calloc(1, sizeof(*l));

	if (!l)
		bench_die("out of memory");
	memset(l->pcs, 0xff, sizeof(l->pcs));
	l->base = (struct bench_peer){ walk, destroy, c, l->pcs,
				       sizeof(l->pcs[0]) };
	l->as = unw_create_addr_space(&accessors, 0);
	if (!l->as)
		bench_die("no address space");
	unw_set_caching_policy(l->as, policy);
	/* In 1.6.2 the first call only sets up a cache of the usual size. */
	if (cache) {
		unw_set_cache_size(l->as, cache, 0);
		unw_set_cache_size(l->as, cache, 0);
	}
	return &l->base;
}
