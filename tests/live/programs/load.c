/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pairs of threads that ask and answer as fast as they can, each pair by
 * another way to wait, until SIGTERM: load [IDLE THREADS].  Then it says of
 * each pair how many rounds it did, the sum of the answers, how often a wait
 * was in vain (a wake-up was lost), and how often a call was broken off by
 * what was no signal of its own.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 60 /* then a wake-up counts as lost */
#define QUIT       UINT32_MAX

struct pair;

/* One of the two of a pair. */
struct end {
	struct pair *pair;
	pthread_t thread;
	int fd, epoll;
	unsigned int index;
	uint32_t lost, broken;
	volatile uint32_t letter, arrived; /* for ways that carry no data */
};

struct way {
	const char *name;
	void (*open)(struct pair *pair);
	void (*send)(struct end *from, struct end *to, uint32_t value);
	bool (*receive)(struct end *own, uint32_t *ret); /* false: broken off */
};

struct pair {
	const struct way *way;
	struct end ends[2];
	int sems;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	uint64_t sum;
	uint32_t rounds;
};

static volatile bool finish;
static __thread struct end *mine;

static bool failed(struct end *own, bool timed_out)
{
	if (timed_out)
		own->lost++;
	else
		own->broken++;
	return false;
}

/* Sockets that epoll_wait() waits for. */
static void open_sockets(struct pair *pair)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fds[2], i;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		abort();
	for (i = 0; i < 2; i++) {
		pair->ends[i].fd = fds[i];
		pair->ends[i].epoll = epoll_create1(0);
		epoll_ctl(pair->ends[i].epoll, EPOLL_CTL_ADD, fds[i], &event);
	}
}

static void send_data(struct end *from, struct end *to, uint32_t value)
{
	(void)to;
	if (write(from->fd, &value, sizeof(value)) != sizeof(value))
		from->broken++;
}

static bool receive_by_epoll(struct end *own, uint32_t *ret)
{
	struct epoll_event event;
	int n = epoll_wait(own->epoll, &event, 1, PATIENCE_S * 1000);

	if (n != 1)
		return failed(own, n == 0);
	return read(own->fd, ret, sizeof(*ret)) == sizeof(*ret) ||
	       failed(own, false);
}

static void open_timed(struct pair *pair)
{
	struct timeval limit = { PATIENCE_S, 0 };
	int i;

	open_sockets(pair);
	for (i = 0; i < 2; i++)
		setsockopt(pair->ends[i].fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
			   sizeof(limit));
}

static bool receive_timed(struct end *own, uint32_t *ret)
{
	ssize_t n = recv(own->fd, ret, sizeof(*ret), 0);

	return n == sizeof(*ret) || failed(own, n < 0 && errno == EAGAIN);
}

/* Signals with a value, taken by sigtimedwait(). */
static void open_nothing(struct pair *pair)
{
	(void)pair;
}

static void send_signal(struct end *from, struct end *to, uint32_t value)
{
	union sigval with = { .sival_int = (int)value };

	if (pthread_sigqueue(to->thread, SIGRTMIN, with))
		from->broken++;
}

static bool receive_signal(struct end *own, uint32_t *ret)
{
	struct timespec limit = { PATIENCE_S, 0 };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	if (sigtimedwait(&set, &info, &limit) != SIGRTMIN)
		return failed(own, errno == EAGAIN);
	*ret = (uint32_t)info.si_value.sival_int;
	return true;
}

/*
 * A flag that a signal's handler sets, and that is looked at only after the
 * call that lets the signal in was broken off.
 */
static void handle(int sig)
{
	(void)sig;
	mine->arrived = 1;
}

static void send_flag(struct end *from, struct end *to, uint32_t value)
{
	to->letter = value;
	if (pthread_kill(to->thread, SIGUSR1))
		from->broken++;
}

static bool receive_flag(struct end *own, uint32_t *ret)
{
	struct epoll_event event;
	sigset_t set;
	int n;

	/* SIGTERM is main()'s. */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	n = epoll_pwait(own->epoll, &event, 1, PATIENCE_S * 1000, &set);
	if (!own->arrived)
		return failed(own, n == 0);
	if (n == 0)
		own->lost++; /* it ran, and the call went on */
	own->arrived = 0;
	*ret = own->letter;
	return true;
}

