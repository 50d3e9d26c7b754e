/* SPDX-License-Identifier: BSD-2-Clause */
/* What the test guest does, and what it needs of its platform. */
#ifndef CALLS_H
#define CALLS_H

#define NR_CPUS    5 /* of which number 3 stays down */
#define STACK_SIZE 0x40000

/* Of each of them, the first one the boot CPU's; a stack grows down. */
extern char stacks[NR_CPUS][STACK_SIZE];

/* Entered once on every CPU, on its own stack; never returns. */
void cpu_main(unsigned long cpu) __attribute__((noreturn));

/* Called with what was interrupted in a known place on the stack. */
void on_trap(void);
void on_event(void);

/* Traps at its very first instruction: a handler runs, and it returns. */
void trap_first(void);

/* The same in the middle of a function. */
void platform_trap(void);

/* Start another CPU, if there is one: it enters cpu_main(). */
void platform_start(unsigned long cpu);

/* From now on this CPU is interrupted, about a hundred times a second. */
void platform_start_events(unsigned long cpu);

/* In on_event(): what is pending is dealt with. */
void platform_end_event(unsigned long cpu);

/* Wait until nothing comes: for ever. */
void platform_block(void);

#endif /* CALLS_H */
