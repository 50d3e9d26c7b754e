/* SPDX-License-Identifier: BSD-2-Clause */
/* Accessors for a Xen domain. */
#ifndef LIBUNWIND_XEN_H
#define LIBUNWIND_XEN_H

#include <libunwind.h>

#ifdef __cplusplus
extern "C" {
#endif

struct UXEN_info;

/*
 * fname is the ELF file that runs in the domain.  NULL with a line on stderr if
 * it can't be, or if this was built without Xen's libraries.
 */
void *_UXEN_create(int domid, int vcpu, char *fname);
void _UXEN_destroy(void *arg);
void _UXEN_change_vcpu(struct UXEN_info *ui, int vcpu);

int _UXEN_find_proc_info(unw_addr_space_t as, unw_word_t ip,
			 unw_proc_info_t *pi, int need_unwind_info, void *arg);
void _UXEN_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg);
int _UXEN_get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret,
				 void *arg);
int _UXEN_access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val,
		     int write, void *arg);
int _UXEN_access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val,
		     int write, void *arg);
int _UXEN_access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val,
		       int write, void *arg);
int _UXEN_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg);
int _UXEN_get_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf,
			size_t size, unw_word_t *off_ret, void *arg);
int _UXEN_get_elf_filename(unw_addr_space_t as, unw_word_t ip, char *buf,
			   size_t size, unw_word_t *off_ret, void *arg);

/* All of these, for unw_create_addr_space(). */
extern unw_accessors_t _UXEN_accessors;

#ifdef __cplusplus
}
#endif

#endif /* LIBUNWIND_XEN_H */
