// SPDX-License-Identifier: BSD-2-Clause
#include "imagelook.h"

#include <errno.h>
#include <stdlib.h>

#include "delegate.h"
#include "deletednames.h"
#include "effort.h"
#include "identity.h"
#include "imageshares.h"
#include "imageusers.h"
#include "leftout.h"
#include "monotonic.h"
#include "procfs.h"
#include "remapped.h"
#include "sampledobjects.h"

#define CALL_NS        500000000 /* for the kernel to answer about a process, */
#define LESS_CALL_NS   50000000  /* or where that was waited for so often: */
#define MANY_SILENT    8         /* times at once, */
#define WAIT_PART      50        /* and this part of the time later */
#define LOOK_NS        4000000000 /* for all of a look */
#define LOOK_COST      32 /* mappings, as many as a look takes by itself */
#define UNASKED_NS     100000000 /* until it is asked again, where we could not, */
#define LATE_NS        100000000  /* or where its user's share was no more */
#define MOST_NEEDED_NS 1000000000 /* that its user must have for a look */

/* Waits for the kernel that were for nothing, in nanoseconds. */
static struct ow_effort waits =
	OW_EFFORT((int64_t)MANY_SILENT * CALL_NS, 1000000000 / WAIT_PART);

/* A thread that has ended leaves its number to others. */
static bool is_of_process(const struct ow_imagelook *l)
{
	return l->live == l->pid ||
	       ow_status_number(l->live, "Tgid:") == l->pid;
}

/* Have another thread where that which was known has ended. */
static void find_live(struct ow_imagelook *l)
{
	if (!is_of_process(l))
		l->live = ow_tasks_other(l->pid);
	if (!l->live)
		l->live = l->pid;
}

static int read_code(struct ow_imagelook *l, pid_t pid)
{
	return ow_mappings_read_until(pid, OW_MAPPINGS_CODE, l->until_ns,
				      &l->maps, &l->why);
}

static bool read_maps(struct ow_imagelook *l)
{
	pid_t other;

	if (read_code(l, l->live))
		return false;
	/* The first thread's memory goes when it ends, whoever else has it. */
	other = l->maps.nr ? 0 : ow_tasks_other(l->pid);
	if (other) {
		ow_mappings_close(&l->maps);
		ow_mappings_free(&l->maps);
		l->live = other;
		if (read_code(l, other))
			return false;
	}
	ow_remapped_settle(&l->maps);
	ow_deletednames_settle(&l->maps, l->live);
	ow_mappings_close(&l->maps);
	return is_of_process(l);
}

/* A process that changes its mappings without end has each of its files waited for. */
static bool is_late(const struct ow_imagelook *l)
{
	return ow_now_ns() >= l->until_ns;
}

/* Return false where that can't be, or takes too long. */
static bool see_files(struct ow_imagelook *l)
{
	size_t i, nr = 0;

	l->files = calloc(l->maps.nr + 1, sizeof(*l->files));
	if (!l->files)
		return false;
	for (i = 0; i < l->maps.nr && nr < OW_RECORD_MAPPINGS; i++) {
		if (!l->maps.list[i].executable)
			continue;
		if (is_late(l))
			return false;
		l->files[i] = ow_sampledobjects_see(l->live, &l->maps.list[i]);
		nr++;
	}
	return true;
}

static void take_look(void *arg)
{
	struct ow_imagelook *l = arg;

	find_live(l);
	l->failed = !l->has_list && !read_maps(l);
	if (!l->failed) {
		l->uid = ow_process_user(l->pid);
		l->failed = !see_files(l);
	}
	/* A process that has ended, or a list that can't be had, is another matter. */
	l->is_late = l->failed && is_late(l) &&
		     (!l->why.code || l->why.code == OW_CODE_TIMEOUT);
}

struct ow_imagelook *ow_imagelook_create(const struct ow_image_user *user)
{
	struct ow_imagelook *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->pid = user->pid;
	l->live = user->live;
	return l;
}

void ow_imagelook_destroy(struct ow_imagelook *l)
{
	if (!l)
		return;
	ow_mappings_free(&l->maps);
	free(l->files);
	free(l);
}

/* Leave a process out for a moment, where no process could be started: see errno. */
static void note_unasked(struct ow_image_user *user)
{
	struct ow_error none;

	user->start_errno = errno;
	user->silent_until = ow_now_ns() + UNASKED_NS;
	ow_delegate_fail(&none);
	ow_lose_file("what processes have mapped", none.msg);
}

