// SPDX-License-Identifier: BSD-2-Clause
#include "symtab.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "bulk.h"
#include "debuginfod.h"
#include "error.h"
#include "monotonic.h"
#include "object.h"
#include "owner.h"
#include "reach.h"
#include "scratch.h"
#include "test.h"

#define TOO_LONG_NS 60000000000ULL

/* A function as readelf(1) lists it. */
struct expected {
	uint64_t start, end;
	int bind; /* 2 global, 1 weak, 0 local */
	char name[200];
};

struct oracle {
	struct expected *all; /* by start */
	size_t nr, room;
	uint64_t size_max; /* of any of them */
};

static int bind_of(const char *text)
{
	return strcmp(text, "LOCAL") == 0 ? 0 :
	       strcmp(text, "WEAK") == 0  ? 1 :
					    2;
}

static int by_start(const void *a, const void *b)
{
	const struct expected *e = a, *f = b;

	return (e->start > f->start) - (e->start < f->start);
}

static void oracle_add(struct oracle *o, const char *path)
{
	char command[512], line[8192], type[16], bind[16], section[16];
	unsigned long long start, size;
	char name[200];
	FILE *f;

	snprintf(command, sizeof(command), "readelf -sW '%s' 2>/dev/null",
		 path);
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*u: %llx %lli %15s %15s %*s %15s %199s",
			   &start, &size, type, bind, section, name) != 6 ||
		    (strcmp(type, "FUNC") != 0 && strcmp(type, "IFUNC") != 0) ||
		    strcmp(section, "UND") == 0 || size == 0)
			continue;
		if (o->nr == o->room) {
			o->room = 2 * o->room + 1024;
			o->all = realloc(o->all, o->room * sizeof(*o->all));
		}
		if (size > o->size_max)
			o->size_max = size;
		o->all[o->nr] = (struct expected){ start, start + size,
						   bind_of(bind), "" };
		strcpy(o->all[o->nr++].name, name);
	}
	if (f)
		pclose(f);
	if (o->nr)
		qsort(o->all, o->nr, sizeof(*o->all), by_start);
}

/* readelf adds versions that the string table doesn't have. */
static bool same_name(const char *got, const char *want)
{
	size_t n = strcspn(got, "@");

	if (n > sizeof((struct expected){ 0 }.name) - 1)
		n = sizeof((struct expected){ 0 }.name) - 1;
	return n == strcspn(want, "@") && strncmp(got, want, n) == 0;
}

