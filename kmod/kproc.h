/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The original's /proc/kunwind_debug (uapi/ow_kunwind_proc.h). */
#ifndef KW_PROC_H
#define KW_PROC_H

int kw_proc_init(void);
void kw_proc_exit(void);

#endif /* KW_PROC_H */
