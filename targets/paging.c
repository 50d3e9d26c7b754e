// SPDX-License-Identifier: BSD-2-Clause
#include "paging.h"

#include <endian.h>
#include <string.h>

#define BITS(n) (((uint64_t)1 << (n)) - 1) /* n below 64 */

#define PAGE_SHIFT  12
#define X86_FRAME   0x000ffffffffff000ULL
#define ARM_FRAME   0x0000fffffffff000ULL
#define X86_PRESENT 1
#define X86_LARGE   0x80
#define ARM_VALID   1
#define ARM_TABLE   2
#define SHORT_TABLE 1
#define SHORT_SUPER 0x40000

enum what {
	NOTHING,
	TABLE,
	PAGE
};

/* What an entry of a level leads to. */
struct led {
	enum what what;
	uint64_t addr;  /* of the table, or of the page */
	unsigned shift; /* log2 of the page's size */
};

static bool sized_page(unsigned int levels, unsigned int level)
{
	return levels >> level & 1;
}

/* Tables of 64-bit entries; pages are where the mask of levels allows. */
static struct led led_x86(uint64_t entry, unsigned int level,
			  unsigned int shift, unsigned int pages)
{
	struct led led = { NOTHING, entry & X86_FRAME, shift };

	if (!(entry & X86_PRESENT))
		return led;
	led.what = TABLE;
	if (level == 0 || (entry & X86_LARGE && sized_page(pages, level))) {
		led.what = PAGE;
		led.addr &= ~BITS(shift);
	}
	return led;
}

static struct led led_x86_64(const struct ow_paging *p, uint64_t entry,
			     unsigned int level, unsigned int shift)
{
	(void)p;
	return led_x86(entry, level, shift, 1 | 2 | 4);
}

static struct led led_x86_pae(const struct ow_paging *p, uint64_t entry,
			      unsigned int level, unsigned int shift)
{
	(void)p;
	return led_x86(entry, level, shift, 1 | 2);
}

/* A page of 4 MiB has the bits from 32 on of its address in 13 to 20. */
static struct led led_x86_32(const struct ow_paging *p, uint64_t entry,
			     unsigned int level, unsigned int shift)
{
	struct led led = led_x86(entry, level, shift, 1 | 2);

	(void)p;
	if (led.what == PAGE && level == 1)
		led.addr |= (entry >> 13 & 0xff) << 32;
	return led;
}

/*
 * Blocks are of the second level from below, and with pages of 4 KiB of the
 * third, too.  Pages of 64 KiB may have the bits from 48 on of an address in
 * the entry's bits 12 to 15.
 */
static struct led led_arm_long(const struct ow_paging *p, uint64_t entry,
			       unsigned int level, unsigned int shift)
{
	unsigned int granule = p->granule ? p->granule : PAGE_SHIFT;
	unsigned int blocks = granule == 12 ? 2 | 4 : 2;
	struct led led = { NOTHING, entry & ARM_FRAME & ~BITS(granule), shift };

	if (!(entry & ARM_VALID))
		return led;
	if (granule == 16)
		led.addr |= (entry >> 12 & 15) << 48;
	if (level > 0 && entry & ARM_TABLE) {
		led.what = TABLE;
	} else if (level == 0 ? entry & ARM_TABLE : sized_page(blocks, level)) {
		led.what = PAGE;
		led.addr &= ~BITS(shift);
	}
	return led;
}

static struct led led_arm_section(uint64_t entry)
{
	struct led led = { PAGE, entry & 0xfff00000, 20 };

	if (entry & SHORT_SUPER)
		led = (struct led){ PAGE,
				    (entry & 0xff000000) |
					    (entry >> 20 & 15) << 32 |
					    (entry >> 5 & 15) << 36,
				    24 };
	return led;
}

static struct led led_arm_short(const struct ow_paging *p, uint64_t entry,
				unsigned int level, unsigned int shift)
{
	(void)p;
	if ((entry & 3) == 0)
		return (struct led){ NOTHING, 0, shift };
	if (level == 1 && (entry & 3) == SHORT_TABLE)
		return (struct led){ TABLE, entry & 0xfffffc00, shift };
	if (level == 1)
		return led_arm_section(entry);
	if ((entry & 3) == 1)
		return (struct led){ PAGE, entry & 0xffff0000, 16 };
	return (struct led){ PAGE, entry & 0xfffff000, 12 };
}

