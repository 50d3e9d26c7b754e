// SPDX-License-Identifier: BSD-2-Clause
#include "sampledobjects.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "lines.h"
#include "monotonic.h"
#include "object.h"
#include "objectwatch.h"
#include "ow_sample.h"
#include "scratch.h"
#include "test.h"
#include "watchshare.h"

#define MIB ((int64_t)1 << 20)

/* Users that have not read anything. */
enum {
	SUMMER = 65001,
	WATCHER,
	LOOKER,
	ENDER,
	COMPARER,
	LARGE,
	WAITER,
	OTHER
};

/* A copy of a small program. */
static void copy_program(const char *name)
{
	int from = open("small", O_RDONLY | O_CLOEXEC);
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

static uint32_t number_seen(struct ow_sampledobjects *o,
			    const struct ow_mapping *map)
{
	const struct ow_identity seen = ow_sampledobjects_see(getpid(), map);

	return ow_sampledobjects_number(o, getpid(), map, &seen);
}

/* The number of a file, of which we have a page mapped meanwhile. */
static uint32_t number_of_fd(struct ow_sampledobjects *o, int fd, char *path)
{
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
	number = number_seen(o, &map);
	munmap(page, 4096);
	return number;
}

static uint32_t number_of(struct ow_sampledobjects *o, const char *name)
{
	char *path = realpath(name, NULL);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	uint32_t number = number_of_fd(o, fd, path);

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

static void replace_by_copy(const char *name)
{
	copy_program("new");
	/* ext4 would write the file to disk in rename(2) over another one. */
	unlink(name);
	if (rename("new", name))
		abort();
}

/* Where the last symbol's name is in a program, of which there may be copies. */
static off_t strings_at(const char *name)
{
	struct ow_object *obj = ow_object_open(name, NULL);
	struct ow_elf_section sec;

	if (!obj || !ow_object_section(obj, ".strtab", &sec))
		abort();
	ow_object_close(obj);
	return (off_t)sec.off + (off_t)sec.size - 8;
}

/* Write to the last symbol's name, which leaves the build-id as it is. */
static void rename_symbol(const char *name, unsigned int number)
{
	_cleanup_(ow_closep) int fd = open(name, O_WRONLY | O_CLOEXEC);

	if (pwrite(fd, &number, sizeof(number), strings_at("small")) !=
	    sizeof(number))
		abort();
}

/*
 * A file put in place of another one with equal bytes is the same object; each
 * stays open, or its inode might become another file's, that would be taken for
 * it.
 */
static void test_equal_files(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	copy_program("one");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "one") == 1 && number_of(&o, "one") == 1);
	replace_by_copy("one");
	CHECK(number_of(&o, "one") == 1 && number_of(&o, "one") == 1);
	CHECK(o.nr_aliases == 2);
	unlink("one");
	CHECK(is_held("one"));
	copy_program("one");
	CHECK(number_of(&o, "one") == 1);
	/* What is called otherwise is to be called so in the output. */
	copy_program("two");
	CHECK(number_of(&o, "two") == 2);
	CHECK(strstr(o.numbers.all->modules[1].path, "/two"));
	ow_sampledobjects_deinit(&o);
	CHECK(!is_held("one"));
	unlink("one");
	unlink("two");
}

/* A file of another content is another object, whatever its build-id is. */
static void test_same_build_id(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	copy_program("prog");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "prog") == 1);
	replace_by_copy("prog");
	rename_symbol("prog", 0x64636261);
	CHECK(number_of(&o, "prog") == 2 && number_of(&o, "prog") == 2);
	CHECK(strcmp(o.numbers.all->modules[0].build_id,
		     o.numbers.all->modules[1].build_id) == 0);
	/* The first one comes back as another file. */
	replace_by_copy("prog");
	CHECK(number_of(&o, "prog") == 1);
	ow_sampledobjects_deinit(&o);
	unlink("prog");
}

/* A file that is written to becomes another object, also with its old bytes. */
static void test_overwritten(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	copy_program("prog");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "prog") == 1);
	usleep(20000); /* the kernel's times are in ticks */
	rename_symbol("prog", 0x64636261);
	CHECK(number_of(&o, "prog") == 2 && number_of(&o, "prog") == 2);
	CHECK(o.nr_aliases == 1);
	ow_sampledobjects_deinit(&o);
	unlink("prog");
}

