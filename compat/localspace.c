// SPDX-License-Identifier: BSD-2-Clause
#include "localspace.h"

#include <string.h>

#include "dynfind.h"
#include "dynlist.h"
#include "localmem.h"
#include "machine.h"
#include "ow_frame.h"
#include "procinfo.h"
#include "procname.h"
#include "searchtable.h"

int ow_local_find_proc_info(unw_addr_space_t as, unw_word_t ip,
			    unw_proc_info_t *pi, int need, void *arg)
{
	const unw_dyn_info_t *di = ow_dynfind(ip);
	struct ow_cfi_env env = { &ow_local_memory, 0, NULL };
	struct ow_cfi cfi;
	struct ow_fde fde;

	(void)as;
	(void)need;
	(void)arg;
	if (!di)
		return ow_procinfo_local(ip, pi);
	*pi = (unw_proc_info_t){
		.start_ip = di->start_ip,
		.end_ip = di->end_ip,
		.format = di->format,
	};
	if (di->format == UNW_INFO_FORMAT_DYNAMIC)
		pi->handler = di->u.pi.handler;
	else if (ow_searchtable_local(ip, di, &cfi, &fde))
		return -UNW_ENOINFO;
	else
		ow_procinfo_of(pi, &cfi, &env, &fde, OW_HOW_CFI);
	pi->gp = di->gp;
	return 0;
}

void ow_local_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi,
			      void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

int ow_local_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret, void *arg)
{
	(void)as;
	(void)arg;
	*ret = _U_dyn_info_list_addr();
	return 0;
}

int ow_local_access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val,
			int write, void *arg)
{
	(void)as;
	(void)arg;
	if (!ow_local_readable(addr, sizeof(*val)))
		return -UNW_EINVAL;
	if (write)
		*(unw_word_t *)(uintptr_t)addr = *val;
	else
		*val = ow_local_word(addr);
	return 0;
}

int ow_local_access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val,
			int write, void *arg)
{
	uint8_t slot = ow_machine_slot(reg);
	unw_word_t *at;

	(void)as;
	if (!arg || slot == OW_SLOT_NONE ||
	    ow_machine.gregs[slot] == OW_GREG_NONE)
		return -UNW_EBADREG;
	at = (unw_word_t *)((char *)arg + ow_machine.gregs[slot]);
	if (write)
		*at = *val;
	else
		*val = *at;
	return 0;
}

int ow_local_access_fpreg(unw_addr_space_t as, unw_regnum_t reg,
			  unw_fpreg_t *val, int write, void *arg)
{
	(void)as;
	(void)reg;
	(void)val;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

int ow_local_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf,
		       size_t size, unw_word_t *off_ret, void *arg)
{
	const unw_dyn_info_t *di = ow_dynfind(ip);
	const char *name;

	(void)as;
	(void)arg;
	if (!di)
		return ow_procname_local(ip, buf, size, off_ret);
	if (di->format != UNW_INFO_FORMAT_DYNAMIC || !di->u.pi.name_ptr)
		return -UNW_ENOINFO;
	name = (const char *)(uintptr_t)di->u.pi.name_ptr;
	if (off_ret)
		*off_ret = ip - di->start_ip;
	return ow_procname_copy(buf, size, name, strlen(name));
}

int ow_local_elf_filename(unw_addr_space_t as, unw_word_t ip, char *buf,
			  size_t size, unw_word_t *off_ret, void *arg)
{
	(void)as;
	(void)arg;
	return ow_procname_file(ip, buf, size, off_ret);
}
