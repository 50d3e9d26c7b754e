/* SPDX-License-Identifier: BSD-2-Clause */
/* Mappings as pprof wants them: each frame in one, as far as possible. */
#ifndef OW_PPROFMAPS_H
#define OW_PPROFMAPS_H

#include "profile.h"

struct pprofmap_guess;

/* All zero is none. */
struct pprofmaps {
	const struct profile *p;
	struct profile guessed; /* mappings: of a module, from its bias on */
	struct pprofmap_guess *guesses; /* by number */
	uint32_t *of;   /* each frame: those of p, then guesses */
	uint8_t *flags; /* of each mapping */
	uint32_t nr;
};

enum pprofmap_flags {
	PPROFMAP_USED = 1,
	PPROFMAP_FILES = 2,
	PPROFMAP_LINES = 4,
	PPROFMAP_INLINES = 8,
};

/* Find the mappings of all frames; false when out of memory. */
bool pprofmaps_init(struct pprofmaps *m, const struct profile *p);
void pprofmaps_deinit(struct pprofmaps *m);

/* The number of a frame's mapping, from 1, or 0; it is going to be used. */
uint32_t pprofmaps_use(struct pprofmaps *m, uint32_t frame);

/* Mapping number, from 1 up to nr, and its flags: 0 if nothing is in it. */
uint8_t pprofmaps_get(const struct pprofmaps *m, uint32_t number,
		      struct profile_mapping *ret);

#endif /* OW_PPROFMAPS_H */
