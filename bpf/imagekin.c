// SPDX-License-Identifier: BSD-2-Clause
#include "imagekin.h"

#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "delegate.h"
#include "effort.h"
#include "grow.h"
#include "monotonic.h"

#define MOST_ASKED 64 /* of a family: when they called */

#define CALL_NS    25000000    /* for the kernel to answer about a pair, */
#define WAIT_PART  50          /* until so much of the time was waited */
#define SILENT_NS  60000000000 /* until it is asked again about a process's */
#define MOST_FORKS 1024        /* that aren't asked about yet */

struct ow_image_family {
	size_t nr;
	uint64_t moved; /* code of it, the last time that this was told; or 0 */
	uint64_t called; /* by those that have left, until then; or 0 */
};

/* Waits for the kernel that were for nothing, in nanoseconds. */
static struct ow_effort waits = OW_EFFORT(1000000000, 1000000000 / WAIT_PART);

/* What a delegate asks, which may be lost with it. */
struct asking {
	size_t nr, at;
	struct ow_kinpair pairs[];
};

static void ask(void *arg)
{
	struct asking *a = arg;
	struct ow_kinpair *p;
	long ret;

	for (; a->at < a->nr; a->at++) {
		p = &a->pairs[a->at];
		ow_delegate_enter();
		ret = syscall(SYS_kcmp, p->a, p->b, KCMP_VM, 0, 0);
		ow_delegate_leave();
		p->answer = ret < 0  ? OW_KIN_UNKNOWN :
			    ret == 0 ? OW_KIN_YES :
				       OW_KIN_NO;
	}
}

/* Have a delegate go on; false: with nothing more, or arg is lost. */
static bool go_on(struct asking *a, bool *is_lost)
{
	const struct ow_delegate_limits limits = { .call_ns = CALL_NS,
						   .until_ns = UINT64_MAX };
	enum ow_delegation end = ow_delegate_run(ask, a, &limits, NULL);

	*is_lost = end == OW_DELEGATION_LOST;
	if (end != OW_DELEGATION_GIVEN_UP && end != OW_DELEGATION_LOST)
		return false;
	ow_effort_spend(&waits, CALL_NS);
	if (a->at < a->nr)
		a->pairs[a->at].is_silent = true;
	a->at++;
	return !*is_lost && a->at < a->nr && ow_effort_left(&waits);
}

void ow_imagekin_ask(struct ow_kinpair *pairs, size_t nr)
{
	struct asking *a = NULL;
	bool is_lost = false;
	size_t i;

	for (i = 0; i < nr; i++)
		pairs[i].answer = OW_KIN_UNKNOWN;
	if (nr && ow_effort_left(&waits))
		a = malloc(sizeof(*a) + nr * sizeof(*pairs));
	if (!a)
		return;
	*a = (struct asking){ .nr = nr };
	memcpy(a->pairs, pairs, nr * sizeof(*pairs));
	while (go_on(a, &is_lost))
		;
	memcpy(pairs, a->pairs, nr * sizeof(*pairs));
	if (!is_lost)
		free(a);
}

static bool found(struct ow_image_user *user)
{
	user->family = calloc(1, sizeof(*user->family));
	if (!user->family)
		return false;
	user->family->nr = 1;
	user->next_kin = user->last_kin = user;
	return true;
}

/* The time after which a process itself has not called; UINT64_MAX: not known. */
static uint64_t called_itself(const struct ow_image_user *user)
{
	uint64_t ret = user->calls ? user->calls->until : UINT64_MAX;

	return user->is_gone && user->ended < ret ? user->ended : ret;
}

/* What a process may have done that leaves, it has done. */
static void keep_called(struct ow_image_family *family,
			const struct ow_image_user *user)
{
	uint64_t called = called_itself(user);

	if (called == UINT64_MAX)
		called = ow_now_ns();
	if (family->called < called)
		family->called = called;
}

static void leave_family(struct ow_image_user *user)
{
	if (!user->family)
		return;
	user->moved = ow_imagekin_moved(user);
	keep_called(user->family, user);
	if (user->has_strangers)
		user->next_kin->has_strangers = true;
	if (--user->family->nr == 0)
		free(user->family);
	user->family = NULL;
	user->last_kin->next_kin = user->next_kin;
	user->next_kin->last_kin = user->last_kin;
	user->next_kin = user->last_kin = NULL;
}

void ow_imagekin_join(struct ow_image_user *user, struct ow_image_user *with)
{
	leave_family(user);
	if (!with->family && !found(with))
		return;
	user->family = with->family;
	user->family->nr++;
	user->next_kin = with;
	user->last_kin = with->last_kin;
	with->last_kin->next_kin = user;
	with->last_kin = user;
}

void ow_imagekin_leave(struct ow_image_user *user)
{
	leave_family(user);
	ow_imagekin_leave_calls(user->calls);
	user->calls = NULL;
	user->has_strangers = false;
}

