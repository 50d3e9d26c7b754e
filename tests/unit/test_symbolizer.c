// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "costlyname.h"
#include "demangle.h"
#include "error.h"
#include "scratch.h"
#include "test.h"

#define BASE 0x7f0000000000ULL

/* make_pair<int, int>(), whose name may take long, as far as one can tell from its length. */
#define PAIR                                                                   \
	"_ZSt9make_pairIiiESt4pairINSt25__strip_reference_wrapperINSt5decayIT" \
	"_E4typeEE6__typeENS1_INS2_IT0_E4typeEE6__typeEEOS3_OS8_"

static const char source[] =
	"extern \"C\" int puts(const char *);\n"
	"static inline __attribute__((always_inline)) int leaf(int x)\n"
	"{\n"
	"	return puts(\"\") + x;\n"
	"}\n"
	"namespace n {\n"
	"__attribute__((noinline)) int outer(int x)\n"
	"{\n"
	"	return leaf(x) * 3;\n"
	"}\n"
	"}\n"
	"extern \"C\" __attribute__((noinline)) int pair(int x)\n"
	"	__asm__(\"" PAIR "\");\n"
	"int pair(int x)\n"
	"{\n"
	"	return x + 1;\n"
	"}\n"
	"int main(int argc, char **)\n"
	"{\n"
	"	return n::outer(pair(argc));\n"
	"}\n";

static struct ow_object *open_object(struct ow_capture *c,
				     struct ow_capture_module *m,
				     struct ow_error *err)
{
	(void)c;
	return ow_object_open(m->path, err);
}

/* One module, all of whose file is mapped at BASE as by ld.so. */
static struct ow_capture *make_capture(const char *path)
{
	struct ow_object *obj = ow_object_open(path, NULL);
	struct ow_capture *c = ow_capture_create(NULL);

	if (!obj || !c)
		abort();
	c->open = open_object;
	c->target.arch = obj->elf.arch;
	c->modules = calloc(1, sizeof(*c->modules));
	c->nr_modules = 1;
	c->modules[0].path = strdup(path);
	c->modules[0].start = BASE;
	c->modules[0].end = BASE + obj->size;
	c->ranges = calloc(1, sizeof(*c->ranges));
	c->ranges[0] = (struct ow_range){ BASE, BASE + obj->size,
					  &c->modules[0].base };
	c->target.map.nr = 1;
	ow_capture_sort(c);
	ow_object_close(obj);
	return c;
}

/* The number that a command prints. */
static uint64_t ask(const char *command)
{
	unsigned long long at = 0;
	FILE *f = popen(command, "r");

	if (!f || fscanf(f, "%llx", &at) != 1)
		printf("# %s failed\n", command);
	if (f)
		pclose(f);
	return at;
}

#define OUTER   "nm p | awk '$3 == \"_ZN1n5outerEi\" { print $1 }'"
#define PAIR_AT "nm p | awk '$3 == \"" PAIR "\" { print $1 }'"
#define STUB    "objdump -d p | awk '/<puts@plt>:/ { print $1 }'"
#define AFTER_PUTS                                   \
	"objdump -d --no-show-raw-insn p | awk '"    \
	"/^[0-9a-f]+ </ { on = /<_ZN1n5outerEi>/ } " \
	"seen { print $1; exit } on && /call.*puts/ { seen = 1 }'"

static bool is(const char *got, const char *want)
{
	if (got && want ? strcmp(got, want) == 0 : got == want)
		return true;
	printf("# %s, not %s\n", got ? got : "(null)", want ? want : "(null)");
	return false;
}

