// SPDX-License-Identifier: BSD-2-Clause
#include "callabi.h"

#include <linux/audit.h>
#include <string.h>
#include <sys/ptrace.h>

#include "arch.h"
#include "env.h"
#include "syscalls.h"
#include "taken.h"
#include "taskextras.h"
#include "waitplace.h"

#define GET_SYSCALL_INFO 0x420e /* PTRACE_GET_SYSCALL_INFO, of linux/ptrace.h */
#define NOT_ASKED        (-1)

/* The beginning of what PTRACE_GET_SYSCALL_INFO tells (Linux 5.3). */
struct call_info {
	uint8_t op, pad[3];
	uint32_t arch;
};

uint32_t ow_callabi_of_stopped(pid_t tid)
{
	struct call_info info = { 0 };

	if (ptrace((enum __ptrace_request)GET_SYSCALL_INFO, tid, sizeof(info),
		   &info) < (long)sizeof(info))
		return 0;
	return info.arch;
}

/* Where a call returns to, and whether its code can be believed. */
struct asked_place {
	uint64_t pc;
	bool is_unwritten;
};

/* Where x86's register sets have what (Linux, user_64.h and user_32.h), as indexes. */
static const struct place {
	size_t size;
	uint8_t word, nr, pc;
} places[] = {
	{ 27 * 8, 8, 15, 16 },
	{ 17 * 4, 4, 11, 12 },
};

static uint64_t word_at(const struct place *p, const uint8_t *bytes,
			unsigned int i)
{
	uint64_t wide = 0; /* little-endian, as x86 is */

	memcpy(&wide, bytes + (size_t)i * p->word, p->word);
	return wide;
}

/* Return true if the registers are those that the thread made this call with. */
static bool is_in(const struct ow_taken_call *call, int nr,
		  const uint8_t *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(places); i++)
		if (places[i].size == size)
			return word_at(&places[i], bytes, places[i].pc) ==
				       call->pc &&
			       (int32_t)word_at(&places[i], bytes,
						places[i].nr) == nr;
	return false;
}

void ow_callabi_ask(struct ow_taken *t, size_t i, const uint8_t *bytes,
		    size_t size)
{
	struct ow_taken_call *call = &t->threads[i].call;
	int nr = t->c->threads[i].info.syscall_nr;

	if (nr < 0 || !is_in(call, nr, bytes, size))
		return;
	switch (ow_callabi_of_stopped(t->c->threads[i].info.tid)) {
	case AUDIT_ARCH_X86_64: call->arch = &ow_arch_x86_64; break;
	case AUDIT_ARCH_I386: call->arch = &ow_arch_i386; break;
	}
}

void ow_callabi_tell(struct ow_taken *t, size_t i, const char *line,
		     const struct ow_arch *arch)
{
	const struct ow_thread *info = &t->c->threads[i].info;
	struct ow_taken_call *call = &t->threads[i].call;
	uint64_t args[6], pc;

	if (arch && info->syscall_nr >= 0 &&
	    ow_taskextras_parse_syscall(line, args, &pc) == info->syscall_nr &&
	    pc == call->pc &&
	    memcmp(args, info->syscall_args, sizeof(args)) == 0)
		call->arch = arch;
}

/*
 * Return true if the program can't write to its code before and behind pc there, and has
 * not, as far as the kernel knows: pages of a file, or of the kernel's.
 */
static bool is_unwritten(struct ow_taken *t, uint64_t pc)
{
	const uint64_t start = pc - OW_WAITPLACE_SIZE;
	const struct ow_mapping *m = ow_mappings_from(&t->maps, start);

	return m && m->start <= start && pc + OW_WAITPLACE_SIZE <= m->end &&
	       !m->writable && !m->shared && ow_mapping_is_object(m) &&
	       ow_processmem_is_uncopied(t->c->live, start,
					 2 * OW_WAITPLACE_SIZE);
}

/* Copy what stands where calls return to that aren't known yet. */
static void copy_code(struct ow_taken *t)
{
	struct ow_taken_call *call;
	size_t i, nr = 0;

	for (i = 0; i < t->c->nr_threads; i++) {
		call = &t->threads[i].call;
		call->code = NOT_ASKED;
		if (t->c->threads[i].info.syscall_nr < 0 || call->arch ||
		    call->pc < OW_WAITPLACE_SIZE)
			continue;
		call->code = ow_stackcopy_add(&t->copy,
					      call->pc - OW_WAITPLACE_SIZE,
					      call->pc + OW_WAITPLACE_SIZE);
		nr++;
	}
	if (nr > 0)
		ow_stackcopy_run(&t->copy, &t->mem);
}

/*
 * Take what the code says; a look at it needs no more.  It is in memory since it was
 * copied.  Many threads wait at one place: last is the one that was asked for last.
 */
static void look_at_code(struct ow_taken *t, struct ow_taken_call *call,
			 struct asked_place *last)
{
	struct ow_region *r;

	if (call->code < 0)
		return;
	r = &t->copy.regions[call->code];
	if (call->pc != last->pc)
		*last = (struct asked_place){ call->pc,
					      is_unwritten(t, call->pc) };
	if (last->is_unwritten)
		call->arch = ow_waitplace_call_arch(r->bytes, r->size);
	r->size = 0;
}

static enum ow_call_abi abi_of(const struct ow_arch *call, int nr,
			       const struct ow_arch *target)
{
	if (!call)
		return OW_CALL_UNKNOWN;
	if (call == &ow_arch_x86_64 && nr & OW_X32_BIT)
		return OW_CALL_X32;
	if (call == target)
		return OW_CALL_OWN;
	return call == &ow_arch_i386 ? OW_CALL_I386 : OW_CALL_X86_64;
}

/* Of i386's calls the kernel takes the lower halves of the registers. */
static void settle(struct ow_taken *t, size_t i, struct asked_place *last)
{
	struct ow_thread *info = &t->c->threads[i].info;
	const struct ow_arch *arch;
	size_t k;

	look_at_code(t, &t->threads[i].call, last);
	arch = t->threads[i].call.arch;
	info->syscall_abi = abi_of(arch, info->syscall_nr, t->c->target.arch);
	for (k = 0; arch == &ow_arch_i386 && k < 6; k++)
		info->syscall_args[k] = (uint32_t)info->syscall_args[k];
}

void ow_callabi_settle(struct ow_taken *t)
{
	const struct ow_arch *arch = t->c->target.arch;
	struct asked_place last = { 0, false };
	size_t i;

	if (arch != &ow_arch_x86_64 && arch != &ow_arch_i386)
		return;
	copy_code(t);
	for (i = 0; i < t->c->nr_threads; i++)
		if (t->c->threads[i].info.syscall_nr >= 0)
			settle(t, i, &last);
}
