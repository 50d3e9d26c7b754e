/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that is captured again and again, and may end between. */
#ifndef OW_PROCESS_H
#define OW_PROCESS_H

#include <outwind/outwind.h>

/*
 * As ow_capture_process(), of the process whose folder of threads is open
 * (ow_tasks_open()): no other one that has got its number since is looked at or stopped.
 * Fail with OW_CODE_ABSENT if it has ended.
 */
struct ow_capture *ow_process_capture(pid_t pid, int tasks,
				      const struct ow_capture_options *options,
				      struct ow_error *err);

#endif /* OW_PROCESS_H */
