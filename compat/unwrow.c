// SPDX-License-Identifier: BSD-2-Clause
#include "unwrow.h"

#include "dynfind.h"
#include "err.h"
#include "procinfo.h"
#include "searchtable.h"

#define NR_SCRATCHES 16
#define CODE_SIZE    16

static struct ow_scratch scratches[NR_SCRATCHES];

struct ow_scratch *ow_scratch_take(struct ow_scratch *own)
{
	size_t i;

	for (i = 0; i < NR_SCRATCHES; i++)
		if (!__atomic_exchange_n(&scratches[i].taken, true,
					 __ATOMIC_ACQUIRE))
			return &scratches[i];
	return own;
}

void ow_scratch_give(struct ow_scratch *s)
{
	__atomic_store_n(&s->taken, false, __ATOMIC_RELEASE);
}

int ow_unw_error(int err)
{
	switch (err) {
	case 0: return 0;
	case -OW_EUNSUPPORTED: return -UNW_EBADVERSION;
	case -OW_EFAULT: return -UNW_EINVAL;
	case -OW_ENOENT: return -UNW_ENOINFO;
	case -OW_EUNKNOWN: return -UNW_EBADREG;
	default: return -UNW_EBADFRAME;
	}
}

/* Ask anew what can be read of an address that no rule led to. */
static void recheck(const struct ow_unw *u, uint64_t start, uint64_t end)
{
	if (!u->as->is_local)
		return;
	ow_local_recheck(start);
	if ((start ^ (end - 1)) >= OW_LOCAL_PAGE)
		ow_local_recheck(end - 1);
}

/* Bytes at ip, as many as there are. */
static size_t read_code(struct ow_unw *u, uint8_t *code)
{
	uint64_t word, first = u->ip & ~(uint64_t)7;
	size_t skip = u->ip - first, got = 0, i;

	/* What was interrupted may be a jump to code that is gone. */
	if (!u->is_return)
		recheck(u, u->ip, u->ip + CODE_SIZE);
	for (i = 0; got < CODE_SIZE; i += 8) {
		if (ow_unw_load(u, first + i, &word))
			break;
		for (; skip < 8 && got < CODE_SIZE; skip++)
			code[got++] = (uint8_t)(word >> 8 * skip);
		skip = 0;
	}
	return got;
}

bool ow_unw_at_trampoline(struct ow_unw *u, struct ow_row *row)
{
	uint8_t code[CODE_SIZE];
	size_t size = read_code(u, code);

	return ow_arch_signal_row(ow_machine.arch, code, size, row);
}

/*
 * Return true if a call ends at addr.  Of other processes code may not be had: that
 * doesn't speak against a call.
 */
static bool follows_call(const struct ow_unw *u, uint64_t addr)
{
	const struct ow_arch *arch = ow_machine.arch;
	uint64_t at = (addr - 1) & ~(uint64_t)7, first;
	uint8_t code[16];
	size_t size;

	recheck(u, addr - arch->call_size, addr);
	if (ow_unw_load(u, at, &first))
		return !u->as->is_local;
	memcpy(code + 8, (const uint8_t *)&first, 8);
	size = addr - at;
	if (size < arch->call_size && !ow_unw_load(u, at - 8, &first)) {
		memcpy(code, (const uint8_t *)&first, 8);
		size += 8;
	}
	return arch->ends_with_call(code + 8 + (addr - at), size);
}

bool ow_unw_may_call(const struct ow_unw *u, uint64_t ip, bool by_fp)
{
	struct ow_unw caller = *u;
	struct ow_row row;
	uint64_t fp;

	if (by_fp && !ow_unw_fetch(u, OW_M_FP, &fp) && fp == 0)
		return true;
	if (follows_call(u, ip))
		return true;
	caller.ip = ip;
	caller.is_return = false;
	return ow_unw_at_trampoline(&caller, &row);
}

bool ow_unw_at_plt(struct ow_unw *u)
{
	uint8_t code[CODE_SIZE];

	return read_code(u, code) == CODE_SIZE && ow_machine.is_plt(code);
}

uint64_t ow_unw_tag(struct ow_unw *u, uint64_t addr)
{
	struct ow_loaded l;

	if (addr - u->object.start < u->object.end - u->object.start)
		return u->tag;
	if (!ow_loaded_find(addr, &l))
		return UINT64_MAX;
	u->object = (struct ow_extent){ l.start, l.end };
	u->tag = l.tag;
	return l.tag;
}

/* The target's memory through the accessors, word by word. */
static int read_remote(const struct ow_memory *mem, uint64_t addr, void *buf,
		       size_t size)
{
	const struct ow_target *t = (const struct ow_target *)mem;
	const struct ow_scratch *s =
		(const struct ow_scratch *)((const char *)t -
					    offsetof(struct ow_scratch,
						     target));
	uint8_t *to = buf;
	uint64_t word;
	size_t skip, n;

	while (size) {
		skip = addr & 7;
		n = 8 - skip < size ? 8 - skip : size;
		if (ow_unw_load(s->reader, addr - skip, &word))
			return -OW_EFAULT;
		memcpy(to, (const uint8_t *)&word + skip, n);
		to += n;
		addr += n;
		size -= n;
	}
	return 0;
}

