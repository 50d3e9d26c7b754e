/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a hosted call failed, and the scope guards that hosted code uses. */
#ifndef OW_ERROR_H
#define OW_ERROR_H

#include <outwind/outwind.h>

/*
 * Fill err (which may be NULL) with code, the current errno where it tells
 * something, and one line of text.  Return -code, so that a failure is one
 * return statement.
 */
int ow_fail(struct ow_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Fail with code as the kunwind module's device can't be had, for the reason that errno
 * is: who needs it, and how the module is loaded, with options ("" or " hook=1").
 */
int ow_fail_kunwind(struct ow_error *err, int code, const char *who,
		    const char *options);

#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* For _cleanup_(): close an fd that is not negative; free a pointer. */
void ow_closep(int *fd);
void ow_freep(void *ptr);

#endif /* OW_ERROR_H */
