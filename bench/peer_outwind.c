// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "peer.h"

struct outwind {
	struct bench_peer base; /* first */
	bool cold;
	struct ow_frame frames[BENCH_MAX_PCS];
};

static size_t walk(struct bench_peer *p, size_t i)
{
	struct outwind *o = (struct outwind *)p;
	enum ow_end end;

	/* No entry of the cache is of the new generation. */
	if (o->cold)
		p->c->target.map.generation++;
	return ow_capture_walk(p->c, i, o->frames, BENCH_MAX_PCS, &end, NULL);
}

static void destroy(struct bench_peer *p)
{
	free(p);
}

struct bench_peer *bench_outwind(struct ow_capture *c, bool cold)
{
	struct outwind *o = calloc(1, sizeof(*o));

	if (!o)
		bench_die("out of memory");
	o->base = (struct bench_peer){ walk, destroy, c, &o->frames[0].pc,
				       sizeof(o->frames[0]) };
	o->cold = cold;
	/* A page fault is no part of a walk. */
	memset(o->frames, 0xff, sizeof(o->frames));
	return &o->base;
}
