// SPDX-License-Identifier: BSD-2-Clause
#include "codeplaces.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "image.h"
#include "monotonic.h"

#define BITS_LOG 20
#define BITS     (1U << BITS_LOG)
#define FEW      (BITS / 8)
#define HASHES   3          /* bits of a place */
#define NEAR     16         /* bits of an address within a place, */
#define FAR      26         /* or within one that larger ranges have */
#define MOST     1024       /* places of a range */
#define AGAIN_NS 1000000000 /* between two times that places are cleared */

_Static_assert(sizeof(((struct ow_codeplaces *)NULL)->bits) == BITS / 8 &&
		       HASHES * BITS_LOG <= 64,
	       "as many bits as a hash has");

/* Return false if the range is too large for places of that size. */
static bool find_places(uint64_t start, uint64_t end, unsigned int shift,
			uint64_t *first, uint64_t *nr)
{
	*first = start >> shift;
	*nr = start < end ? ((end - 1) >> shift) - *first + 1 : 0;
	return *nr <= MOST;
}

static uint64_t hash_of(uint64_t place, unsigned int shift)
{
	return ow_hash_word(place << 8 | shift);
}

static void set(struct ow_codeplaces *p, uint64_t hash)
{
	uint64_t *word, bit;
	unsigned int i;

	for (i = 0; i < HASHES; i++, hash >>= BITS_LOG) {
		word = &p->bits[hash % BITS / 64];
		bit = (uint64_t)1 << hash % 64;
		p->nr += !(*word & bit);
		*word |= bit;
	}
}

static bool is_set(const struct ow_codeplaces *p, uint64_t hash)
{
	unsigned int i;

	for (i = 0; i < HASHES; i++, hash >>= BITS_LOG)
		if (!(p->bits[hash % BITS / 64] >> hash % 64 & 1))
			return false;
	return true;
}

static bool add(struct ow_codeplaces *p, uint64_t start, uint64_t end,
		unsigned int shift)
{
	uint64_t first, nr, i;

	if (!find_places(start, end, shift, &first, &nr))
		return false;
	for (i = 0; i < nr; i++)
		set(p, hash_of(first + i, shift));
	return true;
}

static bool has(const struct ow_codeplaces *p, uint64_t start, uint64_t end,
		unsigned int shift)
{
	uint64_t first, nr, i;

	if (!find_places(start, end, shift, &first, &nr))
		return true;
	for (i = 0; i < nr; i++)
		if (is_set(p, hash_of(first + i, shift)))
			return true;
	return false;
}

struct ow_codeplaces *ow_codeplaces_create(void)
{
	return calloc(1, sizeof(struct ow_codeplaces));
}

void ow_codeplaces_add(struct ow_codeplaces *p, uint64_t start, uint64_t end)
{
	if (p && !add(p, start, end, NEAR) && !add(p, start, end, FAR))
		p->is_anywhere = true;
}

void ow_codeplaces_add_image(struct ow_codeplaces *p,
			     const struct ow_image *image)
{
	uint32_t i;

	for (i = 0; p && !ow_image_is_full(image) && i < image->nr; i++)
		ow_codeplaces_add(p, image->ranges[i].start,
				  image->ranges[i].end);
}

bool ow_codeplaces_has(const struct ow_codeplaces *p, uint64_t start,
		       uint64_t end)
{
	return !p || p->is_anywhere || has(p, start, end, NEAR) ||
	       has(p, start, end, FAR);
}

bool ow_codeplaces_is_crowded(const struct ow_codeplaces *p)
{
	return p && (p->is_anywhere || p->nr > FEW + 2 * p->kept) &&
	       ow_now_ns() >= p->cleared + AGAIN_NS;
}

void ow_codeplaces_clear(struct ow_codeplaces *p)
{
	memset(p, 0, sizeof(*p));
	p->cleared = ow_now_ns();
}

void ow_codeplaces_keep(struct ow_codeplaces *p)
{
	p->kept = p->nr;
}