/* Write to a page that is dirty, which gives the file no new time. */
static void change_name(char *page, const char *name)
{
	static const char other[] = "abc";
	struct stat before, after;

	page[0] = page[0];
	CHECK(stat(name, &before) == 0);
	memcpy(page + strings_at(name), other, sizeof(other));
	CHECK(stat(name, &after) == 0);
	CHECK(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
}

/* Leave so many bytes, or a debt, of what may be read for a user. */
static void leave(enum ow_watchshare which, uid_t user, int64_t bytes)
{
	int64_t left = (int64_t)ow_watchshare_left(which, user);

	CHECK(left > bytes);
	ow_watchshare_spend(which, user, (uint64_t)(left - bytes), 0);
}

static bool may_go(void *arg, uint32_t number)
{
	(void)number;
	return *(const bool *)arg;
}

/* Close all that no list has named, for whatever time. */
static void close_all(struct ow_sampledobjects *o)
{
	bool may = true;

	ow_sampledobjects_close_idle(o, ow_now_ns() + 61000000000, NULL, may_go,
				     &may);
}

static unsigned int nr_told(const char *text)
{
	const char *line;
	unsigned int nr = 0;

	for (size_t i = 0; (line = ow_left_out(i)); i++)
		nr += strstr(line, text) != NULL;
	return nr;
}

/* Other relocations, which name stubs of the PLT, in sections of any name. */
static void change_relocations(char *page, const char *name)
{
	const Elf64_Ehdr *e = (const void *)page;
	const Elf64_Shdr *sec = (const void *)(page + e->e_shoff);
	int i, nr = 0;

	for (i = 0; i < e->e_shnum; i++)
		if (sec[i].sh_type == SHT_RELA && sec[i].sh_flags & SHF_ALLOC) {
			page[sec[i].sh_offset + 8] ^= 1;
			nr++;
		}
	CHECK(nr > 0 && strcmp(name, "relocated") == 0);
}

/* All pages of a file, each of them dirty. */
static char *map_dirty(const char *name, size_t *size_ret)
{
	_cleanup_(ow_closep) int fd = open(name, O_RDWR | O_CLOEXEC);
	struct stat st;
	char *page;

	if (fstat(fd, &st))
		abort();
	*size_ret = (size_t)st.st_size;
	page = mmap(NULL, *size_ret, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		abort();
	for (off_t at = 0; at < st.st_size; at += 4096)
		*(volatile char *)(page + at) = page[at];
	return page;
}

/* One of a program's files is changed, its own or its debug file. */
static void check_rewritten_unseen(const char *program, const char *file,
				   void (*change)(char *page, const char *file),
				   unsigned int naming)
{
	struct ow_name names[OW_LINES_MOST];
	struct ow_sampledobjects o;
	struct ow_object *obj, *watched;
	struct ow_error err;
	size_t size;
	char *page = map_dirty(file, &size);
	unsigned int i;

	CHECK(!ow_sampledobjects_init(&o, naming, &err));
	CHECK(number_of(&o, program) == 1 && number_of(&o, program) == 1);
	obj = o.numbers.all->modules[0].object;
	CHECK(obj->watch.is_hashed);
	ow_sampledobjects_name(&o, 1, 0x1000, 0, names, OW_LINES_MOST);
	ow_sampledobjects_look_again(&o, true);
	CHECK(nr_told(file) == 0);
	change(page, file);
	for (i = 0; (watched = ow_objectwatch_file(obj, i)); i++)
		watched->watch.looked_ns = 0;
	CHECK(number_of(&o, program) == 2 && number_of(&o, program) == 2);
	ow_sampledobjects_look_again(&o, true);
	CHECK(nr_told(file) == 1);
	munmap(page, size);
	ow_sampledobjects_deinit(&o);
}

/* Others' files are compared to what they were, whatever their times are. */
static void test_rewritten_unseen(void)
{
	copy_program("renamed");
	CHECK(chmod("renamed", 0757) == 0);
	check_rewritten_unseen("renamed", "renamed", change_name, 0);
}

static void test_relocated_unseen(void)
{
	copy_program("relocated");
	CHECK(chmod("relocated", 0757) == 0);
	check_rewritten_unseen("relocated", "relocated", change_relocations, 0);
}

/* A program without symbols, and the file that has them. */
static void make_linked(const char *name, const char *debug)
{
	CHECK(scratch_run("objcopy --only-keep-debug small %s && "
			  "truncate -s +1M %s && strip small -o %s && "
			  "objcopy --add-gnu-debuglink=%s %s",
			  debug, debug, name, debug, name));
}

/* So are the files that their debug links lead to, */
static void test_debug_rewritten_unseen(void)
{
	make_linked("linked", "apart");
	CHECK(chmod("linked", 0757) == 0 && chmod("apart", 0757) == 0);
	check_rewritten_unseen("linked", "apart", change_name, 0);
}

static void change_text(char *page, const char *name)
{
	struct ow_object *obj = ow_object_open(name, NULL);
	struct ow_elf_section sec;

	CHECK(obj && ow_object_section(obj, ".debug_str", &sec));
	page[sec.off] ^= 1;
	ow_object_close(obj);
}

/* and what dwz(1) has moved elsewhere, where lines are wanted, */
static void test_shared_rewritten_unseen(void)
{
	if (!scratch_run("which dwz >/dev/null 2>&1")) {
		printf("# no dwz here\n");
		return;
	}
	scratch_write("types.c", "#include <stdio.h>\n#include <sys/stat.h>\n"
				 "struct stat st; FILE *f;\n"
				 "int main(void) { return 0; }\n");
	CHECK(scratch_run("cc -g -Wl,--build-id types.c -o dwarf && "
			  "cp dwarf copy && dwz -m common dwarf copy && "
			  "objcopy --only-keep-debug dwarf apart && "
			  "strip dwarf -o outer && "
			  "objcopy --add-gnu-debuglink=apart outer && "
			  "chmod o+w outer apart common"));
	check_rewritten_unseen("outer", "common", change_text,
			       OW_SYMBOLIZER_LINES);
}

/* also those that are found by their bytes only, of which there is a limit; */
static void test_debug_by_crc(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	make_linked("summed", "apart");
	CHECK(scratch_run(
		"head -c 32M /dev/zero >>apart && "
		"objcopy -R .note.gnu.build-id -R .gnu_debuglink "
		"summed && objcopy --add-gnu-debuglink=apart summed"));
	CHECK(chmod("summed", 0757) == 0 && chmod("apart", 0757) == 0);
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	o.user = SUMMER;
	CHECK(number_of(&o, "summed") == 1);
	CHECK(o.numbers.all->modules[0].object->debug);
	ow_sampledobjects_deinit(&o);

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	o.user = SUMMER;
	leave(OW_WATCHSHARE_BEGIN, SUMMER, 16 * MIB);
	CHECK(number_of(&o, "summed") == 1);
	CHECK(o.numbers.all->modules[0].object->watch.is_hashed);
	CHECK(!o.numbers.all->modules[0].object->is_debug_known);
	ow_sampledobjects_deinit(&o);
}

/* but not those of our objects and root's, of which nothing is read. */
static void test_debug_of_ours(void)
{
	struct ow_name names[OW_LINES_MOST];
	struct ow_sampledobjects o;
	struct ow_error err;

	make_linked("ours", "apart");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "ours") == 1);
	CHECK(!o.numbers.all->modules[0].object->is_debug_known);
	ow_sampledobjects_name(&o, 1, 0x1000, 0, names, OW_LINES_MOST);
	CHECK(o.numbers.all->modules[0].object->debug);
	CHECK(!o.numbers.all->modules[0].object->watch.is_hashed);
	ow_sampledobjects_look_again(&o, true);
	CHECK(nr_told("ours: ") == 0 && nr_told("apart: whether") == 0);
	ow_sampledobjects_deinit(&o);
	/* What others may write to gives them no names. */
	CHECK(chmod("apart", 0757) == 0);
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "ours") == 1);
	ow_sampledobjects_name(&o, 1, 0x1000, 0, names, OW_LINES_MOST);
	ow_sampledobjects_look_again(&o, true);
	CHECK(!o.numbers.all->modules[0].object->debug);
	CHECK(nr_told("/ours: its debug file ") == 1);
	CHECK(nr_told("apart: whether") == 0);
	ow_sampledobjects_deinit(&o);
}

