// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "fileobject.h"
#include "scratch.h"
#include "sysroot.h"
#include "test.h"

static const uint8_t id_one[] = { 0x01, 0x23, 0x45 };
static const uint8_t id_two[] = { 0xab, 0xcd, 0xef };

static void make_files(void)
{
	scratch_write("one.c", "int one(void) { return 1; }\n");
	if (!scratch_run("mkdir -p root/usr/lib root/a/b "
			 "root/usr/lib/debug/.build-id/ab "
			 "root/usr/lib/debug/.build-id/01 && "
			 "cc -g -shared one.c -Wl,--build-id=0x012345 "
			 "-o root/usr/lib/one.so && "
			 "cc -g -shared one.c -Wl,--build-id=0xabcdef "
			 "-o two.so") ||
	    !scratch_run("cd root && ln -s usr/lib lib && "
			 "ln -s /usr/lib/one.so a/absolute && "
			 "ln -s ../../../../../lib/./one.so a/b/dots && "
			 "ln -s /a/loop a/loop && ln -s /etc/hostname a/out && "
			 "ln -s /lib usr/lib64 && mkfifo a/fifo"))
		abort();
}

/* The file that the opener leads to, or NULL; errno is why. */
static const char *resolved(int (*open_it)(const char *, const char *),
			    const char *path)
{
	static char real[PATH_MAX];
	_cleanup_(ow_closep) int fd = open_it("root", path);
	char self[32], here[PATH_MAX];
	ssize_t n;

	if (fd < 0)
		return NULL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, real, sizeof(real) - 1);
	if (n < 0 || !realpath("root", here))
		abort();
	real[n] = '\0';
	if (strncmp(real, here, strlen(here)) != 0)
		return "outside";
	return real + strlen(here);
}

static void check_opener(int (*open_it)(const char *, const char *))
{
	static const char *const good[] = {
		"/usr/lib/one.so",  "usr/lib/one.so",    "//lib//one.so",
		"/a/absolute",      "/a/b/dots",         "/../../lib/one.so",
		"/a/b/../absolute", "/usr/lib64/one.so", "/lib/../lib/one.so"
	};

	static const struct {
		const char *path;
		int why;
	} bad[] = {
		{ "/a/loop", ELOOP },         { "/a/out", ENOENT },
		{ "/usr/lib", EINVAL },       { "/", EINVAL },
		{ "/a/fifo", EINVAL },        { "/lib/none.so", ENOENT },
		{ "/lib/one.so/x", ENOTDIR }, { "", EINVAL },
	};

	const char *got;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(good); i++) {
		got = resolved(open_it, good[i]);
		CHECK(got && strcmp(got, "/usr/lib/one.so") == 0);
	}
	for (i = 0; i < OW_ARRAY_SIZE(bad); i++) {
		got = resolved(open_it, bad[i].path);
		CHECK(!got && errno == bad[i].why);
	}
}

static void test_sysroot(void)
{
	check_opener(ow_sysroot_open);
}

static void test_sysroot_by_steps(void)
{
	check_opener(ow_sysroot_open_by_steps);
}

/* Any user's are the kernel's reason to refuse "..". */
static void rename_for_ever(void)
{
	scratch_write("a", "");
	for (;;)
		if (rename("a", "b") || rename("b", "a"))
			_exit(1);
}

