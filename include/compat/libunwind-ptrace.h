/* SPDX-License-Identifier: BSD-2-Clause */
/* Accessors for a process that the caller traces by ptrace(2) and has stopped. */
#ifndef LIBUNWIND_PTRACE_H
#define LIBUNWIND_PTRACE_H

#include <libunwind.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL without memory.  The process has to be stopped at every call. */
void *_UPT_create(pid_t pid);
void _UPT_destroy(void *arg);

int _UPT_find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi,
			int need_unwind_info, void *arg);
void _UPT_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg);
int _UPT_get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret,
				void *arg);
int _UPT_access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val,
		    int write, void *arg);
int _UPT_access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val,
		    int write, void *arg);
int _UPT_access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val,
		      int write, void *arg);
int _UPT_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg);
int _UPT_get_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf,
		       size_t size, unw_word_t *off_ret, void *arg);
int _UPT_get_elf_filename(unw_addr_space_t as, unw_word_t ip, char *buf,
			  size_t size, unw_word_t *off_ret, void *arg);

/* All of these, for unw_create_addr_space(). */
extern unw_accessors_t _UPT_accessors;

#ifdef __cplusplus
}
#endif

#endif /* LIBUNWIND_PTRACE_H */
