/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether /proc has the numbers that processes have for us. */
#ifndef OW_OWNPROC_H
#define OW_OWNPROC_H

#include <stdbool.h>

struct ow_error;

/* Return true if it has; and not of another PID namespace.  errno stays. */
bool ow_ownproc_is(void);

/*
 * Return 0, or fail if it has others: what it tells by our numbers is about other
 * processes.  Fail, too, where no procfs is mounted there.
 */
int ow_ownproc_check(struct ow_error *err);

#endif /* OW_OWNPROC_H */
