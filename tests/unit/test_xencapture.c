// SPDX-License-Identifier: BSD-2-Clause
/* Stacks of a guest behind the seam: what is asked for, and what fails. */
#include <stdio.h>

#include "capture.h"
#include "fakexen.h"
#include "test.h"
#include "xendomain.h"

#define TOP0 0xffff800000100000ULL
#define TOP1 0xffff800000200000ULL
#define PC   0xffffffff81000010ULL
#define MOST 4096

static struct fake_xen f;
static uint64_t root;
static struct ow_xen *x;
static struct ow_capture *c;
static struct ow_error err;
static struct ow_frame frames[MOST];
static enum ow_end end;

static void open_domain(void)
{
	err = (struct ow_error){ 0 };
	x = ow_xen_from_seam(&f.seam, "guest", &err);
}

static void take(bool no_pause)
{
	const struct ow_capture_options options = {
		.stopping = no_pause ? OW_STOPPING_NEVER : OW_STOPPING_ALL
	};

	if (x)
		err = (struct ow_error){ 0 };
	c = x ? ow_capture_xen(x, NULL, &options, &err) : NULL;
}

static void finish(void)
{
	ow_capture_destroy(c);
	ow_xen_close(x);
	c = NULL;
	x = NULL;
	CHECK(f.nr_regions == 0 && f.nr_mapped == 0);
	CHECK(f.is_closed);
}

/* Two vCPUs with chains of so many records. */
static void make_guest(unsigned int nr0, unsigned int nr1)
{
	fake_begin(&f, 2);
	root = fake_make_tables(&f);
	fake_chain(&f, 0, root, TOP0, 1 + nr0 * 64 / OW_XEN_PAGE, PC, nr0, 64);
	fake_chain(&f, 1, root, TOP1, 1 + nr1 * 64 / OW_XEN_PAGE, PC + 0x10000,
		   nr1, 64);
	open_domain();
}

/* All frames of the chain, the outermost one among them, and no more. */
static bool is_whole(size_t i, uint64_t pc, unsigned int nr)
{
	size_t n = ow_capture_walk(c, i, frames, MOST, &end, &err), k;

	if (n != nr + 1 || end != OW_END_OUTERMOST)
		return false;
	for (k = 0; k < n; k++)
		if (frames[k].pc != pc + k * 0x100)
			return false;
	return true;
}

static void test_stacks(void)
{
	make_guest(5, 20);
	take(false);
	CHECK(c && ow_capture_nr_threads(c) == 2);
	CHECK(is_whole(0, PC, 5) && is_whole(1, PC + 0x10000, 20));
	CHECK(ow_capture_thread(c, 1)->tid == 1);
	CHECK(strcmp(ow_capture_thread(c, 1)->name, "vCPU 1") == 0);
	CHECK(ow_capture_thread(c, 0)->stopped &&
	      ow_capture_thread(c, 0)->certain);
	CHECK(strcmp(ow_capture_program(c), "xen:guest") == 0);
	CHECK(f.pauses == 0 && f.most_pauses == 1);
	finish();
}

/* Warm: a pause, each vCPU, an unpause; all pages are mapped already. */
static void test_counts(void)
{
	struct ow_capture_stats st;
	unsigned int before, i;

	make_guest(5, 20);
	take(false);
	CHECK(c);
	for (i = 0; i < 10; i++) {
		before = f.total;
		CHECK(!ow_capture_again(c, &err));
		CHECK(f.total - before == 2 + 2);
		ow_capture_stats(c, &st);
		CHECK(st.hypercalls == 4 && st.mappings == 0);
		CHECK(is_whole(1, PC + 0x10000, 20));
	}
	finish();
}

