// SPDX-License-Identifier: BSD-2-Clause
/* What is the same for all address spaces. */
#include <libunwind.h>

#include "machine.h"

#define EXPORT __attribute__((visibility("default")))

static const char *const errors[] = {
	[UNW_ESUCCESS] = "no error",
	[UNW_EUNSPEC] = "unspecified (general) error",
	[UNW_ENOMEM] = "out of memory",
	[UNW_EBADREG] = "bad register number",
	[UNW_EREADONLYREG] = "attempt to write read-only register",
	[UNW_ESTOPUNWIND] = "stop unwinding",
	[UNW_EINVALIDIP] = "invalid IP",
	[UNW_EBADFRAME] = "bad frame",
	[UNW_EINVAL] = "unsupported operation or bad value",
	[UNW_EBADVERSION] = "unwind info has unsupported version",
	[UNW_ENOINFO] = "no unwind info found",
};

EXPORT const char *unw_strerror(int err)
{
	if (err > 0 || err <= -(int)OW_ARRAY_SIZE(errors))
		return "invalid error code";
	return errors[-err];
}

EXPORT const char *unw_regname(unw_regnum_t reg)
{
	if (reg < 0 || reg >= ow_machine.nr_regs || !ow_machine.names[reg])
		return "???";
	return ow_machine.names[reg];
}

EXPORT int unw_tdep_is_fpreg(int reg)
{
#ifdef __aarch64__
	return reg >= UNW_AARCH64_V0 && reg <= UNW_AARCH64_V31;
#else
	(void)reg;
	return 0;
#endif
}
