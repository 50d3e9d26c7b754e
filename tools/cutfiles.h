/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are cut off while they are mapped, by who may write to them. */
#ifndef OW_CUTFILES_H
#define OW_CUTFILES_H

#include <stdbool.h>

/* From now on what is gone of one reads as zeros: that ends no program. */
void cutfiles_survive(void);

/* Was there such a file? */
bool cutfiles_came(void);

#endif /* OW_CUTFILES_H */
