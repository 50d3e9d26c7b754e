/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subordinate user ids (subuid(5)): a user has tens of thousands of these, as
 * newuidmap(1) lets the user take them in a user namespace.
 */
#ifndef OW_SUBUIDS_H
#define OW_SUBUIDS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * The number of the user other than root to whom /etc/subuid gives an id, from 1 on; or 0.
 * The file is read once.  Several threads may call it at once.
 */
uint32_t ow_subuids_owner(uid_t uid);

#endif /* OW_SUBUIDS_H */
