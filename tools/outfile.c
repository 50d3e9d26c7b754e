// SPDX-License-Identifier: BSD-2-Clause
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "interrupt.h"

#define BUFFER ((size_t)1 << 16)

/* Is it what is open already, as standard output or error ("/dev/stdout")? */
static bool is_open(const struct stat *st)
{
	struct stat other;
	int fd;

	for (fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (fstat(fd, &other) == 0 && other.st_dev == st->st_dev &&
		    other.st_ino == st->st_ino)
			return true;
	return false;
}

/* Return true if it can be replaced, or made: nothing there is written to. */
static bool can_replace(const struct ownfile *target)
{
	return !target->is.st_mode ||
	       (S_ISREG(target->is.st_mode) && !is_open(&target->is));
}

/* A file without a name, in the folder of the target; or -1. */
static int open_nameless(const struct outfile *o)
{
	/* By this it is to get its name. */
	if (access("/proc/self/fd", X_OK))
		return -1;
	return openat(o->target.folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
		      0666);
}

/* Make up a name that nobody can take before us. */
static bool make_up_name(struct outfile *o)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return false;
	snprintf(o->temporary, sizeof(o->temporary), ".outwind-%016" PRIx64,
		 number);
	return true;
}

/* One that has a name, as not every file system has others. */
static int open_named(struct outfile *o)
{
	int fd = -1;

	if (make_up_name(o))
		fd = openat(o->target.folder, o->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		o->temporary[0] = '\0';
	return fd;
}

/* As the one that it replaces. */
static void be_alike(int fd, const struct stat *old)
{
	if (fchown(fd, old->st_uid, old->st_gid) &&
	    fchown(fd, (uid_t)-1, old->st_gid))
		errno = 0; /* then it is ours */
	fchmod(fd, old->st_mode & 07777);
}

/* As write(2), but it waits where that doesn't. */
static ssize_t write_waiting(int fd, const char *bytes, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	do
		n = write(fd, bytes, size);
	while (n < 0 &&
	       (errno == EINTR ||
		(errno == EAGAIN && (poll(&p, 1, -1) > 0 || errno == EINTR))));
	return n;
}

static ssize_t write_all(void *cookie, const char *bytes, size_t size)
{
	const struct outfile *o = cookie;
	size_t done = 0;
	ssize_t n = 1;

	while (done < size && n > 0) {
		interrupt_begin_write();
		n = write_waiting(o->fd, bytes + done, size - done);
		interrupt_end_write();
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

static int close_file(void *cookie)
{
	struct outfile *o = cookie;
	int fd = o->fd;

	o->fd = -1;
	return fd == STDOUT_FILENO ? 0 : close(fd);
}

/* Have f write to the file descriptor, or close that. */
static bool open_stream(struct outfile *o, int fd)
{
	o->fd = fd;
	o->f = fopencookie(o, "w",
			   (cookie_io_functions_t){ .write = write_all,
						    .close = close_file });
	if (o->f && setvbuf(o->f, NULL, _IOFBF, BUFFER) == 0)
		return true;
	if (o->f)
		fclose(o->f);
	else
		close_file(o);
	o->f = NULL;
	return false;
}

static bool open_aside(struct outfile *o)
{
	bool is_there = o->target.is.st_mode != 0;
	int fd = -1;

	if (is_there &&
	    faccessat(o->target.folder, o->target.name, W_OK, AT_EACCESS))
		return false;
	fd = open_nameless(o);
	if (fd < 0)
		fd = open_named(o);
	if (fd < 0)
		return false;
	if (is_there)
		be_alike(fd, &o->target.is);
	if (ownfile_reserve(&o->target))
		return open_stream(o, fd);
	close(fd);
	return false;
}

static void forget(struct outfile *o)
{
	int before = errno;

	if (o->temporary[0])
		unlinkat(o->target.folder, o->temporary, 0);
	o->temporary[0] = '\0';
	ownfile_unreserve(&o->target);
	ownfile_deinit(&o->target);
	errno = before;
}

bool outfile_is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

static bool complain_of_open(struct outfile *o)
{
	int why = errno;

	forget(o);
	complain("open %s: %s", o->path ? o->path : "output", strerror(why));
	return false;
}

bool outfile_open(struct outfile *o, const char *path)
{
	int fd;

	*o = (struct outfile){ .fd = -1, .target.folder = -1 };
	o->path = outfile_is_stdout(path) ? NULL : path;
	if (!o->path)
		return open_stream(o, STDOUT_FILENO) || complain_of_open(o);
	if (ownfile_find(&o->target, path)) {
		if (can_replace(&o->target))
			return open_aside(o) || complain_of_open(o);
	} else if (errno == EPERM) {
		forget(o);
		complain("%s: another user has put that, or a link on the way, "
			 "where anybody may: nothing is written to it",
			 path);
		return false;
	} else if (errno != ELOOP) {
		return complain_of_open(o);
	}
	ownfile_deinit(&o->target);
	fd = ownfile_open(path);
	return (fd >= 0 && open_stream(o, fd)) || complain_of_open(o);
}

/* Give it a name, if it has none. */
static bool name_it(struct outfile *o)
{
	char fd[32];

	if (o->temporary[0])
		return true;
	snprintf(fd, sizeof(fd), "/proc/self/fd/%d", o->fd);
	if (make_up_name(o) && linkat(AT_FDCWD, fd, o->target.folder,
				      o->temporary, AT_SYMLINK_FOLLOW) == 0)
		return true;
	o->temporary[0] = '\0';
	return false;
}

/* Have the file that is written take the target's place. */
static bool replace_target(struct outfile *o)
{
	o->is_whole = true;
	if (renameat(o->target.folder, o->temporary, o->target.folder,
		     o->target.name))
		return false;
	o->temporary[0] = '\0';
	o->target.is_reserved = false;
	return true;
}

/* Write all of it out and give it the target's name; errno tells why not. */
static bool settle(struct outfile *o)
{
	bool is_aside = o->target.name, good;
	int why;

	errno = 0;
	good = fflush(o->f) == 0 && !ferror(o->f);
	interrupt_begin_write();
	good = good && (!is_aside || name_it(o));
	why = errno ? errno : EIO;
	if (fclose(o->f) && good) {
		why = errno;
		good = false;
	}
	if (good && is_aside && !replace_target(o)) {
		why = errno;
		good = false;
	}
	interrupt_end_write();
	errno = why;
	return good;
}

/* What could only not take its place is left under the name that it has. */
static void keep_temporary(struct outfile *o)
{
	char fd[32], folder[512] = "the same folder";
	ssize_t n;

	snprintf(fd, sizeof(fd), "/proc/self/fd/%d", o->target.folder);
	n = readlink(fd, folder, sizeof(folder) - 1);
	if (n > 0)
		folder[n] = '\0';
	complain("all of it is kept as %s in %s", o->temporary, folder);
	o->temporary[0] = '\0';
}

int outfile_close(struct outfile *o, int status)
{
	if (o->path && status == EXIT_NONE) {
		fclose(o->f);
	} else if (!settle(o)) {
		complain("write %s: %s", o->path ? o->path : "output",
			 strerror(errno));
		if (o->is_whole)
			keep_temporary(o);
		status = EXIT_NONE;
	}
	forget(o);
	return status;
}
