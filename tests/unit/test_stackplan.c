// SPDX-License-Identifier: BSD-2-Clause
#include "stackplan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch.h"
#include "mappings.h"
#include "stackcopy.h"
#include "test.h"

#define KIB        1024ULL
#define MIB        (KIB << 10)
#define BASELESS   (256 * KIB) /* where no base is known */
#define RED_ZONE   128
#define GUARD      0x7f0000000000ULL
#define THREAD     0x7f0000001000ULL
#define THREAD_END (THREAD + 8 * MIB)
#define ARENA      0x7f2000000000ULL
#define ARENA_END  (ARENA + 64 * MIB)
#define UNREADABLE 0x7f3000000000ULL
#define STACK      0x7ffc00100000ULL
#define STACK_END  0x7ffc00200000ULL
#define VSYSCALL   0xffffffffff600000ULL
#define NOT_PLANNED  \
	{            \
		0, 0 \
	}

static struct ow_mapping list[] = {
	{ .start = 0x400000, .end = 0x401000, .readable = true, .path = "/p" },
	{ .start = GUARD, .end = THREAD, .path = "" },
	{ .start = THREAD,
	  .end = THREAD_END,
	  .readable = true,
	  .writable = true,
	  .path = "" },
	{ .start = ARENA,
	  .end = ARENA_END,
	  .readable = true,
	  .writable = true,
	  .path = "" },
	{ .start = UNREADABLE, .end = UNREADABLE + 4096, .path = "" },
	{ .start = STACK,
	  .end = STACK_END,
	  .readable = true,
	  .writable = true,
	  .path = "[stack]" },
	{ .start = VSYSCALL,
	  .end = VSYSCALL + 4096,
	  .executable = true,
	  .path = "[vsyscall]" },
};

static struct ow_mappings maps = {
	.list = list,
	.nr = OW_ARRAY_SIZE(list),
};

struct span {
	uint64_t start, end;
};

/* Are exactly these regions planned? */
static bool planned(const struct ow_stackcopy *copy, const struct span *want,
		    size_t nr)
{
	const struct ow_region *r = copy->regions;
	bool same = copy->nr == nr;
	size_t i;

	for (i = 0; i < copy->nr; i++) {
		same = same && r[i].start == want[i].start &&
		       r[i].start + r[i].size == want[i].end;
		if (!same)
			printf("# region %zu: %#llx to %#llx\n", i,
			       (unsigned long long)r[i].start,
			       (unsigned long long)(r[i].start + r[i].size));
	}
	return same;
}

