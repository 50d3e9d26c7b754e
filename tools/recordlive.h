/* SPDX-License-Identifier: BSD-2-Clause */
/* "outwind record" of processes. */
#ifndef OW_RECORDLIVE_H
#define OW_RECORDLIVE_H

#include "recordrequest.h"

/* Sample as requested and write it to out; return the exit status. */
int recordlive_run(const struct record_request *r, FILE *out);

/* What a recorder came to, in a few lines on stderr. */
void recordlive_print_stats(struct ow_recorder *r);

/* A line each for what the user has to know: what was missed or lost. */
void recordlive_warn(struct ow_recorder *r, enum ow_engine engine);

#endif /* OW_RECORDLIVE_H */
