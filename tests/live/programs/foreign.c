// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread that runs 32-bit code by a code segment of its own (modify_ldt(2)), whose
 * selector no other program's code has; the main thread waits for it.  With an
 * argument that code waits, too.
 */
#include <asm/ldt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE 4096
#define CS   7 /* the table's first, of ring 3 */

static void *run_there(void *code)
{
	struct {
		uint32_t offset;
		uint16_t segment;
	} __attribute__((packed)) to = { (uint32_t)(uintptr_t)code, CS };

	__asm__ volatile("ljmp *%0" : : "m"(to));
	return NULL;
}

int main(int argc, char **argv)
{
	static const uint8_t loop[] = { 0xeb, 0xfe };
	/* mov $__NR_pause,%eax; int $0x80; and again */
	static const uint8_t pauses[] = { 0xb8, 29,   0,    0,   0,
					  0xcd, 0x80, 0xeb, 0xf7 };
	struct user_desc segment = {
		.limit = 0xfffff,
		.seg_32bit = 1,
		.contents = MODIFY_LDT_CONTENTS_CODE,
		.limit_in_pages = 1,
		.useable = 1,
	};
	void *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	pthread_t thread;

	if (code == MAP_FAILED ||
	    syscall(SYS_modify_ldt, 0x11, &segment, sizeof(segment)))
		return 1;
	(void)argv;
	if (argc > 1)
		memcpy(code, pauses, sizeof(pauses));
	else
		memcpy(code, loop, sizeof(loop));
	if (pthread_create(&thread, NULL, run_there, code))
		return 1;
	puts("ready");
	fflush(stdout);
	pthread_join(thread, NULL);
	return 0;
}
