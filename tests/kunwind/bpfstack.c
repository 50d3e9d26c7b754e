// SPDX-License-Identifier: BSD-2-Clause
/*
 * What bpf_get_stack() gives a BPF program of this program's user stack, at a
 * system call: bpfstack 1 where the module's hook is on, 0 where not.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "chain.h"

#define DEPTH 30
#define MAX   100

static struct {
	int64_t size; /* bytes */
	uint64_t pcs[MAX];
} stack;

static int map;

static int sys_bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

#define INSN(c, d, s, o, i)                                              \
	{                                                                \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), \
		.imm = (i)                                               \
	}
#define MOV(d, s)     INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_NUM(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_NUM(d, i) INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define CALL(f)       INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)

/* On each system call: getppid() of this process has its stack stored. */
static int load_program(void)
{
	const struct bpf_insn insns[] = {
		MOV(6, 1),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 8, 6, 8, 0),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 8, 0, 20, SYS_getppid),
		CALL(BPF_FUNC_get_current_pid_tgid),
		INSN(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 17, getpid()),
		INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		MOV(2, 10),
		ADD_NUM(2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 10, 0),
		MOV(7, 0),
		MOV(1, 6),
		MOV(2, 7),
		ADD_NUM(2, 8),
		MOV_NUM(3, MAX * 8),
		MOV_NUM(4, BPF_F_USER_STACK),
		CALL(BPF_FUNC_get_stack),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 7, 0, 0, 0),
		MOV_NUM(0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		MOV_NUM(0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	static char log[16384];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.license = (uintptr_t) "GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int fd = sys_bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		printf("# %s\n", log);
	return fd;
}

/* To the system call in as few steps as can be: the end of the program. */
static bool attach(void)
{
	union bpf_attr maps = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = sizeof(stack),
		.max_entries = 1,
	};
	union bpf_attr open = { .raw_tracepoint = {
					.name = (uintptr_t) "sys_enter" } };

	map = sys_bpf(BPF_MAP_CREATE, &maps);
	if (map < 0)
		return false;
	open.raw_tracepoint.prog_fd = (uint32_t)load_program();
	return (int)open.raw_tracepoint.prog_fd >= 0 &&
	       sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &open) >= 0;
}

static void leaf(void)
{
	uint32_t key = 0;
	union bpf_attr attr = {
		.map_fd = (uint32_t)map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&stack,
	};

	syscall(SYS_getppid);
	if (sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		stack.size = -1;
}

int main(int argc, char **argv)
{
	bool hooked = argc > 1 && atoi(argv[1]), well;
	struct ow_error err;
	unsigned int inside = 0;
	int dev = ow_kunwind_open(&err);

	if (dev < 0 || ow_kunwind_follow(dev, 0, 0, &err) || !attach()) {
		puts("not ok - no BPF program, or no module\n"
		     "0 passed, 1 failed");
		return 1;
	}
	kt_chain(DEPTH, leaf);
	if (stack.size > 0)
		inside = kt_inside(stack.pcs, (unsigned int)stack.size / 8);
	well = stack.size > 0 && (inside == DEPTH + 1) == hooked;
	printf("# bpf_get_stack: %d frames of %d, %lld bytes, %s\n", inside,
	       DEPTH + 1, (long long)stack.size,
	       hooked ? "hooked" : "as it was");
	printf("%d passed, %d failed\n", well, !well);
	return !well;
}