/* New pages of a stack are mapped by one call, all together. */
static void test_new_pages(void)
{
	struct ow_capture_stats st;

	make_guest(5, 5);
	take(false);
	CHECK(c);
	fake_chain(&f, 1, root, TOP0 - 8 * OW_XEN_PAGE, 3, PC, 150, 64);
	CHECK(!ow_capture_again(c, &err));
	CHECK(is_whole(1, PC, 150));
	ow_capture_stats(c, &st);
	CHECK(st.mappings == 1);
	fake_chain(&f, 0, root, TOP0 - 16 * OW_XEN_PAGE, 1, PC, 9, 64);
	CHECK(!ow_capture_again(c, &err) && is_whole(0, PC, 9));
	ow_capture_stats(c, &st);
	CHECK(st.mappings == 1);
	finish();
}

/* The copies grow until stacks are whole, and stay so. */
static void test_deep(void)
{
	make_guest(1000, 3);
	take(false);
	CHECK(c && is_whole(0, PC, 1000) && is_whole(1, PC + 0x10000, 3));
	CHECK(!ow_capture_again(c, &err));
	CHECK(is_whole(0, PC, 1000));
	finish();
	make_guest(3000, 3);
	take(false);
	CHECK(c && is_whole(0, PC, 3000));
	finish();
}

/* Each copy of a sample that takes several is part of what that cost. */
static void test_growing_counts(void)
{
	struct ow_capture_stats st;

	make_guest(3, 3);
	take(false);
	CHECK(c);
	f.calls[FAKE_PAUSE] = f.calls[FAKE_VCPU] = f.calls[FAKE_UNPAUSE] = 0;
	fake_chain(&f, 0, root, TOP0 - 64 * OW_XEN_PAGE, 17, PC, 1000, 64);
	CHECK(!ow_capture_again(c, &err) && is_whole(0, PC, 1000));
	ow_capture_stats(c, &st);
	CHECK(f.calls[FAKE_PAUSE] > 1);
	CHECK(st.hypercalls ==
	      f.calls[FAKE_PAUSE] + f.calls[FAKE_VCPU] + f.calls[FAKE_UNPAUSE]);
	CHECK(st.longest_ns < st.freeze_ns);
	finish();
}

/* After a sample that failed there is nothing to walk, least of all freed. */
static void test_failed_again(void)
{
	make_guest(3, 3);
	take(false);
	CHECK(c && is_whole(0, PC, 3));
	/* Seen to be longer than its copy, which is to grow. */
	fake_chain(&f, 0, root, TOP0 - 64 * OW_XEN_PAGE, 17, PC, 1000, 64);
	f.fail_at = f.total + 5; /* pause, two vCPUs, unpause, and again */
	f.fail_errno = EPERM;
	CHECK(ow_capture_again(c, &err));
	CHECK(!ow_capture_thread(c, 0)->captured &&
	      !ow_capture_thread(c, 1)->captured);
	CHECK(ow_capture_thread(c, 0)->why.msg[0]);
	CHECK(ow_capture_walk(c, 0, frames, MOST, &end, &err) == 0);
	f.fail_at = 0;
	CHECK(!ow_capture_again(c, &err) && is_whole(0, PC, 1000));
	finish();
}

/* What it takes until the copies are long enough is of the sample, too. */
static void test_counts_of_tries(void)
{
	struct ow_capture_stats st;
	unsigned int before[FAKE_NR_CALLS], pauses;

	make_guest(5, 3);
	take(false);
	CHECK(c);
	fake_chain(&f, 0, root, TOP0 - 64 * OW_XEN_PAGE, 17, PC, 1000, 64);
	memcpy(before, f.calls, sizeof(before));
	CHECK(!ow_capture_again(c, &err) && is_whole(0, PC, 1000));
	ow_capture_stats(c, &st);
	pauses = f.calls[FAKE_PAUSE] - before[FAKE_PAUSE];
	CHECK(pauses > 1);
	CHECK(st.hypercalls == pauses * (2 + 2));
	CHECK(st.mappings == f.calls[FAKE_MAP] - before[FAKE_MAP]);
	CHECK(st.freeze_ns > st.longest_ns && st.longest_ns > 0);
	finish();
}