static void open_sems(struct pair *pair)
{
	pair->sems = semget(IPC_PRIVATE, 2, 0600);
}

static void send_up(struct end *from, struct end *to, uint32_t value)
{
	struct sembuf up = { (unsigned short)to->index, 1, 0 };

	to->letter = value;
	if (semop(from->pair->sems, &up, 1))
		from->broken++;
}

static bool receive_down(struct end *own, uint32_t *ret)
{
	struct sembuf down = { (unsigned short)own->index, -1, 0 };
	struct timespec limit = { PATIENCE_S, 0 };

	if (semtimedop(own->pair->sems, &down, 1, &limit))
		return failed(own, errno == EAGAIN);
	*ret = own->letter;
	return true;
}

/* A condition variable: futexes. */
static void send_condition(struct end *from, struct end *to, uint32_t value)
{
	pthread_mutex_lock(&from->pair->lock);
	to->letter = value;
	to->arrived = 1;
	pthread_cond_broadcast(&from->pair->cond);
	pthread_mutex_unlock(&from->pair->lock);
}

static bool receive_condition(struct end *own, uint32_t *ret)
{
	struct timespec until;
	int result = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&own->pair->lock);
	while (!own->arrived && result == 0)
		result = pthread_cond_timedwait(&own->pair->cond,
						&own->pair->lock, &until);
	own->arrived = 0;
	*ret = own->letter;
	pthread_mutex_unlock(&own->pair->lock);
	return result == 0 || failed(own, result == ETIMEDOUT);
}

static const struct way ways[] = {
	{ "epoll", open_sockets, send_data, receive_by_epoll },
	{ "recv", open_timed, send_data, receive_timed },
	{ "signal", open_nothing, send_signal, receive_signal },
	{ "handler", open_sockets, send_flag, receive_flag },
	{ "sem", open_sems, send_up, receive_down },
	{ "condition", open_nothing, send_condition, receive_condition },
};

#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

static void *serve(void *arg)
{
	struct end *own = mine = arg, *other = &own->pair->ends[0];
	uint32_t value = 0;

	while (value != QUIT) {
		if (!own->pair->way->receive(own, &value))
			continue;
		if (value != QUIT)
			own->pair->way->send(own, other, 2 * value + 1);
	}
	return NULL;
}

static void *ask(void *arg)
{
	struct end *own = mine = arg, *other = &own->pair->ends[1];
	struct pair *pair = own->pair;
	uint32_t answer;

	while (!finish) {
		pair->way->send(own, other, pair->rounds);
		while (!pair->way->receive(own, &answer))
			;
		pair->sum += answer;
		pair->rounds++;
	}
	pair->way->send(own, other, QUIT);
	return NULL;
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void report(const struct pair *pair)
{
	printf("%s rounds %u sum %llu lost %u broken %u\n", pair->way->name,
	       pair->rounds, (unsigned long long)pair->sum,
	       pair->ends[0].lost + pair->ends[1].lost,
	       pair->ends[0].broken + pair->ends[1].broken);
}

int main(int argc, char **argv)
{
	static struct pair pairs[NR_WAYS];
	struct sigaction action = { .sa_handler = handle };
	int nr_idle = argc > 1 ? atoi(argv[1]) : 0, sig;
	pthread_t thread;
	struct end *end;
	sigset_t set;
	size_t i, k;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < NR_WAYS; i++) {
		pairs[i].way = &ways[i];
		pthread_mutex_init(&pairs[i].lock, NULL);
		pthread_cond_init(&pairs[i].cond, NULL);
		ways[i].open(&pairs[i]);
		/* Who serves is there before anybody asks. */
		for (k = 2; k-- > 0;) {
			end = &pairs[i].ends[k];
			end->pair = &pairs[i];
			end->index = (unsigned int)k;
			pthread_create(&end->thread, NULL, k ? serve : ask,
				       end);
		}
	}
	while (nr_idle-- > 0)
		pthread_create(&thread, NULL, idle, NULL);
	puts("ready");
	fflush(stdout);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigwait(&set, &sig);
	finish = true;
	for (i = 0; i < NR_WAYS; i++) {
		for (k = 0; k < 2; k++)
			pthread_join(pairs[i].ends[k].thread, NULL);
		report(&pairs[i]);
	}
	semctl(pairs[4].sems, 0, IPC_RMID);
	return 0;
}
