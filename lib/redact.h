/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a capture unwinding needs, so that nothing else has to be kept. */
#ifndef OW_REDACT_H
#define OW_REDACT_H

#include "readlog.h"

struct ow_redaction {
	struct ow_pieces pieces;
	uint64_t *known; /* of each thread: the registers that are needed */
};

/*
 * Find by walking every thread the memory and the registers that its frames
 * depend on.  A word that the unwinder reads but whose value has no influence,
 * such as what a caller had in a register that nothing is found by, is not
 * among them.  With these alone every walk gives the same frames and the same
 * end: that has been tried when this returns 0.
 */
int ow_redact(struct ow_capture *c, struct ow_redaction *ret,
	      struct ow_error *err);

void ow_redaction_deinit(struct ow_redaction *r);

#endif /* OW_REDACT_H */
