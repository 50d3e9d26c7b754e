// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks of many kinds, each as the kernel's module, liboutwind (from another
 * process) and libunwind see it; or, BY_LIBGCC, libgcc: where there is no
 * .eh_frame_hdr (STATIC), or no libunwind.  With IN_UML in the environment, not
 * those at each instruction, as User-Mode Linux has no single steps, nor without a
 * page, as its kernel reads one that no access is allowed to; and what is mapped is
 * seen by the next unwind, as it has no kprobes.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef BY_LIBGCC
#include <unwind.h>
#else
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "object.h"

#define MAX      1024
#define NOINLINE __attribute__((noinline, noclone))
#ifdef __x86_64__
#define REALIGN __attribute__((force_align_arg_pointer))
#else
#define REALIGN
#endif

static int dev = -1, passed, failed;
static const char *now; /* the case */
static struct ow_frame frames[MAX];
static unsigned int want_frames; /* at least */

static void say(bool well, const char *what, long a, long b)
{
	if (well)
		passed++;
	else
		failed++;
	if (!well)
		printf("not ok - %s: %s (%ld, %ld)\n", now, what, a, b);
}

/* The system call here, so that the caller's frame is the innermost one. */
static inline __attribute__((always_inline)) long
raw_ioctl(int fd, unsigned long cmd, void *arg)
{
#ifdef __aarch64__
	register long ret __asm__("x0") = fd;
	register unsigned long x1 __asm__("x1") = cmd;
	register void *x2 __asm__("x2") = arg;
	register long nr __asm__("x8") = 29;

	__asm__ volatile("svc 0"
			 : "+r"(ret)
			 : "r"(x1), "r"(x2), "r"(nr)
			 : "memory");
#else
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(16L), "D"((long)fd), "S"(cmd), "d"(arg)
			 : "rcx", "r11", "memory");
#endif
	return ret;
}

/* In a child: the parent's frames from the caller of leaf() on. */
static int compare_captured(pid_t pid, pid_t tid, unsigned int nr)
{
	struct ow_capture_options options = { .tids = &tid, .nr_tids = 1 };
	static struct ow_frame theirs[MAX + 16];
	struct ow_error err;
	enum ow_end end;
	struct ow_capture *c = ow_capture_process(pid, &options, &err);
	size_t n, i, k;

	if (!c) {
		printf("# %s\n", err.msg);
		return 10;
	}
	n = ow_capture_walk(c, 0, theirs, MAX + 16, &end, &err);
	for (i = 0; i < n && theirs[i].sp != frames[1].sp; i++)
		;
	for (k = 1; k < nr && i < n; k++, i++)
		if (theirs[i].pc != frames[k].pc ||
		    theirs[i].sp != frames[k].sp ||
		    theirs[i].flags != frames[k].flags) {
			printf("# %u of %u: %#llx %#llx, not %#llx %#llx\n",
			       (unsigned int)k, nr,
			       (unsigned long long)frames[k].pc,
			       (unsigned long long)frames[k].sp,
			       (unsigned long long)theirs[i].pc,
			       (unsigned long long)theirs[i].sp);
			return 11;
		}
	if (end != OW_END_OUTERMOST)
		printf("# capture: %s\n", err.msg);
	return k == nr && i == n && end == OW_END_OUTERMOST ? 0 : 12;
}

static void against_capture(unsigned int nr)
{
	pid_t pid = getpid(), tid = gettid(), child = fork();
	int status = -1;

	if (child == 0) {
		status = compare_captured(pid, tid, nr);
		fflush(stdout);
		_exit(status);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	say(status == 0, "frames as liboutwind has them", status >> 8, nr);
}

static uintptr_t pcs[MAX + 16];

#ifdef BY_LIBGCC
static _Unwind_Reason_Code take_pc(struct _Unwind_Context *context, void *arg)
{
	unsigned int *n = arg;

	/* Behind the outermost frame, there is one of no code. */
	if (*n == MAX + 16 || _Unwind_GetIP(context) == 0)
		return _URC_END_OF_STACK;
	pcs[(*n)++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static inline __attribute__((always_inline)) unsigned int take_pcs(void)
{
	unsigned int n = 0;

	_Unwind_Backtrace(take_pc, &n);
	return n;
}
#else
static inline __attribute__((always_inline)) unsigned int take_pcs(void)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unsigned int n = 0;
	unw_word_t ip;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	while (n < MAX + 16 && unw_get_reg(&cursor, UNW_REG_IP, &ip) == 0 &&
	       ip) {
		pcs[n++] = ip;
		if (unw_step(&cursor) <= 0)
			break;
	}
	return n;
}
#endif

static NOINLINE void against_others(unsigned int nr)
{
	unsigned int n = take_pcs(), k;

	/* It begins here, two calls further in than the system call. */
	for (k = 1; k < nr && k + 1 < n; k++)
		if (pcs[k + 1] != frames[k].pc)
			break;
	say(k == nr && n == nr + 1, "frames as others have them", k, n);
}

/* All of what is compared is above this frame. */
static NOINLINE void leaf(void)
{
	struct ow_kunwind_unwind u = { .frames = (uintptr_t)frames,
				       .max = MAX };
	long err = raw_ioctl(dev, OW_KUNWIND_UNWIND, &u);

	say(err == 0, "unwind", err, 0);
	if (err)
		return;
	say(u.end == OW_END_OUTERMOST, ow_end_text(u.end), u.nr, u.end);
	say(u.nr >= want_frames, "frames", u.nr, want_frames);
	against_others(u.nr);
	against_capture(u.nr);
	__asm__ volatile("" ::: "memory");
}

static void (*innermost)(void) = leaf;

static NOINLINE void recurse(unsigned int depth)
{
	volatile char fill[24];

	fill[0] = (char)depth;
	if (depth > 0)
		recurse(depth - 1);
	else
		innermost();
	fill[1] = fill[0];
}

static NOINLINE void plain(void)
{
	recurse(20);
}

static NOINLINE void deep(void)
{
	want_frames = 1000;
	recurse(1000);
}

static void *thread_main(void *arg)
{
	recurse(10);
	return arg;
}

static NOINLINE void thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread_main, NULL);
	pthread_join(t, NULL);
}

