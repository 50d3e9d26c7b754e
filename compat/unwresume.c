// SPDX-License-Identifier: BSD-2-Clause
#include "unwresume.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GREG(uc, slot) (*(uint64_t *)((char *)(uc) + ow_machine.gregs[slot]))

/* Give a remote target the cursor's registers, and let its resume() go on. */
static int resume_remote(struct ow_unw *u)
{
	unw_accessors_t *acc = &u->as->acc;
	uint64_t val;
	unsigned int i;
	int err;

	if (!acc->resume)
		return -UNW_EINVAL;
	for (i = 0; i < OW_M_NR; i++) {
		if (ow_machine.gregs[i] == OW_GREG_NONE || u->reg >> i & 1)
			continue;
		if (i == OW_M_PC)
			val = u->ip;
		else if (ow_unw_fetch(u, i, &val))
			continue;
		err = acc->access_reg(u->as, (int)i, &val, 1, u->arg);
		if (err)
			return err < 0 ? err : -UNW_EUNSPEC;
	}
	return acc->resume(u->as, (unw_cursor_t *)u, u->arg);
}

/* All registers, and the signal mask, are those of a signal's frame. */
static int resume_interrupted(struct ow_unw *u)
{
	char *uc = (char *)(uintptr_t)u->sigcontext;

	GREG(uc, OW_M_PC) = u->ip;
	ow_machine_sigreturn(uc);
}

int ow_unw_resume(struct ow_unw *u)
{
	unw_context_t uc;
	uint64_t val;
	unsigned int i;

	if (!u->ip)
		return -UNW_EINVAL;
	if (!u->as->is_local)
		return resume_remote(u);
	if (u->sigcontext)
		return resume_interrupted(u);
	/* What isn't known, like floating-point control, is as it was. */
	memcpy(&uc, u->arg, sizeof(uc));
	for (i = 0; i < OW_M_NR; i++)
		if (ow_machine.gregs[i] != OW_GREG_NONE &&
		    !ow_unw_fetch(u, i, &val))
			GREG(&uc, i) = val;
	GREG(&uc, OW_M_PC) = u->ip;
	GREG(&uc, OW_M_SP) = u->sp;
	ow_machine_resume(&uc);
}
