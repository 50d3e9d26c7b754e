// SPDX-License-Identifier: BSD-2-Clause
#include "imageusers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "codeplaces.h"
#include "hash.h"
#include "imagekin.h"
#include "imageshares.h"
#include "leftout.h"
#include "monotonic.h"
#include "procfs.h"

#define FILES     256  /* a power of two */
#define AT_ONCE   4096 /* what looks cost until others are settled later */
#define ABSENT_NS 1000000000ULL /* between two looks for ended processes */
#define BEGIN_NS  500000ULL /* from the vDSO's mapping to the program's begin, */
#define EXEC_NS   100000000ULL /* or from exec's begin where there is no vDSO */
#define UID_NS    1000000000ULL /* until a process's user is asked for again */
#define LONG      64 /* changes: more are made one image, or as many as it has */

#define MOST_NOTED (1U << 14) /* changes of a process that are followed, */
#define MOST_LOG   ((size_t)1 << 20)  /* bytes of them, */
#define MOST_LOGS  ((size_t)64 << 20) /* and of all processes', */
#define SHORT_LOG  ((size_t)1 << 13)  /* but for those of so many each */

static struct ow_image_user **bucket(const struct ow_images *im, pid_t pid)
{
	uint64_t hash = (uint64_t)pid * 0x9e3779b97f4a7c15ULL >> 32;

	return &im->users[hash & (im->nr_user_buckets - 1)];
}

struct ow_image_user *ow_images_user(const struct ow_images *im, pid_t pid)
{
	return ow_imageusers_at(im, pid, UINT64_MAX);
}

struct ow_image_user *ow_imageusers_at(const struct ow_images *im, pid_t pid,
				       uint64_t time)
{
	struct ow_image_user *user, *found = NULL;

	if (!im->nr_user_buckets)
		return NULL;
	for (user = *bucket(im, pid); user; user = user->next) {
		if (user->pid != pid)
			continue;
		found = user;
		if (user->begun <= time)
			break;
	}
	return found;
}

static bool make_buckets(struct ow_images *im)
{
	size_t nr = im->nr_user_buckets, i;
	struct ow_image_user **before = im->users, **more, *user, *list = NULL;

	if (im->nr_users < nr)
		return true;
	more = calloc(nr ? 2 * nr : 256, sizeof(struct ow_image_user *));
	if (!more)
		return false;
	im->users = more;
	im->nr_user_buckets = nr ? 2 * nr : 256;
	/* The first ones of a bucket are to be put there last. */
	for (i = 0; i < nr; i++)
		while (before[i]) {
			user = before[i];
			before[i] = user->next;
			user->next = list;
			list = user;
		}
	while (list) {
		user = list;
		list = user->next;
		user->next = *bucket(im, user->pid);
		*bucket(im, user->pid) = user;
	}
	free(before);
	return true;
}

struct ow_image_user *ow_imageusers_add(struct ow_images *im, pid_t pid,
					uint64_t begun)
{
	struct ow_image_user *user = NULL;

	if (make_buckets(im))
		user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->pid = user->live = pid;
	user->begun = user->as_of = user->told = begun;
	user->added = ow_now_ns();
	user->next = *bucket(im, pid);
	*bucket(im, pid) = user;
	im->nr_users++;
	im->nr_begun++;
	return user;
}

void ow_imagefile_leave(struct ow_image_file *f)
{
	if (f && --f->users == 0)
		free(f);
}

struct ow_image_file *ow_imagefile_get(struct ow_images *im,
				       const struct ow_mapping *map)
{
	struct ow_image_file **slot, *f;
	size_t size = strlen(map->path) + 1;
	uint64_t hash = ow_hash(map->path, size) ^ ow_hash_word(map->inode) ^
			map->dev;

	if (!im->files)
		im->files = calloc(FILES, sizeof(struct ow_image_file *));
	if (!im->files)
		return NULL;
	slot = &im->files[hash & (FILES - 1)];
	f = *slot;
	if (!f || f->inode != map->inode || f->dev != map->dev ||
	    strcmp(f->path, map->path) != 0) {
		f = malloc(sizeof(*f) + size);
		if (!f)
			return NULL;
		*f = (struct ow_image_file){ .users = 1,
					     .dev = map->dev,
					     .inode = map->inode,
					     .size = (uint32_t)size };
		memcpy(f->path, map->path, size);
		ow_imagefile_leave(*slot);
		*slot = f;
	}
	f->users++;
	return f;
}

