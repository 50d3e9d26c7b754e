// SPDX-License-Identifier: BSD-2-Clause
#include "procinfo.h"

#include <stdlib.h>

#include "err.h"
#include "language.h"
#include "loaded.h"
#include "localmem.h"
#include "ow_frame.h"

void ow_procinfo_of(unw_proc_info_t *pi, const struct ow_cfi *cfi,
		    const struct ow_cfi_env *env, const struct ow_fde *fde,
		    uint8_t how)
{
	uint64_t handler, lsda;

	/* What can't be read there is of no use for stepping either. */
	ow_language_of(cfi, env, fde, &handler, &lsda);
	*pi = (unw_proc_info_t){
		.start_ip = fde->start + env->bias,
		.end_ip = fde->end + env->bias,
		.lsda = lsda,
		.handler = handler,
		.flags = how == OW_HOW_DEBUG ? UNW_PI_FLAG_DEBUG_FRAME : 0,
		.format = UNW_INFO_FORMAT_TABLE,
		.unwind_info_size = sizeof(struct ow_unwind_info),
	};
}

int ow_procinfo_fill(unw_proc_info_t *pi, const struct ow_cfi *cfi,
		     const struct ow_cfi_env *env, const struct ow_fde *fde,
		     uint8_t how, int need, uint8_t *owned)
{
	struct ow_unwind_info *info;

	ow_procinfo_of(pi, cfi, env, fde, how);
	if (!need) {
		free(owned);
		return 0;
	}
	info = malloc(sizeof(*info));
	if (!info) {
		free(owned);
		return -UNW_ENOMEM;
	}
	*info = (struct ow_unwind_info){ *fde, env->bias, how, owned };
	pi->unwind_info = info;
	return 0;
}

void ow_procinfo_put(unw_proc_info_t *pi)
{
	struct ow_unwind_info *info = pi->unwind_info;

	if (!info || pi->format != UNW_INFO_FORMAT_TABLE)
		return;
	free(info->owned);
	free(info);
	pi->unwind_info = NULL;
}

int ow_procinfo_local(uint64_t addr, unw_proc_info_t *pi)
{
	struct ow_cfi_env env = { &ow_local_memory, 0, NULL };
	struct ow_loaded l;
	struct ow_cfi cfi;
	struct ow_fde fde;
	uint8_t how;

	if (!ow_loaded_find(addr, &l) || ow_loaded_cfi(&l, &cfi) ||
	    ow_cfi_find(&cfi, &env, addr, &fde, &how))
		return -UNW_ENOINFO;
	ow_procinfo_of(pi, &cfi, &env, &fde, how);
	pi->gp = ow_loaded_gp(&l);
	return 0;
}