static void on_signal(int nr)
{
	(void)nr;
	recurse(3);
}

static NOINLINE void in_signal(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}

static NOINLINE void on_own_stack(void)
{
	static char stack[1 << 20];
	stack_t s = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction a = { .sa_handler = on_signal,
			       .sa_flags = SA_ONSTACK };

	sigaltstack(&s, NULL);
	sigaction(SIGUSR2, &a, NULL);
	raise(SIGUSR2);
}

static int compare_calls;

static int compare(const void *a, const void *b)
{
	if (compare_calls++ == 0)
		leaf();
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void through_libc(void)
{
	int some[3] = { 3, 1, 2 };

	qsort(some, 3, sizeof(int), compare);
}

static NOINLINE void in_fork(void)
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		failed = passed = 0;
		recurse(5);
		fflush(stdout);
		_exit(failed ? 1 : passed);
	}
	waitpid(child, &status, 0);
	say(status >> 8 > 1, "in a child", status, 0);
}

/* A stack that is realigned, with a frame whose size nobody knows before. */
static NOINLINE REALIGN void realigned(size_t size)
{
	_Alignas(64) volatile char some[64];
	volatile char *more = alloca(size);

	some[0] = more[size - 1] = 1;
	recurse(2);
	some[1] = more[0] + some[0];
}

static NOINLINE void in_realigned(void)
{
	realigned(1);
	realigned(40);
	realigned(1000);
}

static NOINLINE void take(struct ow_kunwind_unwind *u)
{
	if (raw_ioctl(dev, OW_KUNWIND_UNWIND, u))
		u->nr = 0;
	__asm__ volatile("" ::: "memory");
}

/* How many frames are as they should be; the call may stand more than once. */
static unsigned int same_frames(const struct ow_frame *a,
				const struct ow_frame *b, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr && a[i].sp == b[i].sp; i++)
		if (i != 1 && a[i].pc != b[i].pc)
			break;
	return i;
}

/*
 * Whole; twice without a page of the stack, the second time where it would be
 * fetched if it could be; and whole again.
 */
static NOINLINE void hide_page(void)
{
	static struct ow_frame of[4][MAX];
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t page = ((uintptr_t)__builtin_frame_address(0) + 2 * size) &
			 ~(size - 1);
	struct ow_kunwind_unwind u[4];
	unsigned int i, nr;
	int err = 0;

	for (i = 0; i < 4; i++) {
		u[i] = (struct ow_kunwind_unwind){
			.frames = (uintptr_t)of[i],
			.max = MAX,
			.flags = i == 2 ? OW_KUNWIND_FAULT_IN : 0,
		};
		if (i != 2)
			err |= mprotect((void *)page, size,
					i == 1 ? PROT_NONE :
						 PROT_READ | PROT_WRITE);
		take(&u[i]);
	}
	err |= mprotect((void *)page, size, PROT_READ | PROT_WRITE);
	say(err == 0, "mprotect", err, 0);
	for (i = 0; i < 4; i++) {
		nr = u[i].nr;
		say(same_frames(of[0], of[i], nr) == nr, "same frames", i, nr);
		if (i % 3 == 0) {
			say(u[i].end == OW_END_OUTERMOST && nr > want_frames &&
				    nr == u[0].nr,
			    ow_end_text(u[i].end), i, nr);
			continue;
		}
		say(u[i].end == OW_END_FAULT, ow_end_text(u[i].end), i, nr);
		say(nr > 1 && of[0][nr - 1].sp < page + size &&
			    of[0][nr].sp > page,
		    "up to the page", i, nr);
	}
}