static const struct plan_case {
	const char *name;
	uint64_t sp, tp, limit;
	struct span want[2]; /* the last is the thread's own */
} plan_cases[] = {
	{ "to the thread pointer",
	  THREAD_END - 0x5000,
	  THREAD_END - 0x900,
	  0,
	  { { THREAD_END - 0x5000 - RED_ZONE, THREAD_END - 0x900 } } },
	{ "a quarter of a megabyte where no base is known",
	  THREAD + 0x2000,
	  0,
	  0,
	  { { THREAD + 0x2000 - RED_ZONE, THREAD + 0x2000 + BASELESS } } },
	{ "less than that up to the mapping's end",
	  THREAD_END - 0x3000,
	  0,
	  0,
	  { { THREAD_END - 0x3000 - RED_ZONE, THREAD_END } } },
	{ "a thread pointer below sp tells nothing",
	  ARENA + 0x9000,
	  ARENA + 0x8000,
	  0,
	  { { ARENA + 0x9000 - RED_ZONE, ARENA + 0x9000 + BASELESS } } },
	{ "a thread pointer of elsewhere tells nothing",
	  ARENA + 0x9000,
	  STACK + 0x8000,
	  0,
	  { { ARENA + 0x9000 - RED_ZONE, ARENA + 0x9000 + BASELESS } } },
	{ "no more than the limit",
	  ARENA + 0x9000,
	  ARENA_END - 0x900,
	  64 * KIB,
	  { { ARENA + 0x9000 - RED_ZONE, ARENA + 0x9000 + 64 * KIB } } },
	{ "as much as is asked for where no base is known",
	  ARENA + 0x9000,
	  0,
	  1 * MIB,
	  { { ARENA + 0x9000 - RED_ZONE, ARENA + 0x9000 + 1 * MIB } } },
	{ "no red zone below the mapping",
	  ARENA + 64,
	  0,
	  0,
	  { { ARENA, ARENA + 64 + BASELESS } } },
	{ "all of the main stack",
	  STACK + 0x1000,
	  GUARD + 0x900,
	  0,
	  { { STACK + 0x1000 - RED_ZONE, STACK_END } } },
	{ "the main stack's lowest address",
	  STACK,
	  0,
	  0,
	  { { STACK, STACK_END } } },
	{ "in the guard below a thread's stack",
	  THREAD - 8,
	  THREAD_END - 0x900,
	  0,
	  { { THREAD, THREAD_END - 0x900 } } },
	{ "in the guard, with a limit",
	  THREAD - 8,
	  THREAD_END - 0x900,
	  64 * KIB,
	  { { THREAD, THREAD + 64 * KIB } } },
	{ "at the guard's begin, of no known base",
	  GUARD,
	  0,
	  0,
	  { { THREAD, THREAD + BASELESS } } },
	{ "memory that can't be read, and none above",
	  UNREADABLE + 8,
	  0,
	  0,
	  { NOT_PLANNED } },
	{ "behind all that is mapped",
	  VSYSCALL + 0x10000,
	  0,
	  0,
	  { NOT_PLANNED } },
	/* What has grown and what was there before are read separately: sp may
	   be below what has grown so far. */
	{ "the main stack has grown by a page",
	  STACK - 0x300,
	  0,
	  0,
	  { { STACK - 0x300 - RED_ZONE, STACK }, { STACK, STACK_END } } },
	{ "it has grown, to sp's page and not into the red zone",
	  STACK - 0x5000 + 0x40,
	  0,
	  0,
	  { { STACK - 0x5000, STACK }, { STACK, STACK_END } } },
	{ "it has grown by the most that is tried",
	  STACK - 8 * MIB,
	  0,
	  0,
	  { { STACK - 8 * MIB, STACK }, { STACK, STACK_END } } },
	{ "too far below the main stack",
	  STACK - 8 * MIB - 8,
	  0,
	  0,
	  { { STACK, STACK_END } } },
	{ "it has grown, and the limit is within the old part",
	  STACK - 0x1000,
	  0,
	  64 * KIB,
	  { { STACK - 0x1000, STACK }, { STACK, STACK + 60 * KIB } } },
	{ "it has grown, and the limit is within the new part",
	  STACK - 0x8000,
	  0,
	  4 * KIB,
	  { { STACK - 0x8000, STACK - 0x7000 } } },
	{ "it has grown, and the limit is at its former begin",
	  STACK - 0x8000,
	  0,
	  32 * KIB,
	  { { STACK - 0x8000, STACK } } },
	{ "nothing but the main stack grows",
	  ARENA - 0x300,
	  0,
	  0,
	  { { ARENA, ARENA + BASELESS } } },
};

static void test_plan(void)
{
	const struct plan_case *t = plan_cases, *end;
	struct ow_stackcopy copy;
	struct ow_stackplan plan;
	int failures;
	ssize_t got;
	size_t nr;

	end = t + OW_ARRAY_SIZE(plan_cases);
	for (; t < end; t++) {
		failures = test_failures;
		copy = (struct ow_stackcopy){ 0 };
		plan = (struct ow_stackplan){ .maps = &maps,
					      .copy = &copy,
					      .limit = t->limit };
		got = ow_stackplan_add(&plan, t->sp, t->tp);
		nr = (t->want[0].end != 0) + (t->want[1].end != 0);
		CHECK(got == (ssize_t)nr - 1);
		CHECK(planned(&copy, t->want, nr));
		if (test_failures > failures)
			printf("# %s\n", t->name);
		free(copy.regions);
	}
}

/* Where the program's arguments begin, the main stack's frames end. */
static void test_main_start(void)
{
	static const struct {
		uint64_t sp, start, limit;
		struct span want;
	} cases[] = {
		{ STACK + 0x1000,
		  STACK + 0x2000,
		  0,
		  { STACK + 0x1000 - RED_ZONE, STACK + 0x2000 + 64 } },
		{ STACK + 0x1000,
		  STACK + 0x2000,
		  256,
		  { STACK + 0x1000 - RED_ZONE, STACK + 0x1000 + 256 } },
		/* Who is above it, or where it isn't, has no use for it. */
		{ STACK + 0x3000,
		  STACK + 0x2000,
		  0,
		  { STACK + 0x3000 - RED_ZONE, STACK_END } },
		{ STACK + 0x1000,
		  STACK_END - 64,
		  0,
		  { STACK + 0x1000 - RED_ZONE, STACK_END } },
		{ ARENA + 0x9000,
		  STACK + 0x2000,
		  0,
		  { ARENA + 0x9000 - RED_ZONE, ARENA + 0x9000 + BASELESS } },
	};
	struct ow_stackcopy copy;
	struct ow_stackplan plan;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		copy = (struct ow_stackcopy){ 0 };
		plan = (struct ow_stackplan){ .maps = &maps,
					      .copy = &copy,
					      .limit = cases[i].limit,
					      .main_start = cases[i].start };
		CHECK(ow_stackplan_add(&plan, cases[i].sp, 0) == 0);
		CHECK(planned(&copy, &cases[i].want, 1));
		free(copy.regions);
	}
}

