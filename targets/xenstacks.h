/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One sample of a domain: registers of all vCPUs, and their stacks.  While the
 * guest is paused there is nothing but hypercalls and copying; no signal that
 * could end the program is let through before it runs again.
 */
#ifndef OW_XENSTACKS_H
#define OW_XENSTACKS_H

#include "xendomain.h"
#include "xenlinks.h"

struct ow_xenstacks {
	struct ow_xen *x;
	struct ow_xenstack *list; /* of x->nr_vcpus */
	struct ow_xenstack *left; /* the stacks that they left; as many */
	size_t most;              /* bytes of a stack at most */
	bool no_pause;
	uint64_t mapped_at; /* when what is mapped was new, in ns */
	uint64_t asked_at;  /* when it was last asked how vCPUs run */
	uint64_t paused_ns; /* of the last sample */
	uint64_t bytes;     /* copied in it */
	unsigned int calls, maps;
};

/* 0 or -ENOMEM; ow_xenstacks_free() in any case.  most 0: 1 MiB. */
int ow_xenstacks_init(struct ow_xenstacks *s, struct ow_xen *x, size_t most,
		      bool no_pause);
void ow_xenstacks_free(struct ow_xenstacks *s);

/*
 * Take a sample.  0, or fill err: OW_CODE_ABSENT where the domain is gone or
 * has shut down.  Whatever fails, what was paused runs again, unless err says
 * that it could not be made to.
 */
int ow_xenstacks_take(struct ow_xenstacks *s, struct ow_error *err);

/*
 * The stack of vCPU i was too short for whoever read at addr: more next time.
 * Or addr is of another stack, such as the one that an interrupt came upon: the
 * word that leads there is looked up, and from then on what it points to is
 * copied, too.
 */
void ow_xenstacks_want(struct ow_xenstacks *s, size_t i, uint64_t addr,
		       size_t size);

/* Bytes of the stack that vCPU i has left, or false. */
bool ow_xenstacks_read_left(const struct ow_xenstacks *s, size_t i,
			    uint64_t addr, void *buf, size_t size);

/*
 * Does the next sample have more of any stack?  Or, unless that is no matter,
 * another one that was left?
 */
bool ow_xenstacks_wants(const struct ow_xenstacks *s, bool links_too);

#endif /* OW_XENSTACKS_H */