/*
 * A chain of ten that leaves the first stack, of eight records, with its nr-th
 * one, for the rest of them on another stack.
 */
static void leave_stack(unsigned int nr, uint64_t top)
{
	fake_chain(&f, 0, root, top, 1, PC + nr * 0x100, 10 - nr, 64);
	fake_chain(&f, 0, root, TOP0, 1, PC, 8, 64);
	fake_poke(&f, root, TOP0 - (9 - nr) * 64, top - (10 - nr) * 64);
}

/* The word that leads to the other stack is not always the same one. */
static void test_left(void)
{
	make_guest(5, 3);
	leave_stack(4, TOP1 + 0x100000);
	take(false);
	CHECK(c && is_whole(0, PC, 10));
	leave_stack(6, TOP1 + 0x200000);
	CHECK(!ow_capture_again(c, &err) && is_whole(0, PC, 10));
	leave_stack(3, TOP1 + 0x300000);
	CHECK(!ow_capture_again(c, &err) && is_whole(0, PC, 10));
	leave_stack(6, TOP1 + 0x400000);
	CHECK(!ow_capture_again(c, &err) && is_whole(0, PC, 10));
	/* The one of before is there, but the stack is left earlier. */
	leave_stack(2, TOP1 + 0x500000);
	fake_poke(&f, root, TOP0 - (9 - 6) * 64, TOP1 - 64);
	CHECK(!ow_capture_again(c, &err) && is_whole(0, PC, 10));
	finish();
}

static void test_down(void)
{
	make_guest(3, 3);
	f.run[0].online = false;
	take(false);
	CHECK(c && !ow_capture_thread(c, 0)->captured);
	CHECK(ow_capture_thread(c, 0)->state == '-');
	CHECK(strstr(ow_capture_thread(c, 0)->why.msg, "down"));
	CHECK(is_whole(1, PC + 0x10000, 3));
	finish();
	/* Never brought up: the call says so. */
	make_guest(3, 3);
	f.vcpu_err[1] = -ENODATA;
	take(false);
	CHECK(c && !ow_capture_thread(c, 1)->captured);
	CHECK(strstr(ow_capture_thread(c, 1)->why.msg, "down"));
	CHECK(is_whole(0, PC, 3));
	finish();
}

/* A frame that can't be mapped, or has gone, is missing of one stack only. */
static void test_faults(void)
{
	make_guest(300, 4);
	/* Frames of the first stack: its fourth table's come before. */
	f.bad_frame = FAKE_FIRST + 5;
	take(false);
	CHECK(c && !is_whole(0, PC, 300) && end == OW_END_FAULT);
	CHECK(is_whole(1, PC + 0x10000, 4));
	f.bad_frame = 0;
	CHECK(!ow_capture_again(c, &err) && is_whole(0, PC, 300));
	finish();
	make_guest(300, 4);
	fake_map_page(&f, root, TOP0 - 2 * OW_XEN_PAGE, 0);
	take(false);
	CHECK(c && !is_whole(0, PC, 300) && end == OW_END_FAULT);
	CHECK(is_whole(1, PC + 0x10000, 4));
	finish();
}

/* Nothing that a vCPU can have for sp or tables does harm. */
static void test_hostile(void)
{
	static const uint64_t values[] = { 0,
					   1,
					   0xfff,
					   0x7fffffffffff,
					   0x800000000000,
					   ~(uint64_t)0,
					   ~(uint64_t)7,
					   0xffff800000000000 };
	size_t i, n;

	for (i = 0; i < OW_ARRAY_SIZE(values); i++) {
		make_guest(3, 3);
		f.vcpu[0].regs.val[ow_arch_x86_64.sp] = values[i];
		take(false);
		CHECK(c && is_whole(1, PC + 0x10000, 3));
		f.vcpu[0].paging.low.root = f.vcpu[0].paging.high.root =
			values[i];
		CHECK(!ow_capture_again(c, &err));
		n = ow_capture_walk(c, 0, frames, MOST, &end, &err);
		CHECK(n == 1 && frames[0].pc == PC);
		CHECK(is_whole(1, PC + 0x10000, 3) && f.pauses == 0);
		finish();
	}
}

