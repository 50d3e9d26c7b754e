/* SPDX-License-Identifier: BSD-2-Clause */
/* Where _U_dyn_register() keeps what it is told: in libunwind only. */
#ifndef OW_DYNLIST_H
#define OW_DYNLIST_H

#include <libunwind.h>

/* The address of this process's unw_dyn_info_list_t. */
unw_word_t _U_dyn_info_list_addr(void);

#endif /* OW_DYNLIST_H */
