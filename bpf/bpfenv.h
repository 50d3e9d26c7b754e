/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the programs ask of the place they are compiled for: BPF, or user space,
 * where tests run the same walker with helpers of their own (OW_BPF_TWIN).
 */
#ifndef OW_BPF_ENV_H
#define OW_BPF_ENV_H

#ifdef OW_BPF_TWIN
#include "bpftwin.h"
#else
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#endif

/* What the compiler may know of a number, so that the verifier need not. */
#define opaque(x) __asm__ volatile("" : "+r"(x))

#include "ow_sample.h"

#endif /* OW_BPF_ENV_H */
