// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tables made from CFI: the rows of assembled functions, whole; holes, what is
 * too rare for a table, FDEs that overlap.
 */
#include "tablegen.h"

#include <string.h>

#include "error.h"
#include "object.h"
#include "scratch.h"
#include "table.h"
#include "test.h"

/* List a source's rows by its table, from and to relative to .text. */
static bool rows_are(const char *source, const char *flags, const char *want)
{
	scratch_write("a.s", source);
	scratch_write("want", want);
	if (!scratch_run("cc -nostdlib -shared %s -Wl,-Ttext=0x10000 a.s "
			 "-o a.so",
			 flags))
		return false;
	FILE *out = fopen("got", "we");
	struct ow_error err;
	int failed = ow_rows_print("a.so", true, out, &err);

	fclose(out);
	if (failed)
		printf("# %s\n", err.msg);
	return !failed && scratch_run("diff want got | sed 's/^/# /'; "
				      "cmp -s want got");
}

static void test_prologue_and_epilogue(void)
{
	CHECK(rows_are("f: .cfi_startproc\n"
		       "push %rbp\n .cfi_def_cfa_offset 16\n"
		       ".cfi_offset rbp, -16\n"
		       "push %rbx\n .cfi_def_cfa_offset 24\n"
		       ".cfi_offset rbx, -24\n"
		       "nop\n pop %rbx\n .cfi_def_cfa_offset 16\n"
		       "pop %rbp\n .cfi_def_cfa_offset 8\n ret\n"
		       ".cfi_endproc\n",
		       "",
		       "0x10000 0x10001 cfa=rsp+8 rip=c-8\n"
		       "0x10001 0x10002 cfa=rsp+16 rip=c-8 rbp=c-16\n"
		       "0x10002 0x10004 cfa=rsp+24 rip=c-8 rbp=c-16 rbx=c-24\n"
		       "0x10004 0x10005 cfa=rsp+16 rip=c-8 rbp=c-16 rbx=c-24\n"
		       "0x10005 0x10006 cfa=rsp+8 rip=c-8 rbp=c-16 rbx=c-24\n"));
}

/* Thirty functions alike give one sequence, and the same rows. */
static void test_sequences_give_the_same_rows(void)
{
	char source[8192] = "", want[16384] = "";
	size_t s = 0, w = 0;
	unsigned int i, at;

	for (i = 0; i < 30; i++) {
		at = 0x10000 + 32 * i;
		s += snprintf(source + s, sizeof(source) - s,
			      ".p2align 5\n .cfi_startproc\n push %%rbp\n"
			      ".cfi_def_cfa_offset 16\n push %%rbx\n"
			      ".cfi_def_cfa_offset 24\n nop\n nop\n"
			      ".cfi_def_cfa_offset 16\n ret\n"
			      ".cfi_endproc\n");
		w += snprintf(want + w, sizeof(want) - w,
			      "%#x %#x cfa=rsp+8 rip=c-8\n"
			      "%#x %#x cfa=rsp+16 rip=c-8\n"
			      "%#x %#x cfa=rsp+24 rip=c-8\n"
			      "%#x %#x cfa=rsp+16 rip=c-8\n",
			      at, at + 1, at + 1, at + 2, at + 2, at + 4,
			      at + 4, at + 5);
		if (i < 29)
			w += snprintf(want + w, sizeof(want) - w,
				      "%#x %#x none\n", at + 5, at + 32);
	}
	CHECK(rows_are(source, "", want));
}

static void test_holes(void)
{
	/* Alignment, code without CFI, and a byte that ends stacks. */
	CHECK(rows_are("f: .cfi_startproc\n push %rax\n"
		       ".cfi_def_cfa_offset 16\n pop %rax\n ret\n"
		       ".cfi_endproc\n"
		       ".p2align 4\n"
		       "g: .cfi_startproc\n nop\n ret\n .cfi_endproc\n"
		       "h: xor %eax, %eax\n ret\n"
		       "i: .cfi_startproc\n ret\n .cfi_endproc\n nop\n"
		       "j: .cfi_startproc\n ret\n .cfi_endproc\n",
		       "",
		       "0x10000 0x10001 cfa=rsp+8 rip=c-8\n"
		       "0x10001 0x10003 cfa=rsp+16 rip=c-8\n"
		       "0x10003 0x10010 none\n"
		       "0x10010 0x10012 cfa=rsp+8 rip=c-8\n"
		       "0x10012 0x10015 none\n"
		       "0x10015 0x10016 cfa=rsp+8 rip=c-8\n"
		       "0x10016 0x10017 none\n"
		       "0x10017 0x10018 cfa=rsp+8 rip=c-8\n"));
}

static void test_what_is_rare_is_left_to_the_cfi(void)
{
	CHECK(rows_are("f: .cfi_startproc\n nop\n"
		       ".cfi_escape 0x0f, 3, 0x77, 8, 0x06\n nop\n"
		       ".cfi_def_cfa rsp, 12\n nop\n"
		       ".cfi_def_cfa rsp, 0x100000\n nop\n"
		       ".cfi_def_cfa rbp, 16\n nop\n"
		       ".cfi_val_offset rbx, -16\n nop\n .cfi_endproc\n",
		       "",
		       "0x10000 0x10001 cfa=rsp+8 rip=c-8\n"
		       "0x10001 0x10004 escape\n"
		       "0x10004 0x10005 cfa=rbp+16 rip=c-8\n"
		       "0x10005 0x10006 escape\n"));
}