static void test_sysroot_while_files_are_renamed(void)
{
	pid_t child = fork();
	char path[PATH_MAX] = "/usr";
	int fd, i, lost = 0;

	if (child == 0)
		rename_for_ever();
	for (i = 0; i < 5; i++)
		strcat(path, "/lib/..");
	strcat(path, "/lib/one.so");
	for (i = 0; i < 20000; i++) {
		fd = ow_sysroot_open("root", path);
		lost += fd < 0;
		if (fd >= 0)
			close(fd);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(lost == 0);
}

static void test_long_names(void)
{
	char path[3 * PATH_MAX];

	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	CHECK(ow_sysroot_open("root", path) < 0 && errno == ENAMETOOLONG);
	CHECK(ow_sysroot_open_by_steps("root", path) < 0 &&
	      errno == ENAMETOOLONG);
	CHECK(ow_sysroot_open("no-root", "/usr") < 0 && errno == ENOENT);
}

static bool opens(const char *sysroot, const char *path, const uint8_t *id,
		  size_t id_size, const uint8_t *got_id, const char *message)
{
	struct ow_wanted_file w = { path, sysroot, id, id_size, NULL };
	struct ow_error err = { 0 };
	struct ow_object *obj = ow_fileobject_open(&w, &err);
	bool good;

	if (!obj && message && strcmp(err.msg, message) != 0)
		printf("# %s\n", err.msg);
	good = obj ? got_id && memcmp(obj->build_id, got_id, 3) == 0 &&
			       strcmp(obj->path, path) == 0 :
		     !got_id && strcmp(err.msg, message) == 0;
	ow_object_close(obj);
	return good;
}

static void test_by_path(void)
{
	CHECK(opens("root", "/a/absolute", NULL, 0, id_one, NULL));
	CHECK(opens("root", "/a/absolute", id_one, 3, id_one, NULL));
	CHECK(opens(NULL, "two.so", id_two, 3, id_two, NULL));
	CHECK(opens(NULL, "two.so", id_one, 3, NULL,
		    "two.so: another build than the one that was running"));
	CHECK(opens("root", "/two.so", id_one, 3, NULL,
		    "/two.so: no such file below root"));
	CHECK(opens(NULL, "none.so", NULL, 0, NULL, "none.so: no such file"));
	CHECK(opens("root", "/a/fifo", NULL, 0, NULL,
		    "/a/fifo: not an ELF file"));
	CHECK(opens("root", "/a/loop", NULL, 0, NULL,
		    "open /a/loop below root: Too many levels of symbolic "
		    "links"));
}

static void test_by_build_id(void)
{
	const char *other =
		"/lib/one.so: another build than the one that was running";

	/* What strip took off the object does not have its CFI. */
	CHECK(scratch_run("objcopy --only-keep-debug two.so root/usr/lib/debug/"
			  ".build-id/ab/cdef.debug"));
	CHECK(opens("root", "/lib/one.so", id_two, 3, NULL, other));
	/* Another build under that name is not taken. */
	CHECK(scratch_run("cp root/usr/lib/one.so root/usr/lib/debug/"
			  ".build-id/ab/cdef"));
	CHECK(opens("root", "/lib/one.so", id_two, 3, NULL, other));
	CHECK(scratch_run("cp two.so root/usr/lib/debug/.build-id/ab/cdef"));
	CHECK(opens("root", "/lib/one.so", id_two, 3, id_two, NULL));
	CHECK(opens("root", "/none.so", id_two, 3, id_two, NULL));
	CHECK(opens("root", "/none.so", id_two, 1, NULL,
		    "/none.so: no such file below root"));
}

/* The file's segments lie where those of what was loaded did. */
static void test_by_headers(void)
{
	struct ow_wanted_file w = { .path = "two.so",
				    .build_id = id_two,
				    .build_id_size = 3 };
	struct ow_object *two = ow_object_open("two.so", NULL), *obj;
	struct ow_error err = { 0 };

	CHECK(scratch_run(
		"echo 'static int two[9000]; int one(int n) { return two[n]; }'"
		" | cc -x c -g -shared - -Wl,--build-id=0xabcdef "
		"-o lies.so"));
	w.loaded = &two->elf;
	obj = ow_fileobject_open(&w, &err);
	CHECK(obj != NULL);
	ow_object_close(obj);
	w.path = "lies.so";
	CHECK(!ow_fileobject_open(&w, &err));
	CHECK(strcmp(err.msg, "lies.so: another build than the one that was "
			      "running") == 0);
	w.loaded = NULL;
	obj = ow_fileobject_open(&w, &err);
	CHECK(obj != NULL);
	ow_object_close(obj);
	ow_object_close(two);
}

/* Two names of one file, and another file. */
static void test_open_files(void)
{
	const struct ow_wanted_file names[] = {
		{ .path = "two.so" },
		{ .path = "./two.so" },
		{ .path = "lies.so" },
	};
	struct ow_openfiles files = { 0 };
	struct ow_object *obj[OW_ARRAY_SIZE(names)];
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(names); i++)
		obj[i] = ow_openfiles_share(
			&files, ow_fileobject_open(&names[i], NULL));
	CHECK(obj[0] && obj[0] == obj[1]);
	CHECK(obj[2] && obj[2] != obj[0]);
	CHECK(!ow_openfiles_share(&files, NULL));
	ow_openfiles_free(&files);
	CHECK(strcmp(obj[1]->path, "two.so") == 0);
	for (i = 0; i < OW_ARRAY_SIZE(names); i++)
		ow_object_close(obj[i]);
}

/* No process could be started, or a file system said so: none of a lease. */
static void test_other_errors_are_no_leases(void)
{
	struct ow_error err;

	errno = EAGAIN;
	ow_fail_open(NULL, "[vdso]", "not an ELF file");
	CHECK(!ow_file_lost(0));
	errno = EAGAIN;
	CHECK(ow_fail_open(&err, "[vdso]", "") == -OW_CODE_SYSTEM);
	CHECK(!strstr(err.msg, "leased"));
}

static void test_lease(void)
{
	_cleanup_(ow_closep) int fd = open("two.so", O_RDWR | O_CLOEXEC);
	struct ow_error err;

	CHECK(fd >= 0);
	if (fcntl(fd, F_SETLEASE, F_WRLCK))
		return; /* this file system has none */
	signal(SIGIO, SIG_IGN);
	CHECK(!ow_object_open("two.so", &err));
	CHECK(err.code == OW_CODE_ABSENT && strstr(err.msg, "leased"));
	CHECK(!ow_file_lost(0) && !ow_object_open("two.so", NULL));
	CHECK(ow_file_lost(0) && strstr(ow_file_lost(0), "two.so: leased"));
}

int main(void)
{
	static const struct test tests[] = {
		{ "paths below a sysroot", test_sysroot },
		{ "the same without openat2", test_sysroot_by_steps },
		{ "a sysroot while files are renamed",
		  test_sysroot_while_files_are_renamed },
		{ "long names, no sysroot", test_long_names },
		{ "objects by path", test_by_path },
		{ "objects by build-id", test_by_build_id },
		{ "by headers", test_by_headers },
		{ "names of one file", test_open_files },
		{ "other errors are no leases",
		  test_other_errors_are_no_leases },
		{ "a lease", test_lease },
	};

	scratch_enter();
	make_files();
	return test_main(tests, (int)OW_ARRAY_SIZE(tests));
}