/* What a change takes of its log. */
static uint32_t size_of(const struct ow_image_change *c)
{
	bool has_file = c->event == OW_IMAGE_MAP && c->file;

	return (uint32_t)sizeof(*c) +
	       (has_file ? (uint32_t)sizeof(*c->file) + c->file->size : 0);
}

static void count(struct ow_images *im, struct ow_image_user *user,
		  struct ow_image_change *c)
{
	user->noted -= c->size;
	im->noted -= c->size;
	c->size = size_of(c);
	user->noted += c->size;
	im->noted += c->size;
}

bool ow_imageusers_has_room(const struct ow_images *im,
			    const struct ow_image_user *user)
{
	return user->nr < MOST_NOTED && user->noted < MOST_LOG &&
	       (user->noted < SHORT_LOG || im->noted < MOST_LOGS);
}

void ow_imageusers_leave_file(struct ow_images *im, struct ow_image_user *user,
			      struct ow_image_change *c)
{
	ow_imagefile_leave(c->file);
	c->file = NULL;
	count(im, user, c);
}

static void leave_change(struct ow_images *im, struct ow_image_change *c)
{
	if (c->event == OW_IMAGE_LOOK)
		ow_images_leave(im, c->image);
	else
		ow_imagefile_leave(c->file);
}

/* Leave the first changes of a log. */
static void leave_changes(struct ow_images *im, struct ow_image_user *user,
			  uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		user->noted -= user->log[i].size;
		im->noted -= user->log[i].size;
		leave_change(im, &user->log[i]);
	}
}

void ow_imageusers_unsettle(struct ow_images *im, struct ow_image_user *user)
{
	size_t room = 2 * im->room_unsettled + 64;
	void *more;

	if (user->is_unsettled)
		return;
	if (im->nr_unsettled == im->room_unsettled) {
		more = realloc(im->unsettled,
			       room * sizeof(struct ow_image_user *));
		if (!more)
			return;
		im->unsettled = more;
		im->room_unsettled = room;
	}
	im->unsettled[im->nr_unsettled++] = user;
	user->is_unsettled = true;
}

static void set_now(struct ow_images *im, struct ow_image_user *user,
		    struct ow_image *image, uint32_t nr)
{
	ow_images_hold(im, image);
	ow_images_leave(im, user->now);
	user->now = image;
	user->nr_applied = image ? nr : 0;
}

bool ow_imageusers_note(struct ow_images *im, struct ow_image_user *user,
			const struct ow_image_change *c)
{
	struct ow_image_change gone = *c, *more;
	uint32_t at = user->nr, room = 2 * user->room + 8;

	if (user->nr == user->room) {
		more = realloc(user->log, room * sizeof(*more));
		if (!more) {
			leave_change(im, &gone);
			return false;
		}
		user->log = more;
		user->room = room;
	}
	while (at > 0 && user->log[at - 1].time > c->time)
		at--;
	memmove(user->log + at + 1, user->log + at,
		(user->nr++ - at) * sizeof(*user->log));
	user->log[at] = *c;
	user->log[at].size = 0;
	count(im, user, &user->log[at]);
	if (at < user->nr_applied)
		set_now(im, user, NULL, 0);
	ow_imageusers_unsettle(im, user);
	if (c->event == OW_IMAGE_MAP)
		ow_codeplaces_add(im->places, c->range.start, c->range.end);
	return true;
}

void ow_imageusers_begin(struct ow_images *im, struct ow_image_user *user,
			 struct ow_image *image)
{
	ow_images_hold(im, image);
	ow_images_leave(im, user->base);
	user->base = image;
}

