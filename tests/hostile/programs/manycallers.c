// SPDX-License-Identifier: BSD-2-Clause
/*
 * System calls from ever new addresses: code that it has written, of so many MB,
 * makes one every 8 bytes.  manycallers MB THREADS.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* mov $39,%eax; syscall; ret: getpid() */
static const uint8_t code[] = { 0xb8, 0x27, 0, 0, 0, 0x0f, 0x05, 0xc3 };

static uint8_t *at;
static size_t size, nr_threads;

static void *call_ever_new(void *first)
{
	size_t i = (uintptr_t)first * sizeof(code);

	for (;; i = (i + nr_threads * sizeof(code)) % size)
		((void (*)(void))(uintptr_t)(at + i))();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	size_t i;

	if (argc != 3)
		return 1;
	size = strtoul(argv[1], NULL, 0) << 20;
	nr_threads = strtoul(argv[2], NULL, 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 1;
	for (i = 0; i < size; i += sizeof(code))
		memcpy(at + i, code, sizeof(code));
	puts("ready");
	fflush(stdout);
	for (i = 1; i < nr_threads; i++)
		if (pthread_create(&thread, NULL, call_ever_new, (void *)i))
			return 1;
	call_ever_new(NULL);
	return 0;
}