static void test_flags(void)
{
	CHECK(rows_are("f: .cfi_startproc\n .cfi_undefined rip\n nop\n"
		       ".cfi_endproc\n"
		       "g: .cfi_startproc\n .cfi_signal_frame\n nop\n"
		       ".cfi_endproc\n",
		       "",
		       "0x10000 0x10001 cfa=rsp+8 outermost\n"
		       "0x10001 0x10002 cfa=rsp+8 rip=c-8 signal\n"));
}

/* That a register is saved, or that the CFA is, so far from rsp. */
static size_t say_save(char *buf, size_t size, unsigned int reg, int off)
{
	return snprintf(buf, size, ".cfi_escape 0x10, %u, 3, 0x77, %#x, %#x\n",
			reg, (off & 0x7f) | 0x80, off >> 7);
}

/* As glibc's __restore_rt has it; behind, where rip is said to be. */
static bool signal_is(int rip, const char *more, const char *want)
{
	/* By DWARF numbers: where the kernel stores rax to r15. */
	static const uint8_t places[16] = { 144, 136, 152, 128, 112, 104,
					    120, 160, 40,  48,  56,  64,
					    72,  80,  88,  96 };
	char source[2048];
	size_t s;
	unsigned int i;

	s = snprintf(source, sizeof(source),
		     "f: .cfi_startproc\n .cfi_signal_frame\n%s"
		     ".cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06\n",
		     more);
	for (i = 0; i < 16; i++)
		s += say_save(source + s, sizeof(source) - s, i, places[i]);
	s += say_save(source + s, sizeof(source) - s, 16, rip);
	snprintf(source + s, sizeof(source) - s, "nop\n .cfi_endproc\n");
	return rows_are(source, "", want);
}

static void test_signal_frame(void)
{
	static const char known[] =
		"0x10000 0x10001 cfa=(rsp+160) r8=(rsp+40) r9=(rsp+48) "
		"r10=(rsp+56) r11=(rsp+64) r12=(rsp+72) r13=(rsp+80) "
		"r14=(rsp+88) r15=(rsp+96) rdi=(rsp+104) rsi=(rsp+112) "
		"rbp=(rsp+120) rbx=(rsp+128) rdx=(rsp+136) rax=(rsp+144) "
		"rcx=(rsp+152) rip=(rsp+168) signal\n";

	CHECK(signal_is(168, "", known));
	/* a vector register besides, which isn't followed */
	CHECK(signal_is(168, ".cfi_escape 0x10, 17, 2, 0x77, 8\n", known));
	CHECK(signal_is(176, "", "0x10000 0x10001 escape\n"));
}

static void test_not_a_signal_frame(void)
{
	/* rip alone, and the CFA where it should be */
	CHECK(rows_are("f: .cfi_startproc\n .cfi_signal_frame\n"
		       ".cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06\n"
		       ".cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01\n"
		       "nop\n .cfi_endproc\n",
		       "", "0x10000 0x10001 escape\n"));
}

static void test_large_frame_pages(void)
{
	/* A row that holds across pages without a row of their own. */
	CHECK(rows_are("f: .cfi_startproc\n nop\n .cfi_def_cfa_offset 24\n"
		       ".skip 0x30000, 0x90\n .cfi_def_cfa_offset 8\n ret\n"
		       ".cfi_endproc\n",
		       "",
		       "0x10000 0x10001 cfa=rsp+8 rip=c-8\n"
		       "0x10001 0x40001 cfa=rsp+24 rip=c-8\n"
		       "0x40001 0x40002 cfa=rsp+8 rip=c-8\n"));
}

static void test_no_cfi(void)
{
	struct ow_table_stats stats;
	struct ow_error err;
	struct ow_object *obj;
	size_t size;

	scratch_write("a.s", "f: ret\n");
	CHECK(scratch_run("cc -nostdlib -shared a.s -o a.so"));
	obj = ow_object_open("a.so", &err);
	CHECK(obj && ow_object_load_cfi(obj, &err) == 0);
	CHECK(ow_table_generate(obj, &size, &stats, NULL, &err) == NULL);
	CHECK(err.code == OW_CODE_ABSENT);
	ow_object_close(obj);
}

static void test_given_up(void)
{
	const bool go = false, stop = true;
	struct ow_table_stats stats;
	struct ow_object *obj;
	struct ow_error err;
	uint8_t *bytes;
	size_t size;

	scratch_write("a.c", "int f(int x) { return x; }\n");
	CHECK(scratch_run("cc -shared a.c -o a.so"));
	obj = ow_object_open("a.so", &err);
	CHECK(obj && ow_object_load_cfi(obj, &err) == 0);
	bytes = ow_table_generate_all(obj, &size, &stats, &go, &err);
	CHECK(bytes != NULL);
	free(bytes);
	CHECK(!ow_table_generate_all(obj, &size, &stats, &stop, &err));
	CHECK(err.code == OW_CODE_ABSENT);
	CHECK(!ow_table_generate(obj, &size, &stats, &stop, &err));
	CHECK(err.code == OW_CODE_ABSENT);
	ow_object_close(obj);
}

int main(void)
{
	static const struct test tests[] = {
		{ "prologue and epilogue", test_prologue_and_epilogue },
		{ "sequences", test_sequences_give_the_same_rows },
		{ "holes", test_holes },
		{ "rare rows", test_what_is_rare_is_left_to_the_cfi },
		{ "flags", test_flags },
		{ "signal frame", test_signal_frame },
		{ "not a signal frame", test_not_a_signal_frame },
		{ "pages", test_large_frame_pages },
		{ "no CFI", test_no_cfi },
		{ "given up", test_given_up },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
