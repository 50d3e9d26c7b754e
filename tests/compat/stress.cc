// SPDX-License-Identifier: BSD-2-Clause
/*
 * unw_backtrace() in a SIGPROF handler, while threads throw and catch across
 * frames and libraries are loaded and unloaded, each where another one was.
 *
 * stress SECONDS LIBRARY LIBRARY.  It passes if it ends, if nine of ten samples
 * reach the outermost frame, and if a stack is the same by unw_step() as
 * by unw_backtrace() wherever the two are compared.  (libgcc's code that installs a
 * handler's registers has no true CFI, so a few samples can't be complete.)
 */
#define UNW_LOCAL_ONLY
#include <atomic>
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <stdexcept>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NR_THREADS 4
#define MOST       256
#define PATIENCE   300 /* seconds, on a slow machine */

static std::atomic<unsigned long> samples, frames, complete, thrown, loads;
static std::atomic<unsigned long> wrong, allocations;
static std::atomic<bool> over;
static char *libraries[2];

/* Only while a handler runs is it forbidden. */
static thread_local volatile bool in_handler;

extern "C" void *__libc_malloc(size_t size);

extern "C" void *malloc(size_t size)
{
	if (in_handler)
		allocations++;
	return __libc_malloc(size);
}

/* The outermost address of this thread's stacks. */
static thread_local void *outermost;

static void on_sample(int sig, siginfo_t *si, void *uc)
{
	void *pcs[MOST];
	int n;

	(void)sig;
	(void)si;
	in_handler = true;
	n = unw_backtrace(pcs, MOST);
	samples++;
	frames += n;
	if (n > 2 && pcs[n - 1] == outermost)
		complete++;
	n = unw_backtrace2(pcs, MOST, (unw_context_t *)uc,
			   UNW_INIT_SIGNAL_FRAME);
	if (n < 1 ||
	    pcs[0] != (void *)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP])
		wrong++;
	in_handler = false;
}

static int __attribute__((noinline)) compare(int n)
{
	void *pcs[MOST];
	unw_context_t uc;
	unw_cursor_t c;
	unw_word_t ip;
	int nr, i = 0;

	unw_getcontext(&uc);
	nr = unw_backtrace2(pcs, MOST, &uc, 0);
	unw_init_local(&c, &uc);
	do {
		unw_get_reg(&c, UNW_REG_IP, &ip);
		if (i >= nr || pcs[i] != (void *)ip) {
			wrong++;
			return n;
		}
	} while (++i < MOST && unw_step(&c) > 0);
	if (i != nr || nr < 4 || pcs[nr - 1] != outermost)
		wrong++;
	return n;
}

static int __attribute__((noinline)) throw_it(int n)
{
	thrown++;
	return n - 1;
}

static int __attribute__((noinline)) dive(int n)
{
	std::string s(n * 7 + 3, 'x');

	if (n == 0)
		throw std::runtime_error(s);
	return dive(n - 1) + (int)s.size();
}

static void note_outermost()
{
	void *pcs[MOST];
	int n = unw_backtrace(pcs, MOST);

	outermost = n > 0 ? pcs[n - 1] : NULL;
}

static void *thrower(void *arg)
{
	note_outermost();
	while (!over) {
		try {
			dive(10);
		} catch (const std::exception &) {
			thrown++;
		}
		compare(0);
	}
	return arg;
}

/* One thread loads and unloads; where it is called, frames are its own. */
static void *loader(void *arg)
{
	note_outermost();
	for (int i = 0; !over; i++) {
		void *h = dlopen(libraries[i % 2], RTLD_NOW);
		int (*call)(int, int (*)(int));

		if (!h) {
			fprintf(stderr, "%s\n", dlerror());
			exit(2);
		}
		call = (int (*)(int, int (*)(int)))dlsym(h, "stress_call");
		for (int k = 0; k < 8; k++) {
			call(5 + k % 3, compare);
			try {
				call(5, throw_it);
			} catch (const std::exception &) {
			}
		}
		dlclose(h);
		loads++;
	}
	return arg;
}

static bool enough()
{
	return samples > 100 && thrown > 100 && loads > 10;
}

int main(int argc, char **argv)
{
	struct itimerval timer = { { 0, 500 }, { 0, 500 } };
	struct sigaction sa = {};
	pthread_t threads[NR_THREADS];
	int seconds;

	if (argc != 4) {
		fprintf(stderr, "usage: stress SECONDS LIBRARY LIBRARY\n");
		return 2;
	}
	seconds = atoi(argv[1]);
	libraries[0] = argv[2];
	libraries[1] = argv[3];
	sa.sa_sigaction = on_sample;
	sa.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, i ? thrower : loader, NULL);
	/* More often than the timer can, and as long as too little was seen. */
	for (time_t end = time(NULL) + seconds;
	     time(NULL) < end || (!enough() && time(NULL) < end + PATIENCE);
	     usleep(100))
		for (int i = 0; i < NR_THREADS; i++)
			pthread_kill(threads[i], SIGPROF);
	over = true;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	timer = {};
	setitimer(ITIMER_PROF, &timer, NULL);
	printf("# %lu samples of %lu frames, %lu thrown, %lu libraries, "
	       "%lu samples complete, %lu wrong, "
	       "%lu allocations in a handler\n",
	       samples.load(), frames.load(), thrown.load(), loads.load(),
	       complete.load(), wrong.load(), allocations.load());
	bool good = enough() && complete > samples / 10 * 9 && !wrong &&
		    !allocations;
	printf("%d passed, %d failed\n", good, !good);
	return !good;
}
