// SPDX-License-Identifier: BSD-2-Clause
#include "viewtext.h"

#include <stdio.h>
#include <string.h>

#define SHORT   256 /* bytes of a frame's names that it always keeps */
#define ESCAPED 6   /* bytes of a control character in JSON, "\u001b" */

/* Bytes that a text takes where it is longest, in JSON; or more than most. */
static uint64_t size_of(const char *text, size_t longest, uint64_t most)
{
	uint64_t size = 0;
	unsigned char c;
	size_t i;

	for (i = 0; text && size <= most && i < longest && text[i]; i++) {
		c = (unsigned char)text[i];
		size += c < ' ' || c == 0x7f || c == 0xc2 ? ESCAPED : 1;
	}
	return size;
}

static uint64_t size_of_all(const struct viewtext *t,
			    const struct ow_name *names, size_t nr,
			    uint64_t most)
{
	const struct ow_name *n;
	uint64_t size = 0;

	for (n = names; n < names + nr && size <= most; n++)
		size += size_of(n->function, t->longest ? t->longest : SIZE_MAX,
				most) +
			size_of(n->module, SIZE_MAX, most) +
			size_of(n->build_id, SIZE_MAX, most) +
			size_of(n->file, SIZE_MAX, most);
	return size;
}

static bool is_short(const char *text)
{
	return size_of(text, SIZE_MAX, SHORT) <= SHORT;
}

/* The file's name, if the whole path is too long. */
static const char *short_path(const char *path)
{
	const char *slash;

	if (!path || is_short(path))
		return path;
	slash = strrchr(path, '/');
	return slash && is_short(slash + 1) ? slash + 1 : NULL;
}

static void shorten(struct ow_name *name)
{
	if (!is_short(name->function)) {
		name->function = NULL;
		name->offset = 0;
	}
	name->module = short_path(name->module);
	if (!is_short(name->build_id))
		name->build_id = NULL;
	name->file = short_path(name->file);
}

size_t viewtext_take(struct viewtext *t, struct ow_name *names, size_t nr)
{
	uint64_t left = VIEWTEXT_MOST - t->used;
	uint64_t most = left > SHORT ? left : SHORT;
	uint64_t size = size_of_all(t, names, nr, most);

	if (size <= left) {
		t->used += size;
		return nr;
	}
	t->used = VIEWTEXT_MOST;
	if (size <= SHORT)
		return nr;
	t->nr_cut++;
	names[0] = names[nr - 1];
	shorten(&names[0]);
	return 1;
}

bool viewtext_line(const struct viewtext *t, char buf[VIEWTEXT_LINE])
{
	if (!t->nr_cut)
		return false;
	snprintf(buf, VIEWTEXT_LINE,
		 "all names would take more than %llu MiB of text: names of "
		 "%llu frames are left out",
		 (unsigned long long)(VIEWTEXT_MOST >> 20),
		 (unsigned long long)t->nr_cut);
	return true;
}
