/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the loader sets before the programs are loaded, and while they run. */
#ifndef OW_BPF_OPTIONS_H
#define OW_BPF_OPTIONS_H

#include "bpfenv.h"

const volatile struct ow_bpf_arch arch;
const volatile __u64 hash_key; /* of stacks: odd, and nobody else knows it */
const volatile __u32 max_frames = OW_BPF_FRAMES;
const volatile bool everyone;      /* or only who is in targets */
const volatile __u32 worker_flags; /* ow_task_worker_flags() */
const volatile bool by_thread;     /* tell threads of equal names apart */
/* Whose numbers processes are known by, as its files have it; 0: the first. */
const volatile __u32 pid_namespace;
const volatile bool follow; /* children of targets are some, too */
const volatile bool with_kernel;
const volatile bool with_results; /* of system calls */
const volatile bool with_stacks = true;
const volatile __u64 shortest_wait = 1000;   /* ns */
const volatile __u8 wanted[OW_BPF_SYSCALLS]; /* enum wanted; of calls, or */
const volatile bool all_wanted = true;
const volatile bool others_wanted; /* numbers that none has */
/* Which argument is text, from 1; 0: none. */
const volatile __u8 text_args[OW_BPF_SYSCALLS];

bool listing;      /* who waits already is being looked for, */
__u64 began;       /* and is taken to wait since then: CLOCK_MONOTONIC, ns */
__u32 loader_time; /* its own count of time, by which tables are given up */
__u64 ends_at;     /* CLOCK_MONOTONIC, ns: no wait goes on after it; or 0 */

#endif /* OW_BPF_OPTIONS_H */
