/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows as text, for listings and for comparing one source with another. */
#ifndef OW_ROWTEXT_H
#define OW_ROWTEXT_H

#include <stddef.h>

struct ow_arch;
struct ow_row;

/*
 * Write "cfa=rsp+16 rbp=c-16 rip=c-8" to buf: c-N is saved N below the CFA,
 * v-N the value CFA-N, rN the register's value, exp and vexp an expression, u
 * undefined, s the same; "signal" and "outermost" follow where they hold.
 */
void ow_row_text(const struct ow_arch *arch, const struct ow_row *row,
		 char *buf, size_t size);

#endif /* OW_ROWTEXT_H */
