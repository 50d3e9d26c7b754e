/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subordinate user ids (subuid(5)): a user has tens of thousands of these, as
 * newuidmap(1) lets the user take them in a user namespace.  Files that the user gives to
 * them there, and processes that execute such files with the set-user-ID bit, have them
 * outside of it, too.
 *
 * Functions may be called by several threads at once.
 */
#ifndef OW_SUBUIDS_H
#define OW_SUBUIDS_H

#include <stdint.h>
#include <sys/types.h>

#define OW_SUBUIDS_MOST 4096

/* Ids that one user other than root has. */
struct ow_subuid_range {
	uid_t first, last;
	uid_t owner;
};

/* What /etc/subuid says: sorted; no range has an id of another one. */
struct ow_subuids {
	uint32_t nr; /* OW_SUBUIDS_MOST at most */
	struct ow_subuid_range all[];
};

/* The list that was read last; it stays as it is as long as the program runs. */
const struct ow_subuids *ow_subuids_list(void);

/*
 * The user to whom /etc/subuid gives an id; the id itself if that is nobody, or root, whose
 * ids are those of containers.  A user whom /etc/passwd does not have is the first one of
 * the user's ids.
 */
uid_t ow_subuids_owner(uid_t uid);

/*
 * Read the list anew if the files have changed, at most once in some seconds; now is
 * CLOCK_MONOTONIC, in ns.
 */
void ow_subuids_renew(uint64_t now);

#endif /* OW_SUBUIDS_H */
