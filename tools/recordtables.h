/* SPDX-License-Identifier: BSD-2-Clause */
/* The kunwind module's tables of who is sampled, while that goes on. */
#ifndef OW_RECORDTABLES_H
#define OW_RECORDTABLES_H

#include <pthread.h>

#include "recordrequest.h"
#include "tablekeeper.h"

struct recordtables {
	struct tablekeeper keeper;
	int wake; /* closed at the end: the other side of keeper.until, a pipe */
	pthread_t thread;
	bool runs;
};

/*
 * If the request is by engine kunwind, have its tables made: those of what is
 * there now first, others from now on by a thread.  command is the request's, or
 * 0.  False, with a complaint, if that can't be.  recordtables_end() in any case.
 */
bool recordtables_begin(struct recordtables *t, const struct record_request *r,
			pid_t command);
void recordtables_end(struct recordtables *t);

/* What came of it, on stderr; after the end. */
void recordtables_print(const struct recordtables *t);

#endif /* OW_RECORDTABLES_H */
