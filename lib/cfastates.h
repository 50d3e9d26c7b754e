/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What call frame instructions make of what was known of all registers before
 * them, remembered: compilers write the same prologues and epilogues over and
 * over, and so the machine seldom has to run one.
 */
#ifndef OW_CFASTATES_H
#define OW_CFASTATES_H

#include "cfa.h"

/* Powers of two. */
#define OW_CFASTATES_MOST  4096
#define OW_CFASTATES_NEAR  8 /* steps that a state has in a line of a cache */
#define OW_CFASTATES_STEPS 16384

#define OW_CFASTATES_FAMILIES 16

/* CIEs whose FDEs mean the same by the same bytes. */
struct ow_cfastates_family {
	uint64_t code_align;
	int64_t data_align;
	uint8_t ra;
	bool signal_frame;
	uint16_t first; /* state: after the CIE's instructions */
};

/* All zero is empty; memory that isn't written to needn't be there.  States are
   numbered from 1 on. */
struct ow_cfastates {
	struct ow_cfastates_state {
		uint8_t family;
		struct ow_cfa_state known;
	} all[OW_CFASTATES_MOST];

	uint32_t nr;
	struct ow_cfastates_family families[OW_CFASTATES_FAMILIES];
	unsigned int nr_families;
	uint16_t hash[2 * OW_CFASTATES_MOST]; /* of states; 0 is none */
	/*
	 * Instructions where states were known, above the states that they make;
	 * 0 is none.  The last ones of each state, and of all.
	 */
	uint64_t near[OW_CFASTATES_MOST + 1][OW_CFASTATES_NEAR];
	uint64_t steps[OW_CFASTATES_STEPS];
	uint16_t values[OW_CFASTATES_MOST + 1]; /* the user's, by state; 0 at
						   first */
};

/*
 * The state that an FDE begins in whose CIE's instructions cfa has run, or 0 if
 * there is no room for it.
 */
uint16_t ow_cfastates_begin(struct ow_cfastates *s, const struct ow_cfa *cfa);

/* Have cfa, which ran the same instructions of a CIE, stand at a state. */
void ow_cfastates_get(const struct ow_cfastates *s, uint16_t state,
		      struct ow_cfa *cfa);

/*
 * The state after an instruction that moves nowhere, saves nothing and has no
 * block: its bytes, 3 at most, little-endian, and how many they are.  0 if it
 * can't be run, or there is no room.  cfa has run the instructions of the CIE,
 * and is used up.
 */
uint16_t ow_cfastates_find(struct ow_cfastates *s, uint16_t from, uint32_t insn,
			   unsigned int size, struct ow_cfa *cfa);

static inline uint64_t *ow_cfastates_near(struct ow_cfastates *s, uint16_t from,
					  uint32_t insn)
{
	return &s->near[from][(insn * 0x9e3779b1U >> 16) % OW_CFASTATES_NEAR];
}

/* The same, most often at once. */
static inline uint16_t ow_cfastates_next(struct ow_cfastates *s, uint16_t from,
					 uint32_t insn, unsigned int size,
					 struct ow_cfa *cfa)
{
	uint64_t step = *ow_cfastates_near(s, from, insn);

	return step >> 16 == insn + 1U ?
		       (uint16_t)step :
		       ow_cfastates_find(s, from, insn, size, cfa);
}

#endif /* OW_CFASTATES_H */
