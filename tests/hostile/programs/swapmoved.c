// SPDX-License-Identifier: BSD-2-Clause
/*
 * swapmoved HOW [seldom]: run a function of a page of code at an address; after SIGUSR1 put
 * another page there, without a mapping that this process makes there itself, and run
 * a function of that one.  HOW: "move" it there by mremap(2), over the first one; move
 * it to where "nothing" was; have a "child" map it that shares the memory, or one of
 * "vfork"; "grow" the mapping before it, so that it reaches there; or move both pages there
 * in "turns" from the beginning on, by the system call of 32-bit programs ("turns32"),
 * or let a process that shares the memory do that ("shared"), in turns that take long if
 * it is to be "seldom"; or move "data" on and on, and no code.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "swapspin.h"

#define SHORT  1000000 /* times round a loop */
#define LONG_S 1.5     /* seconds that the process runs in a long turn */

#define MUCH (64UL << 20) /* of data */

#define NR32_MREMAP 163 /* Linux, arch/x86/entry/syscalls/syscall_32.tbl */

static volatile sig_atomic_t is_asked;
static int fd;

static void ask(int number)
{
	is_asked = number;
}

static void *move_there(void *from)
{
	return mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, AT);
}

/* The same, as a 32-bit program does it. */
static void *move_there32(void *from)
{
	long ret = NR32_MREMAP;

	__asm__ volatile("int $0x80"
			 : "+a"(ret)
			 : "b"(from), "c"((long)PAGE), "d"((long)PAGE),
			   "S"((long)(MREMAP_MAYMOVE | MREMAP_FIXED)), "D"(AT)
			 : "memory", "r8", "r9", "r10", "r11");
	return (void *)(uintptr_t)(uint32_t)ret;
}

static void *(*move)(void *from) = move_there;

/* Move a page of code to AT. */
static void move_page(const void *page)
{
	struct place place = { .addr = (uintptr_t)page };
	void *from = MAP_FAILED;

	if (dl_iterate_phdr(find_place, &place))
		from = mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_32BIT, fd, place.off);
	if (from == MAP_FAILED || move(from) != AT)
		exit(1);
}

static int map_second(void *arg)
{
	(void)arg;
	map_page(fd, never_second);
	_exit(0);
}

/*
 * Let the page before AT, which is the first one of the file, be two: so the second
 * one is at AT.
 */
static void grow_page(void)
{
	munmap(AT, PAGE);
	if (mremap(AT - PAGE, PAGE, 2 * PAGE, 0) != AT - PAGE)
		exit(1);
}

/* Have the second page mapped by a process that shares the memory. */
static void have_mapped(int flags)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	pid_t pid = clone(map_second, stack + sizeof(stack),
			  CLONE_VM | flags | SIGCHLD, NULL);
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(1);
}

static void run(size_t off)
{
	((void (*)(long))(uintptr_t)(AT + off))(SHORT);
}

static double seconds_run(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void run_long(size_t off, double seconds)
{
	double end = seconds_run() + seconds;

	do
		run(off);
	while (seconds_run() < end);
}

static void take_turns(void (*put)(const void *page), double seconds)
{
	for (;;) {
		put(spin_first);
		run_long(0, seconds);
		put(never_second);
		run_long(HALF, seconds);
	}
}

/* A page that the other process is to move to AT, or NULL. */
static const void *volatile asked_for;

static int move_pages(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		while (!asked_for)
			sched_yield();
		move_page((const void *)asked_for);
		asked_for = NULL;
	}
	return 0;
}

static void have_moved(const void *page)
{
	asked_for = page;
	while (asked_for)
		sched_yield();
}

static void share_memory(void)
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	if (clone(move_pages, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) <
	    0)
		exit(1);
}

/* As realloc(3) does it, which first tries to let memory grow in its place. */
static void move_data(void)
{
	size_t size = PAGE;
	void *data;

	for (;;) {
		data = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size = PAGE; data != MAP_FAILED && size < MUCH;
		     size *= 2) {
			run(0);
			data = mremap(data, size, 2 * size, MREMAP_MAYMOVE);
		}
		if (data == MAP_FAILED)
			exit(1);
		munmap(data, size);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 ? LONG_S : 0;
	bool is_mapped;

	fd = open("/proc/self/exe", O_RDONLY);
	if (argc < 2 || argc > 3 || fd < 0 ||
	    (uint8_t *)never_first != (uint8_t *)spin_first + HALF ||
	    (uint8_t *)never_second != (uint8_t *)spin_first + PAGE ||
	    (uint8_t *)spin_second != (uint8_t *)never_second + HALF)
		return 2;
	signal(SIGUSR1, ask);
	is_mapped = strcmp(argv[1], "nothing") != 0;
	if (is_mapped)
		map_page(fd, spin_first);
	if (strcmp(argv[1], "grow") == 0)
		map_page_at(fd, AT - PAGE, spin_first);
	if (strcmp(argv[1], "shared") == 0)
		share_memory();
	puts("ready");
	fflush(stdout);
	if (strcmp(argv[1], "turns32") == 0)
		move = move_there32;
	if (strcmp(argv[1], "data") == 0)
		move_data();
	if (strncmp(argv[1], "turns", 5) == 0)
		take_turns(move_page, seconds);
	if (strcmp(argv[1], "shared") == 0)
		take_turns(have_moved, seconds);
	while (!is_asked)
		is_mapped ? run(0) : spin_first(SHORT);
	if (strcmp(argv[1], "child") == 0)
		have_mapped(0);
	else if (strcmp(argv[1], "vfork") == 0)
		have_mapped(CLONE_VFORK);
	else if (strcmp(argv[1], "grow") == 0)
		grow_page();
	else
		move_page(never_second);
	for (;;)
		run(HALF);
}
