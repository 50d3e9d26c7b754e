/* SPDX-License-Identifier: BSD-2-Clause */
/* What tbstack says on stderr while it works, in the original's words. */
#ifndef OW_TBMESSAGES_H
#define OW_TBMESSAGES_H

#include "stackview.h"
#include "tbargs.h"

/* A line of the two; why may hold names that the target has chosen. */
void tb_complain(const char *what, const char *why);

/* That a thread could not be captured. */
void tb_complain_of_thread(const struct tb_args *args, pid_t tid,
			   const struct ow_error *why);

/* That a stack breaks. */
void tb_complain_of_break(const struct tb_args *args,
			  const struct ow_view *view);

/* All that the process has mapped. */
void tb_complain_maps(pid_t pid);

#endif /* OW_TBMESSAGES_H */
