/* SPDX-License-Identifier: BSD-2-Clause */
/* Accessors for a core file. */
#ifndef LIBUNWIND_COREDUMP_H
#define LIBUNWIND_COREDUMP_H

#include <libunwind.h>

#ifdef __cplusplus
extern "C" {
#endif

struct UCD_info;

/* NULL if there is no such core file, or it makes no sense. */
struct UCD_info *_UCD_create(const char *filename);
void _UCD_destroy(struct UCD_info *ui);

int _UCD_get_num_threads(struct UCD_info *ui);
void _UCD_select_thread(struct UCD_info *ui, int n);
pid_t _UCD_get_pid(struct UCD_info *ui);
int _UCD_get_cursig(struct UCD_info *ui);

/*
 * Use this file for what was mapped there: by number of the core's program
 * header, or by address.  Files are found by their names if nobody says this.
 * Return 0, or -1.
 */
int _UCD_add_backing_file_at_segment(struct UCD_info *ui, int phdr_no,
				     const char *filename);
int _UCD_add_backing_file_at_vaddr(struct UCD_info *ui, unsigned long vaddr,
				   const char *filename);

int _UCD_find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi,
			int need_unwind_info, void *arg);
void _UCD_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg);
int _UCD_get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret,
				void *arg);
int _UCD_access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val,
		    int write, void *arg);
int _UCD_access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val,
		    int write, void *arg);
int _UCD_access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val,
		      int write, void *arg);
int _UCD_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg);
int _UCD_get_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf,
		       size_t size, unw_word_t *off_ret, void *arg);
int _UCD_get_elf_filename(unw_addr_space_t as, unw_word_t ip, char *buf,
			  size_t size, unw_word_t *off_ret, void *arg);

/* All of these, for unw_create_addr_space(). */
extern unw_accessors_t _UCD_accessors;

#ifdef __cplusplus
}
#endif

#endif /* LIBUNWIND_COREDUMP_H */
