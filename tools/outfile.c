// SPDX-License-Identifier: BSD-2-Clause
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "ownfile.h"

#define MOST_TRIES 100 /* of names that may be taken */

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

/* What is to be replaced: the file that links lead to; NULL: none can be. */
static char *find_target(const char *path, struct stat *st)
{
	*st = (struct stat){ 0 };
	if (stat(path, st) == 0)
		return S_ISREG(st->st_mode) && !is_open(st) ?
			       realpath(path, NULL) :
			       NULL;
	/* A link to what isn't there has it made. */
	return lstat(path, st) ? strdup(path) : NULL;
}

/* A file without a name, in the folder of the target; or -1. */
static int open_nameless(const char *target)
{
	const char *slash = strrchr(target, '/');
	char dir[PATH_MAX];

	/* By this it is to get its name. */
	if (access("/proc/self/fd", X_OK))
		return -1;
	if (slash)
		snprintf(dir, sizeof(dir), "%.*s",
			 slash == target ? 1 : (int)(slash - target), target);
	return open(slash ? dir : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/* One that has a name, as not every file system has others. */
static int open_named(struct outfile *o)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&o->temporary, "%s.XXXXXX", o->target) < 0) {
		o->temporary = NULL;
		return -1;
	}
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd >= 0) {
		fchmod(fd, 0666 & ~mask);
		return fd;
	}
	free(o->temporary);
	o->temporary = NULL;
	return -1;
}

/* As the one that it replaces. */
static void be_alike(int fd, const struct stat *old)
{
	if (fchown(fd, old->st_uid, old->st_gid) &&
	    fchown(fd, (uid_t)-1, old->st_gid))
		errno = 0; /* then it is ours */
	fchmod(fd, old->st_mode & 07777);
}

static bool open_aside(struct outfile *o, const struct stat *old)
{
	bool is_there = old->st_mode != 0;
	int fd = -1;

	if (is_there && faccessat(AT_FDCWD, o->target, W_OK, AT_EACCESS))
		return false;
	fd = open_nameless(o->target);
	if (fd < 0)
		fd = open_named(o);
	if (fd < 0)
		return false;
	if (is_there)
		be_alike(fd, old);
	o->f = fdopen(fd, "w");
	if (o->f)
		return true;
	close(fd);
	return false;
}

static void forget(struct outfile *o)
{
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->target);
	o->temporary = o->target = NULL;
}

bool outfile_is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

bool outfile_open(struct outfile *o, const char *path)
{
	struct stat old;
	int why;

	*o = (struct outfile){ .f = stdout };
	if (outfile_is_stdout(path))
		return true;
	if (ownfile_is_others(path)) {
		complain("%s: another user has put that there, where anybody "
			 "may: nothing is written to it",
			 path);
		o->f = NULL;
		return false;
	}
	o->path = path;
	o->target = find_target(path, &old);
	if (!o->target)
		o->f = ownfile_create(path);
	else if (!open_aside(o, &old))
		o->f = NULL;
	if (o->f)
		return true;
	why = errno;
	forget(o);
	complain("open %s: %s", path, strerror(why));
	return false;
}

/* Give it a name, if it has none. */
static bool name_it(struct outfile *o)
{
	char fd[32];
	int i;

	if (o->temporary)
		return true;
	snprintf(fd, sizeof(fd), "/proc/self/fd/%d", fileno(o->f));
	for (i = 0; i < MOST_TRIES; i++) {
		if (asprintf(&o->temporary, "%s.%d-%d", o->target, getpid(),
			     i) < 0) {
			o->temporary = NULL;
			return false;
		}
		if (linkat(AT_FDCWD, fd, AT_FDCWD, o->temporary,
			   AT_SYMLINK_FOLLOW) == 0)
			return true;
		free(o->temporary);
		o->temporary = NULL;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* Write all of it out and give it the target's name; errno tells why not. */
static bool settle(struct outfile *o)
{
	bool good;
	int why;

	errno = 0;
	good = fflush(o->f) == 0 && !ferror(o->f) && (!o->target || name_it(o));
	why = errno ? errno : EIO;
	if (fclose(o->f) && good) {
		why = errno;
		good = false;
	}
	if (good && o->target && rename(o->temporary, o->target) == 0) {
		free(o->temporary);
		o->temporary = NULL;
	} else if (good && o->target) {
		why = errno;
		good = false;
	}
	errno = why;
	return good;
}

int outfile_close(struct outfile *o, int status)
{
	if (!o->path)
		return finish_output(status);
	if (status == EXIT_NONE) {
		fclose(o->f);
	} else if (!settle(o)) {
		complain("write %s: %s", o->path, strerror(errno));
		status = EXIT_NONE;
	}
	forget(o);
	return status;
}
