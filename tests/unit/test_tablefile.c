// SPDX-License-Identifier: BSD-2-Clause
/* The cache of tables: made once, checked before use, made again if damaged. */
#include "tablefile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "error.h"
#include "object.h"
#include "scratch.h"
#include "tablegen.h"
#include "test.h"

/* Functions enough for a table to pay, and too few. */
#define SOURCE                                                     \
	"int g(int); int f(int a) { return g(a) * a; }\n"          \
	"int g(int a) { char b[300]; __builtin_memset(b, a, a);\n" \
	"  return b[a / 2] + a; }\n"                               \
	"int main(int n, char **v) { (void)v; return f(n); }\n"    \
	"#define F(n) int f##n(int a) { char b[8 * n];\\\n"        \
	"  __builtin_memset(b, a, a); return g(b[a / 2]) + a; }\n" \
	"#define T(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4)\\\n" \
	"  F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)\n"              \
	"T(1) T(2) T(3) T(4) T(5) T(6) T(7) T(8) T(9)\n"
#define SMALL "f: .cfi_startproc\n ret\n .cfi_endproc\n"

static struct ow_object *object;
static char path[512];

static struct ow_object *open_object(const char *name)
{
	struct ow_error err;
	struct ow_object *obj = ow_object_open(name, &err);

	if (!obj || ow_object_load_cfi(obj, &err))
		abort();
	return obj;
}

static bool is_usable(void)
{
	struct ow_tablefile *f = ow_tablefile_open(object);

	ow_tablefile_close(f);
	return f != NULL;
}

static struct ow_table_stats made;

static bool make(bool *was_there)
{
	struct ow_error err;
	bool good = ow_table_make("prog", &made, &err) == 0;

	*was_there = made.was_there;
	return good && !made.too_large;
}

static void test_made_once(void)
{
	struct ow_table_stats before;
	bool was_there;
	struct stat st;

	CHECK(!is_usable());
	CHECK(make(&was_there) && !was_there);
	CHECK(is_usable());
	before = made;
	CHECK(make(&was_there) && was_there);
	CHECK(made.rows == before.rows && made.rules == before.rules);
	CHECK(made.sets == before.sets && made.size == before.size);
	CHECK(made.cfi_size == before.cfi_size);
	CHECK(made.size * 100 <= made.cfi_size * OW_TABLE_MAX_PERCENT);
	CHECK(before.cfi_rows > 90 && made.cfi_rows == 0);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644);
	/* Nothing else is left in the folder. */
	CHECK(scratch_run("test $(ls cache/outwind | wc -l) = 1"));
}

