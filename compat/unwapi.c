// SPDX-License-Identifier: BSD-2-Clause
/*
 * libunwind's functions under their names: compiled twice, with UNW_LOCAL_ONLY
 * for libunwind, without for libunwind-<machine>.
 */
#include <libunwind.h>

#include "procinfo.h"
#include "searchtable.h"
#include "unwresume.h"
#include "unwrow.h"
#include "unwstates.h"
#include "unwstep.h"

#define EXPORT __attribute__((visibility("default")))

/* What clients declare themselves. */
EXPORT int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as,
					      unw_word_t ip, unw_dyn_info_t *di,
					      unw_proc_info_t *pi, int need,
					      void *arg);

EXPORT unw_addr_space_t unw_local_addr_space = &ow_local_space;

#ifdef UNW_LOCAL_ONLY

EXPORT unw_addr_space_t unw_create_addr_space(unw_accessors_t *acc,
					      int byteorder)
{
	(void)acc;
	(void)byteorder;
	return NULL;
}

EXPORT int unw_init_remote(unw_cursor_t *cursor, unw_addr_space_t as, void *arg)
{
	(void)cursor;
	(void)as;
	(void)arg;
	return -UNW_EINVAL;
}

#else

EXPORT unw_addr_space_t unw_create_addr_space(unw_accessors_t *acc,
					      int byteorder)
{
	return ow_space_create(acc, byteorder);
}

EXPORT int unw_init_remote(unw_cursor_t *cursor, unw_addr_space_t as, void *arg)
{
	if (as->is_local)
		return ow_unw_init_local(ow_unw_of(cursor), arg, 0);
	return ow_unw_init_remote(ow_unw_of(cursor), as, arg);
}

#endif

EXPORT void unw_destroy_addr_space(unw_addr_space_t as)
{
	ow_space_destroy(as);
}

EXPORT unw_accessors_t *unw_get_accessors(unw_addr_space_t as)
{
	return &as->acc;
}

EXPORT void unw_flush_cache(unw_addr_space_t as, unw_word_t low,
			    unw_word_t high)
{
	(void)low;
	(void)high;
	ow_space_flush(as);
}

EXPORT int unw_set_caching_policy(unw_addr_space_t as,
				  unw_caching_policy_t policy)
{
	return ow_space_set_policy(as, policy);
}

EXPORT int unw_set_cache_size(unw_addr_space_t as, size_t size, int flag)
{
	return ow_space_set_cache_size(as, size, flag);
}

EXPORT int unw_init_local(unw_cursor_t *cursor, unw_context_t *uc)
{
	return ow_unw_init_local(ow_unw_of(cursor), uc, 0);
}

EXPORT int unw_init_local2(unw_cursor_t *cursor, unw_context_t *uc, int flag)
{
	return ow_unw_init_local(ow_unw_of(cursor), uc, flag);
}

EXPORT int unw_step(unw_cursor_t *cursor)
{
	return ow_unw_step(ow_unw_of(cursor));
}

EXPORT int unw_resume(unw_cursor_t *cursor)
{
	return ow_unw_resume(ow_unw_of(cursor));
}

EXPORT int unw_get_reg(unw_cursor_t *cursor, int reg, unw_word_t *ret)
{
	return ow_unw_get_reg(ow_unw_of(cursor), reg, ret);
}

EXPORT int unw_set_reg(unw_cursor_t *cursor, int reg, unw_word_t val)
{
	return ow_unw_set_reg(ow_unw_of(cursor), reg, val);
}

/* No row follows them; the innermost frame has what the target has. */
EXPORT int unw_get_fpreg(unw_cursor_t *cursor, int reg, unw_fpreg_t *ret)
{
	struct ow_unw *u = ow_unw_of(cursor);

	if (!unw_is_fpreg(reg) || u->as->is_local || !u->as->acc.access_fpreg)
		return -UNW_EBADREG;
	return u->as->acc.access_fpreg(u->as, reg, ret, 0, u->arg);
}

EXPORT int unw_set_fpreg(unw_cursor_t *cursor, int reg, unw_fpreg_t val)
{
	struct ow_unw *u = ow_unw_of(cursor);

	if (!unw_is_fpreg(reg) || u->as->is_local || !u->as->acc.access_fpreg)
		return -UNW_EBADREG;
	return u->as->acc.access_fpreg(u->as, reg, &val, 1, u->arg);
}