/* A loop of frame pointers ends the walk. */
static void test_cycle(void)
{
	make_guest(3, 3);
	fake_poke(&f, root, TOP0 - 64, TOP0 - 3 * 64);
	take(false);
	CHECK(c && !is_whole(0, PC, 3) && end != OW_END_OUTERMOST);
	CHECK(ow_capture_walk(c, 0, frames, MOST, &end, &err) == 4);
	finish();
}

/* Whichever call fails, and how: what was paused runs afterwards. */
static void test_each_failure(void)
{
	static const int errors[] = { ESRCH,  EPERM,  EACCES,
				      EFAULT, EINVAL, ENOMEM };
	unsigned int i, k, total;

	make_guest(5, 20);
	take(false);
	ow_capture_again(c, &err);
	total = f.total;
	finish();
	for (i = 1; i <= total; i++)
		for (k = 0; k < OW_ARRAY_SIZE(errors); k++) {
			fake_begin(&f, 2);
			root = fake_make_tables(&f);
			fake_chain(&f, 0, root, TOP0, 1, PC, 5, 64);
			fake_chain(&f, 1, root, TOP1, 1, PC + 0x10000, 20, 64);
			f.fail_at = i;
			f.fail_errno = errors[k];
			open_domain();
			take(false);
			if (c && ow_capture_again(c, &err))
				CHECK(err.msg[0]);
			CHECK(c || err.msg[0]);
			/* A failed unpause is said, as nobody else would. */
			CHECK(f.pauses == 0 || strstr(err.msg, "unpause") ||
			      errors[k] == ESRCH);
			finish();
		}
}

static void test_unpause_again(void)
{
	make_guest(3, 3);
	take(false);
	f.fail_at = f.total + 4; /* pause, two vCPUs, unpause */
	f.fail_errno = EINTR;
	CHECK(!ow_capture_again(c, &err) && f.pauses == 0);
	finish();
}

/* Somebody else's pause stays. */
static void test_paused_before(void)
{
	make_guest(3, 3);
	f.pauses = 1;
	take(false);
	CHECK(c && is_whole(0, PC, 3));
	CHECK(f.pauses == 1 && f.most_pauses == 2);
	CHECK(!ow_capture_again(c, &err) && f.pauses == 1);
	finish();
}

static void kill_it(struct fake_xen *g, enum fake_call call)
{
	if (call == FAKE_VCPU)
		g->is_gone = true;
}

/* It dies while it is copied, and between samples. */
static void test_death(void)
{
	make_guest(3, 3);
	take(false);
	CHECK(c);
	f.watch = kill_it;
	CHECK(ow_capture_again(c, &err) && err.code == OW_CODE_ABSENT);
	finish();
	make_guest(3, 3);
	take(false);
	f.is_gone = true;
	CHECK(ow_capture_again(c, &err) && err.code == OW_CODE_ABSENT);
	CHECK(strstr(err.msg, "no such domain"));
	finish();
}

/* It has shut down, which a domain that is there still says. */
static void test_shutdown(void)
{
	static const char *const words[] = { "powered off", "rebooted",
					     "suspended", "crashed" };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		make_guest(3, 3);
		f.info.is_shutdown = true;
		f.info.reason = (uint8_t)i;
		take(false);
		CHECK(!c && err.code == OW_CODE_ABSENT &&
		      strstr(err.msg, words[i]));
		CHECK(f.most_pauses == 0);
		finish();
	}
}

static void run_on(struct fake_xen *g, enum fake_call call)
{
	if (call == FAKE_VCPU)
		g->run[0].cpu_time += 1000;
}

