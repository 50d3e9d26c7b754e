// SPDX-License-Identifier: BSD-2-Clause
#include "corenotes.h"

#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "cursor.h"
#include "elf.h"
#include "error.h"
#include "grow.h"
#include "leftout.h"
#include "prstatus.h"

/* Bytes of memory: a list that grows is there twice. */
#define THREAD_COST (2 * sizeof(struct ow_capture_thread))

/*
 * Notes of a core that are looked at, and their bytes: holes of a file cost whoever
 * made it nothing.  Each of 100,000 threads may have 40 notes, and 40 KB; on x86, with
 * all extended state, it has 12 KB.
 */
#define MOST_NOTES (1U << 22)
#define MOST_BYTES ((uint64_t)4 << 30)

#define MOST_AUXV 1024 /* pairs; Linux has about 30 (AT_VECTOR_SIZE) */

/* QEMU hands on no more than that (dump/dump.c, MAX_GUEST_NOTE_SIZE). */
#define MOST_VMCOREINFO (1U << 20)

enum {
	NT_OF_MACHINE = 0,
	NT_PRSTATUS = 1,
	NT_PRPSINFO = 3,
	NT_AUXV = 6,
	NT_FILE = 0x46494c45,
	NT_ARM_PAC_MASK = 0x406,

	AT_NULL = 0,
	AT_ENTRY = 9,
	AT_EXECFN = 31,
	AT_SYSINFO_EHDR = 33,
};

/* struct elf_prstatus and elf_prpsinfo (Linux, include/linux/elfcore.h). */
static const struct ow_corenotes_layout {
	uint8_t word;
	uint8_t pid, regs;   /* in elf_prstatus */
	uint8_t tgid, fname; /* in elf_prpsinfo */
} layouts[] = {
	{ 8, 32, 112, 24, 40 },
	{ 4, 24, 72, 12, 28 },
};

static void refuse_segment(struct ow_capture_thread *t)
{
	t->info.captured = false;
	ow_fail(&t->info.why, OW_CODE_UNSUPPORTED,
		"thread ran code of a segment that the program had made "
		"(modify_ldt), whose address isn't known");
}

static void add_thread(struct ow_corenotes *n, const struct ow_elf_note *note)
{
	const struct ow_corenotes_layout *l = n->layout;
	struct ow_capture_thread *t;
	uint32_t pid;

	if (note->desc_size < l->regs)
		return;
	if (!ow_capture_take_memory(n->c, 1, THREAD_COST)) {
		ow_budget_refuse(n->path, "a list of all its threads");
		return;
	}
	if (!ow_grow(&n->threads, &n->room, n->nr_threads + 1,
		     sizeof(*n->threads)))
		return;
	t = &n->threads[n->nr_threads++];
	memset(t, 0, sizeof(*t));
	memcpy(&pid, note->desc + l->pid, sizeof(pid));
	t->info.tid = (pid_t)pid;
	t->info.state = '?';
	t->info.syscall_nr = OW_SYSCALL_UNKNOWN;
	t->info.stopped = true;
	t->info.certain = true;
	t->info.captured = ow_prstatus_regs(n->arch, note->desc + l->regs,
					    note->desc_size - l->regs,
					    &t->regs);
	if (!t->info.captured)
		ow_fail(&t->info.why, OW_CODE_FORMAT,
			"%s: register note is too short", n->path);
	else if (!ow_prstatus_has_address(n->arch, note->desc + l->regs,
					  note->desc_size - l->regs))
		refuse_segment(t);
	t->is_user = ow_prstatus_is_user(n->arch, note->desc + l->regs,
					 note->desc_size - l->regs);
	if (n->nr_threads == 1 && !n->has_psinfo)
		n->pid = t->info.tid;
}

static void take_psinfo(struct ow_corenotes *n, const struct ow_elf_note *note)
{
	const struct ow_corenotes_layout *l = n->layout;
	uint32_t pid;

	if (note->desc_size < (uint32_t)l->fname + OW_CORE_NAME)
		return;
	memcpy(n->name, note->desc + l->fname, OW_CORE_NAME);
	memcpy(&pid, note->desc + l->tgid, sizeof(pid));
	n->pid = (pid_t)pid;
	n->has_psinfo = true;
}

static void take_auxv(struct ow_corenotes *n, const struct ow_elf_note *note)
{
	struct ow_cursor c = { note->desc, note->desc + note->desc_size,
			       false };
	uint64_t type, value;
	unsigned int left;

	for (left = MOST_AUXV; left && ow_cursor_more(&c); left--) {
		type = ow_cursor_uint(&c, n->layout->word);
		value = ow_cursor_uint(&c, n->layout->word);
		if (type == AT_NULL)
			break;
		if (type == AT_ENTRY)
			n->entry = value;
		else if (type == AT_SYSINFO_EHDR)
			n->vdso = value;
		else if (type == AT_EXECFN)
			n->execfn = value;
	}
}