static void test_names(void)
{
	uint64_t outer = ask(OUTER);
	uint64_t after = ask(AFTER_PUTS);
	struct ow_frame f = { .pc = BASE + after, .flags = OW_FRAME_RETURN };
	struct ow_capture *c = make_capture("p");
	struct ow_symbolizer *s = ow_symbolizer_create(c, 0, NULL);
	struct ow_name n[4];

	CHECK(outer && after > outer);
	for (int twice = 0; twice < 2; twice++) {
		CHECK(ow_symbolizer_name(s, &f, n, 4) == 1);
		CHECK(is(n[0].function, "n::outer(int)"));
		CHECK(n[0].offset == after - outer);
		CHECK(n[0].module_offset == after);
		CHECK(is(n[0].module, "p"));
		CHECK(n[0].build_id && strlen(n[0].build_id) == 40);
		CHECK(!n[0].file && !n[0].line && !n[0].is_inline);
	}
	/* The first instruction's pc, as a return address, is of another. */
	f = (struct ow_frame){ .pc = BASE + outer };
	CHECK(ow_symbolizer_name(s, &f, n, 4) == 1);
	CHECK(is(n[0].function, "n::outer(int)") && n[0].offset == 0);
	f.flags = OW_FRAME_RETURN;
	CHECK(ow_symbolizer_name(s, &f, n, 4) == 1);
	CHECK(!n[0].function || strcmp(n[0].function, "n::outer(int)") != 0);
	/* Behind a signal it is not a return address after all. */
	f.flags = OW_FRAME_RETURN | OW_FRAME_SIGNAL;
	CHECK(ow_symbolizer_name(s, &f, n, 4) == 1);
	CHECK(is(n[0].function, "n::outer(int)") && n[0].offset == 0);
	ow_symbolizer_destroy(s);
	ow_capture_destroy(c);
}

static void test_flags(void)
{
	uint64_t after = ask(AFTER_PUTS);
	struct ow_frame f = { .pc = BASE + after, .flags = OW_FRAME_RETURN };
	struct ow_capture *c = make_capture("p");
	struct ow_symbolizer *s;
	struct ow_name n[4];

	s = ow_symbolizer_create(c, OW_SYMBOLIZER_RAW, NULL);
	CHECK(ow_symbolizer_name(s, &f, n, 4) == 1);
	CHECK(is(n[0].function, "_ZN1n5outerEi"));
	ow_symbolizer_destroy(s);

	s = ow_symbolizer_create(c, OW_SYMBOLIZER_INLINES, NULL);
	CHECK(ow_symbolizer_name(s, &f, n, 4) == 2);
	CHECK(is(n[0].function, "leaf(int)") || is(n[0].function, "leaf"));
	CHECK(n[0].is_inline && !n[1].is_inline && !n[0].file);
	CHECK(is(n[1].function, "n::outer(int)"));
	CHECK(ow_symbolizer_name(s, &f, n, 1) == 1 && n[0].is_inline);
	ow_symbolizer_destroy(s);

	s = ow_symbolizer_create(c, OW_SYMBOLIZER_LINES, NULL);
	CHECK(ow_symbolizer_name(s, &f, n, 4) == 1);
	CHECK(is(n[0].function, "n::outer(int)") && n[0].line == 4);
	ow_symbolizer_destroy(s);

	s = ow_symbolizer_create(c, OW_SYMBOLIZER_INLINES | OW_SYMBOLIZER_LINES,
				 NULL);
	CHECK(ow_symbolizer_name(s, &f, n, 4) == 2);
	CHECK(n[0].line == 4 && n[1].line == 9 && n[1].column > 0);
	CHECK(n[0].file && strstr(n[0].file, "/p.cc"));
	ow_symbolizer_destroy(s);
	ow_capture_destroy(c);
}

static void test_stub(void)
{
	uint64_t stub = ask(STUB);
	struct ow_frame f = { .pc = BASE + stub + 6 };
	struct ow_capture *c = make_capture("p");
	struct ow_symbolizer *s = ow_symbolizer_create(c, 0, NULL);
	struct ow_name n;

	CHECK(ow_symbolizer_name(s, &f, &n, 1) == 1);
	CHECK(is(n.function, "puts@plt") && n.offset == 6);
	ow_symbolizer_destroy(s);
	ow_capture_destroy(c);
}

static void test_jit(void)
{
	struct ow_frame f = { .pc = 0x1008 };
	struct ow_capture *c = make_capture("p");
	struct ow_symbolizer *s;
	struct ow_name n;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	scratch_write(path, "1000 10 jitted code\n");
	c->pid = getpid();
	c->live = getpid();
	s = ow_symbolizer_create(c, 0, NULL);
	CHECK(ow_symbolizer_name(s, &f, &n, 1) == 1);
	CHECK(is(n.function, "jitted code") && n.offset == 8);
	CHECK(n.module && strstr(n.module, "/tmp/perf-"));
	f.pc = 0x2000;
	CHECK(ow_symbolizer_name(s, &f, &n, 1) == 1);
	CHECK(!n.function && !n.module && n.module_offset == 0x2000);
	ow_symbolizer_destroy(s);
	unlink(path);
	ow_capture_destroy(c);
}

