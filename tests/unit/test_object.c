// SPDX-License-Identifier: BSD-2-Clause
#include "object.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bulk.h"
#include "error.h"
#include "monotonic.h"
#include "scratch.h"
#include "test.h"

/* Ends the test where something waits for a pipe's other end. */
#define TOO_LONG    300
#define TOO_LONG_NS 60000000000ULL

/* How often was the file that fd watches opened since the last time? */
static int opens(int fd)
{
	char events[4096] __attribute__((aligned(8)));
	ssize_t n = read(fd, events, sizeof(events)), off;
	const struct inotify_event *e;
	int nr = 0;

	for (off = 0; off < n; off += (ssize_t)(sizeof(*e) + e->len)) {
		e = (const void *)(events + off);
		nr += !!(e->mask & IN_OPEN);
	}
	return nr;
}

/* What isn't a file is not opened, as that alone may do something. */
static void check_not_opened(const char *path)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct ow_error err = { 0 };
	char want[64];

	CHECK(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	errno = 0;
	CHECK(ow_open_regular(path) == -1);
	CHECK(errno == EINVAL);
	CHECK(!ow_object_open(path, &err));
	CHECK(err.code == OW_CODE_FORMAT);
	snprintf(want, sizeof(want), "%s: not an ELF file", path);
	CHECK(strcmp(err.msg, want) == 0);
	CHECK(opens(watch) == 0);
	close(watch);
}

static void test_no_file(void)
{
	alarm(TOO_LONG);
	CHECK(mkfifo("fifo", 0600) == 0);
	check_not_opened("fifo");
	CHECK(symlink("fifo", "link") == 0);
	check_not_opened("link");
	CHECK(mkdir("folder", 0700) == 0);
	check_not_opened("folder");
	/* Only root can make one, /dev/zero's. */
	if (mknod("device", S_IFCHR | 0600, makedev(1, 5)) == 0)
		check_not_opened("device");
	/* Reading one of the kernel's may do something, too. */
	check_not_opened("/proc/uptime");
	alarm(0);
}

/* The same watch sees a file opened. */
static void test_file(void)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd;
	char text[8] = "";

	scratch_write("file", "text");
	CHECK(inotify_add_watch(watch, "file", IN_OPEN) >= 0);
	fd = ow_open_regular("file");
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
	CHECK(read(fd, text, sizeof(text)) == 4 && strcmp(text, "text") == 0);
	CHECK(opens(watch) == 1);
	close(fd);
	close(watch);
}

/* Of a name, only the file of these numbers; and nothing else is opened. */
static void test_file_by_numbers(void)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd;
	struct stat st, found;

	scratch_write("numbered", "text");
	scratch_write("beside", "text");
	CHECK(stat("numbered", &st) == 0);
	CHECK(inotify_add_watch(watch, "numbered", IN_OPEN) >= 0);
	CHECK(inotify_add_watch(watch, "beside", IN_OPEN) >= 0);
	CHECK(ow_open_file("beside", st.st_dev, st.st_ino) == -1);
	CHECK(errno == EINVAL);
	CHECK(ow_open_file("numbered", st.st_dev + 1, st.st_ino) == -1);
	CHECK(ow_open_file("numbered", st.st_dev, st.st_ino + 1) == -1);
	CHECK(ow_open_file("nothing", st.st_dev, st.st_ino) == -1);
	CHECK(errno == ENOENT && opens(watch) == 0);
	fd = ow_open_file("numbered", st.st_dev, st.st_ino);
	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(fstat(fd, &found) == 0 && found.st_ino == st.st_ino);
	CHECK(opens(watch) == 1);
	close(fd);
	/* also by a name that leads over a link */
	CHECK(symlink("numbered", "to-numbered") == 0);
	fd = ow_open_file("to-numbered", st.st_dev, st.st_ino);
	CHECK(fd >= 0 && opens(watch) == 1);
	close(fd);
	CHECK(mkfifo("pipe", 0600) == 0 && stat("pipe", &st) == 0);
	alarm(TOO_LONG);
	CHECK(ow_open_file("pipe", st.st_dev, st.st_ino) == -1);
	CHECK(errno == EINVAL);
	alarm(0);
	close(watch);
}