/* The last look among the first changes, or nr where there is none. */
static uint32_t last_look(const struct ow_image_user *user, uint32_t nr)
{
	uint32_t i = nr;

	while (i > 0)
		if (user->log[--i].event == OW_IMAGE_LOOK)
			return i;
	return nr;
}

struct ow_image *ow_imageusers_image(struct ow_images *im,
				     struct ow_image_user *user, uint32_t nr)
{
	struct ow_image *from = user->base, *image;
	uint64_t since = 0;
	uint32_t look;

	if (nr == 0)
		return user->base;
	if (user->now && user->nr_applied == nr)
		return user->now;
	look = last_look(user, nr);
	if (look < nr) {
		from = user->log[look].image;
		since = user->log[look].as_of;
	}
	image = ow_imagechanges_apply(im, user, from, since, nr);
	set_now(im, user, image, nr);
	ow_imageusers_unsettle(im, user);
	return image;
}

/* How many changes of the log there were by then. */
static uint32_t nr_until(const struct ow_image_user *user, uint64_t time)
{
	uint32_t nr = user->nr;

	while (nr > 0 && user->log[nr - 1].time > time)
		nr--;
	return nr;
}

struct ow_image *ow_images_of(struct ow_images *im, pid_t pid)
{
	struct ow_image_user *user = ow_images_user(im, pid);

	return user ? ow_imageusers_image(im, user, user->nr) : NULL;
}

bool ow_images_is_in_doubt(const struct ow_images *im, pid_t pid, uint64_t time)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	if (!user || user->is_unheeded || (!user->base && user->nr == 0))
		return true;
	if (user->is_gone)
		return time > user->ended;
	return user->looked < im->lost_at && user->begun < im->lost_at;
}

bool ow_images_is_between(const struct ow_images *im, pid_t pid, uint64_t time)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	if (!user || !user->execed)
		return false;
	/* That mapping is exec's last one, but not what it does last. */
	return time < (user->has_vdso ? user->has_vdso + BEGIN_NS :
					user->execed + EXEC_NS);
}

struct ow_image *ow_images_at(struct ow_images *im, pid_t pid, uint64_t time)
{
	struct ow_image_user *user = ow_imageusers_at(im, pid, time);
	uint32_t nr;

	if (!user)
		return NULL;
	nr = nr_until(user, time);
	/* Before all that is known: as it was then. */
	if (nr == 0 && !user->base && user->nr)
		nr = 1;
	return ow_imageusers_image(im, user, nr);
}

uint64_t ow_images_as_of(const struct ow_images *im, pid_t pid)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	return user ? user->as_of : 0;
}

uint64_t ow_images_looked(const struct ow_images *im, pid_t pid)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	return user ? user->looked : 0;
}

bool ow_images_lives(const struct ow_images *im, pid_t pid)
{
	return ow_images_lives_at(im, pid, UINT64_MAX);
}

bool ow_images_lives_at(const struct ow_images *im, pid_t pid, uint64_t time)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	return user && (!user->is_gone || time <= user->ended);
}

static void end(struct ow_images *im, struct ow_image_user *user, uint64_t time)
{
	user->is_gone = true;
	user->ended = time;
	ow_imageusers_unsettle(im, user);
}

bool ow_images_end(struct ow_images *im, pid_t pid, uint64_t time)
{
	struct ow_image_user *user = ow_images_user(im, pid);

	if (!user || user->is_gone || time <= user->as_of)
		return false;
	end(im, user, time);
	return true;
}

/* Likewise, of one that nothing told of. */
static void end_untold(struct ow_images *im, struct ow_image_user *user,
		       uint64_t time)
{
	end(im, user, time);
	if (im->ended)
		im->ended(im->ended_arg, user);
}

/* Return true if a process has threads that go on; its first one may have ended. */
static bool goes_on(pid_t pid)
{
	struct pollfd process = {
		.fd = (int)syscall(SYS_pidfd_open, pid, 0),
		.events = POLLIN,
	};
	bool ret = process.fd >= 0 && poll(&process, 1, 0) == 0;

	if (process.fd >= 0)
		close(process.fd);
	return ret;
}

