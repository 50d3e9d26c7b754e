// SPDX-License-Identifier: BSD-2-Clause
/*
 * System calls whose number and makers are known: callers WHAT [COUNT].
 *
 *   twice     COUNT calls of getppid() in each of two processes
 *   threads   the same in each of four threads, and in the first one
 *   leader    the first thread ends, and another one calls
 *   executes  another thread executes this program, for "twice"
 *   vforked   a child that shares its parent's memory calls, and then it
 *   kinds     calls with results of all kinds
 *   killed    a child is killed while it waits in pause()
 *   forever   until it is killed
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static char **arguments;
static long count;

/* Nothing of the C library stands between these and the system call. */
NOINLINE static long ask(void)
{
	return syscall(SYS_getppid);
}

NOINLINE static void calling(void)
{
	long i;

	for (i = 0; i < count; i++)
		ask();
}

static void twice(void)
{
	pid_t child = fork();

	calling();
	if (child)
		waitpid(child, NULL, 0);
}

static void *thread(void *arg)
{
	calling();
	return arg;
}

static void threads(void)
{
	pthread_t all[4];
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, thread, NULL);
	calling();
	for (i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
}

static void *behind(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	calling();
	exit(0);
}

static void leader(void)
{
	static pthread_t first;
	pthread_t other;

	first = pthread_self();
	pthread_create(&other, NULL, behind, &first);
	pthread_exit(NULL);
}

static void *executing(void *arg)
{
	execl("/proc/self/exe", arguments[0], "twice", arguments[2], NULL);
	return arg;
}

static void executes(void)
{
	pthread_t other;

	pthread_create(&other, NULL, executing, NULL);
	for (;;)
		pause();
}

NOINLINE static void in_child(void)
{
	calling();
	_exit(0);
}

NOINLINE static void in_parent(void)
{
	calling();
}

static void vforked(void)
{
	if (vfork() == 0)
		in_child();
	in_parent();
	while (wait(NULL) > 0)
		;
}

static void kinds(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Of two lines, and nothing for a terminal. */
	strcpy(page, "/nonesuch/\"a\\b\n\033[2J");
	open(page, O_RDONLY);
	close(-1);
	lseek(0, -5, SEEK_END);
	/* x32's getpid, and numbers that none has. */
#ifdef __x86_64__
	syscall(0x40000000 | 39);
	syscall(-1, 1L << 40);
	syscall(0x20000000 | 39, 1L << 40);
#else
	syscall(0x40000000 | 39, 1, 2);
#endif
	syscall(1000, 1, 2);
	munmap(page, 4096);
}

static void killed(void)
{
	pid_t child = fork();
	char path[64], state = 0;
	FILE *stat;

	if (child == 0)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "/proc/%d/stat", child);
	while (state != 'S') {
		stat = fopen(path, "r");
		if (!stat || fscanf(stat, "%*s %*s %c", &state) != 1)
			exit(1);
		fclose(stat);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void forever(void)
{
	for (;;) {
		ask();
		usleep(1000);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} list[] = {
	{ "twice", twice },       { "threads", threads }, { "leader", leader },
	{ "executes", executes }, { "vforked", vforked }, { "kinds", kinds },
	{ "killed", killed },     { "forever", forever },
};

int main(int argc, char **argv)
{
	size_t i;

	arguments = argv;
	count = argc > 2 ? atol(argv[2]) : 0;
	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (argc > 1 && strcmp(argv[1], list[i].name) == 0) {
			list[i].run();
			return 7;
		}
	return 64;
}
