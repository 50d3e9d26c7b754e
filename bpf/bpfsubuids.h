/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The users who have subordinate ids, as lib/subuids.h tells the loader. */
#ifndef OW_BPF_SUBUIDS_H
#define OW_BPF_SUBUIDS_H

#include "bpfenv.h"

/*
 * Two lists.  The loader changes the one that is not used, and leaves its end, from the
 * last range on, to ids that nobody has.
 */
struct ow_bpf_subuids subuids[2 * OW_BPF_SUBUIDS];
__u32 subuids_base;  /* 0 or OW_BPF_SUBUIDS: the first one of the list */
__u32 lowest_subuid; /* of all ranges: usual users are below it */

static __always_inline const struct ow_bpf_subuids *subuids_at(__u32 at)
{
	return &subuids[at % (2 * OW_BPF_SUBUIDS)];
}

/*
 * The user who has an id; the id itself if it is nobody's.  The verifier knows nothing of
 * where a search is that begins at what was read from memory, and so follows one way only.
 */
__noinline int subuid_owner(__u32 uid)
{
	const struct ow_bpf_subuids *s;
	__u32 at = subuids_base, step;

	for (step = OW_BPF_SUBUIDS / 2; step; step /= 2)
		if (subuids_at(at + step)->first <= uid)
			at += step;
	s = subuids_at(at);
	return (int)(uid >= s->first && uid <= s->last ? s->owner : uid);
}

/* Likewise; usual users cost nothing. */
static __always_inline __u32 owner_of_id(__u32 uid)
{
	return uid < lowest_subuid ? uid : (__u32)subuid_owner(uid);
}

#endif /* OW_BPF_SUBUIDS_H */
