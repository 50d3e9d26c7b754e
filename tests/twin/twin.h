/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF walker, over what was captured. */
#ifndef OW_TWIN_H
#define OW_TWIN_H

#include "capture.h"

#include "ow_sample.h"

struct twin;

/*
 * Lay out the tables of all that a capture has mapped; NULL when out of memory,
 * or if it is too much.
 */
struct twin *twin_create(struct ow_capture *c);
void twin_destroy(struct twin *t);

/*
 * Walk thread i from its registers: up to OW_BPF_FRAMES frames as they leave
 * the kernel (OW_SAMPLE_PC() and others).  Return how many.
 */
size_t twin_walk(struct twin *t, size_t i, const uint64_t **frames_ret,
		 enum ow_end *end_ret);

#endif /* OW_TWIN_H */