static size_t file_size(void)
{
	struct stat st;

	return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

static void flip(size_t off)
{
	_cleanup_(ow_closep) int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte = 0;

	CHECK(pread(fd, &byte, 1, (off_t)off) == 1);
	byte ^= 0x10;
	CHECK(pwrite(fd, &byte, 1, (off_t)off) == 1);
}

static void test_every_damaged_byte_is_found(void)
{
	size_t size = file_size(), i;

	CHECK(size > 48);
	for (i = 0; i < size; i++) {
		flip(i);
		if (is_usable())
			printf("# byte %zu\n", i);
		CHECK(!is_usable());
		flip(i);
	}
	CHECK(is_usable());
}

static void test_damaged_is_made_again(void)
{
	bool was_there;

	flip(100);
	CHECK(make(&was_there) && !was_there);
	CHECK(is_usable());
}

static void test_every_truncation_is_found(void)
{
	size_t size = file_size(), i;
	bool was_there;

	for (i = 0; i < size; i += 7) {
		CHECK(truncate(path, (off_t)i) == 0);
		CHECK(!is_usable());
		CHECK(make(&was_there) && !was_there);
		CHECK(file_size() == size);
	}
}

static void test_another_objects_table_is_refused(void)
{
	bool was_there;

	CHECK(scratch_run("XDG_CACHE_HOME=$PWD/other; mkdir other; "
			  "cp -r cache/outwind other/"));
	CHECK(setenv("XDG_CACHE_HOME", "other", 1) == 0);
	/* A relative path is no place for a cache. */
	CHECK(!is_usable());
	CHECK(scratch_run("mv cache/outwind/*.owt kept"));
	setenv("XDG_CACHE_HOME", getenv("SCRATCH_CACHE"), 1);
	CHECK(scratch_run("cp other.owt %s", path));
	CHECK(!is_usable());
	CHECK(make(&was_there) && !was_there);
}

static bool has_table(const char *name)
{
	struct ow_object *obj = open_object(name);
	struct ow_tablefile *f = ow_tablefile_open(obj);

	ow_tablefile_close(f);
	ow_object_close(obj);
	return f != NULL;
}

static bool was_there(const char *name)
{
	struct ow_table_stats s;

	CHECK(ow_table_make(name, &s, NULL) == 0);
	return s.was_there;
}

/* A table is for the file that it was made of, and for copies found equal. */
static void test_only_for_its_files(void)
{
	CHECK(has_table("prog"));
	CHECK(scratch_run("cp prog copy"));
	CHECK(!has_table("copy"));
	CHECK(!was_there("copy") && was_there("copy") && was_there("prog"));
	CHECK(has_table("copy") && has_table("prog"));
	/* In another state it is another file. */
	CHECK(scratch_run("touch copy"));
	CHECK(!has_table("copy") && !was_there("copy") && was_there("prog"));
	/* A program of the same build-id, whose CFI is another. */
	CHECK(!has_table("impostor"));
	CHECK(!was_there("impostor") && has_table("impostor"));
	CHECK(!has_table("prog") && !has_table("copy"));
	CHECK(!was_there("prog") && has_table("prog"));
	CHECK(!has_table("impostor"));
	CHECK(scratch_run("rm copy"));
}

/* The last 16 files are known, each in its last state. */
static void test_stamp(void)
{
	struct ow_tablestamp s = { .nr = 0 }, again;
	struct ow_identity file = { .dev = 1, .inode = 7, .size = 3 };
	uint64_t i;

	CHECK(!ow_tablestamp_has(&s, &file));
	for (i = 1; i <= OW_TABLESTAMP_FILES + 1; i++) {
		file.inode = i;
		ow_tablestamp_add(&s, &file);
		CHECK(ow_tablestamp_has(&s, &file));
		CHECK(s.nr ==
		      (i < OW_TABLESTAMP_FILES ? i : OW_TABLESTAMP_FILES));
	}
	for (i = 1; i <= OW_TABLESTAMP_FILES + 1; i++) {
		file.inode = i;
		CHECK(ow_tablestamp_has(&s, &file) == (i > 1));
	}
	CHECK(ow_tablestamp_read(&again, (const uint8_t *)&s));
	CHECK(memcmp(&s, &again, sizeof(s)) == 0);
	file.ctime_ns = 1;
	CHECK(!ow_tablestamp_has(&s, &file));
	ow_tablestamp_add(&s, &file);
	CHECK(ow_tablestamp_has(&s, &file) && s.nr == OW_TABLESTAMP_FILES);
	file.ctime_ns = 0;
	CHECK(!ow_tablestamp_has(&s, &file));
	/* What was copied from memory is no file. */
	file.inode = 0;
	ow_tablestamp_add(&s, &file);
	CHECK(!ow_tablestamp_has(&s, &file));
}

/* Return true if the object's table is used, its file being another user's, or so. */
static bool is_used_of(uint32_t uid, uint32_t gid, uint32_t mode)
{
	const struct ow_identity real = object->file;
	bool is_used;

	object->file.uid = uid;
	object->file.gid = gid;
	object->file.mode = S_IFREG | mode;
	is_used = is_usable();
	object->file = real;
	return is_used;
}

/*
 * Whoever may write to the file can do that by a mapping, and its times stay: it is in
 * no known state.
 */
static void test_no_file_of_others(void)
{
	uint32_t uid = geteuid(), gid = getegid();
	struct ow_error err;

	CHECK(is_used_of(uid, gid, 0755) && is_used_of(0, 7, 0644));
	CHECK(is_used_of(uid, gid, 0775) == (uid != 0));
	CHECK(!is_used_of(uid, gid + 1, 0775) && !is_used_of(0, gid, 0664));
	CHECK(!is_used_of(uid, gid, 0757) && !is_used_of(0, 0, 0646));
	CHECK(!is_used_of(65534, gid, 0755) && !is_used_of(65534, 0, 0444));
	CHECK(scratch_run("cp prog open && chmod 0757 open"));
	CHECK(ow_table_make("open", NULL, &err) != 0);
	CHECK(err.code == OW_CODE_UNSUPPORTED);
	CHECK(strcmp(err.msg,
		     "open: no table is kept for it: others may write to it, "
		     "which its times need not tell") == 0);
	CHECK(scratch_run("rm open"));
}

/* Neither a table that others can write to is used, nor another user's. */
static void test_only_ours(void)
{
	CHECK(is_usable());
	CHECK(chmod(path, 0664) == 0 && !is_usable());
	CHECK(chmod(path, 0646) == 0 && !is_usable());
	CHECK(chmod(path, 0600) == 0 && is_usable());
	CHECK(chmod(path, 0644) == 0 && is_usable());
	if (geteuid() != 0)
		return;
	CHECK(chown(path, 65534, 65534) == 0 && !is_usable());
	CHECK(chown(path, 0, 0) == 0 && is_usable());
}

static void test_a_link_is_not_followed(void)
{
	CHECK(scratch_run("mv %s aside && ln -s $PWD/aside %s", path, path));
	CHECK(!is_usable());
	CHECK(scratch_run("rm %s && mv aside %s", path, path));
	CHECK(is_usable());
}

static void test_no_place(void)
{
	struct ow_table_stats stats;
	struct ow_error err;

	setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	CHECK(ow_table_make("prog", &stats, &err) != 0);
	CHECK(err.code == OW_CODE_SYSTEM);
	CHECK(strstr(err.msg, "/proc/nowhere") != NULL);
	setenv("XDG_CACHE_HOME", getenv("SCRATCH_CACHE"), 1);
}

static void test_no_build_id(void)
{
	struct ow_error err;

	CHECK(scratch_run("cc -O2 -Wl,--build-id=none prog.c -o anonymous"));
	CHECK(ow_table_make("anonymous", NULL, &err) != 0);
	CHECK(err.code == OW_CODE_UNSUPPORTED);
	CHECK(strcmp(err.msg, "anonymous: no build-id to keep a table by") ==
	      0);
}

/* A file can have the build-id of another one, whose table stays. */
static void test_of_another_file(void)
{
	char id[2 * OW_BUILD_ID_MAX + 1];
	struct ow_table_stats s;
	struct ow_error err;
	bool was_there;

	ow_object_build_id(object, id);
	CHECK(make(&was_there) && is_usable());
	CHECK(scratch_run("cc -x assembler small.s -nostdlib -shared "
			  "-Wl,--build-id=0x%s -o alike",
			  id));
	CHECK(ow_table_make("alike", &s, &err) == 0 && s.too_large);
	CHECK(is_usable());
}

/*
 * A table that is too large is not kept, however often it is asked for; one that
 * is there is removed.
 */
static void test_too_large_is_not_kept(void)
{
	struct ow_object *small = open_object("small");
	char id[2 * OW_BUILD_ID_MAX + 1], at[600];
	struct ow_table_stats s;
	uint8_t *table;
	struct ow_error err;
	size_t size;
	FILE *out;
	int i;

	ow_object_build_id(small, id);
	snprintf(at, sizeof(at), "%s/outwind/%s.owt", getenv("XDG_CACHE_HOME"),
		 id);
	table = ow_table_generate(small, &size, &s, NULL, &err);
	CHECK(table && size * 100 > s.cfi_size * OW_TABLE_MAX_PERCENT);
	for (i = 0; i < 3; i++) {
		CHECK(ow_table_make("small", &s, &err) == 0);
		CHECK(s.too_large && !s.was_there && s.size == size);
		CHECK(s.cfi_size == small->cfi_size && s.cfi_rows == 1);
		CHECK(access(at, F_OK) != 0);
		CHECK(ow_tablefile_open(small) == NULL);
		/* A good one that somebody else put there; then rubbish. */
		out = fopen(at, "we");
		fwrite(table, 1, i == 0 ? size : 7, out);
		fclose(out);
	}
	CHECK(unlink(at) == 0);
	free(table);
	ow_object_close(small);
}

static struct ow_object *open_prog(struct ow_capture *c,
				   struct ow_capture_module *m,
				   struct ow_error *err)
{
	(void)c;
	return ow_object_open(m->path, err);
}

/* A process may have mapped a file any number of times: its table is mapped once. */
static void test_mapped_once(void)
{
	struct ow_capture *c = ow_capture_create(NULL);
	bool was_there;
	size_t i;

	CHECK(make(&was_there));
	c->open = open_prog;
	c->use_tables = true;
	c->target.arch = object->elf.arch;
	c->modules = calloc(3, sizeof(*c->modules));
	c->nr_modules = 3;
	for (i = 0; i < c->nr_modules; i++) {
		struct ow_capture_module *m = &c->modules[i];

		m->path = strdup("prog");
		m->inode = 1;
		m->off = object->elf.entry & ~0xfffULL;
		m->start = (i + 1) << 24;
		m->end = m->start + 0x1000;
		ow_capture_ready(c, m);
		CHECK(m->base.table &&
		      m->base.table == c->modules[0].base.table);
	}
	ow_capture_destroy(c);
}

/* Another program's table under the name "other.owt". */
static void make_other(void)
{
	scratch_run("cc -O1 prog.c -o prog2");
	setenv("XDG_CACHE_HOME", getenv("SCRATCH_CACHE"), 1);
	if (ow_table_make("prog2", NULL, NULL))
		abort();
	scratch_run("mv cache/outwind/*.owt other.owt");
}

int main(void)
{
	static const struct test tests[] = {
		{ "made once", test_made_once },
		{ "damage", test_every_damaged_byte_is_found },
		{ "made again", test_damaged_is_made_again },
		{ "truncation", test_every_truncation_is_found },
		{ "another object's", test_another_objects_table_is_refused },
		{ "only for its files", test_only_for_its_files },
		{ "stamp", test_stamp },
		{ "only ours", test_only_ours },
		{ "no file of others", test_no_file_of_others },
		{ "links", test_a_link_is_not_followed },
		{ "no place", test_no_place },
		{ "of another file", test_of_another_file },
		{ "too large", test_too_large_is_not_kept },
		{ "no build-id", test_no_build_id },
		{ "mapped once", test_mapped_once },
	};
	char cache[256], id[2 * OW_BUILD_ID_MAX + 1];
	int failed;

	scratch_enter();
	scratch_write("prog.c", SOURCE);
	scratch_write("small.s", SMALL);
	if (!scratch_run(
		    "cc -O2 prog.c -o prog && "
		    "id=$(readelf -n prog | sed -n 's/.*Build ID: /0x/p') && "
		    "cc -O0 -Wl,--build-id=$id prog.c -o impostor && "
		    "cc -nostdlib -shared -Wl,--build-id small.s -o small"))
		abort();
	snprintf(cache, sizeof(cache), "%s/cache", scratch_dir);
	setenv("SCRATCH_CACHE", cache, 1);
	make_other();
	object = open_object("prog");
	ow_object_build_id(object, id);
	snprintf(path, sizeof(path), "%s/outwind/%s.owt", cache, id);
	failed = test_main(tests, OW_ARRAY_SIZE(tests));
	ow_object_close(object);
	return failed;
}
