// SPDX-License-Identifier: BSD-2-Clause
/* libunwind-ptrace: accessors for a process that the caller has stopped. */
#include <elf.h>
#include <errno.h>
#include <libunwind-ptrace.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "capinfo.h"
#include "capture.h"
#include "machine.h"
#include "objnames.h"
#include "procfs.h"
#include "procinfo.h"
#include "prstatus.h"

#define EXPORT   __attribute__((visibility("default")))
#define MAX_REGS 512 /* bytes of a register set */

struct upt {
	pid_t pid;
	struct ow_capture *c; /* what was mapped when that was last looked at */
	bool is_old;          /* a walk has begun since */
	struct ow_objnames names; /* of c's objects */
};

EXPORT void *_UPT_create(pid_t pid)
{
	struct upt *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->pid = pid;
	u->is_old = true;
	return u;
}

static void forget(struct upt *u)
{
	ow_objnames_clear(&u->names);
	if (u->c)
		ow_capture_destroy(u->c);
}

EXPORT void _UPT_destroy(void *arg)
{
	struct upt *u = arg;

	if (!u)
		return;
	forget(u);
	free(u);
}

/* Is all code mapped as it was? */
static bool is_same(const struct ow_capture *a, const struct ow_capture *b)
{
	const struct ow_capture_module *m, *n;
	size_t i;

	if (a->nr_modules != b->nr_modules)
		return false;
	for (i = 0; i < a->nr_modules; i++) {
		m = &a->modules[i];
		n = &b->modules[i];
		if (m->start != n->start || m->end != n->end ||
		    m->off != n->off || m->dev != n->dev ||
		    m->inode != n->inode)
			return false;
	}
	return true;
}

/* What is mapped now: looked at once a walk, as it may exec() or dlopen(). */
static struct ow_capture *mapped(struct upt *u)
{
	struct ow_capture *now;

	if (!u->is_old)
		return u->c;
	now = ow_capinfo_process(u->pid);
	u->is_old = false;
	if (now && u->c && is_same(u->c, now)) {
		ow_capture_destroy(now);
		return u->c;
	}
	forget(u);
	u->c = now;
	return now;
}

EXPORT int _UPT_find_proc_info(unw_addr_space_t as, unw_word_t ip,
			       unw_proc_info_t *pi, int need, void *arg)
{
	(void)as;
	return ow_capinfo_find(mapped(arg), ip, pi, need);
}

EXPORT void _UPT_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi,
				 void *arg)
{
	(void)as;
	(void)arg;
	ow_procinfo_put(pi);
}

EXPORT int _UPT_get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret,
				       void *arg)
{
	(void)as;
	(void)ret;
	(void)arg;
	return -UNW_ENOINFO;
}

EXPORT int _UPT_access_mem(unw_addr_space_t as, unw_word_t addr,
			   unw_word_t *val, int write, void *arg)
{
	struct upt *u = arg;

	(void)as;
	errno = 0;
	if (write)
		ptrace(PTRACE_POKEDATA, u->pid, addr, *val);
	else
		*val = ptrace(PTRACE_PEEKDATA, u->pid, addr, 0);
	return errno ? -UNW_EINVAL : 0;
}

EXPORT int _UPT_access_reg(unw_addr_space_t as, unw_regnum_t reg,
			   unw_word_t *val, int write, void *arg)
{
	uint64_t set[MAX_REGS / 8];
	struct iovec iov = { set, sizeof(set) };
	struct upt *u = arg;
	uint8_t slot = ow_machine_slot(reg);
	int off = slot == OW_SLOT_NONE ?
			  -1 :
			  ow_prstatus_offset(ow_machine.arch, slot);

	(void)as;
	if (off < 0)
		return -UNW_EBADREG;
	if (slot == OW_M_PC)
		u->is_old = true;
	if (ptrace(PTRACE_GETREGSET, u->pid, NT_PRSTATUS, &iov) ||
	    (size_t)off + 8 > iov.iov_len)
		return -UNW_EINVAL;
	if (!write) {
		*val = set[off / 8];
		return 0;
	}
	set[off / 8] = *val;
	return ptrace(PTRACE_SETREGSET, u->pid, NT_PRSTATUS, &iov) ?
		       -UNW_EINVAL :
		       0;
}

EXPORT int _UPT_access_fpreg(unw_addr_space_t as, unw_regnum_t reg,
			     unw_fpreg_t *val, int write, void *arg)
{
	(void)as;
	(void)reg;
	(void)val;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

EXPORT int _UPT_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	struct upt *u = arg;

	(void)as;
	(void)cursor;
	return ptrace(PTRACE_CONT, u->pid, 0, 0) ? -UNW_EINVAL : 0;
}

EXPORT int _UPT_get_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf,
			      size_t size, unw_word_t *off_ret, void *arg)
{
	struct upt *u = arg;

	(void)as;
	return ow_capinfo_name(mapped(u), &u->names, ip, buf, size, off_ret);
}

EXPORT int _UPT_get_elf_filename(unw_addr_space_t as, unw_word_t ip, char *buf,
				 size_t size, unw_word_t *off_ret, void *arg)
{
	(void)as;
	return ow_capinfo_file(mapped(arg), ip, buf, size, off_ret);
}

EXPORT unw_accessors_t _UPT_accessors = {
	.find_proc_info = _UPT_find_proc_info,
	.put_unwind_info = _UPT_put_unwind_info,
	.get_dyn_info_list_addr = _UPT_get_dyn_info_list_addr,
	.access_mem = _UPT_access_mem,
	.access_reg = _UPT_access_reg,
	.access_fpreg = _UPT_access_fpreg,
	.resume = _UPT_resume,
	.get_proc_name = _UPT_get_proc_name,
	.get_elf_filename = _UPT_get_elf_filename,
};
