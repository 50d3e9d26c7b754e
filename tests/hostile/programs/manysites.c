// SPDX-License-Identifier: BSD-2-Clause
/*
 * manysites THREADS CALLS: after SIGUSR1, as many threads wait, and as many calls are made
 * of numbers that no call has, each of them in a place of its own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "threads.h"

#define PLACE 16 /* bytes */
#define FIRST 1000

/* push %rbp; mov %rsp,%rbp; mov $NUMBER,%eax; syscall; pop %rbp; ret */
static const uint8_t call[] = { 0x55, 0x48, 0x89, 0xe5, 0xb8, 0,   0,
				0,    0,    0x0f, 0x05, 0x5d, 0xc3 };
#define NUMBER 5 /* where it is */

static uint8_t *code; /* a place behind the other */

static void *call_at(void *place)
{
	((void (*)(void))place)();
	return NULL;
}

static void *put_call(long place, uint32_t number)
{
	uint8_t *at = code + PLACE * place;

	memcpy(at, call, sizeof(call));
	memcpy(at + NUMBER, &number, sizeof(number));
	return at;
}

static void start_waiting(long nr)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (long i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, call_at,
				   put_call(i, SYS_pause)))
			fail("thread");
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 0;
	long calls = argc > 2 ? atol(argv[2]) : 0;

	code = mmap(NULL, PLACE * (size_t)(threads + calls) + 1,
		    PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	wait_to_be_told();
	start_waiting(threads);
	for (long i = 0; i < calls; i++)
		call_at(put_call(threads + i, (uint32_t)(FIRST + i)));
	puts("done");
	fflush(stdout);
	wait_here(NULL);
}