static NOINLINE void missing_page(void)
{
	want_frames = 600;
	innermost = hide_page;
	recurse(600);
	innermost = leaf;
}

#ifdef __x86_64__
/* Where single steps are looked at, and how many were. */
static uintptr_t step_start, step_end;
static unsigned int steps;

static void on_step(int nr, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t pc = (uintptr_t)regs[REG_RIP];

	(void)nr;
	(void)info;
	if (pc >= step_start && pc < step_end) {
		steps++;
		leaf();
	} else if (steps > 0) {
		regs[REG_EFL] &= ~0x100; /* no more */
	}
}

static inline __attribute__((always_inline)) void start_steps(void)
{
	struct sigaction a = { .sa_sigaction = on_step,
			       .sa_flags = SA_SIGINFO };

	steps = 0;
	sigaction(SIGTRAP, &a, NULL);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | 0x100);
}

/* Each instruction of a prologue that realigns. */
static NOINLINE void step_realigned(void)
{
	step_start = (uintptr_t)realigned;
	step_end = step_start + 48;
	start_steps();
	realigned(3);
	say(steps > 4, "steps", steps, 0);
}
#endif

#ifndef NO_PLT_CFI
/* This program's lazily bound stubs. */
static bool find_plt(void)
{
	struct ow_error err;
	struct ow_object *obj = ow_object_open("/proc/self/exe", &err);
	struct ow_elf_section s;
	extern const char __executable_start[];
	bool found = obj && ow_object_section(obj, ".plt", &s);

	if (found) {
		step_start = (uintptr_t)__executable_start + s.vaddr;
		if (obj->elf.type == 2) /* ET_EXEC: it is where it says */
			step_start = s.vaddr;
		step_end = step_start + s.size;
	}
	ow_object_close(obj);
	return found;
}

/* Each instruction of a stub that was not bound yet, and of the one it goes to. */
static NOINLINE void step_plt(void)
{
	volatile pid_t pid;

	say(find_plt(), "find .plt", 0, 0);
	start_steps();
	pid = getpgrp();
	say(steps == 5 && pid, "steps", steps, 5);
}
#endif

#ifndef STATIC
static NOINLINE void loaded(void)
{
	struct ow_kunwind_unwind u = { .frames = (uintptr_t)frames,
				       .max = MAX };
	void *lib;
	void (*call)(void (*)(void));

	lib = dlopen(getenv("PLUGIN"), RTLD_NOW);
	if (!lib) {
		printf("# no plugin: %s\n", dlerror());
		return;
	}
	if (getenv("IN_UML"))
		raw_ioctl(dev, OW_KUNWIND_UNWIND, &u);
	/* Its table is made between the mapping and the call. */
	ow_kunwind_serve(dev, NULL, NULL, NULL, NULL);
	call = (void (*)(void (*)(void)))dlsym(lib, "plugin_call");
	call(leaf);
	dlclose(lib);
	recurse(4);
}
#endif

static const struct {
	const char *name;
	void (*run)(void);
	bool not_in_uml;
} cases[] = {
	{ "plain", plain, false },
	{ "deep", deep, false },
	{ "thread", thread, false },
	{ "signal", in_signal, false },
	{ "signal stack", on_own_stack, false },
	{ "callback of libc", through_libc, false },
	{ "fork", in_fork, false },
	{ "realigned", in_realigned, false },
	{ "a missing page", missing_page, true },
#ifdef __x86_64__
	{ "a prologue that realigns", step_realigned, true },
#endif
#ifndef NO_PLT_CFI
	{ "stubs", step_plt, true },
#endif
#ifndef STATIC
	{ "dlopen", loaded, false },
#endif
	{ "plain again", plain, false },
};

static void print_line(void *arg, const char *line)
{
	(void)arg;
	printf("# %s\n", line);
}

int main(void)
{
	struct ow_kunwind_follow f = { .flags = OW_KUNWIND_INHERIT };
	struct ow_kunwind_tally tally = { 0 };
	struct ow_error err;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	dev = ow_kunwind_open(&err);
	if (dev < 0) {
		printf("%s\n0 passed, 1 failed\n", err.msg);
		return 1;
	}
	now = "follow";
	say(ioctl(dev, OW_KUNWIND_FOLLOW, &f) == 0, "follow", errno, 0);
	ow_kunwind_serve(dev, &tally, print_line, NULL, NULL);
	printf("# %lu tables\n", tally.made);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		now = cases[i].name;
		want_frames = 3;
		if (cases[i].not_in_uml && getenv("IN_UML"))
			continue;
		cases[i].run();
		printf("# %s done\n", now);
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