struct ow_imagelook *ow_imagelook_create_at(const struct ow_image_user *user,
					    const struct ow_mapping *list,
					    size_t nr)
{
	struct ow_imagelook *l = ow_imagelook_create(user);
	size_t i;

	if (!l)
		return NULL;
	l->has_list = true;
	l->maps.list = calloc(nr + 1, sizeof(*list));
	for (i = 0; l->maps.list && i < nr; i++) {
		l->maps.list[i] = list[i];
		/* A look that is lost is left with what it has. */
		l->maps.list[i].path =
			ow_mappings_keep_path(&l->maps, list[i].path);
		if (!l->maps.list[i].path)
			break;
		l->maps.nr++;
	}
	if (l->maps.list && l->maps.nr == nr)
		return l;
	ow_imagelook_destroy(l);
	return NULL;
}

/* How long a look may take that nobody has asked for. */
static uint64_t look_ns(struct ow_images *im, const struct ow_image_user *user,
			const struct ow_imagelook *l)
{
	uid_t uid = ow_imageusers_uid(im, user);
	uint64_t ns = ow_imageshares_look_ns(im, uid, LOOK_NS);

	return l->has_list || ns > user->look_needs ? ns : user->look_needs;
}

/*
 * Note what a look at a process has to have the next time: what this one, which began at
 * begun, took, or more than it had, if it was late.
 */
static void note_needs(struct ow_image_user *user, const struct ow_imagelook *l,
		       uint64_t begun)
{
	uint64_t ns = (l->failed ? l->until_ns : ow_now_ns()) - begun;

	if (l->has_list || (l->failed && !l->is_late))
		return;
	ns = l->is_late ? 2 * ns : ns;
	user->look_needs = ns < MOST_NEEDED_NS ? ns : MOST_NEEDED_NS;
}

struct ow_imagelook *ow_imagelook_have(struct ow_images *im,
				       struct ow_image_user *user,
				       struct ow_imagelook *l)
{
	struct ow_delegate_limits limits = {
		.call_ns = ow_effort_left(&waits) ? CALL_NS : LESS_CALL_NS,
	};
	enum ow_delegation end;
	uint64_t begun;

	if (!l || ow_images_must_end(im) || ow_now_ns() < user->silent_until) {
		ow_imagelook_destroy(l);
		return NULL;
	}
	begun = ow_now_ns();
	limits.until_ns = begun + LOOK_NS;
	l->until_ns = begun + (im->is_wanted ? LOOK_NS : look_ns(im, user, l));
	im->looked += LOOK_COST + l->maps.nr;
	end = ow_delegate_run(take_look, l, &limits, NULL);
	if (end == OW_DELEGATION_DONE)
		note_needs(user, l, begun);
	if (end == OW_DELEGATION_NONE)
		note_unasked(user);
	else
		user->start_errno = 0;
	if (end == OW_DELEGATION_DONE && !l->failed) {
		im->looked += l->has_list ? 0 : l->maps.nr;
		if (l->live != user->pid)
			ow_imageusers_behead(im, user, l->live);
		if (l->uid >= 0) {
			user->uid = (uid_t)l->uid;
			user->has_uid = true;
			user->uid_as_of = ow_now_ns();
		}
		return l;
	}
	if (end == OW_DELEGATION_GIVEN_UP || end == OW_DELEGATION_LOST) {
		/* Short ones go on as they are, however many there are. */
		if (limits.call_ns == CALL_NS)
			ow_effort_spend(&waits, CALL_NS);
		ow_imageusers_leave_out(user, OW_IMAGE_SILENT_NS, NULL);
	}
	if (end == OW_DELEGATION_DONE && l->is_late && !l->has_list)
		ow_imageusers_leave_out(
			user,
			l->until_ns < limits.until_ns ? LATE_NS :
							OW_IMAGE_SILENT_NS,
			"there was no time to look at all that it maps");
	else if (end == OW_DELEGATION_DONE && (l->why.code == OW_CODE_TIMEOUT ||
					       l->why.code == OW_CODE_SYSTEM))
		ow_imageusers_leave_out(user, OW_IMAGE_SILENT_NS, l->why.msg);
	/* A file that a delegate has open ends with it. */
	l->maps.is_open = l->maps.is_open && end == OW_DELEGATION_NONE;
	if (end != OW_DELEGATION_LOST)
		ow_imagelook_destroy(l);
	return NULL;
}
