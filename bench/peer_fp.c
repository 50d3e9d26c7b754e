// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "peer.h"

#define DWARF_RBP 6
#define DWARF_PC  16

struct fp {
	struct bench_peer base; /* first */
	uint64_t pcs[BENCH_MAX_PCS];
};

static size_t walk(struct bench_peer *p, size_t i)
{
	uint64_t *pcs = ((struct fp *)p)->pcs;
	const struct ow_window *w = &p->c->threads[i].stack;
	uint64_t fp = bench_reg(p->c, i, DWARF_RBP);
	uint64_t record[2];
	size_t n = 0;

	pcs[n++] = bench_reg(p->c, i, DWARF_PC);
	while (n < BENCH_MAX_PCS && fp - w->start < w->size &&
	       w->size - (fp - w->start) >= sizeof(record)) {
		memcpy(record, w->bytes + (fp - w->start), sizeof(record));
		pcs[n++] = record[1];
		if (record[0] <= fp)
			break;
		fp = record[0];
	}
	return n;
}

static void destroy(struct bench_peer *p)
{
	free(p);
}

struct bench_peer *bench_fp(struct ow_capture *c)
{
	struct fp *f = malloc(sizeof(*f));

	if (!f)
		bench_die("out of memory");
	f->base = (struct bench_peer){ walk, destroy, c, f->pcs,
				       sizeof(f->pcs[0]) };
	return &f->base;
}
