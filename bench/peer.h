/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwinders side by side: each walks the threads of one capture. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <string.h>

#include "capture.h"
#include "common.h"

struct bench_peer {
	/* Walk thread i of the capture; return how many frames it has. */
	size_t (*walk)(struct bench_peer *p, size_t i);
	void (*destroy)(struct bench_peer *p);
	struct ow_capture *c; /* borrowed */
	const void *pcs; /* 8 bytes each, of the last walk, innermost first */
	size_t stride;   /* bytes from one to the next */
};

static inline uint64_t bench_pc(const struct bench_peer *p, size_t n)
{
	uint64_t pc;

	memcpy(&pc, (const char *)p->pcs + n * p->stride, sizeof(pc));
	return pc;
}

/* outwind; cold empties the cache of rows before each walk. */
struct bench_peer *bench_outwind(struct ow_capture *c, bool cold);

/*
 * libunwind's remote API; policy is one of its enum unw_caching_policy, cache
 * the number of rows that are cached, or 0 for what libunwind has: 128.
 */
struct bench_peer *bench_libunwind(struct ow_capture *c, int policy,
				   size_t cache);

/* libdwfl, over the modules of the capture's process as it finds them. */
struct bench_peer *bench_dwfl(struct ow_capture *c);

/* Following frame pointers, and nothing else. */
struct bench_peer *bench_fp(struct ow_capture *c);

/* A register of thread i by its DWARF number. */
static inline uint64_t bench_reg(const struct ow_capture *c, size_t i,
				 unsigned int dwarf)
{
	uint8_t slot = ow_arch_slot(c->target.arch, dwarf);

	return slot < OW_MAX_REGS ? c->threads[i].regs.val[slot] : 0;
}

#endif /* BENCH_PEER_H */
