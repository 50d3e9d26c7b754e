// SPDX-License-Identifier: BSD-2-Clause
#include "kernelnames.h"

#include <stdio.h>
#include <string.h>

#include "cursor.h"
#include "env.h"

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

static bool address_of(const struct ow_kernelnames *k, const char *name,
		       uint64_t *ret)
{
	return k->ask   ? ow_kernelask_address(k->ask, name, ret) :
	       k->table ? ow_nametable_address(k->table, name, ret) :
			  false;
}

static void find_code(struct ow_kernelnames *k)
{
	if (!address_of(k, "__entry_text_start", &k->entry_start) ||
	    !address_of(k, "__entry_text_end", &k->entry_end))
		k->entry_start = k->entry_end = 0;
	if (address_of(k, "_stext", &k->start) &&
	    address_of(k, "_etext", &k->end))
		return;
	k->start = k->end = 0;
}

void ow_kernelnames_read_list(struct ow_kernelnames *k)
{
	k->tried = k->listed = true;
	k->table = ow_nametable_open("/proc/kallsyms", OW_ALIASES_PLAIN, NULL);
	if (!k->start)
		find_code(k);
}

static void look(struct ow_kernelnames *k)
{
	if (k->tried)
		return;
	k->tried = true;
	read_notes(k);
	k->ask = ow_kernelask_open();
	if (k->ask)
		find_code(k);
	else
		ow_kernelnames_read_list(k);
}

/*
 * The function that holds an address; the text is kept.  The list has more than
 * can be asked for, such as ftrace's trampolines.
 */
static const char *find_text(struct ow_kernelnames *k, uint64_t addr,
			     uint64_t *off)
{
	const char *text;

	if (k->ask && ow_kernelask_name(k->ask, addr, &text, off))
		return ow_intern_add(&k->texts, text);
	if (!k->listed && addr >> 63)
		ow_kernelnames_read_list(k);
	return k->table && ow_nametable_find(k->table, addr, &text, off) ?
		       text :
		       NULL;
}

static struct ow_name name_of(struct ow_kernelnames *k,
			      const struct ow_frame *f)
{
	struct ow_name name = { .module = "[kernel]", .module_offset = f->pc };
	uint64_t lookup = ow_frame_lookup_pc(f), off;
	const char *text;

	look(k);
	text = find_text(k, lookup, &off);
	if (text && off < FUNCTION_MAX) {
		name.function = text;
		name.offset = off + (f->pc - lookup);
	}
	return name;
}

void ow_kernelnames_name(struct ow_kernelnames *k, const struct ow_frame *f,
			 struct ow_name *name)
{
	bool back = ow_frame_lookup_pc(f) != f->pc;
	const struct ow_name *known;
	size_t nr;

	known = ow_namecache_find(&k->known, f->pc, back, 0, &nr);
	if (known) {
		*name = *known;
		return;
	}
	*name = name_of(k, f);
	ow_namecache_put(&k->known, f->pc, back, name, 1);
}

/*
 * How names begin of code by which programs enter the kernel, also where it isn't
 * between the symbols __entry_text_start and _end (Linux, asm-generic/vmlinux.lds.h):
 * x86's, with FRED and in Xen's guests, and arm64's; and of what a new thread begins by.
 */
static const char *const entries[] = { "entry_",   "asm_", "xen_entry_",
				       "xen_asm_", "el0",  "ret_from_fork" };

static bool is_entry_name(const char *name)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(entries); i++)
		if (strncmp(name, entries[i], strlen(entries[i])) == 0)
			return true;
	return false;
}

bool ow_kernelnames_is_entry(struct ow_kernelnames *k, const struct ow_frame *f)
{
	uint64_t lookup = ow_frame_lookup_pc(f);
	struct ow_name name;

	look(k);
	if (lookup >= k->entry_start && lookup < k->entry_end)
		return true;
	ow_kernelnames_name(k, f, &name);
	return !name.function || is_entry_name(name.function);
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
	ow_namecache_deinit(&k->known);
	ow_intern_deinit(&k->texts);
	ow_kernelask_close(k->ask);
	ow_nametable_close(k->table);
	k->ask = NULL;
	k->table = NULL;
}