/* The path that comes next, or NULL: there is none, or no memory for it. */
static const char *take_path(struct ow_corenotes *n, struct ow_cursor *c)
{
	const uint8_t *end = memchr(c->pos, '\0', c->end - c->pos);
	const char *path;

	if (!end)
		return NULL;
	path = ow_intern_add(n->paths, (const char *)c->pos);
	c->pos = end + 1;
	if (!path)
		ow_budget_refuse(n->path, "its list of files");
	return path;
}

/* count, page size, count triples of start, end, offset; then the names. */
static void take_files(struct ow_corenotes *n, const struct ow_elf_note *note)
{
	struct ow_cursor c = { note->desc, note->desc + note->desc_size,
			       false };
	size_t w = n->layout->word;
	uint64_t nr = ow_cursor_uint(&c, w), page = ow_cursor_uint(&c, w), i;
	struct ow_core_file *f;

	if (c.bad || n->files || nr > note->desc_size / (3 * w))
		return;
	if (!ow_capture_take_memory(n->c, nr, sizeof(*n->files))) {
		ow_budget_refuse(n->path, "its list of files");
		return;
	}
	n->files = calloc(nr + 1, sizeof(*n->files));
	if (!n->files)
		return;
	for (i = 0; i < nr; i++) {
		f = &n->files[i];
		f->start = ow_cursor_uint(&c, w);
		f->end = ow_cursor_uint(&c, w);
		f->off = ow_cursor_uint(&c, w) * page;
	}
	for (i = 0; i < nr && ow_cursor_more(&c); i++) {
		n->files[i].path = take_path(n, &c);
		if (!n->files[i].path)
			break;
	}
	n->nr_files = c.bad ? 0 : i;
}

static void take_pac_mask(struct ow_corenotes *n,
			  const struct ow_elf_note *note)
{
	uint64_t insn_mask;

	if (note->desc_size < 16)
		return;
	memcpy(&insn_mask, note->desc + 8, sizeof(insn_mask));
	/* Bits that hold the code; bit 55 and up are no address either. */
	n->pc_mask = ~insn_mask & (((uint64_t)1 << 55) - 1);
}

static void take_qemu(struct ow_corenotes *n, const struct ow_elf_note *note)
{
	if (n->qemu)
		return;
	n->qemu = note->desc;
	n->qemu_size = note->desc_size;
}

static void take_vmcoreinfo(struct ow_corenotes *n,
			    const struct ow_elf_note *note)
{
	size_t size = note->desc_size;

	if (size > MOST_VMCOREINFO) {
		ow_leave_out(n->path, "VMCOREINFO after its first 1024 KiB");
		size = MOST_VMCOREINFO;
	}
	n->vmcoreinfo =
		(struct ow_vmcoreinfo){ (const char *)note->desc, size };
}

static bool is_named(const struct ow_elf_note *note, const char *name)
{
	size_t size = strlen(name) + 1;

	return note->name_size == size && memcmp(note->name, name, size) == 0;
}

/* Return true if there is another note, and it is not beyond what is looked at. */
static bool next(struct ow_corenotes *n, struct ow_cursor *c,
		 struct ow_elf_note *ret)
{
	const uint8_t *start = c->pos;

	if (!ow_cursor_more(c))
		return false;
	if (n->nr_seen >= MOST_NOTES) {
		ow_leave_out(n->path, "notes after the first 4194304");
		return false;
	}
	if (n->size_seen >= MOST_BYTES) {
		ow_leave_out(n->path, "notes after the first 4096 MiB");
		return false;
	}
	if (!ow_elf_note(c, ret))
		return false;
	n->nr_seen++;
	n->size_seen += (uint64_t)(c->pos - start);
	return true;
}

void ow_corenotes_take(struct ow_corenotes *n, struct ow_cursor c)
{
	static const struct {
		uint32_t type;
		const char *name; /* NULL: any */
		void (*take)(struct ow_corenotes *, const struct ow_elf_note *);
	} takers[] = {
		{ NT_PRSTATUS, NULL, add_thread },
		{ NT_PRPSINFO, NULL, take_psinfo },
		{ NT_AUXV, NULL, take_auxv },
		{ NT_FILE, NULL, take_files },
		{ NT_ARM_PAC_MASK, NULL, take_pac_mask },
		{ NT_OF_MACHINE, "QEMU", take_qemu },
		{ NT_OF_MACHINE, "VMCOREINFO", take_vmcoreinfo },
	};
	struct ow_elf_note note;
	size_t i;

	while (next(n, &c, &note))
		for (i = 0; i < OW_ARRAY_SIZE(takers); i++)
			if (takers[i].type == note.type &&
			    (!takers[i].name ||
			     is_named(&note, takers[i].name)))
				takers[i].take(n, &note);
}

static int file_order(const void *a, const void *b)
{
	const struct ow_core_file *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void ow_corenotes_sort(struct ow_corenotes *n)
{
	if (n->nr_files)
		qsort(n->files, n->nr_files, sizeof(*n->files), file_order);
}

void ow_corenotes_begin(struct ow_corenotes *n, const struct ow_arch *arch)
{
	n->arch = arch;
	n->layout = &layouts[arch->word == 8 ? 0 : 1];
}

void ow_corenotes_free(struct ow_corenotes *n)
{
	free(n->threads);
	free(n->files);
}
