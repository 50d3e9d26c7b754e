// SPDX-License-Identifier: BSD-2-Clause
/*
 * Maps its own code, whose table takes long to make, from a copy of its file in a folder
 * and as many hard links to that as are asked for; then it waits as another user.
 * costlytables NUMBER FOLDER USER.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define SIZE 0x100000UL
#define MOST 0x40000000UL

/* So many functions of so many rows, of which hardly any two are the same. */
__asm__(".text\n"
	".set k, 0\n"
	".rept 400\n"
	".cfi_startproc\n"
	".rept 1000\n"
	"nop\n"
	".set k, (k * 1103515245 + 12345) & 0x7fffffff\n"
	".cfi_def_cfa 12 + (k >> 16) % 4, 8 + (k >> 8) % 64 * 8\n"
	".cfi_offset 12 + (k >> 18) % 4, -16 - (k >> 20) % 64 * 8\n"
	".endr\n"
	".cfi_endproc\n"
	".endr\n");

static int copy_self(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ssize_t n = 1;

	while (from >= 0 && to >= 0 && n > 0)
		n = sendfile(to, from, NULL, MOST);
	close(from);
	return close(to) || n ? -1 : 0;
}

/* Map the code of the copy, by another name. */
static int map_link(const char *copy, int number)
{
	char path[2 * PATH_MAX];
	void *code;
	int fd;

	snprintf(path, sizeof(path), "%s%d", copy, number);
	if (link(copy, path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	code = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return code == MAP_FAILED ? -1 : 0;
}

int main(int argc, char **argv)
{
	char copy[PATH_MAX];
	int i, failed;

	if (argc != 4)
		return 1;
	snprintf(copy, sizeof(copy), "%s/copy", argv[2]);
	failed = copy_self(copy);
	for (i = 0; i < atoi(argv[1]) && !failed; i++)
		failed = map_link(copy, i);
	if (failed) {
		perror("map");
		return 1;
	}
	if (setuid((uid_t)strtoul(argv[3], NULL, 0))) {
		perror("setuid");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
