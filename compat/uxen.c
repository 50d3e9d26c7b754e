// SPDX-License-Identifier: BSD-2-Clause
/* libunwind-xen: accessors for a Xen domain that runs one ELF file. */
#include <libunwind-xen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/xen.h>

#include "funcnames.h"
#include "machine.h"
#include "object.h"
#include "procinfo.h"
#include "procname.h"

#define EXPORT __attribute__((visibility("default")))

#define MOST_REGS 64

struct UXEN_info {
	struct ow_xen *domain;
	int vcpu;
	struct ow_object *object;
	struct ow_funcnames names; /* of object */
	/* Of the vCPU when a walk began, by DWARF's numbers. */
	uint64_t regs[MOST_REGS];
	int nr_regs;
};

static void *fail(struct UXEN_info *ui, int domid, const char *why)
{
	fprintf(stderr, "libunwind-xen: domain %d: %s\n", domid, why);
	_UXEN_destroy(ui);
	return NULL;
}

EXPORT void *_UXEN_create(int domid, int vcpu, char *fname)
{
	struct UXEN_info *ui = calloc(1, sizeof(*ui));
	struct ow_error err;
	char domain[16];

	if (!ui)
		return fail(ui, domid, "out of memory");
	ui->vcpu = vcpu;
	ui->object = ow_object_open(fname, &err);
	if (!ui->object || ow_object_load_cfi(ui->object, &err))
		return fail(ui, domid, err.msg);
	ow_funcnames_init(&ui->names, ui->object);
	snprintf(domain, sizeof(domain), "%d", domid);
	ui->domain = ow_xen_open(domain, NULL, &err);
	return ui->domain ? ui : fail(ui, domid, err.msg);
}

EXPORT void _UXEN_destroy(void *arg)
{
	struct UXEN_info *ui = arg;

	if (!ui)
		return;
	if (ui->domain)
		ow_xen_close(ui->domain);
	ow_funcnames_clear(&ui->names);
	if (ui->object)
		ow_object_close(ui->object);
	free(ui);
}

EXPORT void _UXEN_change_vcpu(struct UXEN_info *ui, int vcpu)
{
	ui->vcpu = vcpu;
}

EXPORT int _UXEN_find_proc_info(unw_addr_space_t as, unw_word_t ip,
				unw_proc_info_t *pi, int need, void *arg)
{
	struct ow_cfi_env env = { NULL, 0, NULL };
	struct UXEN_info *ui = arg;
	struct ow_fde fde;
	uint8_t how;

	(void)as;
	if (ow_cfi_find(&ui->object->cfi, &env, ip, &fde, &how))
		return -UNW_ENOINFO;
	return ow_procinfo_fill(pi, &ui->object->cfi, &env, &fde, how, need,
				NULL);
}

EXPORT void _UXEN_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi,
				  void *arg)
{
	(void)as;
	(void)arg;
	ow_procinfo_put(pi);
}

EXPORT int _UXEN_get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret,
					void *arg)
{
	(void)as;
	(void)ret;
	(void)arg;
	return -UNW_ENOINFO;
}

EXPORT int _UXEN_access_mem(unw_addr_space_t as, unw_word_t addr,
			    unw_word_t *val, int write, void *arg)
{
	struct UXEN_info *ui = arg;
	struct ow_error err;

	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (ow_xen_read(ui->domain, (unsigned int)ui->vcpu, addr, val,
			sizeof(*val), &err))
		return -UNW_ENOMEM;
	return 0;
}

/*
 * Registers are taken when the pc is asked for, as a walk begins with that.  The
 * guest may have moved its pages since the last one.
 */
EXPORT int _UXEN_access_reg(unw_addr_space_t as, unw_regnum_t reg,
			    unw_word_t *val, int write, void *arg)
{
	struct UXEN_info *ui = arg;
	struct ow_error err;

	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (ow_machine_slot(reg) == OW_M_PC) {
		ow_xen_forget(ui->domain);
		ui->nr_regs = ow_xen_registers(ui->domain,
					       (unsigned int)ui->vcpu, ui->regs,
					       MOST_REGS, NULL, &err);
	}
	if (ui->nr_regs < 0)
		return -UNW_EINVAL;
	if (reg < 0 || reg >= ui->nr_regs)
		return -UNW_EBADREG;
	*val = ui->regs[reg];
	return 0;
}

EXPORT int _UXEN_access_fpreg(unw_addr_space_t as, unw_regnum_t reg,
			      unw_fpreg_t *val, int write, void *arg)
{
	(void)as;
	(void)reg;
	(void)val;
	(void)write;
	(void)arg;
	return -UNW_EINVAL;
}

EXPORT int _UXEN_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

EXPORT int _UXEN_get_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf,
			       size_t size, unw_word_t *off_ret, void *arg)
{
	struct UXEN_info *ui = arg;

	(void)as;
	return ow_funcnames_find(&ui->names, ip, buf, size, off_ret);
}

EXPORT int _UXEN_get_elf_filename(unw_addr_space_t as, unw_word_t ip, char *buf,
				  size_t size, unw_word_t *off_ret, void *arg)
{
	struct UXEN_info *ui = arg;

	(void)as;
	if (off_ret)
		*off_ret = ip;
	return ow_procname_copy(buf, size, ui->object->path,
				strlen(ui->object->path));
}

EXPORT unw_accessors_t _UXEN_accessors = {
	.find_proc_info = _UXEN_find_proc_info,
	.put_unwind_info = _UXEN_put_unwind_info,
	.get_dyn_info_list_addr = _UXEN_get_dyn_info_list_addr,
	.access_mem = _UXEN_access_mem,
	.access_reg = _UXEN_access_reg,
	.access_fpreg = _UXEN_access_fpreg,
	.resume = _UXEN_resume,
	.get_proc_name = _UXEN_get_proc_name,
	.get_elf_filename = _UXEN_get_elf_filename,
};
