// SPDX-License-Identifier: BSD-2-Clause
#include "imagekin.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

enum ow_kinship ow_imagekin_ask(pid_t a, pid_t b)
{
	long ret = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);

	if (ret < 0)
		return OW_KIN_UNKNOWN;
	return ret == 0 ? OW_KIN_YES : OW_KIN_NO;
}

void ow_imagekin_join(struct ow_image_user *user, struct ow_image_user *with)
{
	ow_imagekin_leave(user);
	if (!with->next_kin)
		with->next_kin = with->last_kin = with;
	user->next_kin = with;
	user->last_kin = with->last_kin;
	with->last_kin->next_kin = user;
	with->last_kin = user;
}

void ow_imagekin_leave(struct ow_image_user *user)
{
	if (!user->next_kin)
		return;
	user->last_kin->next_kin = user->next_kin;
	user->next_kin->last_kin = user->last_kin;
	user->next_kin = user->last_kin = NULL;
}
