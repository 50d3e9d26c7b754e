// SPDX-License-Identifier: BSD-2-Clause
/*
 * Local stacks beside libgcc's _Unwind_Backtrace(), on any machine; going on in
 * another frame; code registered at run time; errors.  Prints "N passed, N
 * failed".
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MOST     256

#ifdef __x86_64__
static const int saved[] = { 3, 6, 12, 13, 14, 15 };
#define PC     UNW_X86_64_RIP
#define RESULT UNW_X86_64_RAX
#else
static const int saved[] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 };
#define PC     UNW_AARCH64_PC
#define RESULT UNW_AARCH64_X0
#endif

#define NR_SAVED (int)(sizeof(saved) / sizeof(saved[0]))

struct frame {
	unw_word_t ip, cfa, regs[NR_SAVED];
	int is_interrupted;
};

struct stack {
	struct frame frames[MOST];
	int nr;
};

static unsigned int passed, failed;
static volatile int zero;

static void check(const char *what, int good)
{
	if (good) {
		passed++;
		return;
	}
	failed++;
	printf("not ok: %s\n", what);
}

static _Unwind_Reason_Code one_frame(struct _Unwind_Context *c, void *arg)
{
	struct stack *s = arg;
	struct frame *f = &s->frames[s->nr];
	int i;

	if (s->nr == MOST)
		return _URC_END_OF_STACK;
	f->ip = _Unwind_GetIP(c);
	f->cfa = _Unwind_GetCFA(c);
	for (i = 0; i < NR_SAVED; i++)
		f->regs[i] = _Unwind_GetGR(c, saved[i]);
	s->nr++;
	return _URC_NO_REASON;
}

static void ours(struct stack *s, unw_context_t *uc)
{
	int i, behind_signal = 0;
	unw_cursor_t c;

	s->nr = 0;
	unw_init_local(&c, uc);
	do {
		struct frame *f = &s->frames[s->nr++];

		f->is_interrupted = behind_signal;
		behind_signal = unw_is_signal_frame(&c);

		unw_get_reg(&c, UNW_REG_IP, &f->ip);
		unw_get_reg(&c, UNW_REG_SP, &f->cfa);
		for (i = 0; i < NR_SAVED; i++)
			unw_get_reg(&c, saved[i], &f->regs[i]);
	} while (s->nr < MOST && unw_step(&c) > 0);
}

/*
 * libgcc's CFA of what was interrupted is sp, but on AArch64, where the kernel's
 * CFI says that it is the record of the frame pointer.
 */
static int same_cfa(const struct frame *a, const struct frame *b)
{
#ifdef __aarch64__
	if (a->is_interrupted)
		return 1;
#endif
	return a->cfa == b->cfa;
}

static int same(const struct stack *a, const struct stack *b, int least)
{
	int i, k;

	/* The innermost frames are at different calls. */
	for (i = 1; i < a->nr && i < b->nr && b->frames[i].ip; i++) {
		if (a->frames[i].ip != b->frames[i].ip ||
		    !same_cfa(&a->frames[i], &b->frames[i])) {
			printf("frame %d: ip %lx %lx, cfa %lx %lx\n", i,
			       (long)a->frames[i].ip, (long)b->frames[i].ip,
			       (long)a->frames[i].cfa, (long)b->frames[i].cfa);
			return 0;
		}
		for (k = 0; k < NR_SAVED; k++)
			if (a->frames[i].regs[k] != b->frames[i].regs[k]) {
				printf("frame %d: register %d: %lx %lx\n", i,
				       saved[k], (long)a->frames[i].regs[k],
				       (long)b->frames[i].regs[k]);
				return 0;
			}
	}
	if (i == a->nr && i >= least)
		return 1;
	printf("%d frames of %d, at least %d\n", i, a->nr, least);
	return 0;
}

