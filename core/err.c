// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "err.h"

#include "env.h"

static const char *const texts[OW_ERR_HOSTED] = {
	[0] = "no error",
	[OW_EFORMAT] = "malformed unwind data",
	[OW_EUNSUPPORTED] = "unsupported unwind data",
	[OW_EFAULT] = "memory could not be read",
	[OW_ENOENT] = "nothing covers the address",
	[OW_EUNKNOWN] = "a needed register is not known",
	[OW_ELIMIT] = "limit reached",
};

const char *ow_err_text(int code)
{
	unsigned int i = code < 0 ? -(unsigned int)code : (unsigned int)code;

	return i < OW_ARRAY_SIZE(texts) ? texts[i] : "unknown error";
}
