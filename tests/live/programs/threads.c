/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads, one scene per argument. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "stay.h"

static volatile unsigned int *heartbeats; /* one per thread, in a file */
static pthread_barrier_t all_there;

static NOINLINE void beat(unsigned int i)
{
	struct timespec ms = { 0, 1000000 + i * 10000 };

	for (;;) {
		nanosleep(&ms, NULL);
		heartbeats[i]++;
	}
}

static void *beating(void *arg)
{
	pthread_barrier_wait(&all_there);
	beat((unsigned int)(unsigned long)arg);
	return NULL;
}

static NOINLINE int many(const char *path, int nr)
{
	pthread_t thread;
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	size_t size = nr * sizeof(*heartbeats);
	int i;

	if (fd < 0 || ftruncate(fd, size))
		return 1;
	heartbeats =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (heartbeats == MAP_FAILED)
		return 1;
	pthread_barrier_init(&all_there, NULL, nr + 1);
	for (i = 0; i < nr; i++)
		if (pthread_create(&thread, NULL, beating,
				   (void *)(unsigned long)i))
			return 1;
	pthread_barrier_wait(&all_there);
	return stay(1);
}

static NOINLINE int in_thread(int x)
{
	return stay(x) + 1;
}

static void *staying(void *arg)
{
	in_thread(1);
	return arg;
}

static void leave_leader(void *(*start)(void *arg))
{
	pthread_t thread;

	pthread_create(&thread, NULL, start, NULL);
	pthread_exit(NULL);
}

static NOINLINE void *spinning(void *arg)
{
	if (write(1, "ready\n", 6) != 6)
		return arg;
	for (;;)
		__asm__ volatile("" : : : "memory");
}

static NOINLINE int custom_stack(void)
{
	static char room[1 << 18] __attribute__((aligned(4096)));
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, room, sizeof(room));
	if (pthread_create(&thread, &attr, staying, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 1;
}

static NOINLINE int wait_for_vfork(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		/* Allowed on Linux: the parent waits. */
		stay(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int become_zombie(void)
{
	pid_t pid = fork();
	siginfo_t info;
	char text[32];
	int n;

	if (pid == 0)
		_exit(0);
	/* It is one then, and stays one. */
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT))
		return 1;
	n = (int)strlen(strcpy(text, "pid "));
	for (int digit = 10000000; digit; digit /= 10)
		text[n++] = (char)('0' + pid / digit % 10);
	text[n++] = '\n';
	return write(1, text, n) == n ? stay(1) : 1;
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";

	if (strcmp(scene, "many") == 0)
		return many(argv[2], atoi(argv[3]));
	if (strcmp(scene, "leader") == 0)
		leave_leader(staying);
	if (strcmp(scene, "leader-spin") == 0)
		leave_leader(spinning);
	if (strcmp(scene, "custom-stack") == 0)
		return custom_stack();
	if (strcmp(scene, "vfork") == 0)
		return wait_for_vfork() + 1;
	if (strcmp(scene, "zombie") == 0)
		return become_zombie() + 1;
	return 64;
}
