// SPDX-License-Identifier: BSD-2-Clause
/* libunwind-coredump: accessors for a core file. */
#include <libunwind-coredump.h>
#include <stdlib.h>
#include <string.h>

#include "capinfo.h"
#include "capture.h"
#include "machine.h"
#include "objnames.h"
#include "procinfo.h"

#define EXPORT __attribute__((visibility("default")))

struct UCD_info {
	struct ow_capture *c;
	struct ow_objnames names;
	size_t thread;          /* the one selected */
	struct ow_object *core; /* the file as it lies on disk, or NULL */
};

EXPORT struct UCD_info *_UCD_create(const char *filename)
{
	struct UCD_info *ui = calloc(1, sizeof(*ui));
	struct ow_error err;

	if (!ui)
		return NULL;
	ui->c = ow_capture_core(filename, NULL, NULL, &err);
	if (!ui->c || ui->c->target.arch != ow_machine.arch) {
		_UCD_destroy(ui);
		return NULL;
	}
	/* For program headers' numbers and signals; a compressed core has
	   none that could be told. */
	ui->core = ow_object_open(filename, &err);
	return ui;
}

EXPORT void _UCD_destroy(struct UCD_info *ui)
{
	if (!ui)
		return;
	ow_objnames_clear(&ui->names);
	if (ui->c)
		ow_capture_destroy(ui->c);
	if (ui->core)
		ow_object_close(ui->core);
	free(ui);
}

EXPORT int _UCD_get_num_threads(struct UCD_info *ui)
{
	return (int)ow_capture_nr_threads(ui->c);
}

EXPORT void _UCD_select_thread(struct UCD_info *ui, int n)
{
	if (n >= 0 && (size_t)n < ow_capture_nr_threads(ui->c))
		ui->thread = (size_t)n;
}

/* As libunwind has it: the thread's, not the process's. */
EXPORT pid_t _UCD_get_pid(struct UCD_info *ui)
{
	return ow_capture_thread(ui->c, ui->thread)->tid;
}

/* pr_cursig of elf_prstatus, behind pr_info (Linux, include/uapi/linux/elfcore.h). */
static int cursig_of(const struct ow_elf_note *note)
{
	int16_t sig;

	if (note->desc_size < 14)
		return 0;
	memcpy(&sig, note->desc + 12, sizeof(sig));
	return sig;
}

EXPORT int _UCD_get_cursig(struct UCD_info *ui)
{
	struct ow_elf_segment seg;
	struct ow_elf_note note;
	struct ow_cursor c;
	size_t thread = 0;
	uint32_t i;

	for (i = 0; ui->core && ow_elf_segment(&ui->core->elf, i, &seg); i++) {
		if (seg.type != OW_PT_NOTE || seg.off > ui->core->size ||
		    seg.filesz > ui->core->size - seg.off)
			continue;
		c = (struct ow_cursor){ ui->core->bytes + seg.off,
					ui->core->bytes + seg.off + seg.filesz,
					false };
		while (ow_elf_note(&c, &note))
			if (note.type == 1 /* NT_PRSTATUS */ &&
			    thread++ == ui->thread)
				return cursig_of(&note);
	}
	return 0;
}

/* The first module at or behind vaddr: what is given is where its file begins. */
static struct ow_capture_module *backed_by(struct UCD_info *ui, uint64_t vaddr)
{
	struct ow_capture_module *m = ui->c->modules;
	size_t i;

	for (i = 0; i < ui->c->nr_modules; i++, m++)
		if (vaddr < m->end && (vaddr >= m->start || vaddr == m->head))
			return m;
	return NULL;
}

EXPORT int _UCD_add_backing_file_at_vaddr(struct UCD_info *ui,
					  unsigned long vaddr,
					  const char *filename)
{
	struct ow_capture_module *m = backed_by(ui, vaddr);
	const char *path;

	/* Nothing is executed there. */
	if (!m)
		return 0;
	if (m->base.state == OW_MODULE_READY)
		return strcmp(m->path, filename) == 0 ? 0 : -1;
	path = ow_intern_add(&ui->c->paths, filename);
	if (!path)
		return -1;
	if (!m->is_path_lent)
		free(m->path);
	m->path = (char *)path;
	m->is_path_lent = true;
	m->is_given = true;
	return 0;
}

EXPORT int _UCD_add_backing_file_at_segment(struct UCD_info *ui, int phdr_no,
					    const char *filename)
{
	struct ow_elf_segment seg;

	if (phdr_no < 0 || !ui->core ||
	    !ow_elf_segment(&ui->core->elf, (uint32_t)phdr_no, &seg) ||
	    seg.type != OW_PT_LOAD)
		return -1;
	return _UCD_add_backing_file_at_vaddr(ui, seg.vaddr, filename);
}

EXPORT int _UCD_find_proc_info(unw_addr_space_t as, unw_word_t ip,
			       unw_proc_info_t *pi, int need, void *arg)
{
	struct UCD_info *ui = arg;

	(void)as;
	return ow_capinfo_find(ui->c, ip, pi, need);
}

EXPORT void _UCD_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi,
				 void *arg)
{
	(void)as;
	(void)arg;
	ow_procinfo_put(pi);
}

EXPORT int _UCD_get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret,
				       void *arg)
{
	(void)as;
	(void)ret;
	(void)arg;
	return -UNW_ENOINFO;
}

EXPORT int _UCD_access_mem(unw_addr_space_t as, unw_word_t addr,
			   unw_word_t *val, int write, void *arg)
{
	struct UCD_info *ui = arg;

	(void)as;
	return write ? -UNW_EINVAL : ow_capinfo_word(ui->c, addr, val);
}

EXPORT int _UCD_access_reg(unw_addr_space_t as, unw_regnum_t reg,
			   unw_word_t *val, int write, void *arg)
{
	struct UCD_info *ui = arg;
	const struct ow_regs *regs = &ui->c->threads[ui->thread].regs;
	uint8_t slot = ow_machine_slot(reg);

	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (slot == OW_SLOT_NONE || !ow_regs_known(regs, slot))
		return -UNW_EBADREG;
	*val = regs->val[slot];
	return 0;
}

EXPORT int _UCD_access_fpreg(unw_addr_space_t as, unw_regnum_t reg,
			     unw_fpreg_t *val, int write, void *arg)
{
	(void)as;
	(void)reg;
	(void)val;
	(void)write;
	(void)arg;
	return -UNW_EINVAL;
}

EXPORT int _UCD_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

EXPORT int _UCD_get_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf,
			      size_t size, unw_word_t *off_ret, void *arg)
{
	struct UCD_info *ui = arg;

	(void)as;
	return ow_capinfo_name(ui->c, &ui->names, ip, buf, size, off_ret);
}

EXPORT int _UCD_get_elf_filename(unw_addr_space_t as, unw_word_t ip, char *buf,
				 size_t size, unw_word_t *off_ret, void *arg)
{
	struct UCD_info *ui = arg;

	(void)as;
	return ow_capinfo_file(ui->c, ip, buf, size, off_ret);
}

EXPORT unw_accessors_t _UCD_accessors = {
	.find_proc_info = _UCD_find_proc_info,
	.put_unwind_info = _UCD_put_unwind_info,
	.get_dyn_info_list_addr = _UCD_get_dyn_info_list_addr,
	.access_mem = _UCD_access_mem,
	.access_reg = _UCD_access_reg,
	.access_fpreg = _UCD_access_fpreg,
	.resume = _UCD_resume,
	.get_proc_name = _UCD_get_proc_name,
	.get_elf_filename = _UCD_get_elf_filename,
};
