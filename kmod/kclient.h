/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a session asks of the module. */
#ifndef KW_CLIENT_H
#define KW_CLIENT_H

#include "ksession.h"

/* OW_KUNWIND_FOLLOW, OW_KUNWIND_UNFOLLOW and OW_KUNWIND_TABLE. */
int kw_client_follow(struct kw_session *session,
		     const struct ow_kunwind_follow *arg);
int kw_client_unfollow(struct kw_session *session,
		       const struct ow_kunwind_follow *arg);
int kw_client_table(struct kw_session *session,
		    const struct ow_kunwind_table *arg);

/* No more of it: its tables and processes go, and the caller's reference. */
void kw_client_close(struct kw_session *session);

#endif /* KW_CLIENT_H */
