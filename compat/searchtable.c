// SPDX-License-Identifier: BSD-2-Clause
#include "searchtable.h"

#include <stdlib.h>

#include "err.h"
#include "language.h"
#include "localmem.h"
#include "machine.h"
#include "ow_frame.h"

#define MAX_ENTRY 65536 /* bytes of a CIE or an FDE */

/* Who reads; the memory of a struct ow_memory is found by it. */
struct reader {
	struct ow_memory mem; /* first */
	unw_accessors_t *acc;
	unw_addr_space_t as;
	void *arg;
	uint64_t at, word; /* the last one read */
	bool has_word;
};

struct table {
	bool is_here; /* the pairs lie in this process */
	uint64_t data, base, nr;
};

static int read_bytes(const struct ow_memory *mem, uint64_t addr, void *buf,
		      size_t size)
{
	struct reader *r = (struct reader *)mem;
	uint8_t *to = buf;
	size_t skip, n;

	while (size) {
		skip = addr & 7;
		n = 8 - skip < size ? 8 - skip : size;
		if (!r->has_word || r->at != addr - skip) {
			r->at = addr - skip;
			r->has_word = r->acc->access_mem(r->as, r->at, &r->word,
							 0, r->arg) == 0;
			if (!r->has_word)
				return -OW_EFAULT;
		}
		memcpy(to, (const uint8_t *)&r->word + skip, n);
		to += n;
		addr += n;
		size -= n;
	}
	return 0;
}

static int read_offset(const struct ow_memory *mem, const struct table *t,
		       uint64_t at, int32_t *ret)
{
	if (!t->is_here)
		return mem->read(mem, t->data + at, ret, sizeof(*ret));
	memcpy(ret, (const char *)(uintptr_t)t->data + at, sizeof(*ret));
	return 0;
}

