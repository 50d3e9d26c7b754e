// SPDX-License-Identifier: BSD-2-Clause
#include "syscallflags.h"

#include <string.h>

#include "syscallflagnames.h"

/* Text that grows at its end; what has no room is left out. */
struct text {
	char *at, *end;
	bool is_begun;
};

static void put(struct text *t, const char *name)
{
	size_t size = strlen(name);

	if ((size_t)(t->end - t->at) < size + 2)
		return;
	if (t->is_begun)
		*t->at++ = '|';
	memcpy(t->at, name, size + 1);
	t->at += size;
	t->is_begun = true;
}

static void put_rest(struct text *t, uint64_t value)
{
	char hex[24], *at = hex + sizeof(hex) - 1;

	*at = '\0';
	for (; value; value >>= 4)
		*--at = "0123456789abcdef"[value & 15];
	*--at = 'x';
	*--at = '0';
	put(t, at);
}

static const char *value_of(const struct ow_flagnames *n, uint64_t value)
{
	size_t i;

	for (i = 0; i < n->nr_values; i++)
		if (n->values[i].value == value)
			return n->values[i].name;
	return NULL;
}

bool ow_syscallflags_text(char kind, uint64_t value, char *buf, size_t size)
{
	const struct ow_flagnames *n = ow_flagnames_of(kind);
	struct text t = { buf, buf + size, false };
	uint64_t left, field;
	const char *chosen;
	size_t i;

	if (!n || size == 0)
		return false;
	*buf = '\0';
	left = n->is_long ? value : (uint32_t)value;
	field = n->field ? left & n->field : left;
	chosen = n->field || !left ? value_of(n, field) : NULL;
	if (!chosen && n->field == UINT32_MAX)
		return false;
	if (chosen) {
		put(&t, chosen);
		left &= ~field;
	}
	for (i = 0; i < n->nr_bits; i++)
		if ((left & n->bits[i].value) == n->bits[i].value) {
			put(&t, n->bits[i].name);
			left &= ~(uint64_t)n->bits[i].value;
		}
	if (left)
		put_rest(&t, left);
	if (!t.is_begun)
		put(&t, "0");
	return true;
}

#define O_CREATES (0x40 | 0x400000) /* O_CREAT, and what makes O_TMPFILE */

/* What there is to fcntl()'s commands; 'x' for a pointer. */
static char fcntl_kind(uint32_t command)
{
	switch (command) {
	case 0:    /* F_DUPFD */
	case 1030: /* F_DUPFD_CLOEXEC */
	case 8:    /* F_SETOWN */
	case 1031: /* F_SETPIPE_SZ */ return 'd';
	case 2: return '2'; /* F_SETFD */
	case 4: return 'O'; /* F_SETFL */
	case 1:             /* F_GETFD */
	case 3:             /* F_GETFL */
	case 9:             /* F_GETOWN */
	case 11:            /* F_GETSIG */
	case 1025:          /* F_GETLEASE */
	case 1032:          /* F_GETPIPE_SZ */
	case 1034: /* F_GET_SEALS */ return '\0';
	default: return 'x';
	}
}

/* Futexes that are woken by a number, and waited for by a number and a time. */
static bool is_short_futex(uint32_t op, unsigned int i)
{
	op &= 0x7f;
	return (op == 1 && i >= 3) || (op == 0 && i >= 4);
}

char ow_syscallflags_kind(const char *kinds, const uint64_t *args,
			  unsigned int i)
{
	if (i == 0)
		return kinds[0];
	if (kinds[i] == 'o' && kinds[i - 1] == 'O' &&
	    !(args[i - 1] & O_CREATES))
		return '\0';
	if (kinds[i - 1] == 'F')
		return fcntl_kind((uint32_t)args[i - 1]);
	if (kinds[1] == 'U' && is_short_futex((uint32_t)args[1], i))
		return '\0';
	return kinds[i];
}