static const struct format {
	uint8_t entry;      /* bytes of one */
	uint8_t index_bits; /* of an address for each level; 0: granule - 3 */
	bool is_signed;     /* the top bit looked at is that of all above */
	struct led (*led)(const struct ow_paging *p, uint64_t entry,
			  unsigned int level, unsigned int shift);
} formats[OW_NR_PAGINGS] = {
	[OW_PAGING_X86_64] = { 8, 9, true, led_x86_64 },
	[OW_PAGING_X86_PAE] = { 8, 9, false, led_x86_pae },
	[OW_PAGING_X86_32] = { 4, 10, false, led_x86_32 },
	[OW_PAGING_ARM_LONG] = { 8, 0, false, led_arm_long },
	[OW_PAGING_ARM_SHORT] = { 4, 8, false, led_arm_short },
};

static bool is_in(const struct ow_paging *p, const struct ow_paging_half *h,
		  uint64_t rest)
{
	return h->bits && rest >> (h->bits - formats[p->format].is_signed) == 0;
}

/*
 * The half that an address is in, or NULL if it is in none.  Where the two
 * overlap, as Arm's 32-bit ones may, the smaller one has what is in both.
 */
static const struct ow_paging_half *half_of(const struct ow_paging *p,
					    uint64_t addr)
{
	uint64_t up = addr;
	bool low, high;

	if (p->is_32)
		up |= ~BITS(32);
	if (p->ignores_top)
		addr = up = (uint64_t)((int64_t)(addr << 8) >> 8);
	low = is_in(p, &p->low, addr);
	high = (!p->is_32 || addr >> 32 == 0) && is_in(p, &p->high, ~up);
	if (low && !(high && p->high.bits < p->low.bits))
		return &p->low;
	return high ? &p->high : NULL;
}

static bool fetch(const struct ow_physmem *mem, uint64_t addr, size_t size,
		  uint64_t *ret)
{
	const uint8_t *at = mem->at(mem, addr, size);
	uint64_t word = 0;

	if (!at)
		return false;
	memcpy(&word, at, size);
	*ret = le64toh(word);
	return true;
}

static enum ow_paging_result walk(const struct ow_paging *p,
				  const struct ow_paging_half *h,
				  const struct ow_physmem *mem, uint64_t addr,
				  uint64_t *ret, uint64_t *run_ret)
{
	const struct format *f = &formats[p->format];
	unsigned int page = p->granule ? p->granule : PAGE_SHIFT;
	unsigned int each = f->index_bits ? f->index_bits : page - 3u;
	unsigned int level = h->levels, shift;
	uint64_t table = h->root, index, entry;
	struct led led;

	addr &= BITS(h->bits);
	while (level-- > 0) {
		shift = page + level * each;
		/* What is above has been looked at, or is not there. */
		index = addr >> shift;
		addr &= BITS(shift);
		if (!fetch(mem, table + index * f->entry, f->entry, &entry))
			return OW_PAGING_MISSING;
		led = f->led(p, entry, level, shift);
		if (led.what == NOTHING)
			return OW_PAGING_ABSENT;
		if (led.what == PAGE) {
			*ret = led.addr;
			*run_ret = led.shift;
			return OW_PAGING_MAPPED;
		}
		table = led.addr;
	}
	return OW_PAGING_ABSENT;
}

enum ow_paging_result ow_paging_find(const struct ow_paging *p,
				     const struct ow_physmem *mem,
				     uint64_t addr, uint64_t *ret,
				     uint64_t *run_ret)
{
	const struct ow_paging_half *h;
	enum ow_paging_result result;
	uint64_t base, shift;

	if (p->format == OW_PAGING_OFF) {
		*ret = addr;
		*run_ret = ~addr ? ~addr : 1;
		return OW_PAGING_MAPPED;
	}
	h = half_of(p, addr);
	if (!h || h->levels == 0)
		return OW_PAGING_ABSENT;
	result = walk(p, h, mem, addr, &base, &shift);
	if (result)
		return result;
	*ret = base + (addr & BITS(shift));
	*run_ret = ((uint64_t)1 << shift) - (addr & BITS(shift));
	return OW_PAGING_MAPPED;
}

#define CR0_PG   0x80000000u
#define CR4_PAE  0x20
#define CR4_LA57 0x1000
#define EFER_LMA 0x400

struct ow_paging ow_paging_x86(uint64_t cr0, uint64_t cr3, uint64_t cr4,
			       uint64_t efer)
{
	struct ow_paging p = { .format = OW_PAGING_OFF };
	struct ow_paging_half *h = &p.low;

	if (!(cr0 & CR0_PG))
		return p;
	if (efer & EFER_LMA) {
		p.format = OW_PAGING_X86_64;
		h->levels = cr4 & CR4_LA57 ? 5 : 4;
		h->bits = cr4 & CR4_LA57 ? 57 : 48;
		h->root = cr3 & X86_FRAME;
		p.high = *h;
		return p;
	}
	p.is_32 = true;
	h->bits = 32;
	if (cr4 & CR4_PAE) {
		p.format = OW_PAGING_X86_PAE;
		h->levels = 3;
		h->root = cr3 & 0xffffffe0;
	} else {
		p.format = OW_PAGING_X86_32;
		h->levels = 2;
		h->root = cr3 & 0xfffff000;
	}
	return p;
}