void ow_imageusers_behead(struct ow_images *im, struct ow_image_user *user,
			  pid_t live)
{
	user->live = live;
	user->headless = ow_now_ns();
	ow_imageusers_unsettle(im, user);
}

bool ow_images_exit(struct ow_images *im, pid_t pid, uint64_t time)
{
	struct ow_image_user *user = ow_images_user(im, pid);
	pid_t other;

	if (!user || user->is_gone || time <= user->as_of)
		return false;
	/* Other threads may have gone on until then, and have executed a program. */
	if (!goes_on(pid))
		return ow_images_end(im, pid, ow_now_ns());
	/* None, if the first thread is the only one and is just ending. */
	other = ow_tasks_other(pid);
	ow_imageusers_behead(im, user, other ? other : pid);
	return false;
}

/* Return true if the process is still to be asked about. */
static bool is_headless(struct ow_images *im, struct ow_image_user *user)
{
	uint64_t now = ow_now_ns();

	if (!user->headless || user->is_gone ||
	    now - user->headless < ABSENT_NS)
		return user->headless;
	if (goes_on(user->pid))
		user->headless = now;
	else
		end_untold(im, user, now);
	return true;
}

void ow_imageusers_leave_out(struct ow_image_user *user, uint64_t ns,
			     const char *why)
{
	char path[32];

	if (!why)
		why = "the kernel did not answer in time, as a program that is "
		      "being executed, or the server of a file, keeps it "
		      "waiting";
	user->silent_until = ow_now_ns() + ns;
	snprintf(path, sizeof(path), "/proc/%d", user->pid);
	ow_lose_file(path, why);
}

void ow_images_tell_uid(struct ow_images *im, pid_t pid, uint64_t time,
			uid_t uid)
{
	struct ow_image_user *user = ow_imageusers_at(im, pid, time);

	if (!user)
		return;
	user->uid = uid;
	user->has_uid = true;
}

uid_t ow_images_uid(const struct ow_images *im, pid_t pid)
{
	struct ow_image_user *user = ow_images_user(im, pid);
	uint64_t now = ow_now_ns();
	long uid;

	if (!user)
		return (uid_t)ow_process_user(pid);
	if (!user->is_gone && now >= user->silent_until &&
	    (!user->uid_as_of || now - user->uid_as_of >= UID_NS)) {
		uid = ow_process_user(pid);
		if (uid < 0 && errno == ETIMEDOUT)
			ow_imageusers_leave_out(user, OW_IMAGE_SILENT_NS, NULL);
		user->uid_as_of = now;
		user->has_uid = user->has_uid || uid >= 0;
		user->uid = uid >= 0 ? (uid_t)uid : user->uid;
	}
	return user->has_uid ? user->uid : (uid_t)-1;
}

uid_t ow_imageusers_uid(const struct ow_images *im,
			const struct ow_image_user *user)
{
	if (!user->has_uid && ow_images_user(im, user->pid) == user)
		return ow_images_uid(im, user->pid);
	return user->has_uid ? user->uid : (uid_t)-1;
}

/*
 * Until it is known better, a process is its parent's user's.  Only root's may
 * become another user's: such a process is nobody's in particular.
 */
static void inherit_uid(struct ow_image_user *user,
			const struct ow_image_user *parent)
{
	if (!parent->has_uid || parent->uid == 0)
		return;
	user->uid = parent->uid;
	user->has_uid = true;
}

bool ow_images_fork(struct ow_images *im, pid_t parent, pid_t child,
		    uint64_t time)
{
	struct ow_image_user *user = ow_images_user(im, child);
	struct ow_image_user *from;
	struct ow_image *image;

	/* What has been looked at since may not be what it was. */
	if (user && time <= user->as_of)
		return false;
	image = ow_images_at(im, parent, time);
	if (!image)
		return false;
	if (user && (!user->is_gone || time < user->ended))
		end(im, user, time);
	user = ow_imageusers_add(im, child, time);
	if (!user)
		return false;
	ow_imageusers_begin(im, user, image);
	from = ow_imageusers_at(im, parent, time);
	/* What is not known of its parent is to be looked for in the child itself. */
	user->is_unheeded = (from && from->is_unheeded) || image == im->unknown;
	inherit_uid(user, from);
	if (im->has_kin && from)
		ow_imagekin_note_fork(im, parent, child, time);
	return true;
}