static NOINLINE int compare(const char *what, int least)
{
	static __thread struct stack a, b;
	void *pcs[MOST];
	unw_context_t uc;
	int n, i, round;

	for (round = 0; round < 3; round++) {
		unw_getcontext(&uc);
		ours(&a, &uc);
		b.nr = 0;
		_Unwind_Backtrace(one_frame, &b);
		check(what, same(&a, &b, least));
		n = unw_backtrace(pcs, MOST);
		check(what, n == a.nr);
		for (i = 1; i < n && i < a.nr; i++)
			if ((unw_word_t)pcs[i] != a.frames[i].ip)
				break;
		check(what, i == n);
	}
	return n;
}

static NOINLINE int deep(int n)
{
	if (n)
		return deep(n - 1) + 1 + zero;
	return compare("deep", 12);
}

static void on_signal(int sig)
{
	(void)sig;
	compare("signal", 6);
}

static NOINLINE void interrupted(int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
}

static void on_other_stack(void)
{
	size_t size = 512 * 1024;
	stack_t ss = { .ss_size = size };

	ss.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&ss, NULL);
	interrupted(SA_ONSTACK);
}

static void *thread(void *arg)
{
	deep(10);
	return arg;
}

/* Going on where go_up() was called, with another result. */

static NOINLINE unw_word_t go_up(int frames)
{
	unw_context_t uc;
	unw_cursor_t c;
	unw_word_t val = 4711;

	unw_getcontext(&uc);
	unw_init_local(&c, &uc);
	while (frames-- && unw_step(&c) > 0)
		;
	unw_set_reg(&c, RESULT, val);
	unw_resume(&c);
	return 1;
}

static NOINLINE unw_word_t between(int n)
{
	volatile unw_word_t local[4] = { 1, 2, 3, 4 };
	unw_word_t r;

	if (n)
		r = between(n - 1);
	else
		r = go_up(5);
	return r + local[n] + 100000;
}

static NOINLINE void resume(void)
{
	volatile unw_word_t kept = 42;
	unw_word_t r = between(3);

	check("resume", r == 4711 && kept == 42);
	check("resume again", between(3) == 4711 && kept == 42);
}

#ifdef __x86_64__
static volatile int traps;

/* What lies below the stack pointer is anybody's, but the red zone. */
static void scribble(int sig)
{
	volatile char junk[8192];
	size_t i;

	(void)sig;
	traps++;
	for (i = 0; i < sizeof(junk); i++)
		junk[i] = 0x5a;
}

/* With a signal at each instruction on the way. */
static NOINLINE void resume_trapped(void)
{
	struct sigaction sa = { .sa_handler = scribble };
	volatile unw_word_t kept = 42;
	unw_word_t r;

	sigaction(SIGTRAP, &sa, NULL);
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushf; orl $0x100, (%%rsp);"
			 "popf; lea 128(%%rsp), %%rsp" ::
				 : "cc", "memory");
	r = between(3);
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushf; andl $~0x100, (%%rsp);"
			 "popf; lea 128(%%rsp), %%rsp" ::
				 : "cc", "memory");
	signal(SIGTRAP, SIG_DFL);
	check("resume under signals", r == 4711 && kept == 42 && traps > 100);
}
#endif

static volatile int handled;

static void resume_from_handler(int sig)
{
	unw_context_t uc;
	unw_cursor_t c;

	(void)sig;
	handled++;
	unw_getcontext(&uc);
	unw_init_local(&c, &uc);
	/* Over the trampoline, into what was interrupted. */
	while (unw_step(&c) > 0 && !unw_is_signal_frame(&c))
		;
#ifdef __aarch64__
	unw_step(&c);
#endif
	unw_resume(&c);
	handled = -1;
}

static void resume_interrupted(void)
{
	struct sigaction sa = { .sa_handler = resume_from_handler };
	sigset_t set;
	int i;

	sigaction(SIGUSR2, &sa, NULL);
	for (i = 0; i < 3; i++)
		raise(SIGUSR2);
	sigprocmask(SIG_BLOCK, NULL, &set);
	check("resume what a signal interrupted", handled == 3);
	check("with its signal mask", !sigismember(&set, SIGUSR2));
}

