// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks without end of 1000 callers, all of which differ from one another: it runs
 * code that it has written, which sets the frame pointer to a list of made-up frames.
 * Their return addresses lie anywhere in that code.  manystacks [UID].
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE  (16UL << 20)
#define DEPTH 1000

struct frame {
	uint64_t fp, ra;
};

/*
 * push %rbp; mov %rdi,%rbp; 1: dec %rsi; jnz 1b; pop %rbp; ret: rdi is the innermost
 * frame, and rsi how long it takes.
 */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xfd, 0x48, 0xff,
				0xce, 0x75, 0xfb, 0x5d, 0xc3 };

static uint64_t rest = 1;

static uint64_t some_number(void)
{
	rest ^= rest << 13;
	rest ^= rest >> 7;
	rest ^= rest << 17;
	return rest;
}

static void fill(struct frame *frames, uint64_t begin)
{
	for (unsigned int i = 0; i < DEPTH; i++) {
		frames[i].fp = (uint64_t)&frames[i + 1];
		frames[i].ra = begin + some_number() % CODE;
	}
	frames[DEPTH] = (struct frame){ 0, 0 };
}

int main(int argc, char **argv)
{
	struct frame frames[DEPTH + 1]; /* above what is called, on the stack */
	void (*run)(struct frame * innermost, uint64_t rounds);
	uint8_t *at = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uid_t uid = argc > 1 ? (uid_t)strtoul(argv[1], NULL, 0) : 0;

	if (at == MAP_FAILED || (uid && setresuid(uid, uid, uid))) {
		perror("manystacks");
		return 1;
	}
	memcpy(at, code, sizeof(code));
	run = (void (*)(struct frame *, uint64_t))(uintptr_t)at;
	puts("ready");
	fflush(stdout);
	for (;;) {
		fill(frames, (uint64_t)at);
		run(frames, 200000);
	}
}
