/* SPDX-License-Identifier: BSD-2-Clause */
/* What _U_dyn_register() was told of code made at run time. */
#ifndef OW_DYNFIND_H
#define OW_DYNFIND_H

#include <libunwind.h>

/* The entry that covers ip, or NULL; without a lock. */
const unw_dyn_info_t *ow_dynfind(uint64_t ip);

#endif /* OW_DYNFIND_H */
