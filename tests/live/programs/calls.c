/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread for each system call that waits: for ever, unless somebody breaks
 * it off.  What each call gave is counted in a file: calls FILE [NAME...].
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONG_MS 100000000
#define LONG_S  100000

/* The record of a thread, in the file. */
struct record {
	char name[16];
	int32_t tid;
	uint32_t returns; /* of its call */
	uint32_t broken;  /* those of them that gave EINTR */
	uint32_t handled; /* runs of a signal handler */
	int32_t wrong;    /* errno, or else result, of any other return */
};

static __thread struct record *mine;
static char scratch[1 << 20];
static int sem, queue; /* System V's: they outlive us if nobody removes them */

static void handle(int sig)
{
	(void)sig;
	mine->handled++;
}

static int channel(int option)
{
	struct timeval limit = { LONG_S, 0 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, option, &limit, sizeof(limit)))
		abort();
	return pair[0];
}

static int listener(struct sockaddr_un *addr, int backlog)
{
	static int serial;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "calls-%d-%d",
		 getpid(), __sync_fetch_and_add(&serial, 1));
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, sizeof(*addr)) ||
	    listen(fd, backlog))
		abort();
	return fd;
}

static long wait_epoll(int fd)
{
	struct epoll_event event;

	return epoll_wait(fd, &event, 1, -1);
}

static long wait_epoll_timed(int fd)
{
	struct epoll_event event;

	return epoll_wait(fd, &event, 1, LONG_MS);
}

static long wait_epoll_masked(int fd)
{
	struct epoll_event event;
	sigset_t none; /* SIGUSR2 can come only here */

	sigemptyset(&none);
	return epoll_pwait(fd, &event, 1, LONG_MS, &none);
}

static long wait_signal(int fd)
{
	struct timespec limit = { LONG_S, 0 };
	sigset_t set;

	(void)fd;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	return sigtimedwait(&set, NULL, &limit);
}

static long wait_sem(int id)
{
	struct sembuf down = { 0, -1, 0 };

	return semop(id, &down, 1);
}

static long wait_msg(int id)
{
	return msgrcv(id, scratch, 16, 0, 0);
}

static long wait_recv(int fd)
{
	return recv(fd, scratch, 1, 0);
}