/* A copy of a program, to which others may write. */
static void copy_for_others(const char *name)
{
	copy_program(name);
	CHECK(chmod(name, 0757) == 0);
}

static void name_in(struct ow_sampledobjects *o, uint32_t number)
{
	struct ow_name names[OW_LINES_MOST];

	ow_sampledobjects_name(o, number, 0x1000, 0, names, OW_LINES_MOST);
}

/* Our files and root's cost nothing, and others' no more than there is time for. */
static void test_limit_of_watching(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	o.user = WATCHER;
	copy_program("prog");
	CHECK(number_of(&o, "prog") == 1);
	CHECK(!o.numbers.all->modules[0].object->watch.is_hashed);
	name_in(&o, 1);
	leave(OW_WATCHSHARE_BEGIN, WATCHER, -MIB);
	copy_for_others("late");
	CHECK(number_of(&o, "late") == 2);
	CHECK(!o.numbers.all->modules[1].object->watch.is_hashed);
	/* There is something left for others. */
	o.user = OTHER;
	copy_for_others("others");
	CHECK(number_of(&o, "others") == 3);
	CHECK(o.numbers.all->modules[2].object->watch.is_hashed);
	name_in(&o, 3);
	ow_sampledobjects_look_again(&o, true);
	CHECK(nr_told("late: ") == 0 && nr_told("others: ") == 0);
	name_in(&o, 2);
	ow_sampledobjects_look_again(&o, true);
	CHECK(nr_told("late: whether it was written to is not known") == 1);
	ow_sampledobjects_deinit(&o);
	unlink("prog");
	unlink("late");
	unlink("others");
}

/* A file that is too large to be hashed is not looked through again and again. */
static void test_large_file(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	scratch_write("large.s", ".section .eh_frame,\"a\"\n.zero 1 << 22\n"
				 ".section .got,\"aw\"\n.zero 1 << 26\n");
	CHECK(scratch_run("cc -c large.s && chmod o+w large.o"));
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	o.user = LARGE;
	CHECK(number_of(&o, "large.o") == 1);
	CHECK(!o.numbers.all->modules[0].object->watch.is_hashed);
	CHECK(ow_watchshare_left(OW_WATCHSHARE_BEGIN, LARGE) < 126 * MIB);
	ow_sampledobjects_deinit(&o);
	unlink("large.o");
}

/* Write to a file without a new time, and have its bytes be due for another look. */
static void rewrite(const struct ow_sampledobjects *o, uint32_t number,
		    char *page, const char *name)
{
	change_name(page, name);
	ow_sampledobjects_get(o, number)->watch.looked_ns = 1;
}

/* Nor are they read again for any time: what was not is not known, and told so. */
static void test_limit_of_looks(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;
	size_t size;
	char *page;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	copy_for_others("seen");
	page = map_dirty("seen", &size);
	o.user = LOOKER;
	CHECK(number_of(&o, "seen") == 1);
	name_in(&o, 1);
	rewrite(&o, 1, page, "seen");
	leave(OW_WATCHSHARE_AGAIN, LOOKER, -MIB);
	CHECK(number_of(&o, "seen") == 1);
	CHECK(nr_told("seen: ") == 0);
	ow_sampledobjects_look_again(&o, false);
	CHECK(nr_told("seen: whether it was written to is not known") == 1);
	/* Another user's process finds it. */
	o.user = OTHER;
	CHECK(number_of(&o, "seen") == 2);
	ow_sampledobjects_look_again(&o, true);
	CHECK(nr_told("seen: it was written to") == 1);
	munmap(page, size);
	ow_sampledobjects_deinit(&o);
	unlink("seen");
}

