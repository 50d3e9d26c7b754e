/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions and of files, without allocating. */
#ifndef OW_PROCNAME_H
#define OW_PROCNAME_H

#include "elf.h"

/*
 * The name of the function that begins last at or before vaddr, of all symbol
 * tables of an ELF file, and how far vaddr is into it (off_ret may be NULL).
 * Return 0, -UNW_ENOINFO, or -UNW_ENOMEM if buf is too short: then it has the
 * begin of the name.
 */
int ow_procname_in(const struct ow_elf *elf, uint64_t vaddr, char *buf,
		   size_t size, uint64_t *off_ret);

/* Copy a string as above. */
int ow_procname_copy(char *buf, size_t size, const char *name, size_t length);

/* The same by an address of this process. */
int ow_procname_local(uint64_t addr, char *buf, size_t size, uint64_t *off_ret);

/* The path of the file that addr of this process is from. */
int ow_procname_file(uint64_t addr, char *buf, size_t size, uint64_t *off_ret);

#endif /* OW_PROCNAME_H */
