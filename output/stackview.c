// SPDX-License-Identifier: BSD-2-Clause
#include "stackview.h"

#include <string.h>

void ow_view_put_clean(FILE *out, const char *text)
{
	for (; *text; text++)
		putc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text,
		     out);
}

const struct ow_view_writer *ow_view_writer_find(const char *name)
{
	static const struct ow_view_writer *const writers[] = {
		&ow_text_writer,
		&ow_json_writer,
		&ow_folded_writer,
	};
	size_t i;

	for (i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
		if (strcmp(writers[i]->name, name) == 0)
			return writers[i];
	return NULL;
}
