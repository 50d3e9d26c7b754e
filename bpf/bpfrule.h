/* SPDX-License-Identifier: BSD-2-Clause */
/* A row as BPF programs execute it (uapi/ow_sample.h). */
#ifndef OW_BPFRULE_H
#define OW_BPFRULE_H

#include "ow_sample.h"

#include "arch.h"

/* Put a row of an x86-64 or i386 object so; false if it can't be. */
bool ow_bpfrule_make(const struct ow_arch *arch, const struct ow_row *row,
		     struct ow_bpf_rule *ret);

#endif /* OW_BPFRULE_H */