/* More results than the first tables hold. */
static void test_many(void)
{
	struct ow_capture *c = make_capture("p");
	struct ow_symbolizer *s =
		ow_symbolizer_create(c, OW_SYMBOLIZER_INLINES, NULL);
	uint64_t outer = ask(OUTER);
	struct ow_name n[4];
	const char *first = NULL;

	for (int round = 0; round < 2; round++)
		for (uint64_t at = 0; at < 5000; at++) {
			struct ow_frame f = { .pc = BASE + at };
			size_t nr = ow_symbolizer_name(s, &f, n, 4);

			CHECK(nr >= 1 && n[0].module_offset == at);
			if (at != outer)
				continue;
			CHECK(is(n[nr - 1].function, "n::outer(int)"));
			CHECK(!first || first == n[nr - 1].function);
			first = n[nr - 1].function;
		}
	CHECK(first);
	ow_symbolizer_destroy(s);
	ow_capture_destroy(c);
}

/* The name of a function for a user. */
static const char *name_for(struct ow_symbolizer *s, uid_t uid,
			    const struct ow_frame *f)
{
	struct ow_name n;

	ow_symbolizer_ask_for(s, uid);
	CHECK(ow_symbolizer_name(s, f, &n, 1) == 1);
	return n.function;
}

/* What there was no room for when one user asked is named for others. */
static void test_users(void)
{
	struct ow_frame outer = { .pc = BASE + ask(OUTER) };
	struct ow_frame stub = { .pc = BASE + ask(STUB) };
	struct ow_capture *c = make_capture("p");
	struct ow_symbolizer *s = ow_symbolizer_create(c, 0, NULL);
	uint64_t limit = ow_get_memory_limit();
	const char *name;

	CHECK(is(name_for(s, 1, &stub), "puts@plt"));
	ow_memory_limit(0);
	CHECK(!name_for(s, 1, &outer));
	ow_memory_limit(limit);
	name = name_for(s, 2, &outer);
	CHECK(is(name, "n::outer(int)"));
	CHECK(name_for(s, 1, &outer) == name && name_for(s, 0, &outer) == name);
	ow_symbolizer_destroy(s);
	ow_capture_destroy(c);
}

/* A name that is raw as one user has no time left is readable for others. */
static void test_times(void)
{
	struct ow_frame f = { .pc = BASE + ask(PAIR_AT) };
	struct ow_capture *c = make_capture("p");
	struct ow_symbolizer *s = ow_symbolizer_create(c, 0, NULL);
	const char *name;

	costlyname_use_up(1);
	CHECK(is(name_for(s, 1, &f), PAIR));
	name = name_for(s, 2, &f);
	CHECK(name && strstr(name, " std::make_pair<int, int>("));
	CHECK(name_for(s, 3, &f) == name && name_for(s, 0, &f) == name);
	ow_symbolizer_destroy(s);
	ow_capture_destroy(c);
}

/* What there was no room for has it again after a drop, and what had a name has it anew. */
static void test_drop(void)
{
	struct ow_frame outer = { .pc = BASE + ask(OUTER) };
	struct ow_frame stub = { .pc = BASE + ask(STUB) };
	struct ow_capture *c = make_capture("p");
	struct ow_symbolizer *s = ow_symbolizer_create(c, 0, NULL);
	uint64_t limit = ow_get_memory_limit();

	CHECK(is(name_for(s, 1, &stub), "puts@plt"));
	CHECK(!ow_symbolizer_lacks_names(s));
	ow_memory_limit(0);
	CHECK(!name_for(s, 1, &outer));
	ow_memory_limit(limit);
	CHECK(ow_symbolizer_lacks_names(s));
	ow_symbolizer_drop_names(s);
	CHECK(!ow_symbolizer_lacks_names(s));
	CHECK(is(name_for(s, 1, &outer), "n::outer(int)"));
	CHECK(is(name_for(s, 1, &stub), "puts@plt"));
	ow_symbolizer_destroy(s);
	ow_capture_destroy(c);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names and offsets", test_names },
		{ "flags", test_flags },
		{ "a stub", test_stub },
		{ "JIT code", test_jit },
		{ "many names", test_many },
		{ "names for users", test_users },
		{ "names that one user has no time for", test_times },
		{ "names that are dropped", test_drop },
	};

	scratch_enter();
	scratch_write("p.cc", source);
	if (!scratch_run("g++ -g -O2 p.cc -o p"))
		return 1;
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
