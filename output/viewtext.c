// SPDX-License-Identifier: BSD-2-Clause
#include "viewtext.h"

#include <stdio.h>
#include <string.h>

#include "stackview.h"

#define SHORT   256 /* bytes of a frame's names that it always keeps */
#define ESCAPED 6   /* bytes of an escape in JSON, "\u001b" */

/* Bytes that a character takes in JSON; *size_ret is what it takes here. */
static size_t size_in_json(const unsigned char *s, size_t *size_ret)
{
	*size_ret = 1;
	if (*s == '"' || *s == '\\')
		return 2;
	if (*s >= ' ' && *s < 0x7f)
		return 1;
	if (!ow_view_is_odd(s, size_ret))
		return *size_ret;
	/* What isn't in 16 bits has two escapes. */
	return *size_ret < 4 ? ESCAPED : 2 * ESCAPED;
}

/* Bytes that a text takes where it is longest, in JSON; or more than most. */
static uint64_t size_of(const char *text, size_t longest, uint64_t most)
{
	const unsigned char *s = (const unsigned char *)text;
	uint64_t size = 0;
	size_t i, n;

	for (i = 0; text && size <= most && i < longest && s[i]; i += n)
		size += size_in_json(s + i, &n);
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

	/* Each but the frame's own is a line that nothing was taken for yet. */
	t->whole += (size <= most ? size : SHORT) + (nr - 1) * VIEWTEXT_FRAME;
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

size_t viewtext_fit(struct viewtext *t, size_t nr)
{
	uint64_t left = t->whole < VIEWTEXT_WHOLE ? VIEWTEXT_WHOLE - t->whole :
						    0;
	size_t fit = nr;

	if (left / VIEWTEXT_FRAME < nr) {
		fit = left >= VIEWTEXT_FRAME ? (size_t)(left / VIEWTEXT_FRAME) :
					       1;
		t->nr_short += fit < nr;
		t->nr_left_out += nr - fit;
	}
	t->whole += fit * VIEWTEXT_FRAME;
	return fit;
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

bool viewtext_short_line(const struct viewtext *t, char buf[VIEWTEXT_LINE])
{
	if (!t->nr_short)
		return false;
	snprintf(buf, VIEWTEXT_LINE,
		 "all stacks would take more than %llu MiB of text: %llu outer "
		 "frames of %llu threads are left out",
		 (unsigned long long)(VIEWTEXT_WHOLE >> 20),
		 (unsigned long long)t->nr_left_out,
		 (unsigned long long)t->nr_short);
	return true;
}

bool viewtext_say(const struct viewtext *t, void (*say)(const char *line))
{
	char line[VIEWTEXT_LINE];
	bool lacks_names = viewtext_line(t, line), lacks_frames;

	if (lacks_names)
		say(line);
	lacks_frames = viewtext_short_line(t, line);
	if (lacks_frames)
		say(line);
	return !lacks_names && !lacks_frames;
}
