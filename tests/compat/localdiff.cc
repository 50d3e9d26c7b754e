// SPDX-License-Identifier: BSD-2-Clause
/*
 * All registers of all frames of this process's own stacks, by two libunwinds
 * side by side from the same context.
 *
 * localdiff OURS THEIRS: the paths of two libunwind.so.8.  Prints a line per
 * difference and "N passed, N failed" at the end, a test being a kind of stack.
 */
#define UNW_LOCAL_ONLY
#include <alloca.h>
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <stdexcept>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME_OF(x) #x
#define SYMBOL(x)  NAME_OF(x)

#define NR_REGS 18 /* with the CFA */

struct library {
	const char *path;
	int (*init)(unw_cursor_t *, unw_context_t *, int);
	int (*step)(unw_cursor_t *);
	int (*get_reg)(unw_cursor_t *, int, unw_word_t *);
	int (*get_save_loc)(unw_cursor_t *, int, unw_save_loc_t *);
	int (*is_signal_frame)(unw_cursor_t *);
	int (*get_proc_info)(unw_cursor_t *, unw_proc_info_t *);
	int (*get_proc_name)(unw_cursor_t *, char *, size_t, unw_word_t *);
	int (*backtrace)(void **, int);
	int (*backtrace2)(void **, int, unw_context_t *, int); /* or NULL */
};

static struct library libs[2];
static int (*take)(unw_context_t *);
static unsigned long values, frames, differences;
static const char *scene;
static volatile int zero;

template <class F> static void get(void *handle, F *f, const char *name)
{
	*f = (F)dlsym(handle, name);
}

static void open_library(struct library *l, const char *path)
{
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!h) {
		printf("%s\n", dlerror());
		exit(2);
	}
	l->path = path;
	get(h, &l->init, SYMBOL(unw_init_local2));
	get(h, &l->step, SYMBOL(unw_step));
	get(h, &l->get_reg, SYMBOL(unw_get_reg));
	get(h, &l->get_save_loc, SYMBOL(unw_get_save_loc));
	get(h, &l->is_signal_frame, SYMBOL(unw_is_signal_frame));
	get(h, &l->get_proc_info, SYMBOL(unw_get_proc_info));
	get(h, &l->get_proc_name, SYMBOL(unw_get_proc_name));
	get(h, &l->backtrace, "unw_backtrace");
	get(h, &l->backtrace2, "unw_backtrace2");
	if (!take)
		get(h, &take, SYMBOL(unw_tdep_getcontext));
	if (!l->init || !l->step || !l->get_reg || !l->backtrace) {
		printf("%s: a function is missing\n", path);
		exit(2);
	}
}

static void differ(int frame, const char *what, long ours, long theirs)
{
	differences++;
	printf("%s: frame %d: %s: ours %#lx, theirs %#lx\n", scene, frame, what,
	       ours, theirs);
}

static void same(int frame, const char *what, long ours, long theirs)
{
	values++;
	if (ours != theirs)
		differ(frame, what, ours, theirs);
}

static unw_context_t copies[2]; /* one each, as a cursor may write there */

/* Where in the own context, or in the stack. */
static long place(const unw_save_loc_t *loc, int i)
{
	unsigned long off = loc->u.addr - (unsigned long)&copies[i];

	return off < sizeof(copies[i]) ? off : loc->u.addr;
}

static void compare_registers(int n, unw_cursor_t c[2])
{
	for (int reg = 0; reg < NR_REGS; reg++) {
		unw_save_loc_t loc[2];
		unw_word_t val[2] = { 0, 0 };
		char what[32];
		int err[2];

		for (int i = 0; i < 2; i++) {
			err[i] = libs[i].get_reg(&c[i], reg, &val[i]);
			libs[i].get_save_loc(&c[i], reg, &loc[i]);
		}
		snprintf(what, sizeof(what), "register %d", reg);
		same(n, what, val[0], val[1]);
		same(n, "its error", err[0], err[1]);
		if (reg != UNW_X86_64_RSP && reg != UNW_X86_64_CFA &&
		    loc[0].type == UNW_SLT_MEMORY &&
		    loc[1].type == UNW_SLT_MEMORY)
			same(n, "its place", place(&loc[0], 0),
			     place(&loc[1], 1));
	}
}

