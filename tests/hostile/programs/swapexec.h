/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swapexec_a PATH-OF-B PATH-OF-A: two programs that execute each other for ever, with
 * fixed addresses.  Each begins with its function that runs, where the other one has a
 * function that never does.
 */
#ifdef __x86_64__

#define LOOPS "100000"

/* execve(argv[1], { argv[0], argv[2], argv[1] }, NULL), of what the stack has. */
#define OTHER                                               \
	"mov 16(%rsp), %rdi; mov 24(%rsp), %rax;"           \
	"mov %rdi, 24(%rsp); mov %rax, 16(%rsp);"           \
	"lea 8(%rsp), %rsi; xor %edx, %edx; mov $59, %eax;" \
	"syscall; hlt;"

#define FUNCTION(name, section)                                  \
	".section " section ",\"ax\",@progbits\n"                \
	".globl " name "\n.type " name ",@function\n" name ":\n" \
	".cfi_startproc\n.cfi_undefined rip\n"                   \
	"mov $" LOOPS ", %ecx\n1: dec %ecx\njnz 1b\n" OTHER      \
	"\n.cfi_endproc\n.size " name ", . - " name "\n"

__asm__(FUNCTION("spin", SPIN) FUNCTION("never", NEVER));

#endif