void ow_imagekin_note_move(struct ow_image_user *user, uint64_t time)
{
	if (user->family)
		user->family->moved = time;
	else
		user->moved = time;
}

uint64_t ow_imagekin_moved(const struct ow_image_user *user)
{
	if (user->family && user->family->moved > user->moved)
		return user->family->moved;
	return user->moved;
}

void ow_imagekin_leave_calls(struct ow_image_calls *calls)
{
	if (calls && --calls->nr_holders == 0)
		free(calls);
}

void ow_imagekin_count(struct ow_image_user *user, struct ow_image_calls *calls)
{
	calls->nr_holders++;
	ow_imagekin_leave_calls(user->calls);
	user->calls = calls;
}

bool ow_imagekin_is_counted(const struct ow_image_user *user)
{
	return user->calls && user->calls->until != UINT64_MAX;
}

void ow_imagekin_inherit(struct ow_image_user *user,
			 const struct ow_image_user *from, uint64_t time)
{
	if (ow_imagekin_is_counted(from) && from->calls->since < time)
		ow_imagekin_count(user, from->calls);
}

void ow_imagekin_note_fork(struct ow_images *im, pid_t parent, pid_t child,
			   uint64_t time)
{
	if (im->nr_forks == MOST_FORKS)
		ow_imagekin_settle(im);
	if (ow_grow(&im->forks, &im->room_forks, im->nr_forks + 1,
		    sizeof(*im->forks)))
		im->forks[im->nr_forks++] = (struct ow_image_fork){
			.parent = parent, .child = child, .time = time
		};
}

/* Either user of a fork, unless it has executed a program since. */
static struct ow_image_user *parent_of(const struct ow_images *im,
				       const struct ow_image_fork *f)
{
	struct ow_image_user *user = ow_images_user(im, f->parent);

	return user && user->begun <= f->time && user->execed <= f->time ?
		       user :
		       NULL;
}

static struct ow_image_user *child_of(const struct ow_images *im,
				      const struct ow_image_fork *f)
{
	struct ow_image_user *user = ow_images_user(im, f->child);

	return user && user->begun == f->time && user->execed <= f->time ?
		       user :
		       NULL;
}

/* What one of a family has moved since a time, all of it have. */
static void share_move(const struct ow_image_user *user, uint64_t since)
{
	if (user->family && user->moved > since &&
	    user->moved > user->family->moved)
		user->family->moved = user->moved;
}

/* Join what may share a memory, of a fork that was asked about. */
static void settle_fork(const struct ow_images *im,
			const struct ow_image_fork *f,
			const struct ow_kinpair *asked)
{
	struct ow_image_user *from = parent_of(im, f);
	struct ow_image_user *user = child_of(im, f);

	if (from && asked && asked->is_silent)
		from->kin_silent_until = ow_now_ns() + SILENT_NS;
	if (!from || !user || (asked && asked->answer == OW_KIN_NO))
		return;
	ow_imagekin_join(user, from);
	share_move(user, f->time);
	share_move(from, f->time);
	ow_imagekin_inherit(user, from, f->time);
}

/* Return true if the kernel is to be asked whether they share it. */
static bool is_asked(const struct ow_images *im, const struct ow_image_fork *f)
{
	const struct ow_image_user *from = parent_of(im, f);

	return from && child_of(im, f) && ow_now_ns() >= from->kin_silent_until;
}

void ow_imagekin_settle(struct ow_images *im)
{
	size_t i, nr = 0, nr_forks = im->nr_forks;
	struct ow_kinpair *pairs = NULL;

	if (nr_forks)
		pairs = calloc(nr_forks, sizeof(*pairs));
	for (i = 0; pairs && i < nr_forks; i++) {
		im->forks[i].is_asked = is_asked(im, &im->forks[i]);
		if (im->forks[i].is_asked)
			pairs[nr++] = (struct ow_kinpair){
				.a = im->forks[i].parent,
				.b = im->forks[i].child,
			};
	}
	im->nr_forks = 0;
	ow_imagekin_ask(pairs, nr);
	nr = 0;
	for (i = 0; i < nr_forks; i++)
		settle_fork(im, &im->forks[i],
			    im->forks[i].is_asked ? &pairs[nr++] : NULL);
	free(pairs);
}

void ow_imagekin_note_stranger(struct ow_image_user *user)
{
	user->has_strangers = true;
}

uint64_t ow_imagekin_called(const struct ow_image_user *user)
{
	uint64_t ret = user->family ? user->family->called : 0, called;
	const struct ow_image_user *kin = user;
	size_t nr = 0;

	do {
		called = kin->has_strangers || nr++ == MOST_ASKED ?
				 UINT64_MAX :
				 called_itself(kin);
		if (ret < called)
			ret = called;
		kin = kin->next_kin;
	} while (kin && kin != user && ret != UINT64_MAX);
	return ret;
}
