/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Subordinate user ids (subuid(5)), of which a user has tens of thousands.  The kernel
 * does not know whose they are; a privileged program tells it.
 */
#ifndef KW_SUBUIDS_H
#define KW_SUBUIDS_H

#include <linux/uidgid.h>

#include "ow_kunwind.h"

/*
 * Take a list in the place of the one before.  0, -EPERM: the caller is not to decide for
 * all users; -EINVAL: too many, or not in order; -EFAULT, -ENOMEM.
 */
int kw_subuids_take(const struct ow_kunwind_subuids *list);

/* The user who has an id; the id itself if nobody has.  Any context. */
kuid_t kw_subuids_owner(kuid_t uid);

void kw_subuids_exit(void);

#endif /* KW_SUBUIDS_H */