/* Where little may be read, a file that was read lately waits for its turn. */
static void test_turns(void)
{
	struct ow_objectwatch *w;
	struct ow_sampledobjects o;
	struct ow_error err;
	size_t size;
	char *page;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	copy_for_others("turn");
	page = map_dirty("turn", &size);
	o.user = WAITER;
	CHECK(number_of(&o, "turn") == 1);
	change_name(page, "turn");
	w = &ow_sampledobjects_get(&o, 1)->watch;
	leave(OW_WATCHSHARE_AGAIN, WAITER, 32 * MIB);
	w->cost_ns = 1;
	w->looked_ns = ow_now_ns() - 1000000000;
	CHECK(number_of(&o, "turn") == 1);
	w->looked_ns = ow_now_ns() - 6000000000;
	CHECK(number_of(&o, "turn") == 2);
	munmap(page, size);
	ow_sampledobjects_deinit(&o);
	unlink("turn");
}

/* At the end of a recording, and where many are closed, others are read yet. */
static void test_limit_of_last_looks(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;
	uint64_t looked;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	copy_for_others("ended");
	o.user = ENDER;
	CHECK(number_of(&o, "ended") == 1);
	name_in(&o, 1);
	looked = ow_sampledobjects_get(&o, 1)->watch.looked_ns;
	ow_sampledobjects_look_again(&o, true);
	CHECK(ow_sampledobjects_get(&o, 1)->watch.looked_ns > looked);
	looked = ow_sampledobjects_get(&o, 1)->watch.looked_ns;
	CHECK(nr_told("ended: ") == 0);
	leave(OW_WATCHSHARE_LAST, ENDER, -MIB);
	ow_sampledobjects_look_again(&o, true);
	CHECK(ow_sampledobjects_get(&o, 1)->watch.looked_ns == looked);
	CHECK(nr_told("ended: whether it was written to is not known") == 1);
	copy_for_others("closed");
	CHECK(number_of(&o, "closed") == 2);
	name_in(&o, 2);
	close_all(&o);
	CHECK(nr_told("closed: whether it was written to is not known") == 1);
	ow_sampledobjects_deinit(&o);
	unlink("ended");
	unlink("closed");
}

static bool is_set(const void *arg)
{
	return *(const bool *)arg;
}

/* Nothing is read when the recorder is to end. */
static void test_end_of_looks(void)
{
	struct ow_sampledobjects o;
	struct ow_object *obj;
	struct ow_error err;
	bool is_end = false;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	o.must_end = is_set;
	o.arg = &is_end;
	copy_for_others("hurried");
	CHECK(number_of(&o, "hurried") == 1);
	name_in(&o, 1);
	obj = ow_sampledobjects_get(&o, 1);
	obj->watch.looked_ns = 1;
	is_end = true;
	CHECK(number_of(&o, "hurried") == 1);
	ow_sampledobjects_look_again(&o, true);
	CHECK(obj->watch.looked_ns == 1);
	CHECK(nr_told("hurried: whether it was written to is not known") == 1);
	is_end = false;
	CHECK(number_of(&o, "hurried") == 1 && obj->watch.looked_ns > 1);
	copy_for_others("dropped");
	CHECK(number_of(&o, "dropped") == 2);
	name_in(&o, 2);
	is_end = true;
	close_all(&o);
	CHECK(nr_told("dropped: whether it was written to is not known") == 1);
	ow_sampledobjects_deinit(&o);
	unlink("hurried");
	unlink("dropped");
}

/* What others may write to does not stand for another file's bytes. */
static void test_writable_by_others(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	copy_program("prog");
	CHECK(chmod("prog", 0775) == 0);
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "prog") == 1);
	replace_by_copy("prog");
	CHECK(number_of(&o, "prog") == 2);
	replace_by_copy("prog");
	CHECK(number_of(&o, "prog") == 2);
	ow_sampledobjects_deinit(&o);
	if (geteuid() != 0)
		return;
	/* Nor does another user's file. */
	replace_by_copy("prog");
	CHECK(chown("prog", 65534, 65534) == 0);
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "prog") == 1);
	replace_by_copy("prog");
	CHECK(number_of(&o, "prog") == 2);
	replace_by_copy("prog");
	CHECK(chown("prog", 65534, 65534) == 0);
	CHECK(number_of(&o, "prog") == 2);
	ow_sampledobjects_deinit(&o);
	unlink("prog");
}

/* Telling n files apart takes n times the work for one. */
static void test_many_of_one_build_id(void)
{
	enum {
		MANY = 1000
	};
	struct ow_sampledobjects o;
	struct ow_error err;
	unsigned int i;
	uint64_t each;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	for (i = 0; i < MANY; i++) {
		replace_by_copy("prog");
		rename_symbol("prog", i + 0x01010101);
		CHECK(number_of(&o, "prog") == i + 1);
	}
	CHECK(o.numbers.all->nr_modules == MANY && o.nr_aliases == MANY);
	each = o.bytes_compared / MANY;
	CHECK(o.bytes_compared % MANY == 0);
	/* Once more all of them: one is hashed and compared to one each time. */
	for (i = 0; i < MANY; i++) {
		replace_by_copy("prog");
		rename_symbol("prog", i + 0x01010101);
		CHECK(number_of(&o, "prog") == i + 1);
	}
	CHECK(o.bytes_compared == 3 * MANY * each);
	ow_sampledobjects_deinit(&o);
	unlink("prog");
}

