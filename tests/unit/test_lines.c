// SPDX-License-Identifier: BSD-2-Clause
#include "lines.h"

#include <string.h>

#include <outwind/outwind.h>

#include "object.h"
#include "scratch.h"
#include "test.h"

static const char source[] =
	"#include <stdlib.h>\n"
	"static volatile int sink;\n"
	"static inline __attribute__((always_inline)) int leaf(int x)\n"
	"{\n"
	"	sink = x;\n"
	"	return sink + 1;\n"
	"}\n"
	"struct s {\n"
	"	__attribute__((always_inline)) int method(int x)\n"
	"	{\n"
	"		return leaf(x) + leaf(x + 2);\n"
	"	}\n"
	"};\n"
	"__attribute__((noinline)) int outer(int x)\n"
	"{\n"
	"	struct s s;\n"
	"	if (x > 3)\n"
	"		x = s.method(x);\n"
	"	return abs(x) + leaf(9);\n"
	"}\n"
	"int main(int argc, char **)\n"
	"{\n"
	"	return outer(argc);\n"
	"}\n";

/* With functions in namespaces, lambdas and the library's templates. */
static const char templates[] =
	"#include <algorithm>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"namespace app { namespace {\n"
	"struct item { std::string name; int n; };\n"
	"inline bool less(const item &a, const item &b) { return a.n < b.n; }\n"
	"} }\n"
	"int outer(int x)\n"
	"{\n"
	"	std::vector<app::item> v;\n"
	"	auto add = [&](int n) {\n"
	"		v.push_back({ std::to_string(n), n ^ 5 });\n"
	"	};\n"
	"	for (int i = 0; i < x; i++)\n"
	"		add(i);\n"
	"	std::sort(v.begin(), v.end(), app::less);\n"
	"	return v.size() + v[0].n;\n"
	"}\n"
	"int main(int argc, char **)\n"
	"{\n"
	"	return outer(argc);\n"
	"}\n";

/* Write what ow_lines_find() says in the way of eu-addr2line -a -i -f. */
static size_t write_lines(struct ow_lines *l, FILE *addrs, FILE *out)
{
	struct ow_line calls[OW_LINES_MOST];
	unsigned long long at;
	size_t deepest = 0;

	CHECK(l);
	while (l && fscanf(addrs, "%llx", &at) == 1) {
		size_t nr = ow_lines_find(l, at, calls, OW_LINES_MOST);

		fprintf(out, "0x%016llx\n", at);
		for (size_t i = 0; i < nr; i++) {
			CHECK(calls[i].is_inline == (i + 1 < nr));
			fprintf(out, "%s\n%s:%u:%u\n", calls[i].function,
				calls[i].file, calls[i].line, calls[i].column);
		}
		if (nr > deepest)
			deepest = nr;
	}
	return deepest;
}

static size_t write_ours(const char *path, FILE *addrs, FILE *out)
{
	struct ow_object *obj = ow_object_open(path, NULL);
	struct ow_lines *l = obj ? ow_lines_create(obj, NULL) : NULL;
	size_t deepest = write_lines(l, addrs, out);

	ow_lines_destroy(l);
	ow_object_close(obj);
	return deepest;
}

static size_t write_got(const char *path)
{
	FILE *addrs = fopen("addrs", "re"), *out = fopen("got", "we");
	size_t deepest = write_ours(path, addrs, out);

	fclose(addrs);
	fclose(out);
	return deepest;
}

/*
 * Each instruction of the two functions, compared with eu-addr2line(1); GNU
 * addr2line(1) names some inlined functions by what they are inlined into.
 */
static void check_file(const char *path, size_t deepest)
{
	FILE *addrs, *out;

	CHECK(scratch_run(
		"objdump -d --no-show-raw-insn %s | awk '"
		"/^[0-9a-f]+ </ { on = /<(main|_Z5outeri)>/ } "
		"on && /^ .*:\\t/ && !/nop|xchg/ { print \"0x\" substr($1, 1, "
		"length($1) - 1) }' >addrs && test -s addrs",
		path));
	CHECK(scratch_run("eu-addr2line -a -i -f -e %s <addrs | "
			  "sed 's/ inlined at .*//' >want",
			  path));
	addrs = fopen("addrs", "re");
	out = fopen("got", "we");
	CHECK(write_ours(path, addrs, out) == deepest);
	fclose(addrs);
	fclose(out);
	CHECK(scratch_run("diff want got >&2"));
	/* Of a file that others may write to, pages are copied. */
	CHECK(scratch_run("cp %s w && chmod o+w w", path));
	CHECK(write_got("w") == deepest && scratch_run("diff want got >&2"));
}

static void check_flags(const char *flags)
{
	CHECK(scratch_run("g++ -O2 %s p.cc -o p", flags));
	printf("# %s\n", flags);
	check_file("p", 3);
}

static void test_compiled(void)
{
	scratch_write("p.cc", source);
	check_flags("-gdwarf-4");
	check_flags("-gdwarf-5");
	check_flags("-gdwarf-5 -no-pie");
	check_flags("-gdwarf-4 -gz=zlib");
	check_flags("-gdwarf-5 -fdebug-types-section");
}

static void test_templates(void)
{
	scratch_write("t.cc", templates);
	CHECK(scratch_run("g++ -O2 -g t.cc -o t"));
	check_file("t", 15);
}

static void test_separate(void)
{
	char here[64], path[128];
	FILE *addrs, *out;

	if (!getcwd(here, sizeof(here)))
		return;
	snprintf(path, sizeof(path), "%s/s", here);
	CHECK(scratch_run("objcopy --only-keep-debug "
			  "--compress-debug-sections p p.debug && "
			  "strip p -o s && "
			  "objcopy --add-gnu-debuglink=p.debug s"));
	addrs = fopen("addrs", "re");
	out = fopen("got", "we");
	CHECK(write_ours(path, addrs, out) == 3);
	fclose(addrs);
	fclose(out);
	CHECK(scratch_run("diff want got >&2"));
}

/* What is in a file beside is as what is not (eu-addr2line looks for neither). */
static void test_split(void)
{
	check_flags("-gdwarf-5");
	CHECK(scratch_run("g++ -O2 -gdwarf-5 -gsplit-dwarf p.cc -o s"));
	CHECK(write_got("s") == 3 && scratch_run("diff want got >&2"));
	CHECK(scratch_run("chmod o+w s-p.dwo"));
	CHECK(write_got("s") == 1);
	CHECK(strstr(ow_left_out(0), "s: split DWARF in a file that others "));
	CHECK(!ow_left_out(1));
}

/* Whose the file beside is, is asked once for a unit, and not for each address. */
static void test_split_asked_once(void)
{
	struct ow_object *obj = ow_object_open("s", NULL);
	struct ow_lines *l = obj ? ow_lines_create(obj, NULL) : NULL;
	FILE *addrs = fopen("addrs", "re"), *out = fopen("got", "we");

	CHECK(write_lines(l, addrs, out) == 1);
	CHECK(scratch_run("chmod o-w s-p.dwo"));
	rewind(addrs);
	CHECK(write_lines(l, addrs, out) == 1);
	CHECK(write_got("s") == 3);
	fclose(addrs);
	fclose(out);
	ow_lines_destroy(l);
	ow_object_close(obj);
}

static void test_dwz(void)
{
	if (!scratch_run("which dwz >/dev/null 2>&1")) {
		printf("# no dwz here\n");
		return;
	}
	CHECK(scratch_run("g++ -O2 -gdwarf-4 p.cc -o a && cp a b && "
			  "dwz -m common a b"));
	check_file("a", 3);
}

static void test_nothing(void)
{
	struct ow_object *obj;

	CHECK(scratch_run("g++ -O2 -s p.cc -o bare"));
	obj = ow_object_open("bare", NULL);
	CHECK(obj && !ow_lines_create(obj, NULL));
	ow_object_close(obj);
}

static const char clear[] = "head -c $(stat -c %%s w) /dev/zero | "
			    "dd of=w conv=notrunc status=none";

/* Write to got what is said of addrs. */
static size_t write_again(struct ow_lines *l)
{
	FILE *addrs = fopen("addrs", "re"), *out = fopen("got", "we");
	size_t deepest = write_lines(l, addrs, out);

	fclose(addrs);
	fclose(out);
	return deepest;
}

/* What others write to a file changes nothing of what was read: libdw relies on it. */
static void test_written(void)
{
	struct ow_object *obj;
	struct ow_lines *l;

	check_flags("-gdwarf-5");
	CHECK(scratch_run("cp p w && chmod o+w w"));
	obj = ow_object_open("w", NULL);
	l = obj ? ow_lines_create(obj, NULL) : NULL;
	CHECK(write_again(l) == 3 && scratch_run("diff want got >&2"));
	CHECK(scratch_run(clear));
	CHECK(write_again(l) == 3 && scratch_run("diff want got >&2"));
	ow_lines_destroy(l);
	ow_object_close(obj);
}

/* What others write before it is read first may be anything. */
static void test_written_before(void)
{
	struct ow_object *obj;
	struct ow_lines *l;

	CHECK(scratch_run("cp p w && chmod o+w w"));
	obj = ow_object_open("w", NULL);
	l = obj ? ow_lines_create(obj, NULL) : NULL;
	CHECK(scratch_run(clear));
	write_again(l);
	CHECK(!ow_lines_is_cut(l) && scratch_run("truncate -s 0 w"));
	write_again(l);
	ow_lines_destroy(l);
	ow_object_close(obj);
	CHECK(ow_nr_files_lost() == 0 || strstr(ow_file_lost(0), "w: cut off"));
}

/*
 * Of others' files, too, DWARF may have more bytes than there may be memory for: what a
 * few addresses need of it is little.
 */
static void test_large(void)
{
	uint64_t before = ow_get_memory_limit();

	ow_memory_limit((uint64_t)32 << 20);
	check_flags("-gdwarf-5");
	CHECK(scratch_run("objcopy -O binary --only-section=.debug_str "
			  "--set-section-flags .debug_str=alloc p text && "
			  "head -c 64M /dev/zero | tr '\\0' x >>text && "
			  "objcopy --update-section .debug_str=text p w && "
			  "chmod o+w w"));
	CHECK(write_got("w") == 3 && scratch_run("diff want got >&2"));
	ow_memory_limit(before);
}

static const char long_names[] =
	".text; .globl _start; _start: nop\n"
	".section .debug_abbrev,\"\",@progbits\n"
	".byte 1, 0x11, 0, 0x10, 0x17, 0x11, 1, 0x12, 7, 0, 0, 0\n"
	".section .debug_info,\"\",@progbits\n"
	".long 2f - 1f; 1: .short 5; .byte 1, 8; .long .debug_abbrev\n"
	".byte 1; .long lines; .quad _start, 1; 2:\n"
	".section .debug_str,\"\",@progbits\n"
	"text: .fill 40 << 17, 1, 0x61; .byte 0\n"
	".section .debug_line,\"\",@progbits\n"
	"lines: .long 2f - 1f; 1: .short 5; .byte 8, 0; .long 4f - 3f\n"
	"3: .byte 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1\n"
	".byte 1, 1, 8, 1; .string \"/tmp\"\n"
	".byte 2, 1, 0xe, 2, 0xb, 40\n"
	".set at, 0; .rept 40; .long text + at; .byte 0\n"
	".set at, at + (1 << 17); .endr\n"
	"4: .byte 0, 9, 2; .quad _start; .byte 1, 2, 1, 0, 1, 1; 2:\n";

/*
 * Names of files that have one end: of each a part is copied, and with the next ones all
 * of it is there, when libdw copies them.
 */
static void test_long_names(void)
{
	FILE *f = fopen("n.s", "we");
	struct ow_object *obj;
	struct ow_line call;
	struct ow_lines *l;

	CHECK(f && fputs(long_names, f) >= 0 && fclose(f) == 0);
	CHECK(scratch_run("gcc -nostdlib -static n.s -o n && chmod o+w n"));
	obj = ow_object_open("n", NULL);
	l = obj ? ow_lines_create(obj, NULL) : NULL;
	CHECK(l && ow_lines_find(l, obj->elf.entry, &call, 1) == 1);
	CHECK(l && !call.file && call.line == 0);
	ow_lines_destroy(l);
	ow_object_close(obj);
}

/* Units of some pages each. */
static const char many_units[] =
	".text; .globl _start; _start: .fill 3000, 1, 0x90\n"
	".section .debug_abbrev,\"\",@progbits\n"
	".byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0\n"
	".byte 2, 0x2e, 0, 3, 8, 0x11, 1, 0x12, 7, 0, 0, 0\n"
	".section .debug_info,\"\",@progbits\n"
	".set at, 0; .rept 3000\n"
	".long 8192; .short 5; .byte 1, 8; .long .debug_abbrev\n"
	".byte 1; .quad _start + at, 1\n"
	".byte 2; .string \"f\"; .quad _start + at, 1; .byte 0\n"
	".fill 8192 - 45, 1, 0; .set at, at + 1; .endr\n";

/* A file of others' has more units than there is memory for their pages. */
static void test_many_units(void)
{
	uint64_t before = ow_get_memory_limit();
	FILE *f = fopen("m.s", "we");
	struct ow_object *obj;
	struct ow_line call;
	struct ow_lines *l;

	CHECK(f && fputs(many_units, f) >= 0 && fclose(f) == 0);
	CHECK(scratch_run("gcc -nostdlib -static m.s -o m && chmod o+w m"));
	ow_memory_limit((uint64_t)32 << 20);
	obj = ow_object_open("m", NULL);
	l = obj ? ow_lines_create(obj, NULL) : NULL;
	for (uint64_t at = 0; l && at < 3000; at += 999) {
		CHECK(ow_lines_find(l, obj->elf.entry + at, &call, 1) == 1);
		CHECK(call.function && strcmp(call.function, "f") == 0);
		CHECK(call.start == obj->elf.entry + at);
	}
	CHECK(l);
	ow_lines_destroy(l);
	ow_object_close(obj);
	ow_memory_limit(before);
}

static void test_outside(void)
{
	struct ow_object *obj = ow_object_open("p", NULL);
	struct ow_lines *l = obj ? ow_lines_create(obj, NULL) : NULL;
	struct ow_line call;

	CHECK(l && ow_lines_find(l, 0, &call, 1) == 0);
	CHECK(l && ow_lines_find(l, ~0ULL, &call, 1) == 0);
	ow_lines_destroy(l);
	ow_object_close(obj);
}

int main(void)
{
	static const struct test tests[] = {
		{ "what compilers write", test_compiled },
		{ "separate and compressed", test_separate },
		{ "shared by dwz", test_dwz },
		{ "split off", test_split },
		{ "split DWARF is asked for once", test_split_asked_once },
		{ "names of files that have one end", test_long_names },
		{ "written to by others", test_written },
		{ "written to before it is read", test_written_before },
		{ "more DWARF than memory", test_large },
		{ "more units than memory", test_many_units },
		{ "outside of units", test_outside },
		{ "no DWARF", test_nothing },
		{ "namespaces and templates", test_templates },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
