// SPDX-License-Identifier: BSD-2-Clause
#include "imagekin.h"

#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "monotonic.h"

#define MOST_ASKED 64 /* of a family: when they called */

struct ow_image_family {
	size_t nr;
	uint64_t moved; /* code of it, the last time that this was told; or 0 */
	uint64_t called; /* by those that have left, until then; or 0 */
};

enum ow_kinship ow_imagekin_ask(pid_t a, pid_t b)
{
	long ret = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);

	if (ret < 0)
		return OW_KIN_UNKNOWN;
	return ret == 0 ? OW_KIN_YES : OW_KIN_NO;
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