/* However many equal files come, not all are kept open. */
static void test_many_equal_files(void)
{
	enum {
		MOST_HELD = 1024
	};
	struct ow_sampledobjects o;
	struct ow_error err;
	unsigned int i;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	for (i = 0; i <= MOST_HELD; i++) {
		replace_by_copy("prog");
		CHECK(number_of(&o, "prog") == 1);
		CHECK(o.nr_held == i && o.nr_aliases == i + 1);
	}
	replace_by_copy("prog");
	CHECK(number_of(&o, "prog") == 1);
	CHECK(o.nr_held == 1 && o.nr_aliases == 2);
	CHECK(number_of(&o, "prog") == 1);
	CHECK(o.nr_held == 1 && o.nr_aliases == 2);
	ow_sampledobjects_deinit(&o);
	unlink("prog");
}

/* Nor is any number of them read: what isn't compared is another object. */
static void test_limit_of_comparing(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	o.user = COMPARER;
	copy_program("prog");
	CHECK(number_of(&o, "prog") == 1);
	leave(OW_WATCHSHARE_ALIKE, COMPARER, -MIB);
	replace_by_copy("prog");
	CHECK(number_of(&o, "prog") == 2);
	CHECK(o.bytes_compared == 0);
	o.user = OTHER;
	replace_by_copy("prog");
	CHECK(number_of(&o, "prog") == 2);
	CHECK(o.bytes_compared > 0);
	ow_sampledobjects_deinit(&o);
	unlink("prog");
}

static void close_idle(struct ow_sampledobjects *o, bool may)
{
	ow_sampledobjects_close_idle(o, ow_now_ns() + 1, NULL, may_go, &may);
}

/* A file without a name, which nobody has mapped, isn't kept. */
static void test_idle_nameless(void)
{
	struct ow_sampledobjects o;
	char path[] = "/one (deleted)";
	struct ow_error err;
	struct stat st;
	int fd;

	copy_program("one");
	CHECK(stat("one", &st) == 0);
	fd = open("one", O_RDONLY | O_CLOEXEC);
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(unlink("one") == 0);
	CHECK(number_of_fd(&o, fd, path) == 1);
	CHECK(o.numbers.nameless == (uint64_t)st.st_size && is_held("one"));
	ow_objectnumbers_hold(&o.numbers, 1);
	CHECK(o.numbers.nameless == 0);
	close_idle(&o, true);
	CHECK(ow_sampledobjects_get(&o, 1) && is_held("one"));
	ow_objectnumbers_leave(&o.numbers, 1);
	close_idle(&o, false);
	CHECK(ow_sampledobjects_get(&o, 1) && is_held("one"));
	close_idle(&o, true);
	CHECK(!ow_sampledobjects_get(&o, 1) && !is_held("one"));
	CHECK(o.numbers.nameless == 0 && o.nr_aliases == 0);
	/* Who maps it now has another number for it. */
	CHECK(number_of_fd(&o, fd, path) == 2);
	CHECK(ow_sampledobjects_get(&o, 2));
	ow_sampledobjects_deinit(&o);
	close(fd);
}

/* A file with a name is kept for a minute: it may be mapped again. */
static void test_idle_named(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;
	bool may = true;

	copy_program("one");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "one") == 1 && o.numbers.nameless == 0);
	close_idle(&o, true);
	CHECK(number_of(&o, "one") == 1 && ow_sampledobjects_get(&o, 1));
	ow_sampledobjects_close_idle(&o, ow_now_ns() + 59000000000, NULL,
				     may_go, &may);
	CHECK(ow_sampledobjects_get(&o, 1));
	ow_sampledobjects_close_idle(&o, ow_now_ns() + 61000000000, NULL,
				     may_go, &may);
	CHECK(!ow_sampledobjects_get(&o, 1));
	CHECK(number_of(&o, "one") == 2);
	ow_sampledobjects_deinit(&o);
	unlink("one");
}

/* Nor is a file kept that is only like an object. */
static void test_idle_alike(void)
{
	struct ow_sampledobjects o;
	struct ow_error err;

	copy_program("one");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "one") == 1);
	ow_objectnumbers_hold(&o.numbers, 1);
	replace_by_copy("one");
	CHECK(number_of(&o, "one") == 1 && o.nr_held == 1);
	close_idle(&o, true);
	CHECK(o.nr_held == 0 && o.nr_aliases == 1);
	CHECK(ow_sampledobjects_get(&o, 1));
	ow_sampledobjects_deinit(&o);
	unlink("one");
}

static void write_text(const char *name)
{
	FILE *f = fopen(name, "we");

	if (!f)
		abort();
	fputs("no object", f);
	fclose(f);
}

