/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Having the kernel's own walkers of user stacks use kunwind. */
#ifndef KW_HOOK_H
#define KW_HOOK_H

#include <linux/types.h>

/* From here on, module parameter "hook" acts. */
int kw_hook_init(void);
void kw_hook_exit(void);

/* OW_KUNWIND_HOOKS if this kernel's walkers can be redirected. */
u32 kw_hook_features(void);

#endif /* KW_HOOK_H */