#define SCTLR_M    1
#define TCR_EPD0   ((uint64_t)1 << 7)
#define TCR_EPD1   ((uint64_t)1 << 23)
#define TCR_TBI0   ((uint64_t)1 << 37)
#define TCR_TBI1   ((uint64_t)1 << 38)
#define TTBR_TABLE 0x0000ffffffffffc0ULL /* 64 bytes are the least alignment */

/* Levels for so many bits of an address. */
static uint8_t levels_for(unsigned int bits, unsigned int granule)
{
	return (uint8_t)((bits - granule + granule - 4) / (granule - 3));
}

struct ow_paging ow_paging_aarch64(uint64_t sctlr, uint64_t tcr, uint64_t ttbr0,
				   uint64_t ttbr1)
{
	/* TG0 and TG1 name the granules differently. */
	static const uint8_t granules0[4] = { 12, 16, 14, 0 };
	static const uint8_t granules1[4] = { 0, 14, 12, 16 };
	uint8_t granule0 = granules0[tcr >> 14 & 3];
	uint8_t granule1 = granules1[tcr >> 30 & 3];
	unsigned int size0 = tcr & 63, size1 = tcr >> 16 & 63;
	struct ow_paging p = { .format = OW_PAGING_OFF };

	if (!(sctlr & SCTLR_M))
		return p;
	p.format = OW_PAGING_ARM_LONG;
	p.ignores_top = tcr & (TCR_TBI0 | TCR_TBI1);
	/* Who uses both halves has the same granule in them as a rule; where
	   not, the upper one, the kernel's, is what stacks are in. */
	p.granule = tcr & TCR_EPD1 || !granule1 ? granule0 : granule1;
	if (!(tcr & TCR_EPD0) && granule0 == p.granule && size0 >= 12 &&
	    size0 <= 48)
		p.low = (struct ow_paging_half){
			ttbr0 & TTBR_TABLE, levels_for(64 - size0, granule0),
			(uint8_t)(64 - size0)
		};
	if (!(tcr & TCR_EPD1) && granule1 == p.granule && size1 >= 12 &&
	    size1 <= 48)
		p.high = (struct ow_paging_half){
			ttbr1 & TTBR_TABLE, levels_for(64 - size1, granule1),
			(uint8_t)(64 - size1)
		};
	return p;
}

#define TTBCR_EAE  0x80000000u
#define TTBCR_PD0  0x10
#define TTBCR_PD1  0x20
#define LPAE_TABLE 0x000000fffffffff8ULL

static void arm_long(struct ow_paging *p, uint64_t ttbcr, uint64_t ttbr0,
		     uint64_t ttbr1)
{
	uint8_t bits0 = (uint8_t)(32 - (ttbcr & 7));
	uint8_t bits1 = (uint8_t)(32 - (ttbcr >> 16 & 7));

	p->format = OW_PAGING_ARM_LONG;
	p->low.bits = bits0;
	if (!(ttbcr & TCR_EPD0))
		p->low = (struct ow_paging_half){ ttbr0 & LPAE_TABLE,
						  levels_for(bits0, 12),
						  bits0 };
	if (!(ttbcr & TCR_EPD1))
		p->high = (struct ow_paging_half){ ttbr1 & LPAE_TABLE,
						   levels_for(bits1, 12),
						   bits1 };
}

/* N bits less for the lower table; the upper one has all others. */
static void arm_short(struct ow_paging *p, uint64_t ttbcr, uint64_t ttbr0,
		      uint64_t ttbr1)
{
	unsigned int n = ttbcr & 7;

	p->format = OW_PAGING_ARM_SHORT;
	p->low.bits = (uint8_t)(32 - n);
	if (!(ttbcr & TTBCR_PD0))
		p->low = (struct ow_paging_half){
			ttbr0 & 0xffffffff & ~BITS(14 - n), 2, (uint8_t)(32 - n)
		};
	if (n && !(ttbcr & TTBCR_PD1))
		p->high = (struct ow_paging_half){ ttbr1 & 0xffffc000, 2, 32 };
}

struct ow_paging ow_paging_arm(uint64_t sctlr, uint64_t ttbcr, uint64_t ttbr0,
			       uint64_t ttbr1)
{
	struct ow_paging p = { .format = OW_PAGING_OFF, .is_32 = true };

	if (!(sctlr & SCTLR_M))
		return p;
	if (ttbcr & TTBCR_EAE)
		arm_long(&p, ttbcr, ttbr0, ttbr1);
	else
		arm_short(&p, ttbcr, ttbr0, ttbr1);
	return p;
}