/* The number of a vDSO that is mapped at addr. */
static uint32_t number_of_vdso(struct ow_sampledobjects *o, const void *addr)
{
	const struct ow_mapping map = { .start = (uintptr_t)addr,
					.end = (uintptr_t)addr + 8192,
					.readable = true,
					.executable = true,
					.path = "[vdso]" };

	return number_seen(o, &map);
}

/* CPU time to ask for a mapping's number many times. */
static uint64_t ask_ns(struct ow_sampledobjects *o,
		       const struct ow_mapping *map,
		       const struct ow_identity *seen, uint32_t number)
{
	uint64_t begun = ow_cpu_ns();
	int i, nr = 0;

	for (i = 0; i < 1000; i++)
		nr += ow_sampledobjects_number(o, getpid(), map, seen) ==
		      number;
	CHECK(nr == 1000);
	return ow_cpu_ns() - begun;
}

/* A path of a file that has many is found as soon as if it were the only one. */
static void test_many_paths(void)
{
	enum {
		PATHS = 1500,
		LONG = 2000
	};
	struct ow_sampledobjects o;
	struct ow_mapping map;
	struct ow_identity seen;
	char path[LONG + 16];
	struct ow_error err;
	uint64_t alone = 0;
	uint32_t i;
	int fd;

	copy_program("one");
	fd = open("one", O_RDONLY | O_CLOEXEC);
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	map = (struct ow_mapping){ .executable = true, .path = path };
	map.start = (uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
				    MAP_PRIVATE, fd, 0);
	map.end = map.start + 4096;
	CHECK(ow_mapping_look(getpid(), &map, &seen));
	map.dev = seen.dev;
	map.inode = seen.inode;
	for (i = 0; i < PATHS; i++) {
		snprintf(path, sizeof(path), "/%0*u", LONG, i);
		if (ow_sampledobjects_number(&o, getpid(), &map, &seen) !=
		    i + 1)
			break;
		if (i == 0)
			alone = ask_ns(&o, &map, &seen, 1);
	}
	CHECK(i == PATHS);
	snprintf(path, sizeof(path), "/%0*u", LONG, 0);
	CHECK(ask_ns(&o, &map, &seen, 1) < 20 * alone);
	ow_sampledobjects_deinit(&o);
	munmap((void *)(uintptr_t)map.start, 4096);
	close(fd);
	unlink("one");
}

/* What it is told of numbers that are to be given again. */
struct forgotten {
	bool may;
	uint32_t nr, last;
};

static bool forget(void *arg, const uint32_t *numbers, uint32_t nr)
{
	struct forgotten *f = arg;

	f->nr = nr;
	f->last = numbers[nr - 1];
	return f->may;
}

/* Return true if a name in the object is of a file of that name. */
static bool is_of(struct ow_sampledobjects *o, uint32_t number, const char *end)
{
	struct ow_name names[OW_LINES_MOST];

	return ow_sampledobjects_name(o, number, 0x1000, 0, names,
				      OW_LINES_MOST) == 1 &&
	       strcmp(strrchr(names[0].module, '/'), end) == 0;
}

/* A number is given again when nothing names its object, and with it no name. */
static void test_reuse(void)
{
	bool named[OW_BPF_OBJECTS] = { false };
	struct forgotten f = { .may = true };
	struct ow_sampledobjects o;
	struct ow_error err;

	copy_program("one");
	copy_program("two");
	copy_program("three");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "one") == 1 && number_of(&o, "two") == 2);
	CHECK(is_of(&o, 1, "/one") && is_of(&o, 2, "/two"));
	ow_objectnumbers_hold(&o.numbers, 2);
	/* Both are open. */
	ow_sampledobjects_reuse(&o, UINT64_MAX, named, forget, &f);
	CHECK(f.nr == 0 && ow_objectnumbers_nr(&o.numbers) == 2);
	ow_sampledobjects_close_idle(&o, ow_now_ns() + 61000000000, NULL,
				     may_go, &f.may);
	CHECK(!ow_sampledobjects_get(&o, 1) && ow_sampledobjects_get(&o, 2));
	/* An image names the closed one; or the engine can't forget it. */
	named[1] = true;
	ow_sampledobjects_reuse(&o, UINT64_MAX, named, forget, &f);
	CHECK(f.nr == 0 && ow_objectnumbers_nr(&o.numbers) == 2);
	named[1] = false;
	f.may = false;
	ow_sampledobjects_reuse(&o, UINT64_MAX, named, forget, &f);
	CHECK(f.nr == 1 && f.last == 1 && ow_objectnumbers_nr(&o.numbers) == 2);
	CHECK(is_of(&o, 1, "/one"));
	f.may = true;
	ow_sampledobjects_reuse(&o, UINT64_MAX, named, forget, &f);
	CHECK(ow_objectnumbers_nr(&o.numbers) == 1);
	CHECK(number_of(&o, "three") == 1 &&
	      ow_objectnumbers_nr(&o.numbers) == 2);
	CHECK(is_of(&o, 1, "/three") && is_of(&o, 2, "/two"));
	CHECK(number_of(&o, "one") == 3 && is_of(&o, 3, "/one"));
	ow_sampledobjects_deinit(&o);
	unlink("one");
	unlink("two");
	unlink("three");
}

