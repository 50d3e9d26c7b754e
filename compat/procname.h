/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions and of files, without allocating. */
#ifndef OW_PROCNAME_H
#define OW_PROCNAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copy a string.  Return 0, or -UNW_ENOMEM if buf is too short: then it has the begin of the
 * string.
 */
int ow_procname_copy(char *buf, size_t size, const char *name, size_t length);

/*
 * The name of the function of this process that begins last at or before addr, of all symbol
 * tables of its ELF file, and how far addr is into it (off_ret may be NULL).  Return 0,
 * -UNW_ENOINFO, or -UNW_ENOMEM as above.
 */
int ow_procname_local(uint64_t addr, char *buf, size_t size, uint64_t *off_ret);

/* The path of the file that addr of this process is from. */
int ow_procname_file(uint64_t addr, char *buf, size_t size, uint64_t *off_ret);

#endif /* OW_PROCNAME_H */
