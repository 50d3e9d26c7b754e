// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread waits with its stack pointer in a file of a FUSE file system that another
 * thread of the process serves, or that stops answering.
 *
 * fusestack serve|never sync|async DIR: whether a read is ever answered; whether
 * the reader itself waits for the answer, which then no signal ends, or for the page.
 * fusestack object|served FILE DIR: the file system has FILE, which is loaded and
 * called (wait_in_object()); from then on nothing is answered any more, or all is.
 * fusestack slow FILE DIR: as served, but 20 files with the content of FILE are
 * loaded, each is called by a thread, and each answer takes 0.3 s from then on.
 * fusestack slowjit FILE DIR: likewise, and the file system is its /tmp, and a thread
 * runs code of no object; "asked" is said when a map of that is looked for.
 * fusestack layered FILE DIR: as object, but FILE is loaded from an overlay over it.
 * fusestack covered FILE DIR: as object, but a copy of FILE is loaded from DIR before
 * the file system is mounted there.
 * fusestack exec - DIR: a thread executes a file of which nothing can be read.
 * fusestack jit - DIR: an overlay over the file system is its /tmp, nothing is answered
 * any more, and a thread runs code of no object.
 * fusestack flush - DIR: a child executes a program, and the kernel waits while it
 * closes a file for that: it holds the child's exec_update_lock.
 * fusestack flush recordMS|forks|traced DIR: likewise, but that comes later: the child
 * computes for 1.5 s, and for MS in code of no object; or its children do that; or it
 * is in such code until a tracer has seen it.
 * fusestack fault - DIR: a thread of a child waits for a page, and holds mmap_lock;
 * another one waits to change what is mapped, so that nobody else gets that lock.
 * The last three say "ready PID" of the child.
 * It is mounted on DIR, for this process alone, which may be any user's.  One argument more, "unnumbered": all
 * of its files have the inode 0.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "ownspace.h"
#include "threads.h"

#define STACK_FILE ((size_t)1 << 20)
#define FILE_NODE  2 /* and the next ones: file1, file2, ... */
#define NR_SLOW    20
#define NR_FORKS   50
#define SLOW_US    300000
#define BAD_READS  2 /* by which the kernel takes a fault again, with the lock */

static int device, backing = -1;
static sem_t has_device;
static int is_async, is_silent; /* is_silent: no READ is answered */
static volatile int is_dead;    /* nothing is */
static volatile int is_slow;
static int is_unnumbered;
static int is_tmp; /* it is mounted on /tmp, too */
static size_t file_size = STACK_FILE;
static pid_t child; /* that the last two are about; 0: none */
static int is_silent_at_flush, bad_reads, silence[2];
static char request[1 << 20];

static void reply(const struct fuse_in_header *in, int error, const void *bytes,
		  size_t size)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + size),
		.error = error,
		.unique = in->unique,
	};
	struct iovec iov[] = { { &out, sizeof(out) }, { (void *)bytes, size } };

	if (writev(device, iov, 2) < 0 && errno != ENOENT)
		perror("reply");
}

static void fill_attr(struct fuse_attr *attr, uint64_t node)
{
	attr->ino = is_unnumbered && node != FUSE_ROOT_ID ? 0 : node;
	attr->mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0755;
	attr->nlink = 1;
	attr->size = node == FUSE_ROOT_ID ? 0 : file_size;
	attr->blksize = 4096;
}

static void answer_init(const struct fuse_in_header *in,
			const struct fuse_init_in *init)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = init->minor,
		.max_readahead = 4096,
		.flags = is_async ? FUSE_ASYNC_READ : 0,
		.max_write = 4096,
	};

	reply(in, 0, &out, sizeof(out));
}

/* The child can be told by nothing that needs its memory's lock. */
static void say_silent(void)
{
	if (!child || is_dead)
		return;
	is_dead = 1;
	if (!is_silent_at_flush && write(silence[1], "", 1) != 1)
		fail("pipe");
	usleep(200000);
	printf("ready %d\n", (int)child);
	fflush(stdout);
}

static void answer_read(const struct fuse_in_header *in,
			const struct fuse_read_in *read_in)
{
	static char bytes[1 << 20];
	size_t size = read_in->size;
	ssize_t n;

	if (bad_reads > 0) {
		bad_reads--;
		reply(in, -EIO, NULL, 0);
		return;
	}
	if (is_silent) {
		say_silent();
		return;
	}
	if (read_in->offset >= file_size)
		size = 0;
	else if (size > file_size - read_in->offset)
		size = file_size - read_in->offset;
	memset(bytes, 0, size);
	if (backing >= 0) {
		n = pread(backing, bytes, size, (off_t)read_in->offset);
		size = n > 0 ? (size_t)n : 0;
	}
	reply(in, 0, bytes, size);
}

/* Which file a name means: the number that it may end in. */
static uint64_t node_of(const char *name)
{
	return FILE_NODE +
	       strtoul(name + strcspn(name, "0123456789"), NULL, 10);
}

static void say_asked(void)
{
	puts("asked");
	fflush(stdout);
}

