/* SPDX-License-Identifier: BSD-2-Clause */
/* The accessors of this process: arg is a unw_context_t, where one is needed. */
#ifndef OW_LOCALSPACE_H
#define OW_LOCALSPACE_H

#include <libunwind.h>

int ow_local_find_proc_info(unw_addr_space_t as, unw_word_t ip,
			    unw_proc_info_t *pi, int need, void *arg);
void ow_local_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi,
			      void *arg);
int ow_local_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret,
				void *arg);
int ow_local_access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val,
			int write, void *arg);
int ow_local_access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val,
			int write, void *arg);
int ow_local_access_fpreg(unw_addr_space_t as, unw_regnum_t reg,
			  unw_fpreg_t *val, int write, void *arg);
int ow_local_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf,
		       size_t size, unw_word_t *off_ret, void *arg);
int ow_local_elf_filename(unw_addr_space_t as, unw_word_t ip, char *buf,
			  size_t size, unw_word_t *off_ret, void *arg);

#endif /* OW_LOCALSPACE_H */
