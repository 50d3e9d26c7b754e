/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The strings of one profile, as another one has them: each is made once, as it may be
 * long, and be the name of many threads and frames.
 */
#ifndef OW_PROFNAMES_H
#define OW_PROFNAMES_H

#include "profile.h"
#include "proflabels.h"

struct profnames {
	const struct profile *from;
	struct profile *to;
	/* The number in to of what text is called there. */
	uint32_t (*make)(struct profile *to, const char *text);
	uint32_t *known; /* by number in from: that in to, and 1; 0: not made */
	struct proflabels labels;
	bool has_shared;         /* these were shared among owners */
	uint64_t *nr_coarse_ret; /* see profile_options, or NULL */
};

/*
 * Begin with none; make is profile_string() or calls it.  Both profiles outlive n, and
 * from doesn't change.  o is what the format is written with, or NULL.  Return false when
 * out of memory: n is to be freed then, too.
 */
bool profnames_init(struct profnames *n, const struct profile *from,
		    struct profile *to,
		    uint32_t (*make)(struct profile *to, const char *text),
		    const struct profile_options *o);
void profnames_deinit(struct profnames *n);

/* The number in to of a string of from. */
uint32_t profnames_of(struct profnames *n, uint32_t string);

/*
 * The number in to of what profile_label() says of a frame of from.  A function without a
 * name, for whose label there is no room (proflabels.h), is called by its object alone.
 */
uint32_t profnames_label(struct profnames *n, const struct profile_frame *f);

#endif /* OW_PROFNAMES_H */