/* Likewise the number of what could not be opened. */
static void test_reuse_of_no_object(void)
{
	bool named[OW_BPF_OBJECTS] = { false };
	struct forgotten f = { .may = true };
	struct ow_sampledobjects o;
	struct ow_error err;

	write_text("one");
	copy_program("two");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "one") == 1 && !ow_sampledobjects_get(&o, 1));
	ow_objectnumbers_hold(&o.numbers, 1);
	ow_sampledobjects_reuse(&o, UINT64_MAX, named, forget, &f);
	CHECK(f.nr == 0);
	ow_objectnumbers_leave(&o.numbers, 1);
	ow_sampledobjects_reuse(&o, UINT64_MAX, named, forget, &f);
	CHECK(f.nr == 1 && o.nr_aliases == 0);
	CHECK(number_of(&o, "two") == 1 && ow_sampledobjects_get(&o, 1));
	CHECK(number_of(&o, "one") == 2 && !ow_sampledobjects_get(&o, 2));
	ow_sampledobjects_deinit(&o);
	unlink("one");
	unlink("two");
}

/* A user has half of all numbers at most for what is mapped; root may have all. */
static void test_users_part(void)
{
	const void *at = (void *)(uintptr_t)4096; // NOLINT
	struct ow_sampledobjects o;
	struct ow_error err;
	uint32_t i;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	o.user = 1;
	for (i = 1; i <= OW_BPF_OBJECTS / 2; i++) {
		if (number_of_vdso(&o, at) != i)
			break;
		ow_objectnumbers_hold(&o.numbers, i);
	}
	CHECK(i == OW_BPF_OBJECTS / 2 + 1);
	CHECK(number_of_vdso(&o, at) == 0);
	o.user = 2;
	CHECK(number_of_vdso(&o, at) == i);
	o.user = 0;
	CHECK(number_of_vdso(&o, at) == i + 1);
	ow_objectnumbers_leave(&o.numbers, 1);
	o.user = 1;
	CHECK(number_of_vdso(&o, at) == i + 2);
	ow_sampledobjects_deinit(&o);
}

/* Where most numbers are in use, no file is kept that nobody has mapped. */
static void test_crowd(void)
{
	bool named[OW_BPF_OBJECTS] = { false };
	struct forgotten f = { .may = true };
	struct ow_sampledobjects o;
	struct ow_error err;
	uint32_t i;

	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	copy_program("one");
	CHECK(number_of(&o, "one") == 1);
	for (i = 2; i < OW_BPF_OBJECTS; i++)
		if (number_of_vdso(&o, (void *)(uintptr_t)4096) != i) // NOLINT
			break;
	CHECK(i == OW_BPF_OBJECTS && ow_objectnumbers_is_crowded(&o.numbers));
	CHECK(number_of_vdso(&o, (void *)(uintptr_t)4096) == 0); // NOLINT
	/* What a noted mapping names is kept. */
	named[1] = true;
	ow_sampledobjects_close_idle(&o, ow_now_ns() + 1, named, may_go,
				     &f.may);
	CHECK(ow_sampledobjects_get(&o, 1));
	named[1] = false;
	ow_sampledobjects_close_idle(&o, ow_now_ns() + 1, named, may_go,
				     &f.may);
	CHECK(!ow_sampledobjects_get(&o, 1));
	/* A program may walk by it yet. */
	named[OW_BPF_OBJECTS - 1] = true;
	ow_sampledobjects_reuse(&o, 1, named, forget, &f);
	CHECK(f.nr == 0);
	named[OW_BPF_OBJECTS - 1] = true;
	ow_sampledobjects_reuse(&o, UINT64_MAX, named, forget, &f);
	CHECK(f.nr == OW_BPF_OBJECTS - 2 &&
	      ow_objectnumbers_nr(&o.numbers) == 1);
	CHECK(!ow_objectnumbers_is_crowded(&o.numbers));
	CHECK(number_of(&o, "one") && ow_objectnumbers_nr(&o.numbers) == 2);
	ow_sampledobjects_deinit(&o);
	unlink("one");
}

/* An address that is as high as those of another number. */
static void test_high_address(void)
{
	struct ow_name names[OW_LINES_MOST];
	struct ow_sampledobjects o;
	struct ow_error err;

	copy_program("one");
	copy_program("two");
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "one") == 1 && number_of(&o, "two") == 2);
	CHECK(ow_sampledobjects_name(&o, 1, ((uint64_t)1 << 40) + 0x1000, 0,
				     names, OW_LINES_MOST) == 1);
	CHECK(!names[0].function && strstr(names[0].module, "/one"));
	/* The call before the first address. */
	CHECK(ow_sampledobjects_name(&o, 2, 0, OW_FRAME_RETURN, names,
				     OW_LINES_MOST) == 1);
	CHECK(!names[0].function && strstr(names[0].module, "/two"));
	ow_sampledobjects_deinit(&o);
	unlink("one");
	unlink("two");
}

