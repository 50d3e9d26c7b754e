// SPDX-License-Identifier: BSD-2-Clause
#include "stackview.h"

#include <string.h>

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