static void answer(const struct fuse_in_header *in)
{
	struct fuse_entry_out entry = { 0 };
	struct fuse_attr_out attr = { 0 };
	struct fuse_open_out opened = { .fh = 1 };
	struct fuse_statfs_out statfs = { .st = { .namelen = 255 } };

	if (is_slow && in->opcode != FUSE_FORGET)
		usleep(SLOW_US);
	switch (in->opcode) {
	case FUSE_INIT: answer_init(in, (const void *)(in + 1)); break;
	case FUSE_LOOKUP:
		if (is_tmp && strncmp((const char *)(in + 1), "perf-", 5) == 0)
			say_asked();
		entry.nodeid = node_of((const char *)(in + 1));
		fill_attr(&entry.attr, entry.nodeid);
		reply(in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		fill_attr(&attr.attr, in->nodeid);
		reply(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_STATFS: reply(in, 0, &statfs, sizeof(statfs)); break;
	case FUSE_OPEN: reply(in, 0, &opened, sizeof(opened)); break;
	case FUSE_READ: answer_read(in, (const void *)(in + 1)); break;
	case FUSE_FLUSH:
		if (is_silent_at_flush)
			say_silent();
		else
			reply(in, -ENOSYS, NULL, 0);
		break;
	case FUSE_RELEASE: reply(in, 0, NULL, 0); break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: break;
	default: reply(in, -ENOSYS, NULL, 0);
	}
}

/*
 * With a table of open files of its own: when all are killed, one that waits for an
 * answer must not be what keeps the device open.
 */
static void *serve(void *arg)
{
	(void)arg;
	if (unshare(CLONE_FILES))
		fail("unshare");
	sem_post(&has_device);
	while (read(device, request, sizeof(request)) > 0)
		if (!is_dead)
			answer((const void *)request);
	return NULL;
}

/* Seen by this process only, and gone with it. */
static void mount_here(const char *dir)
{
	char options[128];

	if (getuid() != 0)
		enter_namespaces();
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		fail("/dev/fuse");
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("hostile", dir, "fuse", MS_NOSUID | MS_NODEV, options))
		fail("mount");
}

/* Lay an overlay over what is mounted on dir/lower; its place goes to dir. */
static void mount_overlay(char *dir, size_t size)
{
	/* Names of this folder, as its own may have a colon, which ends one. */
	if (chdir(dir) || mkdir("empty", 0755) || mkdir("merged", 0755) ||
	    mount("hostile", "merged", "overlay", MS_RDONLY,
		  "lowerdir=lower:empty") ||
	    chdir("/"))
		fail("overlay");
	strncat(dir, "/merged", size - strlen(dir) - 1);
}

static void wait_on(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *file = mmap(NULL, file_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			  fd, 0);

	if (fd < 0 || file == MAP_FAILED)
		fail(path);
	close(fd);
	puts("ready");
	fflush(stdout);
	wait_with_stack(file + file_size / 2);
}

/* Run code of no object, without end. */
static void *run_made_code(void *arg)
{
	static const uint8_t loop[] = { 0xeb, 0xfe };
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		fail("code");
	memcpy(code, loop, sizeof(loop));
	((void (*)(void))code)();
	return arg;
}

static void make_tmp(const char *dir)
{
	if (mount(dir, "/tmp", NULL, MS_BIND, NULL))
		fail("/tmp");
}

static void *execute(void *path)
{
	execl(path, path, NULL);
	return NULL;
}

/* While somebody waits with the lock for a page, wait for it. */
static void *map_more(void *arg)
{
	char byte;

	(void)arg;
	if (read(silence[0], &byte, 1) == 1)
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return NULL;
}

static void execute_program(void)
{
	execl("/bin/sleep", "sleep", "1000", NULL);
	fail("exec");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Return from code of no object after so many steps. */
static void step_in_made_code(long steps)
{
	/* dec %rdi; jne; ret */
	static const uint8_t loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	static void *code;

	if (!code) {
		code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (code == MAP_FAILED)
			fail("code");
		memcpy(code, loop, sizeof(loop));
	}
	((void (*)(long))code)(steps);
}

static void compute(double seconds, int is_made)
{
	double until = now() + seconds;

	while (now() < until)
		if (is_made)
			step_in_made_code(100000);
}

static void fork_hanging(void)
{
	int i;

	for (i = 0; i < NR_FORKS; i++) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			execute_program();
		}
		compute(0.1, 0);
	}
}

static int is_traced(pid_t pid)
{
	static char text[4096];
	char path[32];
	const char *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "TracerPid:");
	return at && atoi(at + strlen("TracerPid:"));
}

/* Have a process watch this one, which stands still when it is traced. */
static void wait_for_tracer(void)
{
	volatile int *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (seen == MAP_FAILED)
		fail("memory");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!is_traced(getppid()))
			;
		*seen = 1;
		_exit(0);
	}
	while (!*seen)
		;
}

/* What comes before the child executes a program. */
static void prepare_exec(const char *how)
{
	if (strcmp(how, "-") == 0)
		return;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (strcmp(how, "traced") == 0) {
		start(run_made_code, NULL);
		wait_for_tracer();
		return;
	}
	compute(1.5, 0);
	if (strcmp(how, "forks") == 0)
		fork_hanging();
	compute(atoi(how + strcspn(how, "0123456789")) / 1e3, 1);
}

