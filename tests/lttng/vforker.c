// SPDX-License-Identifier: BSD-2-Clause
/*
 * In a guest: a process with very many mappings of a file of a long path, and a child
 * that has the same memory until it executes something.
 *
 * usage: vforker UID: the child has that user, and its parent the next one.  Prints the
 * child's number; the child sleeps from a line of the input on, and ends with it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE     4096
#define MAPPINGS 3000
#define DEPTH    15 /* folders */

/* The working directory is its folder then. */
static int open_long(void)
{
	char top[] = "/run/vforkerXXXXXX", name[251];
	int i;

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	if (!mkdtemp(top) || chdir(top))
		return -1;
	for (i = 0; i < DEPTH; i++)
		if (mkdir(name, 0755) || chdir(name))
			return -1;
	return open("f", O_CREAT | O_RDWR | O_CLOEXEC, 0755);
}

/* Return false if that can't be. */
static bool map_often(int fd)
{
	int i;

	if (fd < 0 || ftruncate(fd, PAGE))
		return false;
	for (i = 0; i < MAPPINGS; i++)
		if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd,
			 0) == MAP_FAILED)
			return false;
	return true;
}

static void run_child(uid_t uid)
{
	char c;

	if (setresuid(uid, uid, uid))
		_exit(1);
	dprintf(STDOUT_FILENO, "%d\n", (int)getpid());
	if (read(STDIN_FILENO, &c, 1) == 1)
		execl("/bin/sleep", "sleep", "60", (char *)NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	uid_t uid = argc == 2 ? (uid_t)atoi(argv[1]) : 0;
	pid_t pid;
	char c;

	if (!uid || !map_often(open_long()) || setresuid(uid + 1, 0, 0))
		return 1;
	pid = vfork();
	if (pid == 0)
		run_child(uid);
	/* The child has executed something. */
	while (read(STDIN_FILENO, &c, 1) == 1)
		;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