/* The FDE's address of the last pair at or before ip: 0 or an error. */
static int search(const struct ow_memory *mem, const struct table *t,
		  uint64_t ip, uint64_t *fde_ret)
{
	uint64_t low = 0, high = t->nr, mid;
	int32_t off;
	int err;

	while (low < high) {
		mid = low + (high - low) / 2;
		err = read_offset(mem, t, 8 * mid, &off);
		if (err)
			return err;
		if (t->base + (int64_t)off <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return -OW_ENOENT;
	err = read_offset(mem, t, 8 * (low - 1) + 4, &off);
	*fde_ret = t->base + (int64_t)off;
	return err;
}

/* Size of the entry at addr with its length; 0 if it is none. */
static size_t entry_size(const struct ow_memory *mem, uint64_t addr)
{
	uint32_t length;

	if (mem->read(mem, addr, &length, sizeof(length)) || length < 4 ||
	    length > MAX_ENTRY)
		return 0;
	return length + 4;
}

/* An FDE behind its CIE, as a section of these two only. */
struct pair {
	uint64_t cie, fde; /* addresses */
	size_t cie_size, fde_size;
	uint8_t *bytes; /* of both, malloc()ed */
};

/* Where an FDE and its CIE lie, and how large they are. */
static int find_pair(const struct ow_memory *mem, uint64_t fde,
		     struct pair *ret)
{
	uint32_t back;

	*ret = (struct pair){ .fde = fde, .fde_size = entry_size(mem, fde) };
	if (!ret->fde_size || mem->read(mem, fde + 4, &back, 4) || back == 0)
		return -OW_EFORMAT;
	ret->cie = fde + 4 - back;
	ret->cie_size = entry_size(mem, ret->cie);
	return ret->cie_size ? 0 : -OW_EFORMAT;
}

static int copy_pair(const struct ow_memory *mem, struct pair *p)
{
	uint32_t back = (uint32_t)p->cie_size + 4;

	p->bytes = malloc(p->cie_size + p->fde_size);
	if (!p->bytes)
		return -OW_ELIMIT;
	if (mem->read(mem, p->cie, p->bytes, p->cie_size) ||
	    mem->read(mem, p->fde, p->bytes + p->cie_size, p->fde_size)) {
		free(p->bytes);
		return -OW_EFAULT;
	}
	memcpy(p->bytes + p->cie_size + 4, &back, 4);
	return 0;
}

static int fill(struct reader *r, struct pair *p, uint64_t ip,
		unw_proc_info_t *pi, int need)
{
	struct ow_cfi cfi = {
		.arch = ow_machine.arch,
		.eh_frame = { p->bytes, p->cie_size + p->fde_size,
			      p->fde - p->cie_size },
	};
	struct ow_cfi_env env = { &r->mem, 0, NULL };
	uint64_t off = p->cie_size, handler, lsda;
	struct ow_fde fde, moved;
	int err;

	if (ow_cfi_entry(&cfi, &env, false, &off, &fde) != 1) {
		free(p->bytes);
		return -UNW_EBADFRAME;
	}
	if (ip - fde.start >= fde.end - fde.start) {
		free(p->bytes);
		return -UNW_ENOINFO;
	}
	/* What the CIE points to is relative to where it really is. */
	moved = fde;
	moved.cie.section_vaddr = p->cie;
	ow_language_of(&cfi, &env, &moved, &handler, &lsda);
	err = ow_procinfo_fill(pi, &cfi, &env, &fde, OW_HOW_CFI, need,
			       p->bytes);
	pi->handler = handler;
	return err;
}

static bool take_table(struct table *t, const unw_dyn_info_t *di)
{
	switch (di->format) {
	case UNW_INFO_FORMAT_TABLE:
		*t = (struct table){ true, (uintptr_t)di->u.ti.table_data,
				     di->u.ti.segbase, di->u.ti.table_len };
		return true;
	case UNW_INFO_FORMAT_REMOTE_TABLE:
	case UNW_INFO_FORMAT_IP_OFFSET:
		*t = (struct table){ false, di->u.rti.table_data,
				     di->u.rti.segbase, di->u.rti.table_len };
		if (di->format == UNW_INFO_FORMAT_IP_OFFSET)
			t->base = di->start_ip;
		return true;
	default: return false;
	}
}

int ow_searchtable_find(unw_accessors_t *acc, unw_addr_space_t as,
			unw_word_t ip, const unw_dyn_info_t *di,
			unw_proc_info_t *pi, int need, void *arg)
{
	struct reader r = {
		.mem = { read_bytes }, .acc = acc, .as = as, .arg = arg
	};
	struct table t;
	struct pair p;
	uint64_t fde;
	int err;

	if (!take_table(&t, di))
		return -UNW_EINVAL;
	err = search(&r.mem, &t, ip, &fde);
	if (!err)
		err = find_pair(&r.mem, fde, &p);
	if (!err)
		err = copy_pair(&r.mem, &p);
	switch (err) {
	case 0: break;
	case -OW_ENOENT: return -UNW_ENOINFO;
	case -OW_ELIMIT: return -UNW_ENOMEM;
	case -OW_EFAULT: return -UNW_EINVAL;
	default: return -UNW_EBADFRAME;
	}
	err = fill(&r, &p, ip, pi, need);
	if (!err)
		pi->gp = di->gp;
	return err;
}

int ow_searchtable_local(uint64_t ip, const unw_dyn_info_t *di,
			 struct ow_cfi *cfi, struct ow_fde *ret)
{
	const struct ow_memory *mem = &ow_local_memory;
	struct ow_cfi_env env = { mem, 0, NULL };
	uint64_t fde, off;
	struct table t;
	struct pair p;
	int err;

	if (!take_table(&t, di))
		return -OW_ENOENT;
	err = search(mem, &t, ip, &fde);
	if (!err)
		err = find_pair(mem, fde, &p);
	if (err)
		return err;
	if (!ow_local_readable(p.cie, p.fde + p.fde_size - p.cie))
		return -OW_EFAULT;
	*cfi = (struct ow_cfi){
		.arch = ow_machine.arch,
		.eh_frame = { (const uint8_t *)(uintptr_t)p.cie,
			      p.fde + p.fde_size - p.cie, p.cie },
	};
	off = p.fde - p.cie;
	if (ow_cfi_entry(cfi, &env, false, &off, ret) != 1)
		return -OW_EFORMAT;
	return ip - ret->start < ret->end - ret->start ? 0 : -OW_ENOENT;
}
