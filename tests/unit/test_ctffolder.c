// SPDX-License-Identifier: BSD-2-Clause
#include "ctffolder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "test.h"

/* Return true if a file of the folder has that content, as it was opened. */
static bool has(const struct ctf_folder *f, const char *name, const char *want)
{
	char path[128], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	return strcmp(text, want) == 0;
}

/* What the folder has in place of a file later isn't opened. */
static void test_exchanged(void)
{
	struct ctf_folder f;
	char why[128] = "";

	CHECK(mkdir("trace", 0700) == 0 && mkdir("trace/index", 0700) == 0);
	scratch_write("trace/metadata", "first");
	scratch_write("trace/stream", "second");
	CHECK(ctf_folder_open(&f, "trace", why, sizeof(why)));
	CHECK(!why[0] && has(&f, "metadata", "first"));
	if (f.mount < 0)
		printf("# nothing can be mounted here\n");
	CHECK(unlink("trace/stream") == 0 && mkfifo("trace/stream", 0600) == 0);
	CHECK(f.mount < 0 ||
	      (has(&f, "stream", "second") && has(&f, "metadata", "first")));
	ctf_folder_close(&f);
	CHECK(!ctf_folder_open(&f, "trace", why, sizeof(why)));
	CHECK(strcmp(why, "trace/stream: not a regular file") == 0);
	ctf_folder_close(&f);
}

/* A link leads to what its owner may read, or isn't followed. */
static void test_links(void)
{
	struct ctf_folder f;
	char why[128] = "";

	CHECK(mkdir("links", 0700) == 0);
	scratch_write("file", "text");
	CHECK(symlink("../file", "links/stream") == 0);
	CHECK(symlink("nothing", "links/gone") == 0);
	CHECK(ctf_folder_open(&f, "links", why, sizeof(why)));
	CHECK(has(&f, "stream", "text"));
	ctf_folder_close(&f);
	if (geteuid() != 0 || chown("links", 65534, 65534))
		return;
	CHECK(!ctf_folder_open(&f, "links", why, sizeof(why)));
	CHECK(strstr(why, ": not a regular file") != NULL);
	ctf_folder_close(&f);
}

static void test_nothing(void)
{
	struct ctf_folder f;
	char why[128] = "";

	CHECK(!ctf_folder_open(&f, "nothing", why, sizeof(why)));
	CHECK(strcmp(why, "open nothing: No such file or directory") == 0);
	ctf_folder_close(&f);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a file that is exchanged", test_exchanged },
		{ "links", test_links },
		{ "no folder", test_nothing },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