static void test_none(void)
{
	struct ow_error err = { 0 };

	CHECK(ow_open_regular("nothing") == -1 && errno == ENOENT);
	CHECK(!ow_object_open("nothing", &err));
	CHECK(err.code == OW_CODE_ABSENT);
	CHECK(strcmp(err.msg, "nothing: no such file") == 0);
	scratch_write("empty", "");
	CHECK(!ow_object_open("empty", &err));
	CHECK(err.code == OW_CODE_FORMAT);
	CHECK(strcmp(err.msg, "empty: not an ELF file") == 0);
}

/* An object's first reads are of its file, as another one shows. */
static void test_reads(void)
{
	struct ow_object *obj = ow_object_open("/proc/self/exe", NULL);
	char text[8] = "";
	int fd, other, i;

	CHECK(obj && obj->fd == -1);
	ow_object_read(obj, obj->bytes, text, 4);
	CHECK(memcmp(text, "\177ELF", 4) == 0);
	scratch_write("other", "text");
	fd = open("other", O_RDONLY | O_CLOEXEC);
	CHECK(ow_object_keep_fd(obj, fd) && obj->fd == fd);
	/* Fewer bytes than wanted: as if there were no file. */
	ow_object_read(obj, obj->bytes, text, 5);
	CHECK(memcmp(text, "\177ELF", 4) == 0);
	for (i = 0; i < 1000 && obj->fd >= 0; i++) {
		ow_object_read(obj, obj->bytes, text, 4);
		CHECK(memcmp(text, "text", 4) == 0);
	}
	CHECK(i > 0 && obj->fd == -1);
	CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
	ow_object_read(obj, obj->bytes, text, 4);
	CHECK(memcmp(text, "\177ELF", 4) == 0);
	/* Where there are many already, it stays the caller's. */
	fd = open("other", O_RDONLY | O_CLOEXEC);
	other = fcntl(fd, F_DUPFD_CLOEXEC, 300);
	CHECK(other < 0 || !ow_object_keep_fd(obj, other));
	CHECK(other < 0 || close(other) == 0);
	CHECK(ow_object_keep_fd(obj, fd));
	ow_object_close(obj);
	CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
}

/* Of two segments one header is there, and of the search table none. */
static void test_cut_headers(void)
{
	static const uint8_t hdr[] = { 1, 0x1b, 0x03, 0x3b, 20, 0, 0, 0,
				       1, 0,    0,    0,    0,  0, 0, 0 };
	const Elf64_Ehdr head = { .e_ident = "\177ELF\2\1\1",
				  .e_type = ET_DYN,
				  .e_machine = EM_X86_64,
				  .e_phoff = sizeof(head),
				  .e_phentsize = sizeof(Elf64_Phdr),
				  .e_phnum = 2 };
	const size_t at = sizeof(head) + sizeof(Elf64_Phdr), size = at + 50;
	const Elf64_Phdr load = { .p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_offset = at,
				  .p_vaddr = 0x1000,
				  .p_filesz = size - at,
				  .p_memsz = size - at };
	uint8_t *bytes = calloc(1, size);
	struct ow_object *obj;

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), &load, sizeof(load));
	memcpy(bytes + at, hdr, sizeof(hdr));
	obj = ow_object_from_image(bytes, size, (struct ow_owner){ 0 }, "cut",
				   NULL);
	CHECK(obj && !ow_object_load_cfi(obj, NULL));
	CHECK(obj && !obj->cfi.hdr.bytes && !obj->cfi.eh_frame.bytes);
	ow_object_close(obj);
}

/* Write a file of so many bytes, of which all but a page are a hole. */
static void make_long(int fd, off_t size)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char head[4096];

	CHECK(read(self, head, sizeof(head)) == sizeof(head));
	CHECK(write(fd, head, sizeof(head)) == sizeof(head));
	CHECK(ftruncate(fd, size) == 0);
	close(self);
}

#define TIB ((off_t)1 << 40)

