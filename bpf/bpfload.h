/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs, made ready and attached. */
#ifndef OW_BPFLOAD_H
#define OW_BPFLOAD_H

#include "bpfparts.h"

/* What errno and libbpf say, as an error; what names the thing that failed. */
int ow_bpfload_refuse(struct ow_error *err, const char *what);

/* Open the programs that the options ask for, and have them verified. */
int ow_bpfload_open(struct ow_recorder *r, struct ow_error *err);

/* Tell the programs of subordinate ids, if these aren't the ones that they know. */
void ow_bpfload_renew_subuids(struct ow_bpfengine *e);

/* What tells of processes' lives; before anyone's mappings are read. */
int ow_bpfload_attach_lives(struct ow_recorder *r, struct ow_error *err);

/* What takes samples. */
int ow_bpfload_attach(struct ow_recorder *r, struct ow_error *err);
void ow_bpfload_detach(struct ow_bpfengine *e);

#endif /* OW_BPFLOAD_H */
