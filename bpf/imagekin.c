// SPDX-License-Identifier: BSD-2-Clause
#include "imagekin.h"

#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ow_image_family {
	size_t nr;
	uint64_t moved; /* code of it, the last time that this was told; or 0 */
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

void ow_imagekin_join(struct ow_image_user *user, struct ow_image_user *with)
{
	ow_imagekin_leave(user);
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
	if (!user->family)
		return;
	user->moved = ow_imagekin_moved(user);
	if (--user->family->nr == 0)
		free(user->family);
	user->family = NULL;
	user->last_kin->next_kin = user->next_kin;
	user->next_kin->last_kin = user->last_kin;
	user->next_kin = user->last_kin = NULL;
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
