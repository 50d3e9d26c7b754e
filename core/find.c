// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "find.h"

#include "err.h"

#define LARGE 256 /* bytes of an FDE's instructions: few have more */

/*
 * Rules that they save and restore: a function of LARGE bytes has nine returns at most that
 * are not its end, and copies six saved registers and a return address twice for each.
 */
#define MANY_COPIES 256
#define COPIES_BYTE 8 /* that take as long as a byte of instructions does */

/* The FDE found; its CIE's instructions need not run again and again. */
static int begin(struct ow_finder *f, const struct ow_known_cie *known)
{
	const uint8_t *entry = f->fde.cie_entry;
	int err;

	if (f->initial != entry && known && known->memo.entry == entry) {
		ow_cfa_copy_state(&f->cfa.initial, &known->initial);
		f->initial = entry;
	}
	if (f->initial == entry) {
		ow_cfa_begin_again(&f->cfa, &f->fde.cie, f->fde.insns,
				   f->fde.start, f->fde.end);
		return 0;
	}
	f->initial = NULL;
	err = ow_cfa_begin(&f->cfa, &f->fde.cie, f->fde.insns, f->fde.start,
			   f->fde.end);
	if (!err)
		f->initial = entry;
	return err;
}

static int seek(struct ow_finder *f, uint64_t vaddr, uint8_t how)
{
	bool is_last = vaddr + 1 == f->fde.end;
	int err = ow_cfa_seek(&f->cfa, vaddr);

	if (err)
		return err;
	if (f->brief && !is_last && ow_cfa_brief(&f->cfa, how, f->brief))
		return OW_FIND_BRIEF;
	ow_cfa_row(&f->cfa, &f->row, f->rules);
	f->row.how = how;
	if (is_last)
		f->row.flags |= OW_ROW_LAST;
	return OW_FIND_ROW;
}

/* Bytes of the instructions that run before the FDE's own: of its CIE, if it is a new one. */
static uint64_t size_before(const struct ow_finder *f)
{
	const struct ow_cie *cie = &f->fde.cie;

	return f->initial == f->fde.cie_entry ?
		       0 :
		       (uint64_t)(cie->insns_end - cie->insns);
}

/*
 * An instruction of a byte can copy the rules of all registers.  Take what was copied from
 * *left, where that is much.  Return false if there is not so much left.
 */
static bool pay_for_copies(const struct ow_finder *f, uint64_t *left)
{
	uint64_t bytes = f->cfa.nr_copied / COPIES_BYTE;
	bool is_enough = bytes <= *left;

	if (f->cfa.nr_copied <= MANY_COPIES)
		return true;
	*left = is_enough ? *left - bytes : 0;
	return is_enough;
}

/* left may be NULL. */
static int find_in_fde(struct ow_finder *f, const struct ow_module *module,
		       uint8_t how, uint64_t *left)
{
	int err = begin(f, module->cfi->known);

	if (!err)
		err = seek(f, f->vaddr, how);
	return !left || pay_for_copies(f, left) ? err : -OW_ELIMIT;
}

/*
 * Look for the row in a large FDE, whose instructions run anew for each vaddr: a file
 * can have such for all of its code, so that a stack would take seconds.
 */
static int find_in_large(struct ow_finder *f, const struct ow_module *module,
			 uint8_t how, uint64_t *left)
{
	const uint8_t *first = f->fde.insns.pos;
	uint64_t before = size_before(f);
	uint64_t all = before + (uint64_t)(f->fde.insns.end - first);
	int err;

	if (all > *left)
		return -OW_ELIMIT;
	err = find_in_fde(f, module, how, NULL);
	*left -= err < 0 ? all : before + (uint64_t)(f->cfa.insns.pos - first);
	return pay_for_copies(f, left) ? err : -OW_ELIMIT;
}

int ow_find_fde_row(struct ow_finder *f, uint64_t vaddr, uint8_t how,
		    struct ow_row *row)
{
	int err = ow_cfa_begin(&f->cfa, &f->fde.cie, f->fde.insns, f->fde.start,
			       f->fde.end);

	f->initial = NULL;
	f->brief = NULL;
	if (!err)
		err = seek(f, vaddr, how);
	if (!err)
		*row = f->row;
	return err;
}

static int cfi_row(struct ow_finder *f, const struct ow_target *target,
		   const struct ow_module *module)
{
	struct ow_cfi_env env = { &target->mem, module->bias, &f->memo };
	uint64_t size;
	uint8_t how;
	int err = ow_cfi_find(module->cfi, &env, f->vaddr, &f->fde, &how);

	if (err)
		return err;
	size = size_before(f) + (uint64_t)(f->fde.insns.end - f->fde.insns.pos);
	if (target->cfi_left && size > LARGE)
		err = find_in_large(f, module, how, target->cfi_left);
	else
		err = find_in_fde(f, module, how, target->cfi_left);
	if (err == OW_FIND_ROW)
		f->row.bias = module->bias;
	return err;
}

int ow_find_full_row(struct ow_finder *f, const struct ow_target *target,
		     const struct ow_module *module)
{
	if (module->cfi)
		return cfi_row(f, target, module);
	if (module->rare)
		return ow_rare_find(module->rare, f->vaddr, &f->row, f->rules);
	return -OW_EUNSUPPORTED;
}

/* A table is made from .eh_frame: where it has nothing, this may. */
static bool has_debug_frame(const struct ow_module *module)
{
	return module->cfi && module->cfi->debug_index.nr > 0;
}

static int table_row(struct ow_finder *f, const struct ow_module *module)
{
	int err = ow_table_code(module->table, f->vaddr, &f->look);

	if (err)
		return err;
	if (f->brief && !f->look.last &&
	    ow_table_brief(module->table, f->look.code, f->brief))
		return OW_FIND_BRIEF;
	err = ow_table_rule(module->table, f->look.code, &f->row, f->rules);
	if (!err && f->look.last)
		f->row.flags |= OW_ROW_LAST;
	return err;
}

int ow_find_ready_row(struct ow_finder *f, const struct ow_module *module,
		      uint64_t addr, struct ow_brief *brief)
{
	int err;

	f->vaddr = addr - module->bias;
	f->brief = brief;
	if (module->orc) {
		err = ow_orc_row(module->orc, f->vaddr, &f->row, f->rules,
				 f->expr);
		if (err != -OW_ENOENT)
			return err;
	}
	if (!module->table)
		return module->cfi ? OW_FIND_FULL : -OW_ENOENT;
	err = table_row(f, module);
	if ((err == -OW_EUNSUPPORTED && (module->cfi || module->rare)) ||
	    (err == -OW_ENOENT && has_debug_frame(module)))
		return OW_FIND_FULL;
	return err;
}

int ow_find_row(struct ow_finder *f, const struct ow_target *target,
		const struct ow_module *module, uint64_t addr,
		struct ow_row *row)
{
	int err = ow_find_ready_row(f, module, addr, NULL);

	if (err == OW_FIND_FULL)
		err = ow_find_full_row(f, target, module);
	if (!err)
		*row = f->row;
	return err;
}
