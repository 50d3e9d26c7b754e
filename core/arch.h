/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an architecture must tell, as one constant.  To port outwind: fill one
 * of these in a file arch_<name>.c and list it in arch.c.
 *
 * All so far lay a frame record out alike: the caller's frame pointer, and the
 * return address in the word above.
 */
#ifndef OW_ARCH_H
#define OW_ARCH_H

#include "row.h"

#define OW_SLOT_NONE 0xff /* a DWARF register that outwind doesn't follow */

/* How the kernel lays registers out when it calls a signal handler. */
struct ow_sigframe {
	const uint8_t *code; /* what stands at pc: the return trampoline */
	uint8_t code_size;
	uint8_t nr;
	/* Where each register was stored, in bytes from sp at the trampoline. */
	const struct ow_rule *rules; /* kind OW_RULE_AT_REG, reg the sp */
	int16_t sp_off;              /* where sp itself was stored */
	/*
	 * A word that the kernel always stores alike, by which most of what is
	 * no signal frame is told without a look at its code: where, which of
	 * its bits, and what they are.  No bits: there is no such word.
	 */
	int16_t mark_off;
	uint16_t mark_bits, mark;
};

struct ow_arch {
	const char *name;
	uint16_t machine; /* e_machine; sits with word to name the arch */
	uint8_t word;     /* bytes of an address */
	uint8_t nr_regs;  /* slots in use */
	uint8_t pc, sp, fp;
	uint8_t fp_above; /* where the frame pointer points in the record */
	uint8_t ra;       /* where a call leaves the return address, if in a
		       register; else equal to pc */
	uint64_t callee_saved; /* slots that a callee gives back unchanged */
	uint64_t pc_mask;      /* bits of a code address; strips PAC */
	uint64_t pc_half; /* where a bit says what those above them are, it */
	const uint8_t *slots; /* DWARF number -> slot */
	uint8_t nr_slots;
	const char *const *names;            /* slot -> name */
	const struct ow_sigframe *sigframes; /* the longest code first; there is
						one where there are ELF files */
	uint8_t nr_sigframes;
	/*
	 * Return true if the code before end, of which size bytes may be read,
	 * ends with a call.  call_size: the most bytes that a look needs.  NULL:
	 * calls are not told.
	 */
	bool (*ends_with_call)(const uint8_t *end, size_t size);
	uint8_t call_size;
};

extern const struct ow_arch ow_arch_x86_64;
extern const struct ow_arch ow_arch_i386;
extern const struct ow_arch ow_arch_aarch64;
extern const struct ow_arch ow_arch_arm; /* no ELF file's */

/* The architecture of an ELF file, or NULL if outwind doesn't know it. */
const struct ow_arch *ow_arch_find(uint16_t machine, bool is_64);

/* A code address without its signature; mask: the bits that it has. */
static inline uint64_t ow_arch_code(const struct ow_arch *a, uint64_t mask,
				    uint64_t pc)
{
	return ow_unlikely(pc & a->pc_half) ? pc | ~mask : pc & mask;
}

/* The slot of a DWARF register number, or OW_SLOT_NONE. */
static inline uint8_t ow_arch_slot(const struct ow_arch *a, uint64_t dwarf)
{
	return dwarf < a->nr_slots ? a->slots[ow_index(dwarf, a->nr_slots)] :
				     OW_SLOT_NONE;
}

/* All bits of an address. */
static inline uint64_t ow_arch_mask(const struct ow_arch *a)
{
	return a->word == 8 ? ~(uint64_t)0 : 0xffffffff;
}

/* The row that a frame pointer gives where nothing better is known. */
void ow_arch_fp_row(const struct ow_arch *a, struct ow_row *row,
		    struct ow_rule *rules);

/*
 * The row right after a call to an address where no code is: nothing has been
 * pushed but the return address.
 */
void ow_arch_call_row(const struct ow_arch *a, struct ow_row *row,
		      struct ow_rule *rules);

/* The row of a signal frame at sp. */
void ow_arch_sigframe_row(const struct ow_arch *a, const struct ow_sigframe *sf,
			  struct ow_row *row);

/*
 * The same, if code (of size bytes, as read at pc) is the
 * trampoline that a handler returns to.
 */
bool ow_arch_signal_row(const struct ow_arch *a, const uint8_t *code,
			size_t size, struct ow_row *row);

#endif /* OW_ARCH_H */
