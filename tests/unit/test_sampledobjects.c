// SPDX-License-Identifier: BSD-2-Clause
#include "sampledobjects.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "test.h"

/* A file that has what we are. */
static void copy_self(const char *name)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	char buf[65536];
	ssize_t n;

	if (from < 0 || to < 0)
		abort();
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			abort();
	close(from);
	close(to);
}

/* The number of a file, of which we have a page mapped meanwhile. */
static uint32_t number_of(struct ow_sampledobjects *o, const char *name)
{
	char *path = realpath(name, NULL);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	void *page =
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	struct ow_mapping map = { .start = (uintptr_t)page,
				  .end = (uintptr_t)page + 4096,
				  .executable = true,
				  .path = path };
	struct stat st;
	uint32_t number;

	if (page == MAP_FAILED || fstat(fd, &st))
		abort();
	map.dev = st.st_dev;
	map.inode = st.st_ino;
	number = ow_sampledobjects_number(o, getpid(), &map);
	munmap(page, 4096);
	close(fd);
	free(path);
	return number;
}

/* Have we a file of that name mapped that isn't there any more? */
static bool is_held(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], want[64];
	bool found = false;

	if (!maps)
		abort();
	snprintf(want, sizeof(want), "/%s (deleted)", name);
	while (fgets(line, sizeof(line), maps))
		found = found || strstr(line, want);
	fclose(maps);
	return found;
}

/*
 * Files of one build are one object; each stays open, or its inode might become
 * another file's, that would be taken for it.
 */
static void test_same_build(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	copy_self("one");
	copy_self("two");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "one") == 1);
	CHECK(number_of(&o, "two") == 1 && number_of(&o, "two") == 1);
	unlink("one");
	unlink("two");
	CHECK(is_held("one") && is_held("two"));
	copy_self("three");
	CHECK(number_of(&o, "three") == 1);
	ow_sampledobjects_deinit(&o);
	CHECK(!is_held("one") && !is_held("two"));
}

int main(void)
{
	static const struct test tests[] = {
		{ "files of one build", test_same_build },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