/* A signal stack of three words, in the arena. */
#define ALTSTACK (ARENA + 0x4000)

static const struct home_case {
	const char *name;
	uint64_t words[3];
	uint64_t at; /* of the words */
	bool is_leader;
	uint64_t tp, limit;
	struct span want; /* of what is planned for the home stack */
} home_cases[] = {
	{ "the main stack, from the lowest pointer to it",
	  { STACK + 0x3000, 0x401000, STACK + 0x2000 },
	  ALTSTACK,
	  true,
	  0,
	  0,
	  { STACK + 0x2000 - RED_ZONE, STACK_END } },
	{ "a thread's own, to its thread pointer",
	  { 0, THREAD + 0x2000, STACK + 0x2000 },
	  ALTSTACK,
	  false,
	  THREAD_END - 0x900,
	  0,
	  { THREAD + 0x2000 - RED_ZONE, THREAD_END - 0x900 } },
	{ "after an overflow, all of it",
	  { 0, STACK + 0x2000, STACK - 0x100 },
	  ALTSTACK,
	  true,
	  0,
	  0,
	  { STACK, STACK_END } },
	{ "no more than the limit",
	  { 0, STACK + 0x2000, 0 },
	  ALTSTACK,
	  true,
	  0,
	  64 * KIB,
	  { STACK + 0x2000 - RED_ZONE, STACK + 0x2000 - RED_ZONE + 64 * KIB } },
	{ "nothing points to it",
	  { 0, STACK_END, STACK - MIB },
	  ALTSTACK,
	  true,
	  0,
	  0,
	  NOT_PLANNED },
	{ "no thread pointer, no home",
	  { 0, THREAD + 0x2000, 0 },
	  ALTSTACK,
	  false,
	  0,
	  0,
	  NOT_PLANNED },
	{ "a thread pointer that nothing is mapped at",
	  { 0, THREAD + 0x2000, 0 },
	  ALTSTACK,
	  false,
	  ARENA - 8,
	  0,
	  NOT_PLANNED },
	{ "at home already",
	  { 0, STACK + 0x2000, 0 },
	  STACK + 0x100,
	  true,
	  0,
	  0,
	  NOT_PLANNED },
	{ "at home already, at its lowest address",
	  { 0, STACK + 0x2000, 0 },
	  STACK - RED_ZONE,
	  true,
	  0,
	  0,
	  NOT_PLANNED },
};

static void test_plan_home(void)
{
	const struct home_case *t = home_cases, *end;
	struct ow_stackcopy copy;
	struct ow_stackplan plan;
	struct span want[2];
	int failures;

	end = t + OW_ARRAY_SIZE(home_cases);
	for (; t < end; t++) {
		failures = test_failures;
		copy = (struct ow_stackcopy){ 0 };
		plan = (struct ow_stackplan){ .maps = &maps,
					      .copy = &copy,
					      .limit = t->limit,
					      .main_start = STACK_END - 8 };
		want[0] = (struct span){ t->at, t->at + sizeof(t->words) };
		want[1] = t->want;
		ow_stackcopy_add(&copy, want[0].start, want[0].end);
		copy.regions[0].bytes = (const uint8_t *)t->words;
		ow_stackplan_add_home(&plan, 0, &ow_arch_x86_64, t->is_leader,
				      t->tp);
		CHECK(planned(&copy, want, t->want.end ? 2 : 1));
		if (test_failures > failures)
			printf("# %s\n", t->name);
		free(copy.regions);
	}
}

/* Four bytes a word: pairs of them are no addresses. */
static void test_plan_home_of_32_bits(void)
{
	static const uint32_t words[] = { 0xffe12000, 0xffe11000, 1, 0 };
	struct ow_mapping stack = { .start = 0xffe10000,
				    .end = 0xffe20000,
				    .readable = true,
				    .writable = true,
				    .path = "[stack]" };
	struct ow_mappings one = { .list = &stack, .nr = 1 };
	struct ow_stackcopy copy = { 0 };
	struct ow_stackplan plan = { .maps = &one,
				     .copy = &copy,
				     .main_start = 0xffe1fff0 };
	static const struct span want[] = {
		{ 0x5000, 0x5010 },
		{ 0xffe11000 - RED_ZONE, 0xffe20000 },
	};

	ow_stackcopy_add(&copy, 0x5000, 0x5010);
	copy.regions[0].bytes = (const uint8_t *)words;
	ow_stackplan_add_home(&plan, 0, &ow_arch_i386, true, 0);
	CHECK(planned(&copy, want, 2));
	free(copy.regions);
}