/* Without a pause only what did not run meanwhile is certain. */
static void test_no_pause(void)
{
	make_guest(3, 3);
	f.watch = run_on;
	take(true);
	CHECK(c && f.most_pauses == 0);
	CHECK(is_whole(0, PC, 3) && is_whole(1, PC + 0x10000, 3));
	CHECK(!ow_capture_thread(c, 0)->certain &&
	      !ow_capture_thread(c, 0)->stopped);
	CHECK(ow_capture_thread(c, 1)->certain);
	/* Nor what the hypervisor doesn't tell of: vCPU 1's end is call 6. */
	f.watch = NULL;
	f.fail_at = f.total + 6;
	f.fail_errno = EINVAL;
	CHECK(!ow_capture_again(c, &err));
	CHECK(ow_capture_thread(c, 0)->certain &&
	      !ow_capture_thread(c, 1)->certain);
	finish();
}

/* The same addresses are other memory to a vCPU with other tables. */
static void test_address_spaces(void)
{
	uint64_t other;

	make_guest(3, 3);
	other = fake_frame(&f);
	f.vcpu[1].paging = ow_paging_x86(0x80000000, other, 0x20, 0x400);
	fake_chain(&f, 1, other, TOP0, 1, PC + 0x5000, 9, 64);
	take(false);
	CHECK(c && is_whole(0, PC, 3) && is_whole(1, PC + 0x5000, 9));
	finish();
}

static void poke32(uint64_t physical, uint32_t word)
{
	memcpy(fake_at(&f, physical), &word, 4);
}

/* GCC's records on Arm: lr where the frame pointer points, fp below. */
static void test_arm(void)
{
	uint64_t *val, stack, fp;
	unsigned int i;

	fake_begin(&f, 1);
	stack = fake_frame(&f);
	f.vcpu[0].arch = &ow_arch_arm;
	f.vcpu[0].regs.known = 0xffff;
	f.vcpu[0].paging = ow_paging_arm(0, 0, 0, 0);
	val = f.vcpu[0].regs.val;
	val[ow_arch_arm.pc] = 0x8000;
	val[ow_arch_arm.sp] = stack + 16;
	val[ow_arch_arm.fp] = fp = stack + 36;
	for (i = 1; i <= 4; i++, fp += 32) {
		poke32(fp, 0x8000 + i * 0x100);
		poke32(fp - 4, i < 4 ? (uint32_t)fp + 32 : 0);
	}
	open_domain();
	take(false);
	CHECK(c && is_whole(0, 0x8000, 4));
	finish();
}

static uint64_t make_aarch64_tables(uint64_t addr, uint64_t page)
{
	uint64_t tables[3] = { fake_frame(&f), fake_frame(&f), fake_frame(&f) };
	unsigned int i, index;
	uint64_t entry;

	for (i = 0; i < 3; i++) {
		index = addr >> (30 - 9 * i) & 511;
		entry = (i < 2 ? tables[i + 1] : page) | (i < 2 ? 3 : 0x403);
		memcpy(fake_at(&f, tables[i] + 8 * index), &entry, 8);
	}
	return tables[0];
}

static void poke64(uint64_t physical, uint64_t word)
{
	memcpy(fake_at(&f, physical), &word, 8);
}

/* Records of AArch64 at addr, with signatures above the 39 bits in use. */
static void make_signed_chain(unsigned int vcpu, uint64_t addr, uint64_t pc)
{
	const uint64_t signature = 0x2a55aa8000000000;
	uint64_t page = fake_frame(&f), *val = f.vcpu[vcpu].regs.val;
	unsigned int i;

	root = make_aarch64_tables(addr, page);
	f.vcpu[vcpu].arch = &ow_arch_aarch64;
	f.vcpu[vcpu].regs.known = 0x1ffffffff;
	f.vcpu[vcpu].paging = ow_paging_aarch64(1, 0x80190019, root, root);
	val[ow_arch_aarch64.pc] = pc;
	val[ow_arch_aarch64.sp] = addr;
	val[ow_arch_aarch64.fp] = addr + 16;
	for (i = 1; i <= 4; i++) {
		poke64(page + 32 * i - 16, i < 4 ? addr + 32 * i + 16 : 0);
		poke64(page + 32 * i - 8,
		       (pc + i * 0x100) ^ (i == 2 ? signature : 0));
	}
}

