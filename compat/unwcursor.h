/* SPDX-License-Identifier: BSD-2-Clause */
/* What a unw_cursor_t holds: one frame's registers, or where they are. */
#ifndef OW_UNWCURSOR_H
#define OW_UNWCURSOR_H

#include <libunwind.h>

#include "loaded.h"
#include "localmem.h"
#include "machine.h"
#include "unwspace.h"

struct ow_unw {
	unw_addr_space_t as;
	void *arg; /* the accessors'; local: the context */
	uint64_t ip, sp;
	/* The slots whose word is the value; whose word is the address of it;
	   and that are still in the target's registers.  Not in any of them:
	   lost. */
	uint64_t value, memory, reg;
	uint64_t sigcontext;     /* the registers are of this ucontext; or 0 */
	bool is_return;          /* ip is a return address */
	bool behind_signal;      /* what unw_is_signal_frame() says on x86-64 */
	bool guessed;            /* a frame pointer told sp, maybe wrongly */
	uint16_t nr_signals;     /* signals' frames that were left */
	struct ow_extent window; /* local: readable part of the stack */
	struct ow_extent object; /* local: object last asked for, */
	uint64_t tag;            /* and what tells it from others */
	uint64_t word[OW_M_NR];
};

_Static_assert(sizeof(struct ow_unw) <= sizeof(unw_cursor_t), "room for it");

static inline struct ow_unw *ow_unw_of(unw_cursor_t *cursor)
{
	return (struct ow_unw *)cursor;
}

/* As unw_init_local2(), unw_init_remote(). */
int ow_unw_init_local(struct ow_unw *u, unw_context_t *uc, int flag);
int ow_unw_init_remote(struct ow_unw *u, unw_addr_space_t as, void *arg);

/* A slot's value: 0, -UNW_EBADREG, or what an accessor says. */
int ow_unw_fetch(const struct ow_unw *u, unsigned int slot, uint64_t *ret);

/* As unw_get_reg(), unw_set_reg(), unw_get_save_loc(). */
int ow_unw_get_reg(struct ow_unw *u, int reg, unw_word_t *ret);
int ow_unw_set_reg(struct ow_unw *u, int reg, unw_word_t val);
int ow_unw_get_save_loc(struct ow_unw *u, int reg, unw_save_loc_t *ret);

/* A word of memory: 0, or a negated unw_error_t. */
int ow_unw_load(const struct ow_unw *u, uint64_t addr, uint64_t *ret);

/* The address that the frame's row and function are looked up at. */
static inline uint64_t ow_unw_lookup(const struct ow_unw *u)
{
	return u->ip - (u->is_return ? 1 : 0);
}

static inline void ow_unw_set_value(struct ow_unw *u, unsigned int slot,
				    uint64_t val)
{
	uint64_t bit = (uint64_t)1 << slot;

	u->word[slot] = val;
	u->value |= bit;
	u->memory &= ~bit;
	u->reg &= ~bit;
}

static inline void ow_unw_set_memory(struct ow_unw *u, unsigned int slot,
				     uint64_t addr)
{
	uint64_t bit = (uint64_t)1 << slot;

	u->word[slot] = addr;
	u->memory |= bit;
	u->value &= ~bit;
	u->reg &= ~bit;
}

static inline void ow_unw_lose(struct ow_unw *u, uint64_t slots)
{
	u->value &= ~slots;
	u->memory &= ~slots;
	u->reg &= ~slots;
}

#endif /* OW_UNWCURSOR_H */
