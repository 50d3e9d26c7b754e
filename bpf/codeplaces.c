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
#define HASHES   3    /* bits of a place */
#define LEAST    16   /* bits of an address within a place, */
#define STEP     2    /* and so many more within one of the next size */
#define MOST     1024 /* places of the least size that are looked at */

/* Between two times that places are cleared; and as often what the last one took. */
#define AGAIN_NS  1000000000
#define REST_PART 16

_Static_assert(sizeof(((struct ow_codeplaces *)NULL)->bits) == BITS / 8 &&
		       HASHES * BITS_LOG <= 64,
	       "as many bits as a hash has");

/* Places of one size. */
struct places {
	uint64_t first, end;
	unsigned int size; /* 0: the least */
};

/* Those of the least size that a range has a part of. */
static struct places places_of(uint64_t start, uint64_t end)
{
	if (start >= end)
		return (struct places){ 0, 0, 0 };
	return (struct places){ start >> LEAST, ((end - 1) >> LEAST) + 1, 0 };
}

static uint64_t hash_of(uint64_t place, unsigned int size)
{
	return ow_hash_word(place << 8 | size);
}

static void set(struct ow_codeplaces *p, uint64_t place, unsigned int size)
{
	uint64_t hash = hash_of(place, size), *word, bit;
	unsigned int i;

	for (i = 0; i < HASHES; i++, hash >>= BITS_LOG) {
		word = &p->bits[hash % BITS / 64];
		bit = (uint64_t)1 << hash % 64;
		p->nr += !(*word & bit);
		*word |= bit;
	}
	p->sizes |= 1U << size;
}

static bool is_set(const struct ow_codeplaces *p, uint64_t place,
		   unsigned int size)
{
	uint64_t hash = hash_of(place, size);
	unsigned int i;

	for (i = 0; i < HASHES; i++, hash >>= BITS_LOG)
		if (!(p->bits[hash % BITS / 64] >> hash % 64 & 1))
			return false;
	return true;
}

/* Of a size, those that a larger place doesn't have. */
static void set_ends(struct ow_codeplaces *p, struct places *at)
{
	const uint64_t part = (1U << STEP) - 1;

	while (at->first < at->end && at->first & part)
		set(p, at->first++, at->size);
	while (at->first < at->end && at->end & part)
		set(p, --at->end, at->size);
}

static bool is_any_set(const struct ow_codeplaces *p, const struct places *at)
{
	uint64_t place;

	for (place = at->first; place < at->end; place++)
		if (is_set(p, place, at->size))
			return true;
	return false;
}

struct ow_codeplaces *ow_codeplaces_create(void)
{
	return calloc(1, sizeof(struct ow_codeplaces));
}

void ow_codeplaces_add(struct ow_codeplaces *p, uint64_t start, uint64_t end)
{
	struct places at = places_of(start, end);

	while (p && at.first < at.end) {
		set_ends(p, &at);
		at.first >>= STEP;
		at.end >>= STEP;
		at.size++;
	}
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
	struct places at = places_of(start, end);

	if (at.first == at.end)
		return !p;
	if (!p || at.end - at.first > MOST)
		return true;
	for (; p->sizes >> at.size; at.size++) {
		if (p->sizes >> at.size & 1 && is_any_set(p, &at))
			return true;
		at.first >>= STEP;
		at.end = ((at.end - 1) >> STEP) + 1;
	}
	return false;
}

bool ow_codeplaces_is_crowded(const struct ow_codeplaces *p)
{
	return p && p->nr > FEW + 2 * p->kept &&
	       ow_now_ns() >= p->cleared + AGAIN_NS + REST_PART * p->took;
}

void ow_codeplaces_clear(struct ow_codeplaces *p)
{
	memset(p, 0, sizeof(*p));
	p->cleared = ow_now_ns();
}

void ow_codeplaces_keep(struct ow_codeplaces *p)
{
	p->kept = p->nr;
	p->took = ow_now_ns() - p->cleared;
}
