// SPDX-License-Identifier: BSD-2-Clause
#include "xenplace.h"

#include <string.h>

#include "elfsym.h"
#include "xendomain.h"

/* Of what a kernel moves by: CONFIG_PHYSICAL_ALIGN's least, or a page. */
#define ALIGN_X86_64 0x1fffffULL
#define ALIGN_OTHERS 0xfffULL

/* And at least by this where the text tells it (arm64: EFI_KIMG_ALIGN). */
#define STEP_X86_64 0x200000ULL
#define STEP_OTHERS 0x10000ULL

/* init/version.c: what /proc/version prints, too. */
#define BANNER      "Linux version "
#define BANNER_SIZE 64 /* of it; more than two kernels have in common */

/* More than a kernel's code has; it bounds the steps. */
#define MOST_CODE (256ULL << 20)

/* By a name that both the file and the running kernel have. */
static bool offset_by_names(const struct ow_object *obj,
			    const struct ow_nametable *names, uint64_t *ret)
{
	static const char *const anchors[] = { "schedule", "do_exit",
					       "start_kernel", "kernel_init" };
	uint64_t linked, running;
	size_t i;

	for (i = 0; names && i < OW_ARRAY_SIZE(anchors); i++)
		if (ow_elfsym_value(&obj->elf, anchors[i], &linked) &&
		    ow_nametable_address(names, anchors[i], &running)) {
			*ret = running - linked;
			return true;
		}
	return false;
}

/* Where vector 0 leads: a paravirtual guest's is told, others' is read. */
static bool find_gate(struct ow_xen *x, uint64_t *ret)
{
	const struct ow_xen_vcpu *v;
	uint8_t gate[16];
	uint32_t i;

	for (i = 0; i < x->nr_vcpus; i++) {
		if (ow_xen_ask_vcpu(x, i))
			continue;
		v = &x->vcpus[i];
		*ret = v->gate;
		if (v->gate)
			return true;
		ow_xenpages_begin(&x->pages);
		if (!v->idt || v->arch != &ow_arch_x86_64 ||
		    ow_xenpages_read(&x->pages, &v->paging, v->idt, gate,
				     sizeof(gate)))
			continue;
		*ret = ow_little_endian(gate, 2) | ow_little_endian(gate + 6, 6)
							   << 16;
		return *ret != 0;
	}
	return false;
}

bool ow_xenplace_is_movable(const struct ow_object *obj)
{
	uint64_t linked;

	return ow_elfsym_value(&obj->elf, "asm_exc_divide_error", &linked) ||
	       ow_elfsym_value(&obj->elf, "divide_error", &linked);
}

/*
 * A Linux kernel moves by 2 MiB or more on x86-64 (arch/x86/Kconfig), elsewhere
 * by whole pages: so of the handlers that it may have, the one is known that is
 * there.  Vector 0 of one without the symbol is nothing to go by.
 */
static bool offset_by_gate(const struct ow_object *obj, struct ow_xen *x,
			   uint64_t *ret)
{
	static const char *const names[] = { "xen_asm_exc_divide_error",
					     "asm_exc_divide_error",
					     "xen_divide_error",
					     "divide_error" };
	uint64_t align = obj->elf.arch == &ow_arch_x86_64 ? ALIGN_X86_64 :
							    ALIGN_OTHERS;
	uint64_t gate, linked;
	size_t i;

	if (!ow_xenplace_is_movable(obj) || !find_gate(x, &gate))
		return false;
	for (i = 0; i < OW_ARRAY_SIZE(names); i++)
		if (ow_elfsym_value(&obj->elf, names[i], &linked) &&
		    ((gate - linked) & align) == 0) {
			*ret = gate - linked;
			return true;
		}
	return false;
}

/* The text within bytes; the format of the same has no number in it. */
static const uint8_t *find_text(const uint8_t *at, uint64_t size)
{
	const size_t of_text = sizeof(BANNER) - 1;
	const uint8_t *end = at + size;

	while ((at = memmem(at, (size_t)(end - at), BANNER, of_text))) {
		if (end - at < BANNER_SIZE)
			return NULL;
		if (at[of_text] >= '0' && at[of_text] <= '9')
			return at;
		at += of_text;
	}
	return NULL;
}

/* The text in the file, each byte of which is looked at but once. */
static const uint8_t *find_banner(const struct ow_elf *elf, uint64_t *linked)
{
	uint64_t left = elf->size, avail;
	struct ow_elf_segment seg;
	const uint8_t *at, *found;
	uint32_t i;

	for (i = 0; left && ow_elf_segment(elf, i, &seg); i++) {
		if (seg.type != OW_PT_LOAD)
			continue;
		at = ow_elf_at(elf, seg.vaddr, &avail);
		if (!at)
			continue;
		avail = avail < left ? avail : left;
		left -= avail;
		found = find_text(at, avail);
		*linked = seg.vaddr + (uint64_t)(found ? found - at : 0);
		if (found)
			return found;
	}
	return NULL;
}

/* The least and the most that code can have been moved by if pc is in it. */
static bool code_offsets(const struct ow_elf *elf, uint64_t pc, uint64_t *least,
			 uint64_t *most)
{
	uint64_t start = ~(uint64_t)0, end = 0;
	struct ow_elf_segment seg;
	uint32_t i;

	for (i = 0; ow_elf_segment(elf, i, &seg); i++)
		if (seg.type == OW_PT_LOAD && seg.flags & OW_PF_X &&
		    seg.memsz <= MOST_CODE) {
			end = seg.vaddr + seg.memsz > end ?
				      seg.vaddr + seg.memsz :
				      end;
			start = seg.vaddr < start ? seg.vaddr : start;
		}
	*least = pc - end;
	*most = pc - start;
	return start < end && end - start <= MOST_CODE;
}

/* Does memory have the same text, so much further on? */
static bool is_there(struct ow_xen *x, const struct ow_paging *paging,
		     uint64_t addr, const uint8_t *banner)
{
	uint8_t bytes[BANNER_SIZE];

	return ow_xenpages_read(&x->pages, paging, addr, bytes,
				sizeof(bytes)) == 0 &&
	       memcmp(bytes, banner, sizeof(bytes)) == 0;
}

/* By the version's text, around what a vCPU that is in the kernel executes. */
static bool offset_by_banner(const struct ow_object *obj, struct ow_xen *x,
			     uint64_t *ret)
{
	const struct ow_xen_vcpu *v;
	uint64_t step = obj->elf.arch == &ow_arch_x86_64 ? STEP_X86_64 :
							   STEP_OTHERS;
	uint64_t linked, offset, least, most;
	const uint8_t *banner = find_banner(&obj->elf, &linked);
	uint32_t i;

	for (i = 0; banner && i < x->nr_vcpus; i++) {
		v = &x->vcpus[i];
		if (ow_xen_ask_vcpu(x, i) || v->is_user ||
		    v->arch != obj->elf.arch ||
		    !code_offsets(&obj->elf, v->regs.val[v->arch->pc], &least,
				  &most))
			continue;
		ow_xenpages_begin(&x->pages);
		/* Downwards, maybe to below zero: counted by how far it is. */
		for (offset = most & ~(step - 1); most - offset < most - least;
		     offset -= step)
			if (is_there(x, &v->paging, linked + offset, banner)) {
				*ret = offset;
				return true;
			}
	}
	return false;
}

bool ow_xenplace_find(const struct ow_object *obj, struct ow_xen *x,
		      const struct ow_nametable *names, uint64_t *ret)
{
	return offset_by_names(obj, names, ret) ||
	       offset_by_gate(obj, x, ret) || offset_by_banner(obj, x, ret);
}