/* Signatures of return addresses, in a kernel's half and in the other. */
static void test_signed(void)
{
	fake_begin(&f, 2);
	make_signed_chain(0, 0xffffff8000100000, 0xffffffc008000010);
	make_signed_chain(1, 0xffffff8000200000, 0xffffffc008010010);
	open_domain();
	take(false);
	CHECK(c && is_whole(0, 0xffffffc008000010, 4));
	CHECK(c && is_whole(1, 0xffffffc008010010, 4));
	finish();
	fake_begin(&f, 1);
	make_signed_chain(0, 0x7f00100000, 0x400010);
	open_domain();
	take(false);
	CHECK(c && is_whole(0, 0x400010, 4));
	finish();
}

static void test_domain(void)
{
	struct ow_xen_domain d;
	uint64_t regs[40], word = 0;
	unsigned int size;

	make_guest(3, 3);
	CHECK(!ow_xen_domain(x, &d, &err) && d.id == 7 && d.nr_vcpus == 2 &&
	      !d.paused && !d.ended);
	CHECK(ow_xen_unpause(x, &err) && strstr(err.msg, "not paused"));
	CHECK(!ow_xen_pause(x, &err) && f.pauses == 1);
	CHECK(!ow_xen_domain(x, &d, &err) && d.paused);
	CHECK(!ow_xen_unpause(x, &err) && f.pauses == 0);
	CHECK(ow_xen_read(x, 0, TOP0 - 8, &word, 8, &err) < 0);
	CHECK(ow_xen_registers(x, 0, regs, 40, &size, &err) == 17 && size == 8);
	CHECK(regs[16] == PC && regs[6] == TOP0 - 3 * 64);
	CHECK(ow_xen_registers(x, 2, regs, 40, NULL, &err) < 0);
	CHECK(!ow_xen_read(x, 0, TOP0 - 56, &word, 8, &err) &&
	      word == PC + 0x300);
	CHECK(ow_xen_read(x, 0, TOP0 - 4, &word, 8, &err) == -OW_CODE_FAULT);
	finish();
}

static void test_names(void)
{
	CHECK(!ow_xen_open("0", NULL, &err) && err.code != OW_CODE_ABSENT);
	CHECK(!ow_xen_open("", NULL, &err) || !"a domain");
	CHECK(!ow_xen_open("99999", NULL, &err));
	CHECK(!ow_xen_open("7", "nothing", &err) &&
	      err.code == OW_CODE_ARGUMENT);
}

static const struct test tests[] = {
	{ "stacks of all vCPUs, whole", test_stacks },
	{ "hypercalls and mappings of a sample", test_counts },
	{ "new pages are mapped together", test_new_pages },
	{ "deep stacks are copied whole", test_deep },
	{ "what a sample of several copies costs", test_growing_counts },
	{ "a sample that fails", test_failed_again },
	{ "hypercalls and mappings of all tries", test_counts_of_tries },
	{ "stacks that were left", test_left },
	{ "vCPUs that are down", test_down },
	{ "pages that are not there", test_faults },
	{ "hostile registers", test_hostile },
	{ "a cycle of frame pointers", test_cycle },
	{ "every call fails once", test_each_failure },
	{ "unpausing is tried again", test_unpause_again },
	{ "a pause of somebody else's", test_paused_before },
	{ "the domain dies", test_death },
	{ "the domain shuts down", test_shutdown },
	{ "without a pause", test_no_pause },
	{ "address spaces", test_address_spaces },
	{ "Arm's frame records", test_arm },
	{ "signed return addresses", test_signed },
	{ "registers and memory by hand", test_domain },
	{ "what names no domain", test_names },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