void ow_imageusers_forget(struct ow_images *im, struct ow_image_user *user)
{
	leave_changes(im, user, user->nr);
	free(user->log);
	user->log = NULL;
	user->nr = user->room = 0;
	set_now(im, user, NULL, 0);
	ow_imageusers_begin(im, user, ow_images_add_full(im, user->pid));
	user->is_unheeded = true;
}

void ow_images_doubt(struct ow_images *im, pid_t pid)
{
	struct ow_image_user *user = ow_images_user(im, pid);

	if (user && !user->is_unheeded)
		ow_imageusers_forget(im, user);
}

static void free_user(struct ow_images *im, struct ow_image_user *user)
{
	struct ow_image_user **at = bucket(im, user->pid);

	ow_imagekin_leave(user);
	while (*at != user)
		at = &(*at)->next;
	*at = user->next;
	im->nr_users--;
	leave_changes(im, user, user->nr);
	ow_images_leave(im, user->base);
	ow_images_leave(im, user->now);
	free(user->log);
	free(user);
}

/* The log begins later: what is before is in base, or gone. */
static void cut(struct ow_images *im, struct ow_image_user *user, uint32_t nr)
{
	leave_changes(im, user, nr);
	user->nr -= nr;
	memmove(user->log, user->log + nr, user->nr * sizeof(*user->log));
	if (user->now)
		set_now(im, user, NULL, 0);
	if (user->nr == 0) {
		free(user->log);
		user->log = NULL;
		user->room = 0;
	}
}

void ow_imageusers_forget_past(struct ow_images *im, struct ow_image_user *user)
{
	uint32_t look = last_look(user, user->nr);

	if (look == user->nr)
		return;
	ow_imageusers_begin(im, user, ow_images_unknown(im));
	cut(im, user, look);
}

/*
 * The process has the image that the first changes came to.  Return false if that can't be
 * had now.
 */
static bool fold(struct ow_images *im, struct ow_image_user *user, uint32_t nr)
{
	struct ow_image *image = ow_imageusers_image(im, user, nr);
	uint32_t look = last_look(user, nr);

	if (!image)
		return false;
	ow_imageusers_begin(im, user, image);
	/* What a look may have missed, and isn't told yet, is to come to that. */
	if (look < nr && user->told < user->log[look].as_of)
		user->told = user->log[look].as_of;
	cut(im, user, nr);
	return true;
}

/* What an exec has undone. */
static void drop_before_exec(struct ow_images *im, struct ow_image_user *user,
			     uint32_t nr)
{
	uint32_t i = nr;

	while (i > 0 && user->log[i - 1].event == OW_IMAGE_MAP)
		i--;
	if (i == 0 || user->log[i - 1].event != OW_IMAGE_EXEC)
		return;
	if (i > 1)
		cut(im, user, i - 1);
	ow_imageusers_begin(im, user, NULL);
}

/* How many changes nobody asks for, nor needs to tell what a later look missed. */
static uint32_t nr_settled(const struct ow_image_user *user, uint64_t time)
{
	uint32_t nr = nr_until(user, time), i;

	for (i = nr; i < user->nr; i++)
		if (user->log[i].event == OW_IMAGE_LOOK &&
		    user->log[i].as_of < time)
			time = user->log[i].as_of;
	return nr_until(user, time);
}

/* Return true if the first changes of a log are more than their process's image is. */
static bool is_long(const struct ow_image_user *user, uint32_t nr)
{
	size_t most = user->base ? user->base->nr : 0;

	return (nr > LONG && nr > most) ||
	       (user->noted > SHORT_LOG &&
		user->noted > most * sizeof(struct ow_bpf_range));
}