static void wait_in_kernel(const char *path, const char *how)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	volatile char *file =
		mmap(NULL, file_size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (fd < 0 || file == MAP_FAILED)
		fail(path);
	if (is_silent_at_flush) {
		prepare_exec(how);
		execute_program();
	}
	start(map_more, NULL);
	(void)*file;
	fail("page");
}

/* The server is a process of its own, which outlives the child. */
static void serve_child(const char *path, const char *how)
{
	if (pipe2(silence, O_CLOEXEC))
		fail("pipe");
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(device);
		wait_in_kernel(path, how);
	}
	while (read(device, request, sizeof(request)) > 0)
		if (!is_dead)
			answer((const void *)request);
}

static void call_object(const char *path, int will_die)
{
	void *object = dlopen(path, RTLD_NOW);
	void (*wait_in_object)(void);

	if (!object)
		fail(dlerror());
	wait_in_object = (void (*)(void))dlsym(object, "wait_in_object");
	if (!wait_in_object)
		fail("wait_in_object");
	is_dead = will_die;
	puts("ready");
	fflush(stdout);
	wait_in_object();
}

static void *call_slowly(void *wait_in_object)
{
	((void (*)(void))wait_in_object)();
	return NULL;
}

static void call_objects(const char *path, const char *dir)
{
	char name[4300];
	void *object, *call;
	int i;

	for (i = 0; i < NR_SLOW; i++) {
		snprintf(name, sizeof(name), "%s%d", path, i);
		object = dlopen(name, RTLD_NOW);
		if (!object)
			fail(dlerror());
		call = dlsym(object, "wait_in_object");
		if (!call)
			fail("wait_in_object");
		start(call_slowly, call);
	}
	if (is_tmp) {
		make_tmp(dir);
		start(run_made_code, NULL);
	}
	/* All of them wait. */
	usleep(SLOW_US);
	is_slow = 1;
	puts("ready");
	fflush(stdout);
	wait_here(NULL);
}

static void open_backing(const char *path)
{
	struct stat st;

	backing = open(path, O_RDONLY | O_CLOEXEC);
	if (backing < 0 || fstat(backing, &st))
		fail(path);
	file_size = (size_t)st.st_size;
}

/* Load a copy of FILE, which the mount is then to cover. */
static void load_copy(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	if (fd < 0 ||
	    sendfile(fd, backing, NULL, file_size) != (ssize_t)file_size ||
	    close(fd) || !dlopen(path, RTLD_NOW))
		fail(path);
}

static const char *way; /* the first argument */

static int is(const char *name)
{
	return strcmp(way, name) == 0;
}

static int is_layered(void)
{
	return is("jit") || is("layered");
}

/* It never answers again once the process has mapped it. */
static int will_die(void)
{
	return is("layered") || is("covered") || is("object");
}

static int are_slow(void)
{
	return strncmp(way, "slow", 4) == 0;
}

static int is_object(void)
{
	return will_die() || are_slow() || is("served");
}

static void set_up(const char *how, int is_more)
{
	is_unnumbered = is_more;
	is_silent_at_flush = is("flush");
	bad_reads = is("fault") ? BAD_READS : 0;
	is_silent = is("never") || is("exec") || is("fault");
	is_async = strcmp(how, "async") == 0;
	is_tmp = is("slowjit");
	if (is_object())
		open_backing(how);
}

static void mount_it(const char *dir)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s%s", dir, is_layered() ? "/lower" : "");
	if (is_layered() && mkdir(path, 0755))
		fail(path);
	if (is("covered")) {
		snprintf(path, sizeof(path), "%.4000s/file", dir);
		load_copy(path);
	}
	mount_here(is("covered") ? dir : path);
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* What the process does with the file, while it is served. */
static void use(char *dir)
{
	char path[4200];

	if (is("jit")) {
		make_tmp(dir);
		is_dead = 1;
		say_ready();
		run_made_code(NULL);
	}
	snprintf(path, sizeof(path), "%s/file", dir);
	if (is("exec")) {
		start(execute, path);
		say_ready();
		wait_here(NULL);
	}
	if (are_slow())
		call_objects(path, dir);
	else if (is_object())
		call_object(path, will_die());
	else
		wait_on(path);
}

int main(int argc, char **argv)
{
	char dir[4096], path[4200];

	if (argc < 4)
		return 64;
	way = argv[1];
	set_up(argv[2], argc > 4);
	snprintf(dir, sizeof(dir), "%s", argv[3]);
	mount_it(dir);
	if (is_silent_at_flush || is("fault")) {
		snprintf(path, sizeof(path), "%.4000s/file", dir);
		serve_child(path, argv[2]);
		return 1;
	}
	start(serve, NULL);
	sem_wait(&has_device);
	close(device);
	start(wait_here, NULL);
	if (is_layered())
		mount_overlay(dir, sizeof(dir));
	use(dir);
	return 0;
}