/* A name and bounds for code that no object has. */
static void registered(void)
{
	static const char name[] = "made_up";
	unw_dyn_info_t info = { .start_ip = 0x1000,
				.end_ip = 0x2000,
				.gp = 7,
				.format = UNW_INFO_FORMAT_DYNAMIC };
	unw_addr_space_t as = unw_local_addr_space;
	unw_proc_info_t pi;
	unw_word_t off = 0;
	char buf[8];

	info.u.pi.name_ptr = (unw_word_t)name;
	info.u.pi.handler = 99;
	check("before",
	      unw_get_proc_info_by_ip(as, 0x1800, &pi, NULL) == -UNW_ENOINFO);
	_U_dyn_register(&info);
	check("registered",
	      unw_get_proc_info_by_ip(as, 0x1800, &pi, NULL) == 0 &&
		      pi.start_ip == 0x1000 && pi.end_ip == 0x2000 &&
		      pi.handler == 99 && pi.gp == 7);
	check("its name",
	      unw_get_proc_name_by_ip(as, 0x1800, buf, 8, &off, NULL) == 0 &&
		      strcmp(buf, name) == 0 && off == 0x800);
	check("too long", unw_get_proc_name_by_ip(as, 0x1800, buf, 4, &off,
						  NULL) == -UNW_ENOMEM &&
				  strcmp(buf, "mad") == 0);
	_U_dyn_cancel(&info);
	check("cancelled",
	      unw_get_proc_info_by_ip(as, 0x1800, &pi, NULL) == -UNW_ENOINFO);
}

static int count_states(void *token, void *data, size_t size, unw_word_t start,
			unw_word_t end)
{
	unw_word_t *want = token;

	/* The state that holds at the frame's ip, kept. */
	if (want[0] - 1 >= start && want[0] - 1 < end) {
		memcpy((void *)want[1], data, size);
		want[2]++;
	}
	return 0;
}

/* A frame's own row, taken by hand, leads where unw_step() does. */
static NOINLINE void states(void)
{
	unw_word_t want[3] = { 0 }, ip[2], sp[2];
	unw_cursor_t a, b;
	unw_context_t uc;
	char state[2048];

	unw_getcontext(&uc);
	unw_init_local(&a, &uc);
	b = a;
	unw_get_reg(&a, UNW_REG_IP, &want[0]);
	want[1] = (unw_word_t)state;
	check("states", unw_reg_states_iterate(&a, count_states, want) == 0 &&
				want[2] == 1);
	check("applied",
	      unw_apply_reg_state(&a, state) > 0 && unw_step(&b) > 0);
	unw_get_reg(&a, UNW_REG_IP, &ip[0]);
	unw_get_reg(&b, UNW_REG_IP, &ip[1]);
	unw_get_reg(&a, UNW_REG_SP, &sp[0]);
	unw_get_reg(&b, UNW_REG_SP, &sp[1]);
	check("the same", ip[0] == ip[1] && sp[0] == sp[1]);
}

static NOINLINE void errors(void)
{
	unw_word_t val, off;
	unw_context_t uc;
	unw_cursor_t c;
	char name[256];

	unw_getcontext(&uc);
	unw_init_local(&c, &uc);
	check("no register", unw_get_reg(&c, 1000, &val) == -UNW_EBADREG);
	check("nor this", unw_get_reg(&c, -1, &val) == -UNW_EBADREG);
	check("sp", unw_set_reg(&c, UNW_REG_SP, 0) == -UNW_EREADONLYREG);
	check("no flag", unw_init_local2(&c, &uc, 8) == -UNW_EINVAL);
	check("not remote", unw_init_remote(&c, NULL, NULL) == -UNW_EINVAL);
	check("a file", unw_get_elf_filename_by_ip(
				unw_local_addr_space, (unw_word_t)&errors, name,
				sizeof(name), &off, NULL) == 0 &&
				strstr(name, "localunwind"));
	check("no room", unw_backtrace((void *[1]){ NULL }, 0) == 0);
	check("policy", unw_set_caching_policy(unw_local_addr_space,
					       UNW_CACHE_NONE) == 0);
	check("bad policy",
	      unw_set_caching_policy(unw_local_addr_space, 7) == -UNW_EINVAL);
}

