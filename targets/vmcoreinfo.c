// SPDX-License-Identifier: BSD-2-Clause
#include "vmcoreinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool ow_vmcoreinfo_text(const struct ow_vmcoreinfo *v, const char *key,
			char *buf, size_t size)
{
	const char *pos = v->text, *end, *line_end;
	size_t key_size = strlen(key), n;

	if (v->size == 0)
		return false;
	end = pos + v->size;
	for (; pos < end; pos = line_end + 1) {
		line_end = memchr(pos, '\n', end - pos);
		if (!line_end)
			line_end = end;
		n = line_end - pos;
		if (n <= key_size || memcmp(pos, key, key_size) != 0 ||
		    pos[key_size] != '=')
			continue;
		n -= key_size + 1;
		if (n == 0 || n >= size || memchr(pos + key_size + 1, 0, n))
			return false;
		memcpy(buf, pos + key_size + 1, n);
		buf[n] = '\0';
		return true;
	}
	return false;
}

bool ow_vmcoreinfo_hex(const struct ow_vmcoreinfo *v, const char *key,
		       uint64_t *ret)
{
	char text[24], *end;

	if (!ow_vmcoreinfo_text(v, key, text, sizeof(text)))
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 16);
	return *end == '\0' && errno == 0;
}

bool ow_vmcoreinfo_number(const struct ow_vmcoreinfo *v, const char *key,
			  int64_t *ret)
{
	char text[24], *end;

	if (!ow_vmcoreinfo_text(v, key, text, sizeof(text)))
		return false;
	errno = 0;
	*ret = strtoll(text, &end, 0);
	return *end == '\0' && errno == 0;
}
