// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code without CFI, which a frame pointer leads on from, but wrongly:
 *   record:  rbp points to two words that look like a frame record
 *   realign: the caller aligned its stack, so that its frame record doesn't tell
 *            where its own caller's stack was
 * It says that it is ready and spins there.
 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096

/* No CFI; the frame pointer is the caller's, or what leaf_with() sets. */
asm("	.text\n"
    "	.type leaf, @function\n"
    "leaf:	jmp leaf\n"
    "	.size leaf, . - leaf\n"
    "	.type leaf_with, @function\n"
    "leaf_with:\n"
    "	mov %rdi, %rbp\n"
    "1:	jmp 1b\n"
    "	.size leaf_with, . - leaf_with\n");

void leaf(void);
void leaf_with(const void *fp);
int main(int argc, char **argv);

/* The words that an sp which is wrong finds. */
__attribute__((noipa)) static void fill(void)
{
	volatile uint64_t words[3 * PAGE / 8];
	unsigned int i;

	for (i = 0; i < 3 * PAGE / 8; i++)
		words[i] = 1;
}

__attribute__((noipa)) static void aligned(unsigned int size)
{
	volatile char room[64] __attribute__((aligned(PAGE)));
	volatile char *more = __builtin_alloca(size);

	room[0] = more[0] = 0;
	leaf();
	asm volatile("" : : "r"(room), "r"(more) : "memory");
}

__attribute__((noipa, optimize("omit-frame-pointer"))) static void
calls_aligned(unsigned int size)
{
	volatile uint64_t own[8] = { 0 };

	fill();
	aligned(size + (unsigned int)own[0]);
	own[1] = 1;
}

int main(int argc, char **argv)
{
	static volatile uint64_t record[2];
	volatile uint64_t low[2];

	if (write(1, "ready\n", 6) != 6 || argc < 2)
		return 1;
	if (strcmp(argv[1], "realign") == 0)
		calls_aligned(16);
	/* Above sp, with a return address that nothing calls in front of. */
	low[0] = (uintptr_t)record;
	low[1] = (uintptr_t)fill;
	record[0] = (uintptr_t)&low[0];
	leaf_with((const void *)low);
	return 0;
}
