// SPDX-License-Identifier: BSD-2-Clause
#include "restart.h"

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "callabi.h"
#include "env.h"
#include "seccomp.h"
#include "stopper.h"

/*
 * A result that the kernel keeps to itself (Linux, include/linux/errno.h): the
 * call gives EINTR if a signal's handler is to run, and is made again if not.
 */
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516 /* by another call: restart_syscall(2) */

/*
 * Calls that give EINTR after a stop and have done nothing by then: waits, and
 * a socket's with a timeout of their own (signal(7); the kernel's system call
 * tables, syscall_64.tbl and syscall_32.tbl).  io_uring_enter tells what it has
 * submitted rather than that its wait was broken off.
 */
static const uint16_t calls_x86_64[] = {
	0 /* read */,
	1 /* write */,
	19 /* readv */,
	20 /* writev */,
	40 /* sendfile */,
	42 /* connect */,
	43 /* accept */,
	44 /* sendto */,
	45 /* recvfrom */,
	46 /* sendmsg */,
	47 /* recvmsg */,
	65 /* semop */,
	128 /* rt_sigtimedwait */,
	208 /* io_getevents */,
	220 /* semtimedop */,
	232 /* epoll_wait */,
	275 /* splice */,
	281 /* epoll_pwait */,
	288 /* accept4 */,
	299 /* recvmmsg */,
	307 /* sendmmsg */,
	327 /* preadv2 */,
	328 /* pwritev2 */,
	333 /* io_pgetevents */,
	426 /* io_uring_enter */,
	441 /* epoll_pwait2 */
};

static const uint16_t calls_i386[] = {
	3 /* read */,
	4 /* write */,
	102 /* socketcall */,
	117 /* ipc */,
	145 /* readv */,
	146 /* writev */,
	177 /* rt_sigtimedwait */,
	187 /* sendfile */,
	239 /* sendfile64 */,
	247 /* io_getevents */,
	256 /* epoll_wait */,
	313 /* splice */,
	319 /* epoll_pwait */,
	337 /* recvmmsg */,
	345 /* sendmmsg */,
	362 /* connect */,
	364 /* accept4 */,
	369 /* sendto */,
	370 /* sendmsg */,
	371 /* recvfrom */,
	372 /* recvmsg */,
	378 /* preadv2 */,
	379 /* pwritev2 */,
	385 /* io_pgetevents */,
	416 /* io_pgetevents_time64 */,
	417 /* recvmmsg_time64 */,
	420 /* semtimedop_time64 */,
	421 /* rt_sigtimedwait_time64 */,
	426 /* io_uring_enter */,
	441 /* epoll_pwait2 */
};

/*
 * Where the register set has what (Linux, user_64.h and user_32.h), of a call of that
 * architecture: a 64-bit program makes i386's by int $0x80.
 */
static const struct layout {
	size_t size;
	uint8_t word;
	uint8_t result, nr, pc, args[6]; /* as indexes */
	uint16_t restart_syscall;
	uint32_t audit_arch;
	const uint16_t *calls;
	size_t nr_calls;
} layouts[] = {
	{ 27 * 8,
	  8,
	  10,
	  15,
	  16,
	  { 14, 13, 12, 7, 9, 8 },
	  219,
	  AUDIT_ARCH_X86_64,
	  calls_x86_64,
	  OW_ARRAY_SIZE(calls_x86_64) },
	{ 27 * 8,
	  8,
	  10,
	  15,
	  16,
	  { 5, 11, 12, 13, 14, 4 },
	  0,
	  AUDIT_ARCH_I386,
	  calls_i386,
	  OW_ARRAY_SIZE(calls_i386) },
	{ 17 * 4,
	  4,
	  6,
	  11,
	  12,
	  { 0, 1, 2, 3, 4, 5 },
	  0,
	  AUDIT_ARCH_I386,
	  calls_i386,
	  OW_ARRAY_SIZE(calls_i386) },
};

/* Without an architecture, that of the register set. */
static const struct layout *layout_of(size_t size, uint32_t arch)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(layouts); i++)
		if (layouts[i].size == size &&
		    (!arch || layouts[i].audit_arch == arch))
			return &layouts[i];
	return NULL;
}

static int64_t word_at(const struct layout *l, const uint8_t *bytes,
		       unsigned int i)
{
	int64_t wide = 0;
	int32_t narrow;

	if (l->word == sizeof(wide)) {
		memcpy(&wide, bytes + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, bytes + i * sizeof(narrow), sizeof(narrow));
	return narrow;
}

/* Does it show a call, of any architecture, that was broken off? */
static bool may_be_broken_off(const void *bytes, size_t size)
{
	const struct layout *l = layout_of(size, 0);
	int64_t result = l ? word_at(l, bytes, l->result) : 0;

	return result == -EINTR || result == -ERESTART_RESTARTBLOCK;
}

/* As seccomp(2) sees it: without a sign. */
static uint64_t word_of(const struct layout *l, const uint8_t *bytes,
			unsigned int i)
{
	int64_t value = word_at(l, bytes, i);

	return l->word == sizeof(uint32_t) ? (uint32_t)value : (uint64_t)value;
}

static void set_word(const struct layout *l, uint8_t *bytes, unsigned int i,
		     int64_t value)
{
	memcpy(bytes + (size_t)i * l->word, &value, l->word);
}

static bool is_listed(const struct layout *l, int64_t nr)
{
	size_t i;

	for (i = 0; i < l->nr_calls; i++)
		if (l->calls[i] == nr)
			return true;
	return false;
}

/*
 * Was it for us, or for a signal that reached it only because it is traced:
 * else one that is ignored breaks off nothing?  A stop by job control does.
 */
static bool is_our_doing(const struct ow_stop *s)
{
	switch (s->signal) {
	case 0: return s->by_us;
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU: return false;
	default: return true;
	}
}

/*
 * The kernel goes on with a call that keeps its timeout by restart_syscall(2), which
 * a filter of the program may not let pass: most end the program then.  Return true
 * if that is so.
 */
static bool may_not_go_on(const struct ow_stop *s, const struct layout *l,
			  const uint8_t *bytes)
{
	struct seccomp_data call = { .nr = l->restart_syscall,
				     .arch = l->audit_arch };
	unsigned int i;

	if (word_at(l, bytes, l->result) != -ERESTART_RESTARTBLOCK)
		return false;
	for (i = 0; i < OW_ARRAY_SIZE(l->args); i++)
		call.args[i] = word_of(l, bytes, l->args[i]);
	call.instruction_pointer = word_of(l, bytes, l->pc);
	return !ow_seccomp_allows(s->tid, &call);
}

/* Return true if the call has given EINTR that the program wasn't to see. */
static bool is_broken_off(const struct ow_stop *s, const struct layout *l,
			  const uint8_t *bytes)
{
	return is_our_doing(s) && word_at(l, bytes, l->result) == -EINTR &&
	       is_listed(l, word_at(l, bytes, l->nr));
}

void ow_restart_call(const struct ow_stop *s, const void *bytes, size_t size)
{
	const struct layout *l = NULL;
	uint8_t changed[27 * 8];
	struct iovec iov = { changed, size };

	if (may_be_broken_off(bytes, size))
		l = layout_of(size, ow_callabi_of_stopped(s->tid));
	if (!l || !(is_broken_off(s, l, bytes) || may_not_go_on(s, l, bytes)))
		return;
	memcpy(changed, bytes, size);
	set_word(l, changed, l->result, -ERESTARTNOHAND);
	ptrace(PTRACE_SETREGSET, s->tid, NT_PRSTATUS, &iov);
}
