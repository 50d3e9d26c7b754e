// SPDX-License-Identifier: BSD-2-Clause
#include "stackview.h"

#include <string.h>

size_t ow_view_utf8_size(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 :
		   s[0] < 0xc2 ? 0 :
		   s[0] < 0xe0 ? 2 :
		   s[0] < 0xf0 ? 3 :
		   s[0] < 0xf5 ? 4 :
				 0;
	size_t i;

	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Too long a form, a surrogate, or beyond U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void ow_view_put_clean(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	for (; *s; s += n ? n : 1) {
		n = ow_view_utf8_size(s);
		if (n == 0 || *s < ' ' || *s == 0x7f ||
		    (*s == 0xc2 && s[1] < 0xa0))
			putc('?', out);
		else
			fwrite(s, 1, n, out);
	}
}

const struct ow_view_writer *ow_view_writer_find(const char *name)
{
	static const struct ow_view_writer *const writers[] = {
		&ow_text_writer,
		&ow_json_writer,
		&ow_folded_writer,
	};
	size_t i;

	if (strcmp(name, "outwind") == 0)
		return &ow_text_writer;
	for (i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
		if (strcmp(writers[i]->name, name) == 0)
			return writers[i];
	return NULL;
}
