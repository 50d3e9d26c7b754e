// SPDX-License-Identifier: BSD-2-Clause
#include "traceplace.h"

#include "machine.h"

struct ow_place ow_places[OW_NR_PLACES];
static uint32_t wrong_guesses;

uint64_t ow_place_encode(const struct ow_saved_row *s)
{
	uint64_t words = (uint64_t)(int64_t)s->cfa_off / 8, fp = 0;
	unsigned int i;

	if (s->flags & OW_SAVED_OUTERMOST)
		return OW_PLACE_KIND_END;
	if (s->flags & OW_SAVED_TRAMPOLINE)
		return OW_PLACE_KIND_SIGNAL;
	if (s->cfa_off < 0 || s->cfa_off % 8 || words >> OW_PLACE_CFA_BITS ||
	    (s->cfa_reg != OW_M_SP && s->cfa_reg != OW_M_FP) ||
	    (OW_M_RA == OW_M_PC && !s->ra_words))
		return 0;
	for (i = 0; i < s->nr; i++)
		if (s->saves[i].slot == OW_M_FP)
			fp = s->saves[i].words;
	return OW_PLACE_KIND_FRAME |
	       (s->cfa_reg == OW_M_FP ? OW_PLACE_CFA_BY_FP : 0) |
	       words << OW_PLACE_CFA_SHIFT | fp << OW_PLACE_FP_SHIFT |
	       (uint64_t)s->ra_words << OW_PLACE_RA_SHIFT;
}

static void write_place(struct ow_place *p, uint64_t check, uint64_t data)
{
	__atomic_store_n(&p->check, check, __ATOMIC_RELAXED);
	__atomic_store_n(&p->data, data, __ATOMIC_RELAXED);
}

void ow_place_remember(uint64_t addr, uint64_t data, uint64_t tag)
{
	struct ow_place *pair = ow_place_pair(addr);

	write_place(&pair[1], __atomic_load_n(&pair[0].check, __ATOMIC_RELAXED),
		    __atomic_load_n(&pair[0].data, __ATOMIC_RELAXED));
	write_place(&pair[0], addr ^ ow_place_mix(data) ^ tag, data);
}

void ow_place_guess(struct ow_place *p, uint64_t addr,
		    const struct ow_place *to)
{
	uint64_t mask = (((uint64_t)1 << OW_PLACE_GUESS_BITS) - 1)
			<< OW_PLACE_GUESS_SHIFT,
		 data;

	if (!ow_place_read(p, addr, &data) ||
	    (data & mask &&
	     __atomic_fetch_add(&wrong_guesses, 1, __ATOMIC_RELAXED) % 8))
		return;
	data = (data & ~mask) | (uint64_t)(to - ow_places)
					<< OW_PLACE_GUESS_SHIFT;
	write_place(p, addr ^ ow_place_mix(data), data);
}
