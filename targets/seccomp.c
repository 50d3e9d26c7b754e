// SPDX-License-Identifier: BSD-2-Clause
#include "seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>

#include "effort.h"
#include "monotonic.h"
#include "procfs.h"

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

#define MOST_FILTERS 32   /* of a thread */
#define MOST_SIZE    2048 /* instructions of one */
#define MOST_RUN     8192 /* and of all: 0.1 ms */

/* ns of CPU that a run may take for that, as other threads stand still meanwhile. */
static struct ow_effort checks = OW_EFFORT(200000000, 100000000);

struct machine {
	uint32_t a, x;
	uint32_t mem[BPF_MEMWORDS];
	const struct seccomp_data *call;
};

/* What an instruction loads (Linux, kernel/seccomp.c, seccomp_check_filter()). */
static uint32_t load(const struct machine *m, const struct sock_filter *f)
{
	uint32_t word = 0;

	switch (BPF_MODE(f->code)) {
	case BPF_ABS:
		if (f->k <= sizeof(*m->call) - sizeof(word))
			memcpy(&word, (const char *)m->call + f->k,
			       sizeof(word));
		return word;
	case BPF_LEN: return sizeof(*m->call);
	case BPF_MEM: return m->mem[f->k % BPF_MEMWORDS];
	default: return f->k;
	}
}

static uint32_t compute(uint16_t op, uint32_t a, uint32_t by)
{
	switch (op) {
	case BPF_ADD: return a + by;
	case BPF_SUB: return a - by;
	case BPF_MUL: return a * by;
	case BPF_DIV: return by ? a / by : 0;
	case BPF_MOD: return by ? a % by : a;
	case BPF_OR: return a | by;
	case BPF_AND: return a & by;
	case BPF_XOR: return a ^ by;
	case BPF_LSH: return a << (by & 31);
	case BPF_RSH: return a >> (by & 31);
	default: return -a; /* BPF_NEG */
	}
}

static bool compare(uint16_t op, uint32_t a, uint32_t with)
{
	switch (op) {
	case BPF_JEQ: return a == with;
	case BPF_JGT: return a > with;
	case BPF_JGE: return a >= with;
	default: return a & with; /* BPF_JSET */
	}
}

/* The filter's verdict; every jump is forward, so that it ends. */
static uint32_t run(const struct sock_filter *filter, size_t nr,
		    const struct seccomp_data *call)
{
	struct machine m = { .call = call };
	const struct sock_filter *f;
	uint32_t by;
	size_t i;

	for (i = 0; i < nr; i++) {
		f = &filter[i];
		by = BPF_SRC(f->code) == BPF_X ? m.x : f->k;
		switch (BPF_CLASS(f->code)) {
		case BPF_LD: m.a = load(&m, f); break;
		case BPF_LDX: m.x = load(&m, f); break;
		case BPF_ST: m.mem[f->k % BPF_MEMWORDS] = m.a; break;
		case BPF_STX: m.mem[f->k % BPF_MEMWORDS] = m.x; break;
		case BPF_ALU: m.a = compute(BPF_OP(f->code), m.a, by); break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA)
				i += f->k;
			else
				i += compare(BPF_OP(f->code), m.a, by) ? f->jt :
									 f->jf;
			break;
		case BPF_RET: return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static bool passes(uint32_t verdict)
{
	verdict &= SECCOMP_RET_ACTION_FULL;
	return verdict == SECCOMP_RET_ALLOW || verdict == SECCOMP_RET_LOG;
}

/* The kernel goes through all filters of a thread, any number of them, for one of these. */
static bool has_too_many(pid_t tid)
{
	return ptrace(PTRACE_SECCOMP_GET_FILTER, tid,
		      (void *)(MOST_FILTERS - 1UL), NULL) >= 0;
}

static bool all_allow(pid_t tid, const struct seccomp_data *call)
{
	struct sock_filter filter[MOST_SIZE];
	long nr, left = MOST_RUN;
	unsigned long i;

	if (has_too_many(tid))
		return false;
	for (i = 0; i < MOST_FILTERS; i++) {
		nr = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, NULL);
		if (nr < 0 && errno == ENOENT)
			return true;
		if (nr < 0)
			return i == 0 && ow_status_number(tid, "Seccomp:") == 0;
		left -= nr;
		if (left < 0 || nr > MOST_SIZE ||
		    ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, filter) !=
			    nr ||
		    !passes(run(filter, (size_t)nr, call)))
			return false;
	}
	return false;
}

bool ow_seccomp_allows(pid_t tid, const struct seccomp_data *call)
{
	uint64_t begun = ow_cpu_ns();
	bool allowed;

	if (!ow_effort_left(&checks))
		return false;
	allowed = all_allow(tid, call);
	ow_effort_spend(&checks, ow_cpu_ns() - begun);
	return allowed;
}
