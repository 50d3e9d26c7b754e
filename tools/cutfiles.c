// SPDX-License-Identifier: BSD-2-Clause
#include "cutfiles.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t came;
static uintptr_t page_size;

/* Where it is no page of a file, the access is made again, and ends us. */
static void replace_page(int signal_nr, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(page_size - 1);

	(void)context;
	if (info->si_code == BUS_ADRERR &&
	    mmap((void *)page, page_size, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		came = 1;
	else
		signal(signal_nr, SIG_DFL);
}

void cutfiles_survive(void)
{
	struct sigaction action = { .sa_sigaction = replace_page,
				    .sa_flags = SA_SIGINFO };

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &action, NULL);
}

bool cutfiles_came(void)
{
	return came;
}
