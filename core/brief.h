/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A row in brief: CFA = register + offset, and registers saved at whole words
 * below it.  Nearly all rows of compilers are so.
 */
#ifndef OW_BRIEF_H
#define OW_BRIEF_H

#include "arch.h"
#include "row.h"

#define OW_BRIEF_SAVES 16 /* so that it fills a cache line */
#define OW_BRIEF_FEW   8  /* enough for x86-64, where 7 can be saved */
#define OW_BRIEF_DEPTH 255

/* Where a save is: up from so many words below the CFA; 0: there is none. */
#define OW_BRIEF_LOWEST  256
#define OW_BRIEF_NO_SAVE 0

struct ow_brief {
	uint64_t addr;
	uint64_t known; /* bit n: slot n is, afterwards: a save's, sp and pc */
	uint32_t generation; /* of the map; 0: there is no row */
	int32_t cfa_off;
	uint8_t cfa_reg;
	uint8_t ra;
	uint8_t ra_up; /* as a save's, or OW_BRIEF_NO_SAVE */
	uint8_t how;
	uint8_t flags; /* enum ow_row_flags, but OW_ROW_LAST */
	uint8_t nr;    /* saves in use; behind them stand ones for nothing, so
			  that the step may always execute OW_BRIEF_FEW */
	uint8_t depth; /* words from the lowest save to the CFA, at least 1 */
	uint8_t unused;

	struct {
		uint8_t slot;
		uint8_t up; /* words from OW_BRIEF_LOWEST, 1 and more */
	} saves[OW_BRIEF_SAVES];
};

_Static_assert(sizeof(struct ow_brief) == 64, "one entry, one cache line");

/*
 * One that is being made where it will be: a copy would wait for its bytes.  Of
 * what is known, saves are there already.
 */
struct ow_briefing {
	struct ow_brief *to;
	uint32_t above; /* words that another save is above the lowest, at most */
	uint8_t ra_up, nr;
};

/* A save that goes nowhere, of a word that is always there; and four. */
#define OW_BRIEF_NOWHERE                         \
	{                                        \
		OW_MAX_REGS, OW_BRIEF_LOWEST - 1 \
	}
#define OW_BRIEF_NOWHERE4 \
	OW_BRIEF_NOWHERE, OW_BRIEF_NOWHERE, OW_BRIEF_NOWHERE, OW_BRIEF_NOWHERE

/*
 * Begin one without saves, and without addr and generation, which are the
 * caller's.
 */
static inline struct ow_briefing ow_brief_begin(struct ow_brief *to,
						uint8_t cfa_reg,
						int32_t cfa_off, uint8_t ra,
						uint8_t how, uint8_t flags)
{
	*to = (struct ow_brief){
		.cfa_off = cfa_off,
		.cfa_reg = cfa_reg,
		.ra = ra,
		.how = how,
		.flags = flags,
		.saves = { OW_BRIEF_NOWHERE4, OW_BRIEF_NOWHERE4,
			   OW_BRIEF_NOWHERE4, OW_BRIEF_NOWHERE4 },
	};
	return (struct ow_briefing){ .to = to };
}

/* The slot, below OW_MAX_REGS, is saved so many words below the CFA. */
static inline void ow_brief_save(struct ow_briefing *m, uint8_t slot,
				 uint32_t words)
{
	unsigned int i = m->nr++ % OW_BRIEF_SAVES;
	uint8_t up = (uint8_t)(OW_BRIEF_LOWEST - words);

	m->to->saves[i].slot = slot;
	m->to->saves[i].up = up;
	m->to->known |= (uint64_t)1 << slot;
	m->above = words - 1 > m->above ? words - 1 : m->above;
	m->ra_up = slot == m->to->ra ? up : m->ra_up;
}

/*
 * Complete it; false if it can't be put in brief: too many saves, too far away,
 * or an sp that is saved or that is said to hold the return address, which would
 * change under a step in brief.
 */
static inline bool ow_brief_end(const struct ow_briefing *m,
				const struct ow_arch *arch)
{
	uint64_t saved = m->to->known;

	m->to->known = saved | (uint64_t)1 << arch->sp |
		       (uint64_t)1 << arch->pc;
	m->to->ra_up = m->ra_up;
	m->to->nr = m->nr;
	m->to->depth = (uint8_t)(m->above + 1);
	return m->nr <= OW_BRIEF_SAVES && m->above < OW_BRIEF_DEPTH &&
	       !(saved >> arch->sp & 1) && m->to->ra != arch->sp;
}

/* Put a row in brief, but for addr and generation; false if it can't be. */
bool ow_brief_make(struct ow_brief *b, const struct ow_arch *arch,
		   const struct ow_row *row);

/* The row again; rules holds OW_BRIEF_SAVES. */
void ow_brief_row(const struct ow_brief *b, const struct ow_arch *arch,
		  struct ow_row *row, struct ow_rule *rules);

#endif /* OW_BRIEF_H */
