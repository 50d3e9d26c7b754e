// SPDX-License-Identifier: BSD-2-Clause
/*
 * filtered deny|allow sleep|poll|futex: wait for four seconds, again and again, under
 * a filter that ends the program at restart_syscall(2), or lets it pass.  Each wait's
 * length in milliseconds is printed.
 */
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 4

static int set_filter(int denied)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 1),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 3),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied + 1, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(code[0]),
					   code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void wait_by(const char *call)
{
	struct timespec t = { .tv_sec = SECONDS };
	uint32_t word = 0;

	if (strcmp(call, "sleep") == 0)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	else if (strcmp(call, "poll") == 0)
		poll(NULL, 0, SECONDS * 1000);
	else
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0);
}

int main(int argc, char **argv)
{
	struct timespec a, b;

	/* A call that isn't there stands for none. */
	if (argc < 3 ||
	    set_filter(strcmp(argv[1], "deny") == 0 ? SYS_restart_syscall :
						      100000))
		return 1;
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		wait_by(argv[2]);
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%lld\n", (long long)(b.tv_sec - a.tv_sec) * 1000 +
					 (b.tv_nsec - a.tv_nsec) / 1000000);
		fflush(stdout);
	}
}