static long wait_recvmsg(int fd)
{
	struct iovec iov = { scratch, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return recvmsg(fd, &msg, 0);
}

static long wait_read(int fd)
{
	return read(fd, scratch, 4096);
}

static long wait_send(int fd)
{
	return send(fd, scratch, sizeof(scratch), 0);
}

static long wait_write(int fd)
{
	return write(fd, scratch, sizeof(scratch));
}

static long wait_preadv2(int fd)
{
	struct iovec iov = { scratch, 1 };

	return preadv2(fd, &iov, 1, -1, 0);
}

static long wait_pwritev2(int fd)
{
	struct iovec iov = { scratch, sizeof(scratch) };

	return pwritev2(fd, &iov, 1, -1, 0);
}

static long wait_splice(int fd)
{
	static int ends[2];

	if (!ends[1] && pipe(ends))
		abort();
	return splice(fd, NULL, ends[1], NULL, 1, 0);
}

static long wait_sendfile(int fd)
{
	static int file;

	if (!file) {
		file = memfd_create("file", 0);
		if (ftruncate(file, sizeof(scratch)))
			abort();
	}
	return sendfile(fd, file, NULL, sizeof(scratch));
}

static long wait_accept(int fd)
{
	return accept(fd, NULL, NULL);
}

/* The queue of the one that is listening is full. */
static long wait_connect(int fd)
{
	struct sockaddr_un addr;
	socklen_t size = sizeof(addr);
	struct timeval limit = { LONG_S, 0 };
	int own = socket(AF_UNIX, SOCK_STREAM, 0);
	long result;

	getsockname(fd, (struct sockaddr *)&addr, &size);
	setsockopt(own, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	result = connect(own, (struct sockaddr *)&addr, size);
	close(own);
	return result;
}

static long wait_poll(int fd)
{
	(void)fd;
	return poll(NULL, 0, LONG_MS);
}

static long wait_select(int fd)
{
	struct timeval limit = { LONG_S, 0 };

	(void)fd;
	return select(0, NULL, NULL, NULL, &limit);
}

static long wait_pause(int fd)
{
	(void)fd;
	return pause();
}

static long wait_suspended(int fd)
{
	sigset_t none;

	(void)fd;
	sigemptyset(&none);
	return sigsuspend(&none);
}

static long wait_sleep(int fd)
{
	struct timespec limit = { LONG_S, 0 };

	(void)fd;
	return nanosleep(&limit, NULL);
}

static long wait_futex(int fd)
{
	static int word;

	(void)fd;
	return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static long wait_child(int fd)
{
	(void)fd;
	return waitpid(-1, NULL, 0);
}

static long wait_lock(int fd)
{
	return flock(fd, LOCK_EX);
}

static long wait_aio(int fd)
{
	static aio_context_t context;
	struct io_event event;

	(void)fd;
	if (!context && syscall(SYS_io_setup, 1, &context))
		abort();
	return syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
}

static long wait_uring(int fd)
{
	return syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS,
		       NULL, 0);
}

static int open_epoll(void)
{
	return epoll_create1(0);
}

static int open_sem(void)
{
	return sem;
}

static int open_msg(void)
{
	return queue;
}

static int open_receiver(void)
{
	return channel(SO_RCVTIMEO);
}

static int open_sender(void)
{
	int fd = channel(SO_SNDTIMEO);

	while (send(fd, scratch, sizeof(scratch), MSG_DONTWAIT) > 0)
		;
	return fd;
}

static int open_listener(void)
{
	struct timeval limit = { LONG_S, 0 };
	struct sockaddr_un addr;
	int fd = listener(&addr, 1);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static int open_full(void)
{
	struct sockaddr_un addr;
	int fd = listener(&addr, 0);
	int first = socket(AF_UNIX, SOCK_STREAM, 0);

	if (connect(first, (struct sockaddr *)&addr, sizeof(addr)))
		abort();
	return fd;
}

static int open_nothing(void)
{
	return 0;
}

static int open_locked(void)
{
	char name[] = "/tmp/calls-XXXXXX";
	int fd = mkstemp(name), other = open(name, O_RDWR);

	unlink(name);
	return flock(fd, LOCK_EX) ? -1 : other;
}

/* -1 where the system has switched it off. */
static int open_uring(void)
{
	struct io_uring_params params = { 0 };

	return (int)syscall(SYS_io_uring_setup, 1, &params);
}

static const struct call {
	const char *name;
	int (*prepare)(void); /* what the call waits on; -1: can't be had */
	long (*wait)(int fd);
} calls[] = {
	{ "epoll_wait", open_epoll, wait_epoll },
	{ "epoll_timed", open_epoll, wait_epoll_timed },
	{ "epoll_pwait", open_epoll, wait_epoll_masked },
	{ "sigtimedwait", open_nothing, wait_signal },
	{ "semop", open_sem, wait_sem },
	{ "msgrcv", open_msg, wait_msg },
	{ "recv", open_receiver, wait_recv },
	{ "recvmsg", open_receiver, wait_recvmsg },
	{ "read", open_receiver, wait_read },
	{ "send", open_sender, wait_send },
	{ "write", open_sender, wait_write },
	{ "preadv2", open_receiver, wait_preadv2 },
	{ "pwritev2", open_sender, wait_pwritev2 },
	{ "splice", open_receiver, wait_splice },
	{ "sendfile", open_sender, wait_sendfile },
	{ "accept", open_listener, wait_accept },
	{ "connect", open_full, wait_connect },
	{ "inotify", inotify_init, wait_read },
	{ "poll", open_nothing, wait_poll },
	{ "select", open_nothing, wait_select },
	{ "pause", open_nothing, wait_pause },
	{ "sigsuspend", open_nothing, wait_suspended },
	{ "nanosleep", open_nothing, wait_sleep },
	{ "futex", open_nothing, wait_futex },
	{ "waitpid", open_nothing, wait_child },
	{ "flock", open_locked, wait_lock },
	{ "io_getevents", open_nothing, wait_aio },
	{ "io_uring", open_uring, wait_uring },
};

#define NR_CALLS (sizeof(calls) / sizeof(calls[0]))

static struct record *records;

static void *wait_again(void *arg)
{
	const struct call *call = arg;
	int fd = call->prepare();
	long result;

	mine = &records[call - calls];
	memcpy(mine->name, call->name, strlen(call->name));
	pthread_setname_np(pthread_self(), call->name);
	if (fd < 0)
		return NULL;
	mine->tid = (int32_t)syscall(SYS_gettid);
	for (;;) {
		errno = 0;
		result = call->wait(fd);
		mine->returns++;
		if (result == -1 && errno == EINTR)
			mine->broken++;
		else
			mine->wrong = errno ? errno : (int)result;
	}
}

/* A child, to be waited for, that removes what we leave when we are killed. */
static void start_cleaner(void)
{
	sigset_t set;
	int sig;

	if (fork() != 0)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	close(1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigwait(&set, &sig);
	semctl(sem, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	_exit(0);
}

static bool is_wanted(const struct call *call, char **names)
{
	bool any = *names != NULL;

	for (; *names; names++)
		if (strcmp(*names, call->name) == 0)
			return true;
	return !any;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handle };
	int fd = open(argc > 1 ? argv[1] : "", O_RDWR | O_CREAT, 0600);
	size_t size = NR_CALLS * sizeof(*records), i;
	pthread_t thread;
	sigset_t set;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		return 1;
	records = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (records == MAP_FAILED)
		return 1;
	sem = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	start_cleaner();
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < NR_CALLS; i++)
		if (is_wanted(&calls[i], argv + 2) &&
		    pthread_create(&thread, NULL, wait_again,
				   (void *)&calls[i]))
			return 1;
	if (write(1, "ready\n", 6) != 6)
		return 1;
	/* Signals are for the others. */
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;)
		pause();
}
