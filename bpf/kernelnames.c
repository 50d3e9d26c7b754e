// SPDX-License-Identifier: BSD-2-Clause
#include "kernelnames.h"

#include <stdio.h>
#include <string.h>

#include "cursor.h"

#define FUNCTION_MAX ((uint64_t)1 << 24) /* bytes; a table doesn't tell */

/* ELF notes, as vmlinux has them; NT_GNU_BUILD_ID is 3 (linux/elf.h). */
static void find_build_id(struct ow_kernelnames *k, const uint8_t *notes,
			  size_t size)
{
	struct ow_cursor c = { notes, notes + size, false };
	struct ow_elf_note note;
	size_t i;

	while (ow_elf_note(&c, &note)) {
		if (note.type != OW_NT_GNU_BUILD_ID || note.name_size != 4 ||
		    memcmp(note.name, "GNU", 4) != 0 ||
		    note.desc_size > OW_BUILD_ID_MAX)
			continue;
		for (i = 0; i < note.desc_size; i++)
			snprintf(k->build_id + 2 * i, 3, "%02x", note.desc[i]);
		return;
	}
}

static void read_notes(struct ow_kernelnames *k)
{
	FILE *in = fopen("/sys/kernel/notes", "re");
	uint8_t notes[4096];

	if (!in)
		return;
	find_build_id(k, notes, fread(notes, 1, sizeof(notes), in));
	fclose(in);
}

static void look(struct ow_kernelnames *k)
{
	if (k->tried)
		return;
	k->tried = true;
	k->table = ow_nametable_open("/proc/kallsyms", OW_ALIASES_PLAIN, NULL);
	if (!k->table || !ow_nametable_address(k->table, "_stext", &k->start) ||
	    !ow_nametable_address(k->table, "_etext", &k->end))
		k->start = k->end = 0;
	read_notes(k);
}

void ow_kernelnames_name(struct ow_kernelnames *k, const struct ow_frame *f,
			 struct ow_name *name)
{
	uint64_t lookup = ow_frame_lookup_pc(f);
	const char *text;
	uint64_t off;

	*name = (struct ow_name){ .module = "[kernel]",
				  .module_offset = f->pc };
	look(k);
	if (k->table && ow_nametable_find(k->table, lookup, &text, &off) &&
	    off < FUNCTION_MAX) {
		name->function = text;
		name->offset = off + (f->pc - lookup);
	}
}

bool ow_kernelnames_module(struct ow_kernelnames *k, const struct ow_frame *f,
			   struct ow_module_info *ret)
{
	uint64_t lookup = ow_frame_lookup_pc(f);

	look(k);
	if (lookup < k->start || lookup >= k->end)
		return false;
	*ret = (struct ow_module_info){
		.start = k->start,
		.end = k->end,
		.path = "[kernel.kallsyms]",
		.build_id = k->build_id,
	};
	return true;
}

void ow_kernelnames_deinit(struct ow_kernelnames *k)
{
	ow_nametable_close(k->table);
	k->table = NULL;
}