/* The number of functions that begin at or before vaddr. */
static size_t begun_at(const struct oracle *o, uint64_t vaddr)
{
	size_t low = 0, high = o->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (o->all[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Is the symbol what a look at all functions says? */
static bool agrees(const struct oracle *o, const struct ow_symbol *sym,
		   uint64_t vaddr)
{
	uint64_t start = 0;
	int bind = -1, got = -1;

	for (size_t i = begun_at(o, vaddr); i-- > 0;) {
		const struct expected *e = &o->all[i];

		if (e->start < start || vaddr - e->start > o->size_max)
			break;
		if (vaddr >= e->end)
			continue;
		start = e->start;
		if (e->bind > bind)
			bind = e->bind;
		if (same_name(sym->name, e->name) &&
		    sym->size == e->end - start && e->bind > got)
			got = e->bind;
	}
	return sym->vaddr == start && got == bind && got >= 0;
}

static size_t count_wrong(const struct oracle *o, struct ow_symtab *tab,
			  uint64_t vaddr)
{
	struct ow_symbol sym;

	if (ow_symtab_find(tab, vaddr, &sym) && agrees(o, &sym, vaddr))
		return 0;
	printf("# wrong at %#llx\n", (unsigned long long)vaddr);
	return 1;
}

/* Some functions, at their first byte, in their middle and at their last one. */
static size_t list_places(const struct oracle *o, size_t step, uint64_t *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < o->nr; i += step) {
		uint64_t start = o->all[i].start, end = o->all[i].end;

		ret[nr++] = start;
		ret[nr++] = start + (end - start) / 2;
		ret[nr++] = end - 1;
	}
	return nr;
}

/* All names one by one, and all of them together. */
static void check_file(const char *path, const char *debug)
{
	struct ow_object *obj = ow_object_open(path, NULL);
	struct ow_symtab *tab = obj ? ow_symtab_create(obj, NULL) : NULL;
	struct oracle o = { 0 };
	size_t wrong = 0, step, nr;
	uint64_t *places;

	if (!obj) {
		printf("# no %s\n", path);
		return;
	}
	CHECK(tab);
	oracle_add(&o, path);
	if (debug)
		oracle_add(&o, debug);
	step = o.nr / 1500 + 1;
	printf("# %s: %zu functions, every %zu.\n", path, o.nr, step);
	CHECK(o.nr > 0);
	places = calloc(3 * (o.nr / step + 1), sizeof(*places));
	if (!places)
		abort();
	nr = list_places(&o, step, places);
	for (int prepared = 0; prepared < 2; prepared++) {
		if (prepared)
			ow_symtab_prepare(tab, places, nr);
		for (size_t i = 0; i < nr && wrong < 10; i++)
			wrong += count_wrong(&o, tab, places[i]);
		ow_symtab_destroy(tab);
		tab = ow_symtab_create(obj, NULL);
	}
	free(places);
	CHECK(wrong == 0);
	free(o.all);
	ow_symtab_destroy(tab);
	ow_object_close(obj);
}

static void test_libc_with_its_debug_file(void)
{
	const char *path = "/lib/x86_64-linux-gnu/libc.so.6";
	struct ow_object *obj = ow_object_open(path, NULL);
	char id[2 * OW_BUILD_ID_MAX + 1], debug[128];

	if (!obj)
		return;
	ow_object_build_id(obj, id);
	ow_object_close(obj);
	snprintf(debug, sizeof(debug), "/usr/lib/debug/.build-id/%.2s/%s.debug",
		 id, id + 2);
	check_file(path, debug);
}

static void test_programs(void)
{
	check_file("/usr/bin/python3", NULL);
	check_file("/usr/lib/postgresql/15/bin/postgres", NULL);
	check_file("/usr/bin/node", NULL);
	check_file("/lib/x86_64-linux-gnu/libstdc++.so.6", NULL);
}

static void test_rust(void)
{
	scratch_write("r.rs", "fn main() { println!(\"{:?}\", \
std::env::args().map(|a| a.len()).collect::<Vec<_>>()); }\n");
	if (scratch_run("PATH=$PATH:/root/.cargo/bin rustc -g r.rs "
			"2>/dev/null"))
		check_file("r", NULL);
}

/* What each name covers is written beside it. */
static const char program[] =
	".text\n"
	".macro fn name, size, bind=local, type=@function\n"
	".\\bind \\name\n.type \\name, \\type\n.size \\name, \\size\n\\name:\n"
	".endm\n"
	/* 0: aliases */
	"fn _alias, 16, global\n fn alias, 16, weak\n fn other, 16, local\n"
	".skip 16\n"
	/* 16: the same binding: fewer underscores, then shorter */
	"fn __c, 16, global\n fn longer, 16, global\n fn name, 16, global\n"
	".skip 16\n"
	/* 32: a function in another, and a label in it */
	"fn outer, 32\n .skip 8\n fn inner, 8\n .skip 2\nlabel:\n .skip 14\n"
	"fn sized_label, 4, local, @notype\n .skip 8\n"
	/* 64: nothing covers this */
	".skip 16\n"
	/* 80: no type and no size, up to the next */
	"asm_label: .skip 16\n"
	/* 96: a size beats none */
	".globl unsized\nunsized: fn sized, 8\n .skip 16\n"
	/* 112: shorter alias that is better, in a longer one */
	"fn longest, 16, local\n fn better, 8, global\n .skip 16\n"
	/* 128: never names */
	"fn dollar, 16\n.Lkept: .skip 16\n"
	/* 144: to the end of the section */
	"\"$x\":\nlast: .skip 16\n"
	".data\nnot_code: .quad 0\n";

static void check_name(struct ow_symtab *tab, uint64_t at, const char *want,
		       uint64_t start, uint64_t size)
{
	struct ow_symbol sym = { "nothing", 0, 0 };
	bool found = ow_symtab_find(tab, at, &sym);

	if (!want) {
		CHECK(!found);
		return;
	}
	if (!found || strcmp(sym.name, want) != 0)
		printf("# at %llu %s, not %s\n", (unsigned long long)at,
		       sym.name, want);
	CHECK(found && strcmp(sym.name, want) == 0);
	CHECK(sym.vaddr == start && sym.size == size);
}

static void check_choice(struct ow_symtab *tab)
{
	check_name(tab, 0xfff, NULL, 0, 0);
	check_name(tab, 0x1000, "_alias", 0x1000, 16);
	check_name(tab, 0x1010, "name", 0x1010, 16);
	check_name(tab, 0x1020, "outer", 0x1020, 32);
	check_name(tab, 0x1027, "outer", 0x1020, 32);
	check_name(tab, 0x1028, "inner", 0x1028, 8);
	check_name(tab, 0x102b, "inner", 0x1028, 8);
	check_name(tab, 0x1030, "outer", 0x1020, 32);
	check_name(tab, 0x1039, "outer", 0x1020, 32);
	check_name(tab, 0x1040, NULL, 0, 0);
	check_name(tab, 0x104f, NULL, 0, 0);
	check_name(tab, 0x1050, "asm_label", 0x1050, 0);
	check_name(tab, 0x105f, "asm_label", 0x1050, 0);
	check_name(tab, 0x1060, "sized", 0x1060, 8);
	check_name(tab, 0x1068, NULL, 0, 0);
	check_name(tab, 0x1070, "better", 0x1070, 8);
	check_name(tab, 0x1078, "longest", 0x1070, 16);
	check_name(tab, 0x1088, "dollar", 0x1080, 16);
	check_name(tab, 0x109f, "last", 0x1090, 0);
	check_name(tab, 0x10a0, NULL, 0, 0);
	check_name(tab, 0x8000, NULL, 0, 0);
}

/* One pass for all, then one for each of the first few, then the index. */
static void test_choice(void)
{
	uint64_t vaddrs[0x100];
	struct ow_object *obj;
	struct ow_symtab *tab;

	scratch_write("choice.s", program);
	CHECK(scratch_run("as --keep-locals choice.s -o choice.o && "
			  "ld -Ttext=0x1000 --section-start=.data=0x8000 "
			  "-e 0 choice.o -o choice"));
	obj = ow_object_open("choice", NULL);
	tab = obj ? ow_symtab_create(obj, NULL) : NULL;
	CHECK(tab);
	if (!tab)
		return;
	for (size_t i = 0; i < 0x100; i++)
		vaddrs[i] = 0x10ff - i;
	ow_symtab_prepare(tab, vaddrs, 0x100);
	check_choice(tab);
	ow_symtab_prepare(tab, NULL, 0);
	check_choice(tab);
	ow_symtab_destroy(tab);
	ow_object_close(obj);
}

/* All names that addresses of the first functions of f have, as one text. */
static void all_names(const char *path, uint64_t from, uint64_t to, FILE *out)
{
	struct ow_object *obj = ow_object_open(path, NULL);
	struct ow_symtab *tab = obj ? ow_symtab_create(obj, NULL) : NULL;
	struct ow_symbol sym;

	CHECK(tab);
	for (; tab && from < to; from++)
		if (ow_symtab_find(tab, from, &sym))
			fprintf(out, "%s %llx\n", sym.name,
				(unsigned long long)sym.vaddr);
	ow_symtab_destroy(tab);
	ow_object_close(obj);
}

static void check_same_names(const char *a, const char *b)
{
	FILE *fa = fopen("a.txt", "we"), *fb = fopen("b.txt", "we");

	all_names(a, 0x1000, 0x10b0, fa);
	all_names(b, 0x1000, 0x10b0, fb);
	fclose(fa);
	fclose(fb);
	CHECK(scratch_run("test -s a.txt && cmp a.txt b.txt"));
}

static void test_minidebug(void)
{
	CHECK(scratch_run(
		"objcopy --only-keep-debug choice mini && xz -k mini "
		"&& strip choice -o bare && objcopy "
		"--add-section .gnu_debugdata=mini.xz bare with-mini"));
	check_same_names("choice", "with-mini");
}

static void test_debuglink(void)
{
	char here[64], path[128];

	if (!getcwd(here, sizeof(here)))
		return;
	snprintf(path, sizeof(path), "%s/linked", here);
	CHECK(scratch_run("objcopy --only-keep-debug choice choice.debug && "
			  "objcopy --add-gnu-debuglink=choice.debug bare "
			  "linked"));
	check_same_names("choice", path);
	CHECK(scratch_run("mkdir .debug && mv choice.debug .debug/"));
	check_same_names("choice", path);
	/* another CRC: not the file that was linked */
	CHECK(scratch_run("printf x >>.debug/choice.debug"));
	CHECK(scratch_run(": >a.txt"));
	FILE *out = fopen("a.txt", "we");

	all_names(path, 0x1000, 0x10b0, out);
	fclose(out);
	CHECK(!scratch_run("test -s a.txt"));
}

static bool has_names(const char *path)
{
	FILE *out = fopen("a.txt", "we");

	all_names(path, 0x1000, 0x10b0, out);
	fclose(out);
	return scratch_run("test -s a.txt");
}

static bool is_left_out(const char *line)
{
	for (size_t i = 0; ow_left_out(i); i++)
		if (strncmp(ow_left_out(i), line, strlen(line)) == 0)
			return true;
	return false;
}

static bool is_told(const char *path, const char *debug)
{
	char line[320];

	snprintf(line, sizeof(line),
		 "%s: its debug file %s, which another user may have written",
		 path, debug);
	return is_left_out(line);
}

/* Where others put debug files, too, each names the objects of its owner alone. */
static void test_debug_file_of_others(void)
{
	char here[64], path[128], debug[128];

	if (!getcwd(here, sizeof(here)))
		return;
	snprintf(path, sizeof(path), "%s/shared-linked", here);
	snprintf(debug, sizeof(debug), "%s/shared.debug", here);
	CHECK(scratch_run("objcopy --only-keep-debug choice shared.debug && "
			  "objcopy --add-gnu-debuglink=shared.debug bare "
			  "shared-linked"));
	CHECK(has_names(path) && !is_told(path, debug));
	CHECK(chmod(debug, 0666) == 0);
	CHECK(!has_names(path) && is_told(path, debug));
	/* Nor is the program safe from others then. */
	CHECK(chmod(path, 0777) == 0);
	CHECK(has_names(path));
	CHECK(chmod(debug, 0644) == 0 && chmod(path, 0755) == 0);
	CHECK(has_names(path));
	if (geteuid() != 0)
		return;
	CHECK(chown(debug, 65534, 65534) == 0);
	CHECK(!has_names(path));
	CHECK(chown(path, 65534, 65534) == 0);
	CHECK(has_names(path));
	CHECK(chown(debug, 0, 0) == 0);
	CHECK(has_names(path));
}

/* How many names come of a debug file below "root" that has the build-id. */
static int names_by(const char *file)
{
	struct ow_object *obj = ow_object_open("named", NULL);
	struct ow_symtab *tab;
	struct ow_symbol sym;
	int nr = 0;

	CHECK(scratch_run("mkdir -p root/usr/lib/debug/.build-id/0b && "
			  "cp %s root/usr/lib/debug/.build-id/0b/adcafe.debug",
			  file));
	obj->root = strdup("root");
	tab = ow_symtab_create(obj, NULL);
	for (uint64_t at = 0x1000; at < 0x2000; at++)
		nr += ow_symtab_find(tab, at, &sym) &&
		      strcmp(sym.name, "secret") == 0;
	ow_symtab_destroy(tab);
	ow_object_close(obj);
	return nr;
}

/* A debug file of another program that was given the same build-id. */
static void test_lying_debug_file(void)
{
	CHECK(scratch_run(
		"echo 'static __attribute__((noinline)) int secret(int n) "
		"{ return n * n; } int f(int n) { return secret(n + 1); } "
		"int main(void) { return f(2); }' >n.c && "
		"echo 'static __attribute__((noinline)) int secret(int n) "
		"{ __builtin_printf(\"%%d\", n); return n; } "
		"int more[400]; int f(int n) { return secret(n) + more[n]; } "
		"int main(void) { return f(2); }' >m.c && "
		"for i in n m; do cc -O1 -Wl,--build-id=0x0badcafe $i.c -o $i "
		"&& objcopy --only-keep-debug $i $i.debug && "
		"eu-strip -f $i.eu -o $i.stripped $i || exit 1; done; "
		"mv n.stripped named"));
	CHECK(names_by("n.debug") > 0);
	CHECK(names_by("n.eu") == names_by("n.debug"));
	CHECK(names_by("n") == names_by("n.debug"));
	CHECK(names_by("m.debug") == 0);
	CHECK(names_by("m.eu") == 0);
}

/* A server that is a folder; asked only when told to. */
static void test_debuginfod(void)
{
	char id[2 * OW_BUILD_ID_MAX + 1], url[96], here[64];
	struct ow_object *obj;
	struct ow_symbol sym;
	unsigned long long at;
	struct ow_debuginfod *d = ow_debuginfod_create();

	if (access("/usr/lib/x86_64-linux-gnu/libdebuginfod.so.1", F_OK)) {
		printf("# no libdebuginfod here\n");
		return;
	}
	CHECK(scratch_run("echo 'int f(void) { return 1; } "
			  "int main(void) { return f(); }' >d.c && "
			  "gcc -Wl,--build-id d.c -o whole && "
			  "strip whole -o d && "
			  "nm whole | grep ' main$' >addr"));
	FILE *f = fopen("addr", "re");

	CHECK(fscanf(f, "%llx", &at) == 1);
	fclose(f);
	obj = ow_object_open("d", NULL);
	CHECK(obj);
	if (!obj || !getcwd(here, sizeof(here)))
		return;
	ow_object_build_id(obj, id);
	CHECK(scratch_run("mkdir -p server/buildid/%s && "
			  "cp whole server/buildid/%s/debuginfo",
			  id, id));
	snprintf(url, sizeof(url), "file://%s/server", here);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", "cache", 1);
	for (int ask = 0; ask < 2; ask++) {
		struct ow_symtab *tab = ow_symtab_create(obj, ask ? d : NULL);

		CHECK(tab && ow_symtab_find(tab, at, &sym) == (ask == 1));
		CHECK((access("cache", F_OK) == 0) == (ask == 1));
		ow_symtab_destroy(tab);
	}
	ow_debuginfod_destroy(d);
	unsetenv("DEBUGINFOD_URLS");
	ow_object_close(obj);
}

/* Sections gone: .dynsym by PT_DYNAMIC. */
static void test_without_section_headers(void)
{
	struct ow_object *obj;
	struct ow_symtab *tab;
	struct ow_symbol sym;
	size_t found = 0;

	scratch_write("l.c", "int f(void) { return 1; }\n"
			     "int g(void) { return 2; }\n");
	for (int i = 0; i < 2; i++) {
		CHECK(scratch_run("gcc -shared -fPIC -Wl,--hash-style=%s l.c "
				  "-o l.so && printf '\\0\\0' | dd of=l.so "
				  "bs=1 seek=60 conv=notrunc 2>/dev/null && "
				  "printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd "
				  "of=l.so bs=1 seek=40 conv=notrunc "
				  "2>/dev/null",
				  i ? "sysv" : "gnu"));
		obj = ow_object_open("l.so", NULL);
		tab = obj ? ow_symtab_create(obj, NULL) : NULL;
		CHECK(tab);
		for (uint64_t at = 0; tab && at < 0x3000; at++)
			found += ow_symtab_find(tab, at, &sym) &&
				 at == sym.vaddr &&
				 (!strcmp(sym.name, "f") ||
				  !strcmp(sym.name, "g"));
		ow_symtab_destroy(tab);
		ow_object_close(obj);
	}
	CHECK(found == 4);
}

#define LARGE ((size_t)20 << 20)

/* "choice", whose .symtab is this large. */
static struct ow_object *open_large(struct ow_owner own)
{
	struct ow_object *obj = ow_object_open("choice", NULL);
	uint8_t *copy = calloc(1, obj->size + LARGE);
	struct ow_object *ret;
	Elf64_Ehdr *head = (Elf64_Ehdr *)copy;
	Elf64_Shdr *sec;

	memcpy(copy, obj->bytes, obj->size);
	sec = (Elf64_Shdr *)(copy + head->e_shoff);
	for (; sec->sh_type != SHT_SYMTAB; sec++)
		;
	memcpy(copy + obj->size, copy + sec->sh_offset, sec->sh_size);
	sec->sh_offset = obj->size;
	sec->sh_size = LARGE;
	ret = ow_object_from_image(copy, obj->size + LARGE, own, "large", NULL);
	ow_object_close(obj);
	return ret;
}

static bool is_found(struct ow_symtab *tab, uint64_t at)
{
	struct ow_symbol sym;

	return ow_symtab_find(tab, at, &sym);
}

/* Each pass counts in what a user's files may have looked through, and that comes back. */
static void test_passes_are_counted(void)
{
	struct ow_owner own = ow_owner_of(2000);
	struct ow_object *obj = open_large(own);
	struct ow_symtab *tab = ow_symtab_create(obj, NULL);
	int i;

	while (ow_bulk_take(OW_BULK_SYMBOLS, &own, (uint64_t)16 << 20))
		;
	CHECK(is_found(tab, 0x1000));
	CHECK(!is_found(tab, 0x1010));
	CHECK(is_left_out("large: some of its symbols would take too long to "
			  "look through: left out"));
	for (i = 0; i < 500 && !is_found(tab, 0x1010); i++)
		usleep(10000);
	CHECK(i < 500);
	ow_symtab_destroy(tab);
	ow_object_close(obj);
}

/* Any byte may be anything; sanitizers watch. */
static void test_hostile_bytes(void)
{
	struct ow_object *obj = ow_object_open("choice", NULL);
	unsigned int seed = 1;

	for (int i = 0; obj && i < 3000; i++) {
		uint8_t *copy = malloc(obj->size);
		struct ow_object *bad;

		memcpy(copy, obj->bytes, obj->size);
		for (int j = 0; j < 8; j++) {
			size_t at = rand_r(&seed) % obj->size;

			/* headers and tables, not padding */
			if (i & 1)
				at = obj->size - 1 - at % 2600 % obj->size;
			copy[at] = (uint8_t)rand_r(&seed);
		}
		bad = ow_object_from_image(copy, obj->size,
					   (struct ow_owner){ 0 }, "bad", NULL);
		if (bad) {
			struct ow_symtab *tab = ow_symtab_create(bad, NULL);
			struct ow_symbol sym;

			for (uint64_t at = 0xff0; tab && at < 0x10b0; at++)
				if (ow_symtab_find(tab, at, &sym))
					CHECK(strlen(sym.name) < obj->size);
			ow_symtab_destroy(tab);
		}
		ow_object_close(bad);
	}
	ow_object_close(obj);
}

static void wait_for_ever(void *arg)
{
	(void)arg;
	ow_delegate_enter();
	pause();
	ow_delegate_leave();
}

/* Those who make a run wait take no names from others. */
static void test_after_waits(void)
{
	while (!ow_reach_is_spent())
		CHECK(ow_reach(wait_for_ever, NULL) == OW_DELEGATION_GIVEN_UP);
	test_libc_with_its_debug_file();
}

/* An object with the bytes of this program, of a user's. */
static struct ow_object *open_users(uid_t uid)
{
	struct ow_object *self = ow_object_open("/proc/self/exe", NULL), *obj;
	uint8_t *bytes = malloc(self->size);

	memcpy(bytes, self->bytes, self->size);
	obj = ow_object_from_image(bytes, self->size, ow_owner_of(uid), "self",
				   NULL);
	CHECK(obj);
	ow_object_close(self);
	return obj;
}

static bool finds(struct ow_symtab *tab, uint64_t vaddr)
{
	struct ow_symbol sym;

	return ow_symtab_find(tab, vaddr, &sym) &&
	       strcmp(sym.name, "open_users") == 0;
}

/* Symbols that there was no time to look through are there when there is. */
static void test_late(void)
{
	struct ow_object *obj = open_users(1000);
	const uint64_t vaddr = (uint64_t)(uintptr_t)open_users -
			       getauxval(AT_PHDR) + obj->elf.phoff;
	struct ow_symtab *tab;
	uint64_t begun, size;

	for (size = 1 << 28; size; size /= 2)
		while (ow_bulk_take(OW_BULK_SYMBOLS, &obj->owner, size))
			;
	tab = ow_symtab_create(obj, NULL);
	CHECK(tab && !finds(tab, vaddr));
	for (begun = ow_now_ns();
	     !finds(tab, vaddr) && ow_now_ns() - begun < TOO_LONG_NS;)
		usleep(100000);
	CHECK(finds(tab, vaddr));
	ow_symtab_destroy(tab);
	ow_object_close(obj);
}

int main(void)
{
	static const struct test tests[] = {
		{ "choice among symbols", test_choice },
		{ "libc.so.6 and its debug file",
		  test_libc_with_its_debug_file },
		{ "installed programs", test_programs },
		{ "a Rust program", test_rust },
		{ ".gnu_debugdata", test_minidebug },
		{ ".gnu_debuglink", test_debuglink },
		{ "a debug file of another user", test_debug_file_of_others },
		{ "a debug file of another program", test_lying_debug_file },
		{ "debuginfod", test_debuginfod },
		{ "no section headers", test_without_section_headers },
		{ "passes are counted", test_passes_are_counted },
		{ "hostile bytes", test_hostile_bytes },
		{ "a debug file of the system's after long waits",
		  test_after_waits },
		{ "symbols that there was no time for", test_late },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