static void compare_info(int n, unw_cursor_t c[2])
{
	unw_word_t off[2] = { 0, 0 };
	unw_proc_info_t pi[2];
	char name[2][512];
	int err[2];

	memset(pi, 0, sizeof(pi));
	for (int i = 0; i < 2; i++)
		err[i] = libs[i].get_proc_info(&c[i], &pi[i]);
	same(n, "error of proc info", err[0], err[1]);
	if (err[0] == 0) {
		same(n, "start", pi[0].start_ip, pi[1].start_ip);
		same(n, "end", pi[0].end_ip, pi[1].end_ip);
		same(n, "handler", pi[0].handler, pi[1].handler);
		same(n, "lsda", pi[0].lsda, pi[1].lsda);
		same(n, "gp", pi[0].gp, pi[1].gp);
	}
	for (int i = 0; i < 2; i++)
		err[i] = libs[i].get_proc_name(&c[i], name[i], sizeof(name[i]),
					       &off[i]);
	same(n, "error of name", err[0], err[1]);
	if (err[0] == 0 && err[1] == 0) {
		same(n, "offset", off[0], off[1]);
		values++;
		if (strcmp(name[0], name[1])) {
			differences++;
			printf("%s: frame %d: ours %s, theirs %s\n", scene, n,
			       name[0], name[1]);
		}
	}
}

static void compare_walks(unw_context_t *uc, int flag, int least)
{
	unw_cursor_t c[2];
	void *pcs[256];
	int n = 0, more[2];

	copies[0] = copies[1] = *uc;
	for (int i = 0; i < 2; i++)
		same(0, "init", libs[i].init(&c[i], &copies[i], flag), 0);
	do {
		unw_word_t ip = 0;

		compare_registers(n, c);
		/* Before what asks for the frame's row, and after. */
		same(n, "is signal behind", libs[0].is_signal_frame(&c[0]) > 0,
		     libs[1].is_signal_frame(&c[1]) > 0);
		compare_info(n, c);
		same(n, "is signal", libs[0].is_signal_frame(&c[0]) > 0,
		     libs[1].is_signal_frame(&c[1]) > 0);
		libs[0].get_reg(&c[0], UNW_REG_IP, &ip);
		pcs[n] = (void *)ip;
		for (int i = 0; i < 2; i++)
			more[i] = libs[i].step(&c[i]);
		same(n, "step", more[0], more[1]);
		frames++;
	} while (++n < 256 && more[0] > 0 && more[1] > 0);
	if (n < least)
		differ(n, "depth", n, least);
	if (!libs[0].backtrace2)
		return;
	/* Twice: what isn't known yet, and what is. */
	for (int i = 0; i < 2; i++) {
		void *again[256];
		int m = libs[0].backtrace2(again, 256, &copies[0], flag);

		same(0, "backtrace2", m, n);
		for (int j = 0; j < m && j < n; j++)
			same(j, "backtrace2's pc", (long)again[j],
			     (long)pcs[j]);
	}
}

static __attribute__((noinline)) void compare_backtraces()
{
	void *pcs[2][256];
	int n[2];

	for (int round = 0; round < 2; round++) {
		/* One call, so that both have the same return address. */
		for (volatile int i = 0; i < 2; i = i + 1)
			n[i] = libs[i].backtrace(pcs[i], 256);
		same(0, "backtrace", n[0], n[1]);
		for (int j = 0; j < n[0] && j < n[1]; j++)
			same(j, "backtrace's pc", (long)pcs[0][j],
			     (long)pcs[1][j]);
	}
}

static __attribute__((noinline)) void compare_here(int least)
{
	unw_context_t uc;

	memset(&uc, 0, sizeof(uc));
	take(&uc);
	compare_walks(&uc, 0, least);
	compare_backtraces();
}