/* Files of root's that say that they are very long leave addresses for others. */
static void test_long(void)
{
	int fd = open("long", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	int other = open("other", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct ow_object *all[64] = { NULL }, *small;
	struct ow_error err;
	size_t i, nr = 0;

	make_long(fd, 9 * TIB);
	make_long(other, (off_t)2 << 30);
	CHECK(!ow_object_open_fd(fd, "long", &err));
	if (err.code == OW_CODE_ABSENT) {
		printf("# no file is root's here: %s\n", err.msg);
		return;
	}
	CHECK(strcmp(err.msg, "map long: File too large") == 0);
	CHECK(ftruncate(fd, TIB) == 0);
	while (nr < 64 && (all[nr] = ow_object_open_fd(fd, "long", &err)))
		nr++;
	CHECK(nr == 29);
	small = ow_object_open_fd(other, "other", &err);
	CHECK(small);
	ow_object_close(small);
	for (i = 0; i < nr; i++)
		ow_object_close(all[i]);
	CHECK(ftruncate(fd, 8 * TIB) == 0);
	all[0] = ow_object_open_fd(fd, "long", &err);
	CHECK(all[0]);
	ow_object_close(all[0]);
	close(fd);
	close(other);
}

#define MIB ((off_t)1 << 20)

/* Anybody can make a file of holes, and what is looked at of these is memory. */
static void test_holes(void)
{
	int fd = memfd_create("holes", MFD_CLOEXEC);
	struct ow_object *obj;
	struct ow_error err;

	make_long(fd, 4 * MIB);
	obj = ow_object_open_fd(fd, "holes", &err);
	CHECK(obj);
	ow_object_close(obj);
	CHECK(ftruncate(fd, 4 * MIB + 1) == 0);
	CHECK(!ow_object_open_fd(fd, "holes", &err));
	CHECK(err.code == OW_CODE_ABSENT);
	CHECK(strcmp(err.msg, "holes: nearly all of it is holes") == 0);
	/* An eighth of it is data. */
	CHECK(fallocate(fd, 0, 0, MIB) == 0 && ftruncate(fd, 8 * MIB) == 0);
	obj = ow_object_open_fd(fd, "holes", &err);
	CHECK(obj);
	ow_object_close(obj);
	close(fd);
}

/* A user's file of 300 section headers, whose names have so many bytes. */
static struct ow_object *open_named(off_t names)
{
	const Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', 2, 1, 1 },
				  .e_type = ET_DYN,
				  .e_machine = EM_X86_64,
				  .e_shoff = sizeof(head),
				  .e_shentsize = sizeof(Elf64_Shdr),
				  .e_shnum = 300,
				  .e_shstrndx = 1 };
	const Elf64_Shdr sec = { .sh_type = SHT_STRTAB,
				 .sh_offset = MIB,
				 .sh_size = (uint64_t)names };
	int fd = memfd_create("named", MFD_CLOEXEC);
	struct ow_object *obj;

	CHECK(fallocate(fd, 0, 0, MIB + names) == 0);
	CHECK(pwrite(fd, &head, sizeof(head), 0) == sizeof(head));
	CHECK(pwrite(fd, &sec, sizeof(sec), sizeof(head) + sizeof(sec)) ==
	      sizeof(sec));
	obj = ow_object_open_fd(fd, "named", NULL);
	close(fd);
	return obj;
}

/* Each name may lie in a page of its own. */
static void test_names_of_sections(void)
{
	struct ow_object *obj = open_named(16 * MIB);

	CHECK(obj && obj->elf.shnum == 300);
	ow_object_close(obj);
	obj = open_named(16 * MIB + 1);
	CHECK(obj && obj->elf.shnum == 0);
	ow_object_close(obj);
}

/* A file with so many names counts for root, and under more for users who aren't known. */
static void test_aliases(void)
{
	struct ow_object *all[12], *other;
	int i;

	for (i = 0; i < 12; i++) {
		all[i] = ow_object_open("/bin/sh", NULL);
		CHECK(all[i] && (all[i]->owner.share != 0) == (i >= 8));
	}
	other = ow_object_open("/bin/cat", NULL);
	CHECK(other && other->owner.share == 0);
	ow_object_close(other);
	for (i = 0; i < 12; i++)
		ow_object_close(all[i]);
	other = ow_object_open("/bin/sh", NULL);
	CHECK(other && other->owner.share == 0);
	ow_object_close(other);
}

/* An object with the bytes of this program, of a user's, and no table to search. */
static struct ow_object *open_unindexed(uid_t uid)
{
	struct ow_object *self = ow_object_open("/proc/self/exe", NULL), *obj;
	uint8_t *bytes = malloc(self->size);
	Elf64_Ehdr head;
	Elf64_Phdr *ph;

	memcpy(bytes, self->bytes, self->size);
	memcpy(&head, bytes, sizeof(head));
	ph = (Elf64_Phdr *)(bytes + head.e_phoff);
	for (int i = 0; i < head.e_phnum; i++)
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			ph[i].p_type = PT_NULL;
	obj = ow_object_from_image(bytes, self->size, ow_owner_of(uid), "self",
				   NULL);
	CHECK(obj);
	ow_object_close(self);
	return obj;
}

/* Take all the time that the user's files may take, and some more. */
static void take_all_time(uid_t uid)
{
	struct ow_owner own = ow_owner_of(uid);
	uint64_t since = 0;

	while (ow_bulk_has_time(&own, &since))
		;
}

/* What there is no time for is there when there is. */
static void test_late_cfi(void)
{
	struct ow_object *obj = open_unindexed(1000);
	struct ow_error err = { 0 };
	uint64_t begun;

	take_all_time(1000);
	CHECK(ow_object_load_cfi(obj, &err) && obj->cfi_is_late);
	CHECK(strcmp(err.msg, "self: its unwind data would take more memory or "
			      "time than it may") == 0);
	/* Nothing is begun with next to no time. */
	usleep(200000);
	CHECK(ow_object_load_cfi(obj, NULL) && obj->cfi_tries == 1);
	for (begun = ow_now_ns(); ow_object_load_cfi(obj, NULL) &&
				  ow_now_ns() - begun < TOO_LONG_NS;)
		usleep(100000);
	CHECK(obj->cfi_tries == 1 && !obj->cfi_is_late);
	CHECK(obj->cfi.eh_index.nr > 0);
	ow_object_close(obj);
}

/* What never has enough time is given up. */
static void test_too_late_cfi(void)
{
	struct ow_object *obj = open_unindexed(1001);

	for (int i = 0; i < 100; i++) {
		take_all_time(1001);
		obj->cfi_loaded = false; /* as if there were time again */
		ow_object_load_cfi(obj, NULL);
		obj->cfi_loaded = true;
	}
	CHECK(!obj->cfi_is_late && !obj->cfi.eh_index.nr);
	ow_object_close(obj);
}

/* Bytes of a core or a snapshot are of no user who is known, not of root. */
static void test_lent(void)
{
	_cleanup_(ow_freep) uint8_t *bytes = malloc(1 << 20);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t size = bytes ? read(fd, bytes, 1 << 20) : -1;
	struct ow_object *obj = NULL;

	close(fd);
	if (size > 0)
		obj = ow_object_of_bytes(bytes, (size_t)size, "lent", NULL);
	CHECK(obj && obj->is_lent);
	CHECK(obj && obj->owner.share &&
	      obj->owner.share == ow_owner_of((uid_t)-1).share);
	ow_object_close(obj);
}

int main(void)
{
	static const struct test tests[] = {
		{ "what isn't a file is not opened", test_no_file },
		{ "a file is opened", test_file },
		{ "a file by its numbers", test_file_by_numbers },
		{ "no such file, an empty file", test_none },
		{ "an object's first reads", test_reads },
		{ "headers that are cut off", test_cut_headers },
		{ "very long files", test_long },
		{ "files of holes", test_holes },
		{ "names of sections", test_names_of_sections },
		{ "a file with many names", test_aliases },
		{ "CFI that there was no time for", test_late_cfi },
		{ "CFI that there never is time for", test_too_late_cfi },
		{ "an object of bytes", test_lent },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
