// SPDX-License-Identifier: BSD-2-Clause
/*
 * The tools with a fake of the hypervisor in place of Xen's libraries.  The
 * environment tells what the guest is like:
 *
 * FAKE_STACKS=fp|cfi   by frame pointer, or of tests/xen/guest.c
 * FAKE_MOVED=N         that code is so many bytes (hexadecimal) from its place
 * FAKE_NO_GATE=1       nothing tells where the kernel is
 * FAKE_IDT=1           its interrupt table does, which is in its memory
 * FAKE_BANNER=N        its version does, as that vCPU is in the kernel
 * FAKE_DOWN=N          that vCPU is down
 * FAKE_FAIL=N:ERRNO    that call fails
 * FAKE_GONE=N, FAKE_SHUTDOWN=N   from that call on
 * FAKE_SLOW=US         a vCPU's registers take so long
 * FAKE_NEW=1           vCPU 2 is at another place each time
 * FAKE_PAUSES=FILE     an int of it shows the pauses in effect
 */
#include <fcntl.h>
#include <stdio.h>

#include "fakexen.h"
#include "guest.h"

#define TOP 0xffff800000100000ULL
#define PC  0x400010ULL
#define IDT 0xfffffe0000000000ULL

static struct fake_xen guest;
static unsigned int gone_at, shutdown_at, slow_us, is_new;

static unsigned int number(const char *name)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 10) : 0;
}

static void watch(struct fake_xen *f, enum fake_call call)
{
	if (gone_at && f->total >= gone_at)
		f->is_gone = true;
	if (shutdown_at && f->total >= shutdown_at)
		f->info.is_shutdown = true;
	if (slow_us && call == FAKE_VCPU)
		usleep(slow_us);
	if (is_new && call == FAKE_VCPU)
		f->vcpu[2].regs.val[ow_arch_x86_64.pc] += 16;
}

static uint64_t offset(void)
{
	const char *text = getenv("FAKE_MOVED");

	return text ? strtoull(text, NULL, 16) : 0;
}

/* Addresses of code move with it. */
static uint64_t moved(uint64_t word)
{
	return word +
	       (word - ((uint64_t)guest_c - 0x1000) < 0x2000 ? offset() : 0);
}

static void copy_stack(struct fake_xen *f, uint64_t root,
		       const struct guest_state *g)
{
	uint64_t addr, page, last = 0;

	for (addr = g->sp; addr < g->top; addr += 8) {
		page = addr & ~(uint64_t)(OW_XEN_PAGE - 1);
		if (page != last)
			fake_map_page(f, root, page, fake_frame(f));
		last = page;
		memcpy(&page, g->bytes + (addr - g->sp), 8);
		fake_poke(f, root, addr, moved(page));
		page = last;
	}
}

/* The registers of ucontext in the order of DWARF's numbers. */
static void copy_registers(struct fake_xen *f, uint32_t vcpu,
			   const struct guest_state *g)
{
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX,
				     REG_RSI, REG_RDI, REG_RBP, REG_RSP,
				     REG_R8,  REG_R9,  REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15,
				     REG_RIP };
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(order); i++)
		f->vcpu[vcpu].regs.val[i] =
			moved((uint64_t)g->context.uc_mcontext.gregs[order[i]]);
	if (!getenv("FAKE_NO_GATE"))
		f->vcpu[vcpu].gate = moved((uint64_t)asm_exc_divide_error);
}

/* A gate of 64 bits (Intel SDM 3A, 6.14.1) for vector 0. */
static void make_idt(struct fake_xen *f, uint64_t root, uint64_t entry)
{
	uint32_t i;

	fake_map_page(f, root, IDT, fake_frame(f));
	fake_poke(f, root, IDT,
		  (entry & 0xffff) | 0x8e00ULL << 32 | 0x10 << 16 |
			  (entry >> 16 & 0xffff) << 48);
	fake_poke(f, root, IDT + 8, entry >> 32);
	for (i = 0; i < 3; i++) {
		f->vcpu[i].gate = 0;
		f->vcpu[i].idt = IDT;
	}
}

/* The text where it is moved to; only one vCPU can have it looked for. */
static void make_banner(struct fake_xen *f, uint64_t root, uint32_t vcpu)
{
	uint64_t addr = (uint64_t)linux_banner, page, last = 0, word;
	uint32_t i;

	for (; addr < (uint64_t)linux_banner + sizeof(linux_banner);
	     addr += 8) {
		page = (addr + offset()) & ~(uint64_t)(OW_XEN_PAGE - 1);
		if (page != last)
			fake_map_page(f, root, page, fake_frame(f));
		last = page;
		memcpy(&word, (const void *)addr, 8);
		fake_poke(f, root, addr + offset(), word);
	}
	for (i = 0; i < 3; i++)
		f->vcpu[i].is_user = i != vcpu;
}

static void make_stacks(struct fake_xen *f)
{
	static struct guest_state state;
	uint64_t root = fake_make_tables(f);
	const char *how = getenv("FAKE_STACKS");

	fake_chain(f, 0, root, TOP, 1, PC, 3, 64);
	fake_chain(f, 1, root, TOP + 0x100000, 1, PC + 0x1000, 1, 64);
	/* A third one that has no frame pointer at all. */
	f->vcpu[2].regs.val[ow_arch_x86_64.pc] = PC + 0x2000;
	f->vcpu[2].regs.val[ow_arch_x86_64.sp] = TOP - 8;
	if (!how || strcmp(how, "cfi") != 0)
		return;
	guest_start(&state);
	copy_stack(f, root, &state);
	copy_registers(f, 0, &state);
	copy_registers(f, 1, &state);
	copy_registers(f, 2, &state);
	if (getenv("FAKE_IDT"))
		make_idt(f, root, moved((uint64_t)asm_exc_divide_error));
	if (getenv("FAKE_BANNER"))
		make_banner(f, root, number("FAKE_BANNER"));
}

static void show_pauses(struct fake_xen *f)
{
	const char *path = getenv("FAKE_PAUSES");
	int fd = path ? open(path, O_RDWR) : -1;

	if (fd < 0)
		return;
	f->shown = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);
	f->pauses = *f->shown;
	close(fd);
}

static struct ow_xen_seam *open_fake(uint32_t domid)
{
	const char *fail = getenv("FAKE_FAIL");

	if (getenv("FAKE_NO_XEN")) {
		errno = ENOENT;
		return NULL;
	}
	fake_begin(&guest, 3);
	guest.is_gone = domid != 7;
	guest.seam.domid = domid;
	make_stacks(&guest);
	show_pauses(&guest);
	if (getenv("FAKE_DOWN"))
		guest.run[number("FAKE_DOWN")].online = false;
	if (getenv("FAKE_WORD"))
		guest.info.word = (uint8_t)number("FAKE_WORD");
	if (fail)
		sscanf(fail, "%u:%d", &guest.fail_at, &guest.fail_errno);
	gone_at = number("FAKE_GONE");
	shutdown_at = number("FAKE_SHUTDOWN");
	slow_us = number("FAKE_SLOW");
	is_new = number("FAKE_NEW");
	guest.watch = watch;
	return &guest.seam;
}

static const struct ow_xen_backend fake_backend = { "libxencall", NULL,
						    open_fake };

const struct ow_xen_backend *const ow_xen_backends[] = { &fake_backend, NULL };
const char *const ow_xen_lacking = "libxenctrl";

int ow_xen_find_name(const char *name, uint32_t *ret)
{
	*ret = 7;
	return strcmp(name, "web") == 0 ? 0 : -ENOENT;
}
