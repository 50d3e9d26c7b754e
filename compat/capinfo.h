/* SPDX-License-Identifier: BSD-2-Clause */
/* What accessors answer out of a capture's modules. */
#ifndef OW_CAPINFO_H
#define OW_CAPINFO_H

#include <libunwind.h>

struct ow_capture;
struct ow_objnames;

/* As the accessors of these names; c may be NULL, which has no module. */
int ow_capinfo_find(struct ow_capture *c, unw_word_t ip, unw_proc_info_t *pi,
		    int need);
int ow_capinfo_name(struct ow_capture *c, struct ow_objnames *names,
		    unw_word_t ip, char *buf, size_t size, unw_word_t *off_ret);
int ow_capinfo_file(struct ow_capture *c, unw_word_t ip, char *buf, size_t size,
		    unw_word_t *off_ret);

/* A word by the capture's own memory: 0 or -UNW_EINVAL. */
int ow_capinfo_word(struct ow_capture *c, unw_word_t addr, unw_word_t *ret);

/* A capture of a process that is stopped: what is mapped, and nothing read. */
struct ow_capture *ow_capinfo_process(pid_t pid);

#endif /* OW_CAPINFO_H */
