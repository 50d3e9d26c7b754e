/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into outwind kunwindd: a kunwind module that follows whom it is told
 * to, and has no events.  When they are waited for, SIGTERM comes first; who waits
 * on ends with status 3.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <outwind/kunwind.h>

#define PATIENCE_MS 5000

static int dev = -1;

/* Both ends of a pipe stay open: to be read, but there is nothing. */
static int open_module(void)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return -1;
	dev = fds[0];
	return dev;
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (strcmp(path, OW_KUNWIND_DEVICE) == 0)
		return open_module();
	return openat(AT_FDCWD, path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != dev)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	if (request == OW_KUNWIND_INFO)
		*(struct ow_kunwind_info *)arg =
			(struct ow_kunwind_info){ .abi = OW_KUNWIND_ABI };
	return 0;
}

int poll(struct pollfd *fds, nfds_t nr, int ms)
{
	int ready;

	kill(getpid(), SIGTERM);
	ready = (int)syscall(SYS_poll, fds, nr, ms < 0 ? PATIENCE_MS : ms);
	if (ready == 0 && ms < 0)
		_exit(3);
	return ready;
}