EXPORT int unw_get_save_loc(unw_cursor_t *cursor, int reg, unw_save_loc_t *ret)
{
	return ow_unw_get_save_loc(ow_unw_of(cursor), reg, ret);
}

/*
 * As libunwind has it: on x86-64 unw_step() into what a signal interrupted makes
 * that frame the one, until unw_get_proc_info() asks for the frame's own row; on
 * AArch64 it is the one at the trampoline.
 */
EXPORT int unw_is_signal_frame(unw_cursor_t *cursor)
{
	struct ow_unw *u = ow_unw_of(cursor);
	struct ow_row row;

	if (ow_machine.signal_behind)
		return u->behind_signal;
	return ow_unw_at_trampoline(u, &row);
}

EXPORT int unw_is_plt_entry(unw_cursor_t *cursor)
{
	return ow_unw_at_plt(ow_unw_of(cursor));
}

EXPORT int unw_get_proc_info_by_ip(unw_addr_space_t as, unw_word_t ip,
				   unw_proc_info_t *ret, void *arg)
{
	int err = as->acc.find_proc_info(as, ip, ret, 0, arg);

	return err > 0 ? -UNW_EUNSPEC : err;
}

EXPORT int unw_get_proc_info(unw_cursor_t *cursor, unw_proc_info_t *ret)
{
	struct ow_unw *u = ow_unw_of(cursor);
	int err = unw_get_proc_info_by_ip(u->as, ow_unw_lookup(u), ret, u->arg);
	struct ow_row row;

	/* Nothing but the address itself is known: on x86-64 no error, as
	   _start() has no row and ends the stack anyway (libunwind). */
	if (err) {
		*ret = (unw_proc_info_t){ .start_ip = u->ip,
					  .end_ip = u->ip + 1 };
		return ow_machine.rowless_is_error ? err : 0;
	}
	u->behind_signal = ow_unw_at_trampoline(u, &row);
	return 0;
}

EXPORT int unw_get_proc_name_by_ip(unw_addr_space_t as, unw_word_t ip,
				   char *buf, size_t size, unw_word_t *off_ret,
				   void *arg)
{
	if (size)
		buf[0] = '\0';
	if (!as->acc.get_proc_name)
		return -UNW_ENOINFO;
	return as->acc.get_proc_name(as, ip, buf, size, off_ret, arg);
}

/* A return address's function is that of the call. */
EXPORT int unw_get_proc_name(unw_cursor_t *cursor, char *buf, size_t size,
			     unw_word_t *off_ret)
{
	struct ow_unw *u = ow_unw_of(cursor);
	int err = unw_get_proc_name_by_ip(u->as, ow_unw_lookup(u), buf, size,
					  off_ret, u->arg);

	if (off_ret && (err == 0 || err == -UNW_ENOMEM))
		*off_ret += u->is_return;
	return err;
}

EXPORT int unw_get_elf_filename_by_ip(unw_addr_space_t as, unw_word_t ip,
				      char *buf, size_t size,
				      unw_word_t *off_ret, void *arg)
{
	if (size)
		buf[0] = '\0';
	if (!as->acc.get_elf_filename)
		return -UNW_ENOINFO;
	return as->acc.get_elf_filename(as, ip, buf, size, off_ret, arg);
}

EXPORT int unw_get_elf_filename(unw_cursor_t *cursor, char *buf, size_t size,
				unw_word_t *off_ret)
{
	struct ow_unw *u = ow_unw_of(cursor);
	int err = unw_get_elf_filename_by_ip(u->as, ow_unw_lookup(u), buf, size,
					     off_ret, u->arg);

	if (off_ret && err == 0)
		*off_ret += u->is_return;
	return err;
}

EXPORT int unw_reg_states_iterate(unw_cursor_t *cursor,
				  unw_reg_states_callback cb, void *token)
{
	return ow_unw_states_iterate(ow_unw_of(cursor), cb, token);
}

EXPORT int unw_apply_reg_state(unw_cursor_t *cursor, void *reg_states_data)
{
	return ow_unw_state_apply(ow_unw_of(cursor), reg_states_data);
}

EXPORT int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as,
					      unw_word_t ip, unw_dyn_info_t *di,
					      unw_proc_info_t *pi, int need,
					      void *arg)
{
	return ow_searchtable_find(&as->acc, as, ip, di, pi, need, arg);
}