/* Stacks that make no sense end; whatever is in them. */
static void damaged(void)
{
	uint64_t words[64], random = 88172645463325252u;
	unw_word_t ips[] = { (unw_word_t)&deep + 8, (unw_word_t)&qsort + 40,
			     (unw_word_t)&errors + 20, 8 };
	unw_context_t uc;
	unw_cursor_t c;
	int i, k, n = 0;

	for (i = 0; i < 20000; i++) {
		unw_getcontext(&uc);
		for (k = 0; k < 64; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			words[k] = random % 3 == 0 ?
					   random :
				   random % 3 == 1 ?
					   (uint64_t)&words[random % 64] :
					   ips[random % 4];
		}
		unw_init_local2(&c, &uc, UNW_INIT_SIGNAL_FRAME);
		for (k = 0; k < NR_SAVED; k++)
			unw_set_reg(&c, saved[k], words[k]);
		unw_set_reg(&c, PC, ips[i % 4]);
		for (k = 0; k < 1000 && unw_step(&c) > 0; k++)
			;
		n += k < 1000;
	}
	check("damaged stacks end", n == 20000);
}

/* Where a context says that its thread is. */
static void put_in(unw_context_t *uc, void *pc, void *sp, void *caller)
{
#ifdef __x86_64__
	uc->uc_mcontext.gregs[REG_RIP] = (long)pc;
	uc->uc_mcontext.gregs[REG_RSP] = (long)sp;
	uc->uc_mcontext.gregs[REG_RBP] = 0;
	*(void **)sp = caller;
#else
	uc->uc_mcontext.pc = (uint64_t)pc;
	uc->uc_mcontext.sp = (uint64_t)sp;
	uc->uc_mcontext.regs[29] = 0;
	uc->uc_mcontext.regs[30] = (uint64_t)caller;
#endif
}

