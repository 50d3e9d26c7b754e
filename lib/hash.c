// SPDX-License-Identifier: BSD-2-Clause
#include "hash.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "monotonic.h"

struct state {
	uint64_t v0, v1, v2, v3;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct state seeded; /* by the key of this run */

static void set_key(uint64_t k0, uint64_t k1)
{
	seeded = (struct state){
		.v0 = k0 ^ 0x736f6d6570736575ULL,
		.v1 = k1 ^ 0x646f72616e646f6dULL,
		.v2 = k0 ^ 0x6c7967656e657261ULL,
		.v3 = k1 ^ 0x7465646279746573ULL,
	};
}

static void choose_key(void)
{
	uint64_t key[2];

	/* Just after a boot there may be no randomness, nor anybody to hide from. */
	if (getrandom(key, sizeof(key), GRND_NONBLOCK) != sizeof(key)) {
		key[0] = ow_now_ns();
		key[1] = (uintptr_t)&key;
	}
	set_key(key[0], key[1]);
}

static inline uint64_t rotate(uint64_t v, unsigned int by)
{
	return v << by | v >> (64 - by);
}

static inline void do_round(struct state *s)
{
	s->v0 += s->v1;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v2 = rotate(s->v2, 32);
}

static inline void take_word(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	do_round(s);
	s->v0 ^= word;
}

/* last holds the bytes that make no word. */
static inline uint64_t finish(struct state *s, uint64_t last, size_t size)
{
	take_word(s, last | (uint64_t)size << 56);
	s->v2 ^= 0xff;
	do_round(s);
	do_round(s);
	do_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

uint64_t ow_hash(const void *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = at + (size & ~(size_t)7);
	uint64_t word, last = 0;
	struct state s;

	pthread_once(&once, choose_key);
	s = seeded;
	for (; at < end; at += 8) {
		memcpy(&word, at, 8);
		take_word(&s, le64toh(word));
	}
	if (size & 7)
		memcpy(&last, at, size & 7);
	return finish(&s, le64toh(last), size);
}

uint64_t ow_hash_word(uint64_t word)
{
	struct state s;

	pthread_once(&once, choose_key);
	s = seeded;
	take_word(&s, le64toh(word));
	return finish(&s, 0, sizeof(word));
}