/*
 * A signal frame of x86-64 on a stack in the arena: words from the handler's sp on,
 * ucontext at the fourth.
 */
static void test_plan_interrupted(void)
{
	enum {
		UCONTEXT = 4,
		SP = UCONTEXT + 20,
		CS = UCONTEXT + 23,
		NR = 40
	};

	static const struct {
		const char *name;
		uint64_t sp, cs;
		struct span want[2];
	} cases[] = {
		{ "a coroutine's stack, and home",
		  THREAD + 0x2000,
		  0x002b000000000033,
		  { { STACK + 0x2000 - RED_ZONE, STACK_END },
		    { THREAD + 0x2000 - RED_ZONE,
		      THREAD + 0x2000 + BASELESS } } },
		{ "home, once",
		  STACK + 0x3000,
		  0x33,
		  { { STACK + 0x2000 - RED_ZONE, STACK_END } } },
		{ "the handler's own stack",
		  ALTSTACK + 64,
		  0x33,
		  { { STACK + 0x2000 - RED_ZONE, STACK_END } } },
		{ "no signal frame",
		  THREAD + 0x2000,
		  0x34,
		  { { STACK + 0x2000 - RED_ZONE, STACK_END } } },
		{ "memory that is no stack",
		  0x400100,
		  0x33,
		  { { STACK + 0x2000 - RED_ZONE, STACK_END } } },
	};
	struct ow_stackplan plan = { .maps = &maps,
				     .main_start = STACK_END - 8 };
	struct span want[3] = { { ALTSTACK, ALTSTACK + 8 * NR } };
	uint64_t words[NR] = { [1] = STACK + 0x2000 };
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		struct ow_stackcopy copy = { 0 };
		int failures = test_failures;

		words[SP] = cases[i].sp;
		words[CS] = cases[i].cs;
		memcpy(&want[1], cases[i].want, sizeof(cases[i].want));
		plan.copy = &copy;
		ow_stackcopy_add(&copy, want[0].start, want[0].end);
		copy.regions[0].bytes = (const uint8_t *)words;
		ow_stackplan_add_home(&plan, 0, &ow_arch_x86_64, true, 0);
		CHECK(planned(&copy, want, cases[i].want[1].end ? 3 : 2));
		if (test_failures > failures)
			printf("# %s\n", cases[i].name);
		free(copy.regions);
	}
}

/* A stack that its process may not read, with a page that is there: not after the time. */
static void test_plan_hidden(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t start = (uint64_t)(uintptr_t)at, sp = start + 256;
	const struct span want = { sp - RED_ZONE, start + page };
	struct ow_mapping hidden = { .start = start,
				     .end = start + page,
				     .path = "" };
	struct ow_mappings one = { .list = &hidden, .nr = 1 };
	struct ow_stackcopy copy = { 0 };
	struct ow_stackplan plan = { .maps = &one,
				     .copy = &copy,
				     .pid = getpid() };

	CHECK(at != MAP_FAILED);
	if (at == MAP_FAILED)
		return;
	*at = 1;
	CHECK(mprotect(at, page, PROT_NONE) == 0);
	plan.until_ns = 1;
	CHECK(ow_stackplan_add(&plan, sp, 0) == -1);
	CHECK(ow_stackplan_add(&plan, sp, 0) == -1);
	CHECK(copy.nr == 0 && plan.nr_unasked == 2);
	plan.until_ns = UINT64_MAX;
	CHECK(ow_stackplan_add(&plan, sp, 0) == 0);
	CHECK(planned(&copy, &want, 1) && copy.regions[0].is_hidden);
	/* What may be read isn't asked for. */
	hidden.readable = true;
	plan.until_ns = 1;
	CHECK(ow_stackplan_add(&plan, sp, 0) == 1 && plan.nr_unasked == 2);
	free(copy.regions);
	munmap(at, page);
}

int main(void)
{
	static const struct test tests[] = {
		{ "what is planned of a stack", test_plan },
		{ "the main stack up to the arguments", test_main_start },
		{ "what is planned of the home stack", test_plan_home },
		{ "the home stack of 32 bits", test_plan_home_of_32_bits },
		{ "the stack that a signal interrupted",
		  test_plan_interrupted },
		{ "a stack that may not be read, until there is no time",
		  test_plan_hidden },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
