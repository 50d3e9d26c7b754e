// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes a table for the kunwind module of the file that a process has mapped by a
 * name: userkunwind PID NAME.  No module takes the table.  Says why there is none.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

/* Find the mapping's name below /proc/PID/map_files. */
static int find(const char *pid, const char *name, char *ret, size_t size)
{
	char path[64], line[PATH_MAX + 100];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		found = strstr(line, name) != NULL;
		*strchr(line, ' ') = '\0';
		snprintf(ret, size, "/proc/%s/map_files/%s", pid, line);
	}
	if (f)
		fclose(f);
	return found;
}

int main(int argc, char **argv)
{
	int dev = open("/dev/null", O_RDWR | O_CLOEXEC), fd;
	struct ow_error err = { 0 };
	char path[PATH_MAX + 128];

	if (argc != 3 || !find(argv[1], argv[2], path, sizeof(path)))
		return 2;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		return 2;
	}
	if (ow_kunwind_add(dev, fd, argv[2], &err) == 0)
		return 2;
	printf("%s\n", err.msg);
	fflush(stdout);
	return 0;
}
