// SPDX-License-Identifier: BSD-2-Clause
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow_kunwind.h"

int ow_fail(struct ow_error *err, int code, const char *fmt, ...)
{
	int os_errno = errno;
	size_t used;
	va_list ap;

	if (!err)
		return -code;
	err->code = code;
	err->os_errno = code == OW_CODE_SYSTEM || code == OW_CODE_PERMISSION ?
				os_errno :
				0;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	used = strlen(err->msg);
	if (code == OW_CODE_SYSTEM)
		snprintf(err->msg + used, sizeof(err->msg) - used, ": %s",
			 strerror(os_errno));
	return -code;
}

int ow_fail_kunwind(struct ow_error *err, int code, const char *who,
		    const char *options)
{
	return ow_fail(err, code,
		       "%s needs the kunwind module (" OW_KUNWIND_DEVICE
		       ": %s): modprobe kunwind%s",
		       who, strerror(errno), options);
}

void ow_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void ow_freep(void *ptr)
{
	free(*(void **)ptr);
}
