// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that uses the library: PID [own|left].  It prints the names of the
 * frames of PID's first thread, and what files were lost.  own: it has a handler
 * of SIGBUS, set before, and a file of its own that is cut off, which the handler
 * is to be called for.  left: its handler is the only one.  Signals are blocked,
 * as in a thread that is not to be disturbed.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <outwind/outwind.h>

static sigjmp_buf own_fault;

static void on_own(int nr, siginfo_t *info, void *context)
{
	(void)nr;
	(void)context;
	if (info->si_code <= 0)
		abort();
	siglongjmp(own_fault, 1);
}

static void on_all(int nr, siginfo_t *info, void *context)
{
	if (!ow_sigbus_mend(info->si_addr))
		on_own(nr, info, context);
}

/* Return 1 if an access to what a file of ours lost came to our handler. */
static int own_is_called(void)
{
	FILE *f = tmpfile();
	volatile char *at;

	if (!f || ftruncate(fileno(f), 8192))
		return 0;
	at = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fileno(f), 0);
	if (at == MAP_FAILED || ftruncate(fileno(f), 0))
		return 0;
	if (sigsetjmp(own_fault, 1))
		return 1;
	return at[4096] == 1; /* not reached */
}

static void handle(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
}

static void print_stack(struct ow_capture *c)
{
	struct ow_frame frames[64];
	struct ow_symbolizer *s;
	struct ow_error err = { 0 };
	struct ow_name name;
	enum ow_end end;
	size_t nr, i;

	s = ow_symbolizer_create(c, 0, &err);
	nr = ow_capture_walk(c, 0, frames, 64, &end, &err);
	for (i = 0; s && i < nr; i++) {
		ow_symbolizer_name(s, &frames[i], &name, 1);
		printf("frame %s %d\n", name.function ? name.function : "?",
		       frames[i].how == OW_HOW_FP);
	}
	printf("end %d %s\n", end == OW_END_OUTERMOST,
	       end == OW_END_OUTERMOST ? "" : err.msg);
	ow_symbolizer_destroy(s);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	struct ow_capture *c;
	struct ow_error err;
	const char *lost;
	sigset_t all;
	size_t i;

	if (strcmp(mode, "own") == 0)
		handle(on_own);
	if (strcmp(mode, "left") == 0) {
		handle(on_all);
		ow_sigbus_leave();
	} else {
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
	}
	c = ow_capture_process(argc > 1 ? atoi(argv[1]) : 0, NULL, &err);
	if (!c) {
		printf("failed %s\n", err.msg);
		return 1;
	}
	print_stack(c);
	ow_capture_destroy(c);
	for (i = 0; (lost = ow_file_lost(i)); i++)
		printf("lost %s\n", lost);
	if (mode[0])
		printf("own %d\n", own_is_called());
	return 0;
}
