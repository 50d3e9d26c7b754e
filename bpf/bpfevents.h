/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes from the programs. */
#ifndef OW_BPFEVENTS_H
#define OW_BPFEVENTS_H

#include "bpfparts.h"

int ow_bpfevents_open(struct ow_recorder *r, struct ow_error *err);

/* Take the events that are there, for about so long; true if there are more. */
bool ow_bpfevents_take(struct ow_recorder *r, uint64_t ns);

/* Counts that the kernel has, to ours; and none in the kernel. */
int ow_bpfevents_collect(struct ow_recorder *r, struct ow_error *err);

/* Add the kernel's counts of the stacks that have been taken to ours. */
void ow_bpfevents_count(struct ow_recorder *r);

/* What the registers of a copy are. */
const struct ow_arch *ow_bpfevents_arch(const struct ow_bpf_copy *c);

struct ow_bpfwalked {
	struct ow_image *image; /* NULL: not known */
	size_t nr; /* frames, at copies.packed behind the kernel's */
	enum ow_end end;
};

/* Walk a stack that was copied, unless the kernel has told how it ends. */
struct ow_bpfwalked ow_bpfevents_walk(struct ow_recorder *r,
				      const struct ow_bpf_copy *c);

/* Keep what was found last. */
void ow_bpfevents_keep(struct ow_recorder *r, const struct ow_bpf_copy *c,
		       const struct ow_bpfwalked *w);

#endif /* OW_BPFEVENTS_H */