/* False: there will be nothing more to do, until something changes. */
static bool settle(struct ow_images *im, struct ow_image_user *user,
		   uint64_t time)
{
	uint32_t nr = nr_settled(user, time);
	bool is_due = nr && ((user->now && user->nr_applied == nr) ||
			     last_look(user, nr) < nr || is_long(user, nr));

	if (is_due && !fold(im, user, nr))
		return true;
	if (nr && !is_due)
		drop_before_exec(im, user, nr);
	return user->is_gone || nr_settled(user, time) < user->nr;
}

/* The end of a process may not have been told, either. */
static void end_absent(struct ow_images *im, uint64_t time)
{
	struct ow_image_user *user;
	size_t i;

	for (i = 0; i < im->nr_user_buckets; i++)
		for (user = im->users[i]; user; user = user->next)
			if (!user->is_gone && kill(user->pid, 0) &&
			    errno == ESRCH)
				end_untold(im, user, time);
}

void ow_images_lose(struct ow_images *im, uint64_t time)
{
	im->lost_at = time;
	im->is_in_doubt = true;
}

static void reverse(struct ow_image_user **list, size_t nr)
{
	struct ow_image_user *first;
	size_t i;

	for (i = 0; i < nr / 2; i++) {
		first = list[i];
		list[i] = list[nr - 1 - i];
		list[nr - 1 - i] = first;
	}
}

/* Have the last nr of a list come before the others, which are first. */
static void bring_forward(struct ow_image_user **list, size_t first, size_t nr)
{
	reverse(list, first);
	reverse(list + first, nr);
	reverse(list, first + nr);
}

void ow_images_settle(struct ow_images *im, uint64_t time)
{
	uint64_t until = im->looked + AT_ONCE;
	struct ow_image_user *user;
	size_t i, nr, left = 0;
	bool is_asked;

	if (im->is_in_doubt && time - im->absent_at >= ABSENT_NS) {
		im->absent_at = time;
		im->is_in_doubt = false;
		end_absent(im, time + ABSENT_NS);
	}
	nr = im->nr_unsettled;
	for (i = 0; i < nr && im->looked < until; i++) {
		user = im->unsettled[i];
		if (user->is_gone && user->ended <= time) {
			free_user(im, user);
			continue;
		}
		is_asked = is_headless(im, user);
		if (settle(im, user, time) || is_asked)
			im->unsettled[left++] = user;
		else
			user->is_unsettled = false;
	}
	/* Those that were left out come first, the next time. */
	if (i < nr) {
		memmove(im->unsettled + left, im->unsettled + i,
			(nr - i) * sizeof(*im->unsettled));
		bring_forward(im->unsettled, left, nr - i);
	}
	im->nr_unsettled = left + nr - i;
}

void ow_images_drop_users(struct ow_images *im)
{
	size_t i;

	for (i = 0; i < im->nr_user_buckets; i++)
		while (im->users[i])
			free_user(im, im->users[i]);
	for (i = 0; im->files && i < FILES; i++)
		ow_imagefile_leave(im->files[i]);
	free(im->files);
	free(im->users);
	free(im->unsettled);
	free(im->forks);
	ow_imageshares_deinit(im);
}

static void mark_image(const struct ow_image *image, bool *named)
{
	uint32_t i;

	for (i = 0; i < image->nr; i++)
		if (ow_image_has_number(&image->ranges[i]))
			named[image->ranges[i].mapped] = true;
}

static void mark_log(const struct ow_image_user *user, bool *named)
{
	uint32_t i;

	for (i = 0; i < user->nr; i++)
		if (user->log[i].event == OW_IMAGE_MAP &&
		    ow_image_has_number(&user->log[i].range))
			named[user->log[i].range.mapped] = true;
}

void ow_images_mark(const struct ow_images *im, bool *named)
{
	const struct ow_image_user *user;
	const struct ow_image *image;
	size_t i;

	for (i = 0; i < im->nr_buckets; i++)
		for (image = im->by_id[i]; image; image = image->next_of_id)
			mark_image(image, named);
	for (i = 0; i < im->nr_user_buckets; i++)
		for (user = im->users[i]; user; user = user->next)
			mark_log(user, named);
}