static int __attribute__((noinline)) deep(int n, int least)
{
	volatile int keep = n;

	if (n)
		return deep(n - 1, least) + keep;
	compare_here(least);
	return keep;
}

static void plain()
{
	deep(30, 32);
}

static int by_callback(const void *a, const void *b)
{
	static int once;

	if (!once++)
		compare_here(5);
	return *(const int *)a - *(const int *)b;
}

static void callback()
{
	int numbers[] = { 3, 1, 2 };

	qsort(numbers, 3, sizeof(int), by_callback);
}

static __attribute__((noinline)) void realigned(int n)
{
	volatile char aligned[64] __attribute__((aligned(64)));
	volatile char *more = (volatile char *)alloca(n * 16);

	aligned[0] = more[0] = 1;
	if (n > 1)
		realigned(n - 1);
	else
		compare_here(6);
	aligned[1] = more[1] + aligned[0];
}

static void realign()
{
	realigned(5);
}

static void on_signal(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	compare_here(6);
	compare_walks((unw_context_t *)uc, UNW_INIT_SIGNAL_FRAME, 4);
}

static void with_signal(int flags)
{
	struct sigaction sa = {};

	sa.sa_sigaction = on_signal;
	sa.sa_flags = SA_SIGINFO | flags;
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
}

static void in_signal()
{
	with_signal(0);
}

static void on_alternate_stack()
{
	size_t size = 256 * 1024;
	stack_t ss = {};

	ss.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ss.ss_size = size;
	sigaltstack(&ss, NULL);
	with_signal(SA_ONSTACK);
}

/* A signal between two instructions of code that has no frame of its own. */
static void on_fault(int sig, siginfo_t *si, void *vuc)
{
	ucontext_t *uc = (ucontext_t *)vuc;

	(void)sig;
	(void)si;
	compare_here(6);
	uc->uc_mcontext.gregs[REG_RIP] += 2; /* behind ud2 */
}

static __attribute__((noinline)) void trap()
{
	asm volatile("push %%rbx; .cfi_adjust_cfa_offset 8; ud2; pop %%rbx; "
		     ".cfi_adjust_cfa_offset -8" ::: "memory");
}

static void at_any_instruction()
{
	struct sigaction sa = {};

	sa.sa_sigaction = on_fault;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGILL, &sa, NULL);
	trap();
}

struct witness {
	~witness()
	{
		compare_here(5);
	}
};

static __attribute__((noinline)) void throws(int n)
{
	if (zero)
		return;
	if (n)
		throws(n - 1);
	else
		throw std::runtime_error("thrown");
}

static __attribute__((noinline)) void unwound(int n)
{
	witness w;

	if (zero)
		return;
	if (n)
		unwound(n - 1);
	else
		throws(3);
}

static void in_flight()
{
	try {
		unwound(3);
	} catch (const std::exception &) {
		compare_here(3);
	}
}

static void *thread_main(void *arg)
{
	deep(10, 12);
	return arg;
}

static void in_thread()
{
	pthread_t t;

	pthread_create(&t, NULL, thread_main, NULL);
	pthread_join(t, NULL);
}

static const struct {
	const char *name;
	void (*run)();
} scenes[] = {
	{ "plain", plain },
	{ "callback", callback },
	{ "realign", realign },
	{ "signal", in_signal },
	{ "alternate stack", on_alternate_stack },
	{ "any instruction", at_any_instruction },
	{ "exception in flight", in_flight },
	{ "thread", in_thread },
};

int main(int argc, char **argv)
{
	unsigned int passed = 0, failed = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: localdiff OURS THEIRS\n");
		return 2;
	}
	open_library(&libs[0], argv[1]);
	open_library(&libs[1], argv[2]);
	for (const auto &s : scenes) {
		unsigned long before = differences, had = frames;

		scene = s.name;
		s.run();
		if (differences == before && frames > had)
			passed++;
		else
			failed++;
	}
	printf("# %lu frames, %lu values compared\n", frames, values);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
