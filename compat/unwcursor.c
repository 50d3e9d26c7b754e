// SPDX-License-Identifier: BSD-2-Clause
#include "unwcursor.h"

#define BIT(slot) ((uint64_t)1 << (slot))

int ow_unw_init_local(struct ow_unw *u, unw_context_t *uc, int flag)
{
	const char *base = (const char *)uc;
	unsigned int i;

	if (flag & ~UNW_INIT_SIGNAL_FRAME)
		return -UNW_EINVAL;
	*u = (struct ow_unw){
		.as = &ow_local_space,
		.arg = uc,
		.is_return = !(flag & UNW_INIT_SIGNAL_FRAME),
	};
	for (i = 0; i < OW_M_NR; i++) {
		if (ow_machine.gregs[i] == OW_GREG_NONE)
			continue;
		u->word[i] = (uintptr_t)(base + ow_machine.gregs[i]);
		u->memory |= BIT(i);
	}
	u->ip = ow_machine_code(ow_local_word(u->word[OW_M_PC]));
	u->sp = ow_local_word(u->word[OW_M_SP]);
	ow_unw_set_value(u, OW_M_SP, u->sp);
	if (!u->is_return)
		ow_local_enter(u->sp, (uintptr_t)__builtin_frame_address(0));
	return 0;
}

/* libunwind's number of a slot. */
static int reg_of(unsigned int slot)
{
	return OW_M_NR == 42 && slot > 33 ? (int)slot - 34 + 64 + 8 : (int)slot;
}

int ow_unw_init_remote(struct ow_unw *u, unw_addr_space_t as, void *arg)
{
	int err;

	*u = (struct ow_unw){
		.as = as,
		.arg = arg,
		.reg = (BIT(OW_M_NR - 1) << 1) - 1,
	};
	/* What no accessor has: the sign state, vector registers. */
	if (OW_M_NR > 33)
		u->reg = (BIT(33) - 1);
	err = as->acc.access_reg(as, reg_of(OW_M_PC), &u->ip, 0, arg);
	if (err)
		return err < 0 ? err : -UNW_EUNSPEC;
	err = as->acc.access_reg(as, reg_of(OW_M_SP), &u->sp, 0, arg);
	if (err)
		return err < 0 ? err : -UNW_EUNSPEC;
	ow_unw_set_value(u, OW_M_SP, u->sp);
	u->ip = ow_machine_code(u->ip);
	return 0;
}

int ow_unw_load(const struct ow_unw *u, uint64_t addr, uint64_t *ret)
{
	int err;

	if (!u->as->is_local) {
		err = u->as->acc.access_mem(u->as, addr, ret, 0, u->arg);
		return err > 0 ? -UNW_EUNSPEC : err;
	}
	if ((addr < u->window.start || addr + 8 > u->window.end ||
	     addr + 8 < addr) &&
	    !ow_local_readable(addr, 8))
		return -UNW_EINVAL;
	*ret = ow_local_word(addr);
	return 0;
}

int ow_unw_fetch(const struct ow_unw *u, unsigned int slot, uint64_t *ret)
{
	uint64_t bit = BIT(slot);
	int err;

	if (u->value & bit) {
		*ret = u->word[slot];
		return 0;
	}
	if (u->memory & bit)
		return ow_unw_load(u, u->word[slot], ret);
	if (!(u->reg & bit))
		return -UNW_EBADREG;
	err = u->as->acc.access_reg(u->as, reg_of(slot), ret, 0, u->arg);
	return err > 0 ? -UNW_EUNSPEC : err;
}

int ow_unw_get_reg(struct ow_unw *u, int reg, unw_word_t *ret)
{
	uint8_t slot = ow_machine_slot(reg);

	if (reg == ow_machine.ip || slot == OW_M_PC) {
		*ret = u->ip;
		return 0;
	}
	if (reg == ow_machine.cfa || reg == ow_machine.sp) {
		*ret = u->sp;
		return 0;
	}
	if (slot == OW_SLOT_NONE)
		return -UNW_EBADREG;
	return ow_unw_fetch(u, slot, ret);
}

static int store(struct ow_unw *u, uint64_t addr, uint64_t val)
{
	int err;

	if (!u->as->is_local) {
		err = u->as->acc.access_mem(u->as, addr, &val, 1, u->arg);
		return err > 0 ? -UNW_EUNSPEC : err;
	}
	if (!ow_local_readable(addr, 8))
		return -UNW_EINVAL;
	*(uint64_t *)(uintptr_t)addr = val;
	return 0;
}

int ow_unw_set_reg(struct ow_unw *u, int reg, unw_word_t val)
{
	uint8_t slot = ow_machine_slot(reg);
	bool is_ip = reg == ow_machine.ip || slot == OW_M_PC;
	int err = 0;

	if (reg == ow_machine.cfa || reg == ow_machine.sp)
		return -UNW_EREADONLYREG;
	if (is_ip)
		slot = u->is_return && (u->memory >> OW_M_RA & 1) ? OW_M_RA :
								    OW_M_PC;
	if (slot == OW_SLOT_NONE || slot >= OW_M_NR)
		return -UNW_EBADREG;
	if (u->memory & BIT(slot))
		err = store(u, u->word[slot], val);
	else if (u->reg & BIT(slot))
		err = u->as->acc.access_reg(u->as, reg_of(slot), &val, 1,
					    u->arg);
	else if (u->value & BIT(slot) || is_ip)
		ow_unw_set_value(u, slot, val);
	else
		return -UNW_EBADREG;
	if (err)
		return err < 0 ? err : -UNW_EUNSPEC;
	if (is_ip)
		u->ip = val;
	return 0;
}

int ow_unw_get_save_loc(struct ow_unw *u, int reg, unw_save_loc_t *ret)
{
	uint8_t slot = ow_machine_slot(reg);

	*ret = (unw_save_loc_t){ .type = UNW_SLT_NONE };
	if (slot == OW_SLOT_NONE)
		return reg == ow_machine.cfa ? 0 : -UNW_EBADREG;
	if (u->memory & BIT(slot)) {
		ret->type = UNW_SLT_MEMORY;
		ret->u.addr = u->word[slot];
	} else if (u->reg & BIT(slot)) {
		ret->type = UNW_SLT_REG;
		ret->u.regnum = reg;
	}
	return 0;
}
