// SPDX-License-Identifier: BSD-2-Clause
/*
 * swapcode THREADS TIMES: map one page of code and another one in turns at one
 * address, and run a function of it TIMES round a loop; beside THREADS threads that
 * wait.  Where one page has the function that runs, the other has one that never does.
 */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define HALF 2048
#define AT   ((uint8_t *)0x70000000)

#define IN(name, size) \
	__attribute__((section(name), aligned(size), noinline, noclone, used))

#define LOOP(times)                    \
	for (; (times) > 0; (times)--) \
	__asm__ volatile("" : "+r"(times))

/* The linker has sections of one name in the order in which they stand here. */
static IN(".first", PAGE) void spin_first(long times)
{
	LOOP(times);
}

static IN(".first", HALF) void never_first(long times)
{
	LOOP(times);
}

static IN(".second", PAGE) void never_second(long times)
{
	LOOP(times);
}

static IN(".second", HALF) void spin_second(long times)
{
	LOOP(times);
}

struct place {
	uintptr_t addr;
	off_t off;
};

/* Where in the file code is. */
static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;
	const ElfW(Phdr) * p;
	uintptr_t start;

	(void)size;
	for (p = info->dlpi_phdr; p < info->dlpi_phdr + info->dlpi_phnum; p++) {
		start = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && place->addr >= start &&
		    place->addr - start < p->p_filesz) {
			place->off = (off_t)(p->p_offset + place->addr - start);
			return 1;
		}
	}
	return 0;
}

static void run(int fd, const void *page, size_t off, long times)
{
	struct place place = { .addr = (uintptr_t)page };

	if (!dl_iterate_phdr(find, &place) ||
	    mmap(AT, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		 place.off) != AT)
		exit(1);
	((void (*)(long))(uintptr_t)(AT + off))(times);
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY), i;
	pthread_attr_t attr;
	pthread_t thread;

	if (argc != 3 ||
	    (uint8_t *)never_first != (uint8_t *)spin_first + HALF ||
	    (uint8_t *)spin_second != (uint8_t *)never_second + HALF)
		return 2;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (i = 0; i < atoi(argv[1]); i++)
		if (pthread_create(&thread, &attr, wait_for_ever, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		run(fd, spin_first, 0, atol(argv[2]));
		run(fd, never_second, HALF, atol(argv[2]));
	}
}
