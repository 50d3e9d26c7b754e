// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread that waits in pause(2), made by int $0x80, where the code has become that of
 * a call by syscall since: in memory of no file, or, if HOW is "file", in a copy of a
 * page of the program's file, which may not be written to by now.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE    4096
#define CALL_AT 5 /* of the code below */
#define WAIT_US 300000

static void *call(void *code)
{
	((void (*)(void))(uintptr_t)code)();
	return NULL;
}

static uint8_t *map(bool is_file)
{
	int fd = is_file ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
	void *at;

	if (is_file && fd < 0)
		return NULL;
	at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | (is_file ? 0 : MAP_ANONYMOUS), fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv)
{
	/* mov $__NR_pause,%eax; int $0x80; ret */
	static const uint8_t pauses[] = { 0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xc3 };
	static const uint8_t other[] = { 0x0f, 0x05 };
	uint8_t *code = map(argc > 1 && strcmp(argv[1], "file") == 0);
	pthread_t thread;

	if (!code)
		return 1;
	memcpy(code, pauses, sizeof(pauses));
	if (pthread_create(&thread, NULL, call, code))
		return 1;
	usleep(WAIT_US);
	memcpy(code + CALL_AT, other, sizeof(other));
	if (mprotect(code, SIZE, PROT_READ | PROT_EXEC))
		return 1;
	puts("ready");
	fflush(stdout);
	pause();
}
