// SPDX-License-Identifier: BSD-2-Clause
#include "demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

/*
 * Both manglings can refer back to what they have said, so that a short name
 * gives a text of exponential length.
 */
enum {
	MANGLED_MAX = 4096,
	TEXT_MAX = 16384,
};

struct text {
	char *buf; /* TEXT_MAX bytes */
	size_t len;
	jmp_buf too_long;
};

/*
 * The demangler can't be told to stop, but it owns nothing at most calls of
 * this, as it works on its stack; a Rust identifier in Punycode is lost.
 */
static void append(const char *s, size_t n, void *opaque)
{
	struct text *t = opaque;

	if (n >= TEXT_MAX - t->len)
		longjmp(t->too_long, 1);
	memcpy(t->buf + t->len, s, n);
	t->len += n;
}

static bool demangle(struct text *t, const char *name)
{
	int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(t->too_long))
		return false;
	if (rust_demangle_callback(name, options, append, t))
		return true;
	t->len = 0;
	return cplus_demangle_v3_callback(name, options, append, t);
}

char *ow_demangle(const char *name)
{
	_cleanup_(ow_freep) struct text *t = NULL;
	_cleanup_(ow_freep) char *buf = NULL;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	if (strnlen(name, MANGLED_MAX + 1) > MANGLED_MAX)
		return NULL;
	t = malloc(sizeof(*t));
	buf = malloc(TEXT_MAX);
	if (!t || !buf)
		return NULL;
	t->buf = buf;
	t->len = 0;
	return demangle(t, name) ? strndup(buf, t->len) : NULL;
}
