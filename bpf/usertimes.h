/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What users' work has taken of the recorder's time, each time a multiple of that, which
 * counts until as much time has gone by.  Root's work does not count.
 */
#ifndef OW_USERTIMES_H
#define OW_USERTIMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A user whose work counts until then: CLOCK_MONOTONIC, ns. */
struct ow_usertime {
	uid_t uid;
	uint64_t until;
};

/* All zero is none. */
struct ow_usertimes {
	struct ow_usertime *all;
	size_t nr, room;
};

/* When what the user's work has taken counts no more; 0: it has taken nothing. */
uint64_t ow_usertimes_until(const struct ow_usertimes *t, uid_t uid);

/* The user's work counts for so many ns more, from now (CLOCK_MONOTONIC, ns) on. */
void ow_usertimes_pay(struct ow_usertimes *t, uid_t uid, uint64_t ns,
		      uint64_t now);

void ow_usertimes_deinit(struct ow_usertimes *t);

#endif /* OW_USERTIMES_H */