static char *new_page(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Where this returns to, which CFI tells of by sp. */
static NOINLINE void *returned_to(void)
{
	return __builtin_return_address(0);
}

/* A call to where code was, which has been seen there: its caller is found. */
static void gone_code(void)
{
	unw_word_t words[8] = { 0 }, ip = 0;
	char *caller = returned_to(), *code = new_page();
	unw_context_t uc;
	unw_cursor_t c;

	unw_getcontext(&uc);
	put_in(&uc, code + 64, words, caller);
	unw_init_local2(&c, &uc, UNW_INIT_SIGNAL_FRAME);
	check("code without CFI",
	      unw_is_signal_frame(&c) == 0 && unw_step(&c) == 0);
	munmap(code, 4096);
	unw_init_local2(&c, &uc, UNW_INIT_SIGNAL_FRAME);
	check("code that is gone", unw_step(&c) > 0);
	unw_get_reg(&c, UNW_REG_IP, &ip);
	check("its caller", ip == (unw_word_t)caller);
}

/* The end of a call, in code that has no CFI. */
#ifdef __x86_64__
static const unsigned char call[] = { 0xe8, 0, 0, 0, 0 };
#define FP UNW_X86_64_RBP
#else
static const unsigned char call[] = { 0, 0, 0, 0x94 };
#define FP UNW_AARCH64_X29
#endif

/* Step up from code at pc by a frame record that has these two words, at sp. */
static int step_by_record(unw_cursor_t *c, void *pc, unw_word_t *record,
			  void *fp, void *ra)
{
	static unw_context_t uc;

	record[0] = (unw_word_t)fp;
	record[1] = (unw_word_t)ra;
	unw_getcontext(&uc);
	put_in(&uc, pc, record - 2, NULL);
	unw_init_local2(c, &uc, UNW_INIT_SIGNAL_FRAME);
	unw_set_reg(c, FP, (unw_word_t)record);
	return unw_step(c);
}

/* What a frame pointer leads to is a caller only if a call ends there. */
static void guesses(void)
{
	/* More than the stack frame of this function, which the guessed sp is below. */
	static unw_word_t words[512];
	unw_word_t ip = 0;
	char *code = new_page(), *known = returned_to(), *page = new_page();
	unw_cursor_t c;
	int i;

	memcpy(code + 512, call, sizeof(call));
	memcpy(code, call, sizeof(call));
	for (i = 0; i < 512; i++)
		words[i] = (unw_word_t)code + 1024;
	check("a caller by frame pointer",
	      step_by_record(&c, code + 64, words + 2, words + 8,
			     code + 512 + sizeof(call)) > 0 &&
		      unw_get_reg(&c, UNW_REG_IP, &ip) == 0 &&
		      ip == (unw_word_t)code + 512 + sizeof(call));
	check("a caller at the begin of what is mapped",
	      step_by_record(&c, code + 64, words + 2, words + 8,
			     code + sizeof(call)) > 0);
	check("no call before it",
	      step_by_record(&c, code + 64, words + 2, words + 8,
			     code + 1024) == -UNW_ENOINFO);
	check("the first frame of a thread",
	      step_by_record(&c, code + 64, words + 2, NULL, code + 1024) > 0);
	check("a caller that CFI knows",
	      step_by_record(&c, code + 64, words + 2, words + 8, known) > 0);
	check("its caller, by an sp that is a guess",
	      unw_step(&c) == -UNW_ENOINFO);
	munmap(page, 4096);
	check("no code there",
	      step_by_record(&c, code + 64, words + 2, words + 8, page + 64) ==
		      -UNW_ENOINFO);
	munmap(code, 4096);
}

/* A stack that is gone is not read. */
static void gone_stack(void)
{
	char *stack = new_page();
	unw_context_t uc;
	unw_cursor_t c;
	void *pcs[8];

	unw_getcontext(&uc);
	put_in(&uc, (void *)&errors, stack + 64, NULL);
	check("a stack",
	      unw_backtrace2(pcs, 8, &uc, UNW_INIT_SIGNAL_FRAME) == 1);
	munmap(stack, 4096);
	check("gone", unw_backtrace2(pcs, 8, &uc, UNW_INIT_SIGNAL_FRAME) == 1);
	unw_init_local2(&c, &uc, UNW_INIT_SIGNAL_FRAME);
	check("step there", unw_step(&c) <= 0);
}

#ifdef __x86_64__
/* The rows that nobody has put yet are nobody's. */
static void null_caller(void)
{
	unw_word_t words[64] = { 0 };
	unw_context_t uc;
	unw_cursor_t c;

	unw_getcontext(&uc);
	put_in(&uc, (void *)1, words, NULL);
	uc.uc_mcontext.gregs[REG_RAX] = (long)&words[32];
	unw_init_local(&c, &uc);
	check("caller at 1", unw_step(&c) == 0);
}

/* Signals' frames that lead to one another. */
static void signal_circle(void)
{
	struct sigaction sa;
	unw_context_t a, b;
	unw_cursor_t c;
	void *back;
	int n = 0;

	sigaction(SIGUSR1, NULL, &sa);
	back = (void *)sa.sa_restorer;
	unw_getcontext(&a);
	b = a;
	a.uc_mcontext.gregs[REG_RIP] = (long)back;
	a.uc_mcontext.gregs[REG_RSP] = (long)&b;
	b.uc_mcontext.gregs[REG_RIP] = (long)back;
	b.uc_mcontext.gregs[REG_RSP] = (long)&a;
	unw_init_local2(&c, &a, UNW_INIT_SIGNAL_FRAME);
	while (n < 1000000 && unw_step(&c) > 0)
		n++;
	check("a circle of signals", n > 2 && n < 1000000);
}
#endif

int main(void)
{
	pthread_t t;

	deep(10);
	interrupted(0);
	on_other_stack();
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	resume();
	resume_interrupted();
#ifdef __x86_64__
	resume_trapped();
#endif
	registered();
	states();
	errors();
	damaged();
	gone_code();
	guesses();
	gone_stack();
#ifdef __x86_64__
	null_caller();
	signal_circle();
#endif
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
