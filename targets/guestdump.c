// SPDX-License-Identifier: BSD-2-Clause
#include "guestdump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elfsym.h"
#include "error.h"
#include "fileobject.h"

#define X86_KERNEL_MAP 0xffffffff80000000ULL
#define X86_LA57       0x1000 /* in CR4: five levels */
#define PAGE_MASK      0xfffULL

/* Where QEMU's own note has what (target/i386/arch_dump.c, QEMUCPUState). */
enum {
	QEMU_IDT = 384,
	QEMU_CR3 = 416,
	QEMU_CR4 = 424,
	QEMU_SIZE = 440,
};

bool ow_guestdump_is(const struct ow_core *core)
{
	return core->notes.qemu || core->notes.vmcoreinfo.size > 0;
}

static uint64_t qemu_word(const struct ow_corenotes *n, size_t off)
{
	return ow_little_endian(n->qemu + off, 8);
}

static int physical_order(const void *a, const void *b)
{
	const struct ow_physical *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int take_memory(struct ow_guest *g, const struct ow_core *core,
		       struct ow_error *err)
{
	struct ow_elf_segment seg;
	uint64_t end = 0, size;
	size_t nr = 0, i;
	uint32_t k;

	while (ow_elf_segment(&core->elf, nr, &seg))
		nr++;
	g->memory = calloc(nr + 1, sizeof(*g->memory));
	if (!g->memory)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	nr = 0;
	for (k = 0; ow_elf_segment(&core->elf, k, &seg); k++) {
		size = seg.off < core->elf.size ? core->elf.size - seg.off : 0;
		if (size > seg.filesz)
			size = seg.filesz;
		if (seg.type != OW_PT_LOAD || size == 0 ||
		    seg.paddr + size <= seg.paddr)
			continue;
		g->memory[nr++] =
			(struct ow_physical){ seg.paddr, size,
					      core->elf.bytes + seg.off };
	}
	if (nr)
		qsort(g->memory, nr, sizeof(*g->memory), physical_order);
	for (i = 0; i < nr; i++) {
		if (g->memory[i].start < end)
			continue;
		end = g->memory[i].start + g->memory[i].size;
		g->memory[g->table.nr++] = g->memory[i];
	}
	g->table.memory = g->memory;
	return 0;
}

/* The kernel's own table by VMCOREINFO, or else that of a CPU. */
static bool find_tables_x86(struct ow_guest *g, const struct ow_corenotes *n)
{
	const struct ow_vmcoreinfo *v = &n->vmcoreinfo;
	uint64_t symbol;
	int64_t base, five;

	if (ow_vmcoreinfo_hex(v, "SYMBOL(swapper_pg_dir)", &symbol) &&
	    ow_vmcoreinfo_number(v, "NUMBER(phys_base)", &base) &&
	    ow_vmcoreinfo_number(v, "NUMBER(pgtable_l5_enabled)", &five)) {
		g->table.root = symbol - X86_KERNEL_MAP + (uint64_t)base;
		g->table.levels = five ? 5 : 4;
		return true;
	}
	if (n->qemu_size < QEMU_SIZE)
		return false;
	g->table.root = qemu_word(n, QEMU_CR3) & ~PAGE_MASK;
	g->table.levels = qemu_word(n, QEMU_CR4) & X86_LA57 ? 5 : 4;
	return true;
}

static bool find_tables_aarch64(struct ow_guest *g,
				const struct ow_corenotes *n)
{
	const struct ow_vmcoreinfo *v = &n->vmcoreinfo;
	uint64_t symbol, offset;
	int64_t bits, page;

	if (!ow_vmcoreinfo_hex(v, "SYMBOL(swapper_pg_dir)", &symbol) ||
	    !ow_vmcoreinfo_hex(v, "NUMBER(kimage_voffset)", &offset) ||
	    !ow_vmcoreinfo_number(v, "NUMBER(VA_BITS)", &bits) ||
	    !ow_vmcoreinfo_number(v, "PAGESIZE", &page) || page != 4096 ||
	    (bits != 39 && bits != 48))
		return false;
	g->table.root = symbol - offset;
	g->table.levels = bits == 48 ? 4 : 3;
	g->table.is_aarch64 = true;
	g->pc_mask = ((uint64_t)1 << bits) - 1;
	return true;
}

/* What the first gate of the interrupt table leads to. */
static bool first_gate(const struct ow_guest *g, const struct ow_corenotes *n,
		       uint64_t *ret)
{
	uint8_t gate[16];

	if (n->qemu_size < QEMU_SIZE ||
	    !ow_pagetable_read(&g->table, qemu_word(n, QEMU_IDT), gate,
			       sizeof(gate)))
		return false;
	*ret = ow_little_endian(gate, 2) | ow_little_endian(gate + 6, 6) << 16;
	return true;
}

/*
 * How far the kernel was moved from where it was linked: as it says, or by the
 * interrupt table, whose first entry is the division's.
 */
static bool find_offset(const struct ow_guest *g, const struct ow_core *core,
			const struct ow_object *obj, uint64_t *ret)
{
	static const char *const names[] = { "asm_exc_divide_error",
					     "divide_error" };
	uint64_t gate, symbol;
	size_t i;

	if (ow_vmcoreinfo_hex(&core->notes.vmcoreinfo, "KERNELOFFSET", ret))
		return true;
	if (!first_gate(g, &core->notes, &gate))
		return false;
	for (i = 0; i < OW_ARRAY_SIZE(names); i++)
		if (ow_elfsym_value(&obj->elf, names[i], &symbol)) {
			*ret = gate - symbol;
			return true;
		}
	return false;
}

static size_t unhex(const char *text, uint8_t *to, size_t size)
{
	unsigned int byte;
	size_t n;

	for (n = 0; n < size && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
		to[n] = (uint8_t)byte;
	return n;
}

/* The kernel's file, and its path in the buffer. */
static struct ow_object *open_kernel(const struct ow_core *core, char *path,
				     size_t size, struct ow_error *err)
{
	const struct ow_vmcoreinfo *v = &core->notes.vmcoreinfo;
	uint8_t id[OW_BUILD_ID_MAX];
	char text[2 * OW_BUILD_ID_MAX + 1], release[128];
	struct ow_wanted_file w = { .path = path };

	if (ow_vmcoreinfo_text(v, "BUILD-ID", text, sizeof(text))) {
		w.build_id_size = unhex(text, id, sizeof(id));
		w.build_id = w.build_id_size ? id : NULL;
	}
	if (core->exe) {
		snprintf(path, size, "%s", core->exe);
		return ow_fileobject_open(&w, err);
	}
	w.sysroot = core->sysroot;
	if (!ow_vmcoreinfo_text(v, "OSRELEASE", release, sizeof(release)) ||
	    strchr(release, '/')) {
		ow_fail(err, OW_CODE_ABSENT,
			"a kernel's dump that doesn't tell which: give its "
			"vmlinux");
		return NULL;
	}
	snprintf(path, size, "/usr/lib/debug/boot/vmlinux-%s", release);
	return ow_fileobject_open(&w, err);
}

static bool add_code(struct ow_core *core, const struct ow_object *obj,
		     uint64_t offset, const char *path)
{
	struct ow_corepiece piece = { .path = path,
				      .is_given = core->exe,
				      .is_file = true };
	struct ow_elf_segment seg;
	uint32_t i;

	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++) {
		if (seg.type != OW_PT_LOAD || !(seg.flags & OW_PF_X))
			continue;
		piece.start = seg.vaddr + offset;
		piece.end = piece.start + seg.memsz;
		piece.off = seg.off;
		if (piece.end > piece.start && !ow_coremaps_add(core, &piece))
			return false;
	}
	return true;
}

/* Say of CPUs in user mode that they are. */
static void mark_threads(struct ow_core *core)
{
	struct ow_capture_thread *t;
	size_t i;

	for (i = 0; i < core->notes.nr_threads; i++) {
		t = &core->notes.threads[i];
		snprintf(t->info.name, sizeof(t->info.name), "CPU %zu", i);
		if (!t->info.captured || !t->is_user)
			continue;
		t->info.captured = false;
		ow_fail(&t->info.why, OW_CODE_ABSENT,
			"in user mode at %#llx: the dump doesn't tell which "
			"program that is",
			(unsigned long long)t->regs.val[core->elf.arch->pc]);
	}
}

/* Without the kernel's file there are still the registers. */
static int take_kernel(struct ow_guest *g, struct ow_core *core,
		       struct ow_error *err)
{
	struct ow_error why = { 0 };
	char path[4096];
	struct ow_object *obj = open_kernel(core, path, sizeof(path), &why);
	uint64_t offset;
	int failed = 0;

	if (!obj)
		return ow_fail(err, why.code, "%s: %s", core->path, why.msg);
	if (obj->elf.arch != core->elf.arch)
		failed = ow_fail(err, OW_CODE_FORMAT, "%s: for another machine",
				 path);
	else if (!find_offset(g, core, obj, &offset))
		failed = ow_fail(err, OW_CODE_FORMAT,
				 "%s: where the kernel was is not told: have "
				 "the guest hand over VMCOREINFO",
				 core->path);
	else if (!add_code(core, obj, offset, path))
		failed = ow_fail(err, OW_CODE_MEMORY, "out of memory");
	g->kernel = obj;
	return failed;
}

int ow_guestdump_take(struct ow_guest *g, struct ow_core *core,
		      struct ow_error *err)
{
	const struct ow_arch *arch = core->elf.arch;
	int failed = take_memory(g, core, err);
	bool found = false;

	if (failed)
		return failed;
	if (arch == &ow_arch_x86_64)
		found = find_tables_x86(g, &core->notes);
	else if (arch == &ow_arch_aarch64)
		found = find_tables_aarch64(g, &core->notes);
	if (!found)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: a guest's dump without page tables that "
			       "outwind knows",
			       core->path);
	mark_threads(core);
	core->notes.pid = 0;
	if (g->table.is_aarch64) {
		core->notes.pc_mask = g->pc_mask;
		core->c->target.keeps_fp = true;
	}
	failed = take_kernel(g, core, err);
	if (!failed)
		ow_coremaps_sort(core);
	return failed;
}

void ow_guestdump_free(struct ow_guest *g)
{
	free(g->memory);
	ow_object_close(g->kernel);
	*g = (struct ow_guest){ 0 };
}
