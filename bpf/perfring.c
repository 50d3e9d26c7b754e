// SPDX-License-Identifier: BSD-2-Clause
#include "perfring.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "grow.h"
#include "monotonic.h"

#define PAGE_SIZE   4096
#define MOST_PAGES  1024
#define ASIDE_PAGES 32
#define LEAST_PAGES 16
#define ANYBODYS    528384 /* kernel.perf_event_mlock_kb: 516 KiB a CPU */
#define MOST_BYTES  65536  /* of a record: its size has 16 bits */

/* Bytes of a PERF_RECORD_MMAP2, and more: its path has PATH_MAX at most. */
#define LONGEST_LIFE 8192

#define MOST_FILES  262144 /* the kernel takes 2 KiB and more for an event */
#define SPARE_FILES 128    /* of those, and of fewer: not for events */

/* It waits for a thread whose process executes a program. */
static int open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd;

	ow_delegate_enter();
	fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);
	ow_delegate_leave();
	return fd;
}

/* Return true if the kernel may take another clock, by errno. */
static bool may_take_clock(void)
{
	switch (errno) {
	case EACCES:
	case EPERM:
	case ESRCH:
	case ENODEV:
	case EMFILE:
	case ENFILE: return false;
	default: return true;
	}
}

static int open_as_permitted(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd = open_event(attr, tid, cpu);

	if (fd < 0 && (errno == EACCES || errno == EPERM) &&
	    !attr->exclude_kernel) {
		attr->exclude_kernel = 1;
		fd = open_event(attr, tid, cpu);
		if (fd < 0 && (errno == EACCES || errno == EPERM))
			attr->exclude_kernel = 0;
	}
	if (fd < 0 && attr->type == PERF_TYPE_HARDWARE && may_take_clock()) {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = PERF_COUNT_SW_CPU_CLOCK;
		return open_as_permitted(attr, tid, cpu);
	}
	return fd;
}

static struct ow_perfring *ring_of(struct ow_perfrings *r, int cpu,
				   enum ow_perfring_kind kind)
{
	size_t i;

	for (i = 0; i < r->nr; i++)
		if (r->all[i].cpu == cpu && r->all[i].kind == kind)
			return &r->all[i];
	return NULL;
}

/* Return true if more files may be open from now on, for the process that calls. */
static bool raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) ||
	    files.rlim_cur >= files.rlim_max)
		return false;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

/* Return true if a descriptor is one of the last, which other files need. */
static bool is_spare(int fd)
{
	rlim_t most = MOST_FILES;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < most)
		most = files.rlim_cur;
	return (rlim_t)fd >=
	       most - (most / 2 < SPARE_FILES ? most / 2 : SPARE_FILES);
}

/*
 * Open an event by a descriptor that other files can spare, or that a ring needs; the
 * limit of files is raised where that helps.  -1 with EMFILE if there is none.
 */
