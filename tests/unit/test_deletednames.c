// SPDX-License-Identifier: BSD-2-Clause
#include "deletednames.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mappings.h"
#include "scratch.h"
#include "test.h"

#define PAGE 4096

static const struct name_case {
	const char *name,
		*other;   /* the file, and one that is there beside it */
	bool is_removed;  /* the name */
	bool is_deleted;  /* so it is listed */
	const char *path; /* in the folder, as it is listed */
} cases[] = {
	{ "here", "here (deleted)", false, false, "here" },
	{ "gone", NULL, true, true, "gone" },
	{ "gone too", "gone too (deleted)", true, true, "gone too" },
	{ "own (deleted)", NULL, false, false, "own (deleted)" },
	{ "two (deleted)", "two", false, false, "two (deleted)" },
	{ "both (deleted)", "both", true, true, "both (deleted)" },
	{ "twice (deleted) (deleted)", "twice (deleted)", false, false,
	  "twice (deleted) (deleted)" },
	{ "line\n (deleted)", "line\n", false, false, "line\n (deleted)" },
};

static void *map(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	void *at;

	if (fd < 0 || ftruncate(fd, 2 * PAGE))
		abort();
	at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	/* A second mapping of the file. */
	if (at == MAP_FAILED ||
	    mprotect(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();
	close(fd);
	return at;
}

static void check_name(const struct name_case *t, const void *at)
{
	const struct ow_mapping *m;
	struct ow_mappings maps;
	char path[256];
	size_t i;

	snprintf(path, sizeof(path), "%s/%s", scratch_dir, t->path);
	CHECK(ow_mappings_read(getpid(), &maps, NULL) == 0);
	ow_deletednames_settle(&maps, getpid());
	for (i = 0; i < 2; i++) {
		m = ow_mappings_from(&maps, (uintptr_t)at + i * PAGE);
		CHECK(m && m->start == (uintptr_t)at + i * PAGE);
		CHECK(m && m->deleted == t->is_deleted);
		CHECK(m && strcmp(m->path, path) == 0);
	}
	ow_mappings_free(&maps);
}

static void test_names(void)
{
	size_t i;
	void *at;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		printf("# %s\n", cases[i].path);
		at = map(cases[i].name);
		if (cases[i].other)
			scratch_write(cases[i].other, "");
		if (cases[i].is_removed && unlink(cases[i].name))
			abort();
		check_name(&cases[i], at);
		munmap(at, 2 * PAGE);
	}
}

static bool mount_over(const char *folder)
{
	return mount("tmpfs", folder, "tmpfs", 0, NULL) == 0;
}

static ino_t number_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Two file systems without a disk give two files one number. */
static void test_other_file_system(void)
{
	static const struct name_case gone = { .path = "fs/gone",
					       .is_deleted = true };
	ino_t number;
	void *at;

	if (mkdir("fs", 0700) || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !mount_over("fs")) {
		printf("# not allowed to mount\n");
		return;
	}
	at = map("fs/gone");
	number = number_of("fs/gone");
	if (number == 0 || unlink("fs/gone") || !mount_over("fs"))
		abort();
	scratch_write("fs/gone (deleted)", "");
	if (number_of("fs/gone (deleted)") == number)
		check_name(&gone, at);
	else
		printf("# this kernel gives no number twice\n");
	munmap(at, 2 * PAGE);
	umount2("fs", MNT_DETACH);
	umount2("fs", MNT_DETACH);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names that end in \" (deleted)\"", test_names },
		{ "a file of another file system that is called so",
		  test_other_file_system },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
