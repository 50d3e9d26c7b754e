// SPDX-License-Identifier: BSD-2-Clause
#include <outwind/outwind.h>

const char *ow_version(void)
{
	return OUTWIND_VERSION;
}