static int open_in_limit(struct ow_perfrings *r, struct perf_event_attr *attr,
			 pid_t tid, int cpu)
{
	int fd = open_as_permitted(attr, tid, cpu);

	if (fd < 0 ? errno != EMFILE :
		     !ring_of(r, cpu, OW_PERFRING_MAIN) || !is_spare(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	if (raise_limit()) {
		r->is_limit_raised = true;
		return open_in_limit(r, attr, tid, cpu);
	}
	errno = EMFILE;
	return -1;
}

/*
 * Pages of a ring, a power of two.  Who may not lock more memory than Linux gives to
 * anybody, makes no ring so large that the other CPUs' rings have none left.
 */
static size_t pages_of(enum ow_perfring_kind kind)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t nr = kind == OW_PERFRING_ASIDE ? ASIDE_PAGES : MOST_PAGES;
	struct rlimit locked;
	rlim_t share;

	if (geteuid() == 0 || getrlimit(RLIMIT_MEMLOCK, &locked))
		return nr;
	share = ANYBODYS + locked.rlim_cur / (rlim_t)(cpus > 0 ? cpus : 1);
	while (nr > LEAST_PAGES && (nr + 1) * PAGE_SIZE > share)
		nr /= 2;
	return nr;
}

static int make_ring(struct ow_perfrings *r, int fd, int cpu,
		     enum ow_perfring_kind kind)
{
	struct ow_perfring *more = realloc(r->all, (r->nr + 1) * sizeof(*more));
	size_t pages;
	void *at = MAP_FAILED;

	if (!more)
		return -1;
	r->all = more;
	for (pages = pages_of(kind); pages >= LEAST_PAGES && at == MAP_FAILED;
	     pages /= 2)
		at = mmap(NULL, (pages + 1) * PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -1;
	r->all[r->nr++] = (struct ow_perfring){
		.fd = fd,
		.cpu = cpu,
		.kind = kind,
		.page = at,
		.size = 2 * pages * PAGE_SIZE,
	};
	return 0;
}

/* Have an event's records go to a ring that another event has. */
static int share_ring(struct ow_perfrings *r, int fd, struct ow_perfring *ring,
		      bool tells_lives)
{
	if (!ow_grow(&r->fds, &r->room_fds, r->nr_fds + 1, sizeof(*r->fds)) ||
	    ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
		return -1;
	r->fds[r->nr_fds++] = fd;
	ring->tells_lives |= tells_lives;
	return 0;
}

/* Have an event's records go to the CPU's ring of that kind, which is made if need be. */
static int keep(struct ow_perfrings *r, int fd, int cpu,
		enum ow_perfring_kind kind, bool tells_lives)
{
	struct ow_perfring *ring = ring_of(r, cpu, kind);

	if (ring)
		return share_ring(r, fd, ring, tells_lives);
	if (make_ring(r, fd, cpu, kind) == 0) {
		r->all[r->nr - 1].tells_lives = tells_lives;
		return 0;
	}
	ring = ring_of(r, cpu, OW_PERFRING_MAIN);
	return kind == OW_PERFRING_LIVES && ring ?
		       share_ring(r, fd, ring, tells_lives) :
		       -1;
}

static int refuse(struct ow_error *err)
{
	if (errno == EACCES || errno == EPERM)
		return ow_fail(err, OW_CODE_PERMISSION,
			       "perf events aren't permitted: root or "
			       "CAP_PERFMON is needed, or a lower "
			       "kernel.perf_event_paranoid");
	if (errno == ESRCH)
		return ow_fail(err, OW_CODE_ABSENT, "no such thread any more");
	return ow_fail(err, OW_CODE_SYSTEM, "perf_event_open");
}

bool ow_perfrings_is_full(const struct ow_error *err)
{
	return err->os_errno == EMFILE || err->os_errno == ENFILE;
}

static int add_to_all(struct ow_perfrings *r, struct perf_event_attr *attr,
		      pid_t tid, enum ow_perfring_kind kind,
		      struct ow_error *err)
{
	long cpu, nr = sysconf(_SC_NPROCESSORS_CONF);
	int fd;

	for (cpu = 0; cpu < nr; cpu++) {
		fd = open_in_limit(r, attr, tid, (int)cpu);
		if (fd < 0 && errno == ENODEV)
			continue; /* that CPU is offline */
		if (fd < 0)
			return refuse(err);
		if (keep(r, fd, (int)cpu, kind, attr->mmap)) {
			close(fd);
			return ow_fail(err, OW_CODE_SYSTEM,
				       "a ring for perf events");
		}
	}
	return 0;
}

void ow_perfrings_keep_limit(const struct ow_perfrings *r)
{
	if (r->is_limit_raised)
		raise_limit();
}

void ow_perfrings_drop(struct ow_perfrings *r, size_t nr_fds)
{
	while (r->nr_fds > nr_fds)
		close(r->fds[--r->nr_fds]);
}

static int add(struct ow_perfrings *r, struct perf_event_attr *attr, pid_t tid,
	       enum ow_perfring_kind kind, struct ow_error *err)
{
	size_t before = r->nr_fds;
	int failed;

	if (!r->record)
		r->record = malloc(MOST_BYTES);
	if (!r->record)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	failed = add_to_all(r, attr, tid, kind, err);
	if (failed)
		ow_perfrings_drop(r, before);
	return failed;
}

int ow_perfrings_add(struct ow_perfrings *r, struct perf_event_attr *attr,
		     pid_t tid, struct ow_error *err)
{
	return add(r, attr, tid, OW_PERFRING_MAIN, err);
}

int ow_perfrings_add_lives(struct ow_perfrings *r, struct perf_event_attr *attr,
			   struct ow_error *err)
{
	return add(r, attr, -1, OW_PERFRING_LIVES, err);
}

int ow_perfring_open_event(struct perf_event_attr *attr, pid_t tid, int cpu,
			   const char *filter)
{
	int fd = open_event(attr, tid, cpu);
	int error = 0;

	if (fd < 0)
		return -1;
	if (is_spare(fd))
		error = EMFILE;
	else if (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		error = errno;
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

static bool add_aside(struct ow_perfrings *r, struct perf_event_attr *attr,
		      const char *filter, int cpu)
{
	int fd = ow_perfring_open_event(attr, -1, cpu, filter);

	if (fd < 0)
		return errno == ENODEV; /* that CPU is offline */
	if (keep(r, fd, cpu, OW_PERFRING_ASIDE, false)) {
		close(fd);
		return false;
	}
	return true;
}

bool ow_perfrings_add_aside(struct ow_perfrings *r,
			    struct perf_event_attr *attr, const char *filter)
{
	long cpu, nr = sysconf(_SC_NPROCESSORS_CONF);

	for (cpu = 0; cpu < nr; cpu++)
		if (!add_aside(r, attr, filter, (int)cpu))
			return false;
	return true;
}

void ow_perfrings_enable(struct ow_perfrings *r, bool enable)
{
	unsigned long what = enable ? PERF_EVENT_IOC_ENABLE :
				      PERF_EVENT_IOC_DISABLE;
	size_t i;

	/* What processes do is told before the first sample. */
	for (i = r->nr_fds; i-- > 0;)
		ioctl(r->fds[i], what, 0);
	for (i = r->nr; i-- > 0;)
		ioctl(r->all[i].fd, what, 0);
}

int ow_perfrings_poll(struct ow_perfrings *r, int ms)
{
	struct pollfd *fds = calloc(r->nr + 1, sizeof(*fds));
	size_t i;
	int n;

	if (!fds)
		return 0;
	for (i = 0; i < r->nr; i++)
		fds[i] = (struct pollfd){
			.fd = r->all[i].kind == OW_PERFRING_ASIDE ?
				      -1 :
				      r->all[i].fd,
			.events = POLLIN,
		};
	n = poll(fds, r->nr, ms);
	/* Who is watched is gone: that is no reason to spin. */
	for (i = 0; n > 0 && i < r->nr; i++)
		if (fds[i].revents & POLLHUP && !(fds[i].revents & POLLIN))
			poll(NULL, 0, ms < 20 ? ms : 20);
	free(fds);
	return n;
}

/* What lies at tail, as it does in the ring: 8 bytes are in one piece. */
static const void *at_tail(const struct ow_perfring *ring, size_t skip)
{
	return (const uint8_t *)ring->page + PAGE_SIZE +
	       ((ring->tail + skip) & (ring->size - 1));
}

/* Where in a record its time is: samples have their thread before it. */
static size_t time_place(const struct perf_event_header *h)
{
	size_t place = h->type == PERF_RECORD_SAMPLE ? sizeof(*h) + 8 :
						       h->size - 8U;

	return h->size >= sizeof(*h) + 8 && place <= h->size - 8U ? place : 0;
}

uint64_t ow_perfrings_time(const struct perf_event_header *h)
{
	size_t place = time_place(h);
	uint64_t time = 0;

	if (place)
		memcpy(&time, (const uint8_t *)h + place, sizeof(time));
	return time;
}

uint64_t ow_perfrings_lost(const struct perf_event_header *h)
{
	const uint64_t *words = (const uint64_t *)(h + 1); /* id, number */

	return h->size < sizeof(*h) + 16 ? 0 : words[1];
}

/* Look at the time of the record at tail, if there is one. */
static void peek(struct ow_perfring *ring)
{
	const struct perf_event_header *h = at_tail(ring, 0);
	size_t place;

	if (ring->tail >= ring->head)
		return;
	place = time_place(h);
	ring->next = ring->last;
	if (place && h->type != PERF_RECORD_LOST)
		memcpy(&ring->next, at_tail(ring, place), sizeof(ring->next));
}

/* The record at tail, in one piece: it may go on at the ring's begin. */
static const struct perf_event_header *record_at(struct ow_perfrings *r,
						 const struct ow_perfring *ring)
{
	const uint8_t *base = (const uint8_t *)ring->page + PAGE_SIZE;
	size_t left = ring->size - (ring->tail & (ring->size - 1));
	const struct perf_event_header *h = at_tail(ring, 0);

	if (h->size <= left)
		return h;
	memcpy(r->record, h, left);
	memcpy(r->record + left, base, h->size - left);
	return (const void *)r->record;
}

/* Note whether a record of what a process does would have had room until now. */
static void note_room(struct ow_perfring *ring, uint64_t head)
{
	ring->was_full |= ring->tells_lives &&
			  head - ring->tail + LONGEST_LIFE > ring->size;
}

/* What is before tail is done with. */
static void move_to(struct ow_perfring *ring, uint64_t tail)
{
	note_room(ring,
		  __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE));
	ring->tail = tail;
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	peek(ring);
}

/* The ring whose next record is the first of all; or NULL. */
static struct ow_perfring *first_ring(const struct ow_perfrings *r,
				      uint64_t until)
{
	struct ow_perfring *ring, *first = NULL;

	for (ring = r->all; ring < r->all + r->nr; ring++)
		if (ring->tail < ring->head && ring->next <= until &&
		    (!first || ring->next < first->next))
			first = ring;
	return first;
}

/* Tell of the loss of records after the last one of a ring that was full. */
static void
tell_loss(struct ow_perfrings *r, struct ow_perfring *ring,
	  void (*take)(void *arg, const struct perf_event_header *h), void *arg)
{
	struct {
		struct perf_event_header header;
		uint64_t id, nr, time;
	} lost = {
		.header = { .type = PERF_RECORD_LOST, .size = sizeof(lost) },
		.time = ow_now_ns(),
	};

	if (!ring->was_full || ring->tail < ring->head)
		return;
	ring->was_full = false;
	r->taken = ring;
	take(arg, &lost.header);
}

void ow_perfrings_read(struct ow_perfrings *r,
		       void (*take)(void *arg,
				    const struct perf_event_header *h),
		       void *arg)
{
	/* Of what came later, one ring may tell and another one not yet. */
	uint64_t until = ow_now_ns();
	const struct perf_event_header *h;
	struct ow_perfring *ring;
	size_t size;

	for (ring = r->all; ring < r->all + r->nr; ring++) {
		ring->tail = ring->page->data_tail;
		ring->head = __atomic_load_n(&ring->page->data_head,
					     __ATOMIC_ACQUIRE);
		note_room(ring, ring->head);
		peek(ring);
		tell_loss(r, ring, take, arg);
	}
	while ((ring = first_ring(r, until)) != NULL) {
		h = record_at(r, ring);
		size = h->size;
		r->taken = ring;
		take(arg, h);
		ring->last = ring->next;
		move_to(ring,
			size < sizeof(*h) ? ring->head : ring->tail + size);
		tell_loss(r, ring, take, arg);
	}
}

void ow_perfrings_close(struct ow_perfrings *r)
{
	size_t i;

	for (i = 0; i < r->nr; i++) {
		munmap(r->all[i].page, r->all[i].size + PAGE_SIZE);
		close(r->all[i].fd);
	}
	for (i = 0; i < r->nr_fds; i++)
		close(r->fds[i]);
	free(r->all);
	free(r->fds);
	free(r->record);
	*r = (struct ow_perfrings){ 0 };
}