static const struct ow_memory remote_memory = { read_remote };

void ow_unw_set_target(struct ow_unw *u, struct ow_scratch *s)
{
	s->reader = u;
	s->target.mem = u->as->is_local ? ow_local_memory : remote_memory;
	s->target.arch = ow_machine.arch;
	s->target.pc_mask = 0;
	s->target.kernel_start = 0;
	s->step.target = &s->target;
	s->step.stack = (struct ow_window){ 0, 0, NULL };
	s->step.pc_mask = ow_machine.arch->pc_mask;
}

/* Code that _U_dyn_register() was told of. */
static int find_dynamic(struct ow_scratch *s, uint64_t addr, struct ow_row *row)
{
	const unw_dyn_info_t *di = ow_dynfind(addr);
	int err;

	if (!di)
		return -OW_ENOENT;
	err = ow_searchtable_local(addr, di, &s->cfi, &s->finder.fde);
	if (err)
		return err;
	return ow_find_fde_row(&s->finder, addr, OW_HOW_CFI, row);
}

static int find_local(struct ow_unw *u, struct ow_scratch *s, uint64_t addr,
		      struct ow_row *row)
{
	struct ow_loaded l;
	int err;

	if (!ow_loaded_find(addr, &l)) {
		u->object = (struct ow_extent){ 0, 0 };
		return find_dynamic(s, addr, row);
	}
	u->object = (struct ow_extent){ l.start, l.end };
	u->tag = l.tag;
	err = ow_loaded_cfi(&l, &s->cfi);
	if (err)
		return err;
	s->module =
		(struct ow_module){ .state = OW_MODULE_READY, .cfi = &s->cfi };
	return ow_find_row(&s->finder, &s->target, &s->module, addr, row);
}

static int find_remote(struct ow_unw *u, struct ow_scratch *s, uint64_t addr,
		       struct ow_row *row)
{
	const struct ow_unwind_info *info;
	int err;

	err = u->as->acc.find_proc_info(u->as, addr, &s->pi, 1, u->arg);
	if (err)
		return err < 0 ? err : -UNW_EUNSPEC;
	s->has_pi = true;
	info = s->pi.unwind_info;
	if (!info || s->pi.format != UNW_INFO_FORMAT_TABLE)
		return -UNW_ENOINFO;
	s->finder.fde = info->fde;
	err = ow_find_fde_row(&s->finder, addr - info->bias, info->how, row);
	row->bias = info->bias;
	return ow_unw_error(err);
}

void ow_unw_put_row(struct ow_unw *u, struct ow_scratch *s)
{
	if (!s->has_pi)
		return;
	s->has_pi = false;
	if (u->as->acc.put_unwind_info)
		u->as->acc.put_unwind_info(u->as, &s->pi, u->arg);
	ow_procinfo_put(&s->pi);
}

/*
 * Without CFI: a trampoline, a PLT entry, a call to nowhere, and else the frame
 * pointer, where it may be one.
 */
static int fall_back(struct ow_unw *u, struct ow_scratch *s, struct ow_row *row)
{
	const struct ow_arch *arch = ow_machine.arch;
	uint64_t fp;

	if (ow_unw_at_trampoline(u, row))
		return 0;
	if (ow_unw_at_plt(u) || (!u->is_return && u->as->is_local &&
				 !ow_local_readable(u->ip, 1))) {
		ow_arch_call_row(arch, row, s->finder.rules);
		return 0;
	}
	if (ow_unw_fetch(u, OW_M_FP, &fp) || fp == 0 || fp & 7 || fp < u->sp)
		return 1;
	ow_arch_fp_row(arch, row, s->finder.rules);
	return 0;
}

int ow_unw_find_row(struct ow_unw *u, struct ow_scratch *s, struct ow_row *row,
		    uint64_t *tag_ret, bool *is_kept)
{
	uint64_t addr = ow_unw_lookup(u);
	int err;

	ow_unw_set_target(u, s);
	/* Whose CFI it saw last may be gone. */
	ow_finder_reset(&s->finder);
	s->has_pi = false;
	s->pi = (unw_proc_info_t){ .format = -1 };
	*is_kept = false;
	if (u->as->is_local) {
		err = ow_unw_error(find_local(u, s, addr, row));
		*tag_ret = u->tag;
	} else {
		err = find_remote(u, s, addr, row);
		*tag_ret = u->as->generation;
	}
	if (err == -UNW_ENOINFO)
		return fall_back(u, s, row);
	if (err)
		return err;
	/* A return address at the very end may be a trampoline's start. */
	if (row->flags & OW_ROW_LAST && addr != u->ip &&
	    ow_unw_at_trampoline(u, row))
		return 0;
	row->flags &= ~OW_ROW_LAST;
	*is_kept = !u->as->is_local || u->object.end;
	return 0;
}