/* A file that is no object may have numbers that another one has later. */
static void test_no_object(void)
{
	_cleanup_(ow_freep) char *path = NULL;
	struct ow_mapping map = { .executable = true };
	struct ow_sampledobjects o;
	struct ow_identity seen;
	struct ow_error err;
	struct stat st;

	write_text("one");
	path = realpath("one", NULL);
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	CHECK(number_of(&o, "one") == 1 && !ow_sampledobjects_get(&o, 1));
	ow_objectnumbers_hold(&o.numbers, 1);
	CHECK(number_of(&o, "one") == 1);
	usleep(20000); /* the kernel's times are in ticks */
	copy_program("one");
	CHECK(number_of(&o, "one") == 2 && ow_sampledobjects_get(&o, 2));
	ow_sampledobjects_deinit(&o);

	/* Where the times are equal, too, it is opened if nobody has had it. */
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	write_text("one");
	CHECK(stat("one", &st) == 0);
	map.path = path;
	map.dev = st.st_dev;
	map.inode = st.st_ino;
	CHECK(ow_identity_look(path, &seen));
	CHECK(ow_sampledobjects_number(&o, getpid(), &map, &seen) == 1);
	ow_objectnumbers_hold(&o.numbers, 1);
	copy_program("one");
	CHECK(ow_sampledobjects_number(&o, getpid(), &map, &seen) == 1);
	CHECK(!ow_sampledobjects_get(&o, 1));
	ow_objectnumbers_leave(&o.numbers, 1);
	CHECK(ow_sampledobjects_number(&o, getpid(), &map, &seen) == 1);
	CHECK(ow_sampledobjects_get(&o, 1));
	ow_sampledobjects_deinit(&o);
	unlink("one");
}

/* What could not be opened is not tried again and again. */
static void test_no_object_again(void)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), i, nr = 0;
	struct ow_mapping map = { .executable = true };
	_cleanup_(ow_freep) char *path = NULL;
	struct ow_sampledobjects o;
	struct ow_identity seen;
	struct ow_error err;
	char events[1024];

	write_text("one");
	map.path = path = realpath("one", NULL);
	CHECK(ow_identity_look(path, &seen));
	map.dev = seen.dev;
	map.inode = seen.inode;
	CHECK(inotify_add_watch(watch, "one", IN_OPEN) >= 0);
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	for (i = 0; i < 1000; i++) {
		CHECK(ow_sampledobjects_number(&o, getpid(), &map, &seen) == 1);
		nr += read(watch, events, sizeof(events)) > 0;
	}
	CHECK(nr > 0 && nr < 500);
	CHECK(!ow_sampledobjects_get(&o, 1));
	ow_sampledobjects_deinit(&o);
	close(watch);
	unlink("one");
}

/* A process may write to its vDSO, and tells nothing of another one's by it. */
static void test_written_vdso(void)
{
	const uint8_t *own = (void *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	uint8_t *high = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct ow_sampledobjects o;
	struct ow_error err;

	CHECK(own && high != MAP_FAILED && low != MAP_FAILED);
	CHECK(!ow_sampledobjects_init(&o, 0, &err));
	/* Nothing is read of one of our word size. */
	CHECK(number_of_vdso(&o, high) == 1 && number_of_vdso(&o, own) == 1);
	CHECK(ow_sampledobjects_get(&o, 1) != NULL);
	memcpy(low, own, 8192);
	CHECK(mprotect(low, 8192, PROT_READ) == 0);
	CHECK(number_of_vdso(&o, low) == number_of_vdso(&o, low));
	CHECK(o.nr_aliases == 1);
	CHECK(mprotect(low, 8192, PROT_READ | PROT_WRITE) == 0);
	low[8000] ^= 1;
	CHECK(mprotect(low, 8192, PROT_READ) == 0);
	CHECK(number_of_vdso(&o, low) == o.numbers.all->nr_modules);
	CHECK(number_of_vdso(&o, own) == 1);
	ow_sampledobjects_deinit(&o);
	munmap(high, 8192);
	munmap(low, 8192);
}

int main(void)
{
	static const struct test tests[] = {
		{ "equal files", test_equal_files },
		{ "one build-id, other bytes", test_same_build_id },
		{ "overwritten", test_overwritten },
		{ "rewritten unseen", test_rewritten_unseen },
		{ "relocations rewritten unseen", test_relocated_unseen },
		{ "a debug file rewritten unseen",
		  test_debug_rewritten_unseen },
		{ "shared DWARF rewritten unseen",
		  test_shared_rewritten_unseen },
		{ "a debug file of a CRC", test_debug_by_crc },
		{ "debug files of ours", test_debug_of_ours },
		{ "limit of watching", test_limit_of_watching },
		{ "a large file", test_large_file },
		{ "limit of looks", test_limit_of_looks },
		{ "files that take turns", test_turns },
		{ "limit of last looks", test_limit_of_last_looks },
		{ "end of looks", test_end_of_looks },
		{ "writable by others", test_writable_by_others },
		{ "many of one build-id", test_many_of_one_build_id },
		{ "many equal files", test_many_equal_files },
		{ "limit of comparing", test_limit_of_comparing },
		{ "nobody has a file without a name", test_idle_nameless },
		{ "nobody has a file with a name", test_idle_named },
		{ "a file that is like an object", test_idle_alike },
		{ "many paths of one file", test_many_paths },
		{ "a number that is given again", test_reuse },
		{ "the number of a file that is no object",
		  test_reuse_of_no_object },
		{ "a user's part of all numbers", test_users_part },
		{ "most numbers in use", test_crowd },
		{ "a high address", test_high_address },
		{ "a file that is no object", test_no_object },
		{ "a file that is no object, again and again",
		  test_no_object_again },
		{ "a vDSO that was written to", test_written_vdso },
	};

	scratch_enter();
	scratch_write("small.c", "int main(void) { return 0; }\n");
	if (!scratch_run("cc -Wl,--build-id small.c -o small"))
		abort();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
