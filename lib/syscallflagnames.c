// SPDX-License-Identifier: BSD-2-Clause
#include "syscallflagnames.h"

#include "env.h"

/*
 * Values are those of Linux on x86-64, which i386's are, too, as its and the C
 * library's headers have them; what has a name, and which one of several, is as
 * strace (6.1) has it.
 */
static const struct ow_flagname open_values[] = { { 0, "O_RDONLY" },
						  { 1, "O_WRONLY" },
						  { 2, "O_RDWR" } };

static const struct ow_flagname open_bits[] = {
	{ 0x101000, "O_SYNC" },    { 0x410000, "O_TMPFILE" },
	{ 0x40, "O_CREAT" },       { 0x80, "O_EXCL" },
	{ 0x100, "O_NOCTTY" },     { 0x200, "O_TRUNC" },
	{ 0x400, "O_APPEND" },     { 0x800, "O_NONBLOCK" },
	{ 0x1000, "O_DSYNC" },     { 0x2000, "O_ASYNC" },
	{ 0x4000, "O_DIRECT" },    { 0x8000, "O_LARGEFILE" },
	{ 0x20000, "O_NOFOLLOW" }, { 0x40000, "O_NOATIME" },
	{ 0x80000, "O_CLOEXEC" },  { 0x200000, "O_PATH" },
	{ 0x10000, "O_DIRECTORY" }
};

static const struct ow_flagname opened_bits[] = { { 0x80000, "O_CLOEXEC" },
						  { 0x800, "O_NONBLOCK" },
						  { 0x4000, "O_DIRECT" } };

static const struct ow_flagname prot_values[] = { { 0, "PROT_NONE" } };

static const struct ow_flagname prot_bits[] = { { 0x1, "PROT_READ" },
						{ 0x2, "PROT_WRITE" },
						{ 0x4, "PROT_EXEC" },
						{ 0x8, "PROT_SEM" },
						{ 0x1000000, "PROT_GROWSDOWN" },
						{ 0x2000000, "PROT_GROWSUP" } };

static const struct ow_flagname map_values[] = { { 1, "MAP_SHARED" },
						 { 2, "MAP_PRIVATE" },
						 { 3, "MAP_SHARED_VALIDATE" } };

static const struct ow_flagname map_bits[] = {
	{ 0x10, "MAP_FIXED" },      { 0x20, "MAP_ANONYMOUS" },
	{ 0x40, "MAP_32BIT" },      { 0x100, "MAP_GROWSDOWN" },
	{ 0x800, "MAP_DENYWRITE" }, { 0x1000, "MAP_EXECUTABLE" },
	{ 0x2000, "MAP_LOCKED" },   { 0x4000, "MAP_NORESERVE" },
	{ 0x8000, "MAP_POPULATE" }, { 0x10000, "MAP_NONBLOCK" },
	{ 0x20000, "MAP_STACK" },   { 0x40000, "MAP_HUGETLB" },
	{ 0x80000, "MAP_SYNC" },    { 0x100000, "MAP_FIXED_NOREPLACE" }
};

static const struct ow_flagname mremap_bits[] = { { 0x1, "MREMAP_MAYMOVE" },
						  { 0x2, "MREMAP_FIXED" },
						  { 0x4, "MREMAP_DONTUNMAP" } };

static const struct ow_flagname msync_bits[] = { { 0x1, "MS_ASYNC" },
						 { 0x2, "MS_INVALIDATE" },
						 { 0x4, "MS_SYNC" } };

static const struct ow_flagname whence_values[] = { { 0, "SEEK_SET" },
						    { 1, "SEEK_CUR" },
						    { 2, "SEEK_END" },
						    { 3, "SEEK_DATA" },
						    { 4, "SEEK_HOLE" } };

static const struct ow_flagname domain_values[] = {
	{ 0, "AF_UNSPEC" },     { 1, "AF_UNIX" },    { 2, "AF_INET" },
	{ 3, "AF_AX25" },       { 4, "AF_IPX" },     { 5, "AF_APPLETALK" },
	{ 9, "AF_X25" },        { 10, "AF_INET6" },  { 15, "AF_KEY" },
	{ 16, "AF_NETLINK" },   { 17, "AF_PACKET" }, { 21, "AF_RDS" },
	{ 24, "AF_PPPOX" },     { 29, "AF_CAN" },    { 30, "AF_TIPC" },
	{ 31, "AF_BLUETOOTH" }, { 38, "AF_ALG" },    { 40, "AF_VSOCK" },
	{ 42, "AF_QIPCRTR" },   { 44, "AF_XDP" }
};

static const struct ow_flagname type_values[] = {
	{ 1, "SOCK_STREAM" }, { 2, "SOCK_DGRAM" },     { 3, "SOCK_RAW" },
	{ 4, "SOCK_RDM" },    { 5, "SOCK_SEQPACKET" }, { 6, "SOCK_DCCP" },
	{ 10, "SOCK_PACKET" }
};

static const struct ow_flagname type_bits[] = { { 0x80000, "SOCK_CLOEXEC" },
						{ 0x800, "SOCK_NONBLOCK" } };

static const struct ow_flagname accepted_bits[] = { { 0x80000, "SOCK_CLOEXEC" },
						    { 0x800,
						      "SOCK_NONBLOCK" } };

static const struct ow_flagname message_bits[] = {
	{ 0x1, "MSG_OOB" },
	{ 0x2, "MSG_PEEK" },
	{ 0x4, "MSG_DONTROUTE" },
	{ 0x8, "MSG_CTRUNC" },
	{ 0x10, "MSG_PROXY" },
	{ 0x20, "MSG_TRUNC" },
	{ 0x40, "MSG_DONTWAIT" },
	{ 0x80, "MSG_EOR" },
	{ 0x100, "MSG_WAITALL" },
	{ 0x200, "MSG_FIN" },
	{ 0x400, "MSG_SYN" },
	{ 0x800, "MSG_CONFIRM" },
	{ 0x1000, "MSG_RST" },
	{ 0x2000, "MSG_ERRQUEUE" },
	{ 0x4000, "MSG_NOSIGNAL" },
	{ 0x8000, "MSG_MORE" },
	{ 0x10000, "MSG_WAITFORONE" },
	{ 0x4000000, "MSG_ZEROCOPY" },
	{ 0x20000000, "MSG_FASTOPEN" },
	{ 0x40000000, "MSG_CMSG_CLOEXEC" }
};

static const struct ow_flagname shutdown_values[] = { { 0, "SHUT_RD" },
						      { 1, "SHUT_WR" },
						      { 2, "SHUT_RDWR" } };

static const struct ow_flagname signal_values[] = {
	{ 1, "SIGHUP" },     { 2, "SIGINT" },     { 3, "SIGQUIT" },
	{ 4, "SIGILL" },     { 5, "SIGTRAP" },    { 6, "SIGABRT" },
	{ 7, "SIGBUS" },     { 8, "SIGFPE" },     { 9, "SIGKILL" },
	{ 10, "SIGUSR1" },   { 11, "SIGSEGV" },   { 12, "SIGUSR2" },
	{ 13, "SIGPIPE" },   { 14, "SIGALRM" },   { 15, "SIGTERM" },
	{ 16, "SIGSTKFLT" }, { 17, "SIGCHLD" },   { 18, "SIGCONT" },
	{ 19, "SIGSTOP" },   { 20, "SIGTSTP" },   { 21, "SIGTTIN" },
	{ 22, "SIGTTOU" },   { 23, "SIGURG" },    { 24, "SIGXCPU" },
	{ 25, "SIGXFSZ" },   { 26, "SIGVTALRM" }, { 27, "SIGPROF" },
	{ 28, "SIGWINCH" },  { 29, "SIGIO" },     { 30, "SIGPWR" },
	{ 31, "SIGSYS" },    { 32, "SIGRTMIN" },  { 33, "SIGRT_1" },
	{ 34, "SIGRT_2" },   { 35, "SIGRT_3" },   { 36, "SIGRT_4" },
	{ 37, "SIGRT_5" },   { 38, "SIGRT_6" },   { 39, "SIGRT_7" },
	{ 40, "SIGRT_8" },   { 41, "SIGRT_9" },   { 42, "SIGRT_10" },
	{ 43, "SIGRT_11" },  { 44, "SIGRT_12" },  { 45, "SIGRT_13" },
	{ 46, "SIGRT_14" },  { 47, "SIGRT_15" },  { 48, "SIGRT_16" },
	{ 49, "SIGRT_17" },  { 50, "SIGRT_18" },  { 51, "SIGRT_19" },
	{ 52, "SIGRT_20" },  { 53, "SIGRT_21" },  { 54, "SIGRT_22" },
	{ 55, "SIGRT_23" },  { 56, "SIGRT_24" },  { 57, "SIGRT_25" },
	{ 58, "SIGRT_26" },  { 59, "SIGRT_27" },  { 60, "SIGRT_28" },
	{ 61, "SIGRT_29" },  { 62, "SIGRT_30" },  { 63, "SIGRT_31" },
	{ 64, "SIGRT_32" }
};

static const struct ow_flagname mask_values[] = { { 0, "SIG_BLOCK" },
						  { 1, "SIG_UNBLOCK" },
						  { 2, "SIG_SETMASK" } };

static const struct ow_flagname clone_bits[] = {
	{ 0x100, "CLONE_VM" },
	{ 0x200, "CLONE_FS" },
	{ 0x400, "CLONE_FILES" },
	{ 0x800, "CLONE_SIGHAND" },
	{ 0x1000, "CLONE_PIDFD" },
	{ 0x2000, "CLONE_PTRACE" },
	{ 0x4000, "CLONE_VFORK" },
	{ 0x8000, "CLONE_PARENT" },
	{ 0x10000, "CLONE_THREAD" },
	{ 0x20000, "CLONE_NEWNS" },
	{ 0x40000, "CLONE_SYSVSEM" },
	{ 0x80000, "CLONE_SETTLS" },
	{ 0x100000, "CLONE_PARENT_SETTID" },
	{ 0x200000, "CLONE_CHILD_CLEARTID" },
	{ 0x400000, "CLONE_DETACHED" },
	{ 0x800000, "CLONE_UNTRACED" },
	{ 0x1000000, "CLONE_CHILD_SETTID" },
	{ 0x2000000, "CLONE_NEWCGROUP" },
	{ 0x4000000, "CLONE_NEWUTS" },
	{ 0x8000000, "CLONE_NEWIPC" },
	{ 0x10000000, "CLONE_NEWUSER" },
	{ 0x20000000, "CLONE_NEWPID" },
	{ 0x40000000, "CLONE_NEWNET" },
	{ 0x80000000, "CLONE_IO" }
};

/* Without signals: their first is one of a signal's bits. */
static const struct ow_flagname unshare_bits[] = {
	{ 0x80, "CLONE_NEWTIME" },
	{ 0x100, "CLONE_VM" },
	{ 0x200, "CLONE_FS" },
	{ 0x400, "CLONE_FILES" },
	{ 0x800, "CLONE_SIGHAND" },
	{ 0x10000, "CLONE_THREAD" },
	{ 0x20000, "CLONE_NEWNS" },
	{ 0x40000, "CLONE_SYSVSEM" },
	{ 0x2000000, "CLONE_NEWCGROUP" },
	{ 0x4000000, "CLONE_NEWUTS" },
	{ 0x8000000, "CLONE_NEWIPC" },
	{ 0x10000000, "CLONE_NEWUSER" },
	{ 0x20000000, "CLONE_NEWPID" },
	{ 0x40000000, "CLONE_NEWNET" }
};

static const struct ow_flagname namespace_bits[] = {
	{ 0x80, "CLONE_NEWTIME" },        { 0x20000, "CLONE_NEWNS" },
	{ 0x2000000, "CLONE_NEWCGROUP" }, { 0x4000000, "CLONE_NEWUTS" },
	{ 0x8000000, "CLONE_NEWIPC" },    { 0x10000000, "CLONE_NEWUSER" },
	{ 0x20000000, "CLONE_NEWPID" },   { 0x40000000, "CLONE_NEWNET" }
};

static const struct ow_flagname fcntl_values[] = {
	{ 0, "F_DUPFD" },          { 1, "F_GETFD" },
	{ 2, "F_SETFD" },          { 3, "F_GETFL" },
	{ 4, "F_SETFL" },          { 5, "F_GETLK" },
	{ 6, "F_SETLK" },          { 7, "F_SETLKW" },
	{ 8, "F_SETOWN" },         { 9, "F_GETOWN" },
	{ 10, "F_SETSIG" },        { 11, "F_GETSIG" },
	{ 12, "F_GETLK64" },       { 13, "F_SETLK64" },
	{ 14, "F_SETLKW64" },      { 15, "F_SETOWN_EX" },
	{ 16, "F_GETOWN_EX" },     { 36, "F_OFD_GETLK" },
	{ 37, "F_OFD_SETLK" },     { 38, "F_OFD_SETLKW" },
	{ 0x400, "F_SETLEASE" },   { 0x401, "F_GETLEASE" },
	{ 0x402, "F_NOTIFY" },     { 0x406, "F_DUPFD_CLOEXEC" },
	{ 0x407, "F_SETPIPE_SZ" }, { 0x408, "F_GETPIPE_SZ" },
	{ 0x409, "F_ADD_SEALS" },  { 0x40a, "F_GET_SEALS" }
};

static const struct ow_flagname descriptor_bits[] = { { 0x1, "FD_CLOEXEC" } };

static const struct ow_flagname futex_values[] = {
	{ 0, "FUTEX_WAIT" },
	{ 1, "FUTEX_WAKE" },
	{ 2, "FUTEX_FD" },
	{ 3, "FUTEX_REQUEUE" },
	{ 4, "FUTEX_CMP_REQUEUE" },
	{ 5, "FUTEX_WAKE_OP" },
	{ 6, "FUTEX_LOCK_PI" },
	{ 7, "FUTEX_UNLOCK_PI" },
	{ 8, "FUTEX_TRYLOCK_PI" },
	{ 9, "FUTEX_WAIT_BITSET" },
	{ 10, "FUTEX_WAKE_BITSET" },
	{ 11, "FUTEX_WAIT_REQUEUE_PI" },
	{ 12, "FUTEX_CMP_REQUEUE_PI" },
	{ 13, "FUTEX_LOCK_PI2" },
	{ 128, "FUTEX_WAIT_PRIVATE" },
	{ 129, "FUTEX_WAKE_PRIVATE" },
	{ 130, "FUTEX_FD_PRIVATE" },
	{ 131, "FUTEX_REQUEUE_PRIVATE" },
	{ 132, "FUTEX_CMP_REQUEUE_PRIVATE" },
	{ 133, "FUTEX_WAKE_OP_PRIVATE" },
	{ 134, "FUTEX_LOCK_PI_PRIVATE" },
	{ 135, "FUTEX_UNLOCK_PI_PRIVATE" },
	{ 136, "FUTEX_TRYLOCK_PI_PRIVATE" },
	{ 137, "FUTEX_WAIT_BITSET_PRIVATE" },
	{ 138, "FUTEX_WAKE_BITSET_PRIVATE" },
	{ 139, "FUTEX_WAIT_REQUEUE_PI_PRIVATE" },
	{ 140, "FUTEX_CMP_REQUEUE_PI_PRIVATE" },
	{ 141, "FUTEX_LOCK_PI2_PRIVATE" }
};

static const struct ow_flagname futex_bits[] = { { 0x100,
						   "FUTEX_CLOCK_REALTIME" } };

static const struct ow_flagname advice_values[] = {
	{ 0, "MADV_NORMAL" },          { 1, "MADV_RANDOM" },
	{ 2, "MADV_SEQUENTIAL" },      { 3, "MADV_WILLNEED" },
	{ 4, "MADV_DONTNEED" },        { 8, "MADV_FREE" },
	{ 9, "MADV_REMOVE" },          { 10, "MADV_DONTFORK" },
	{ 11, "MADV_DOFORK" },         { 12, "MADV_MERGEABLE" },
	{ 13, "MADV_UNMERGEABLE" },    { 14, "MADV_HUGEPAGE" },
	{ 15, "MADV_NOHUGEPAGE" },     { 16, "MADV_DONTDUMP" },
	{ 17, "MADV_DODUMP" },         { 18, "MADV_WIPEONFORK" },
	{ 19, "MADV_KEEPONFORK" },     { 20, "MADV_COLD" },
	{ 21, "MADV_PAGEOUT" },        { 22, "MADV_POPULATE_READ" },
	{ 23, "MADV_POPULATE_WRITE" }, { 24, "MADV_DONTNEED_LOCKED" },
	{ 25, "MADV_COLLAPSE" },       { 100, "MADV_HWPOISON" },
	{ 101, "MADV_SOFT_OFFLINE" }
};

static const struct ow_flagname fadvice_values[] = {
	{ 0, "POSIX_FADV_NORMAL" },     { 1, "POSIX_FADV_RANDOM" },
	{ 2, "POSIX_FADV_SEQUENTIAL" }, { 3, "POSIX_FADV_WILLNEED" },
	{ 4, "POSIX_FADV_DONTNEED" },   { 5, "POSIX_FADV_NOREUSE" }
};

static const struct ow_flagname wait_bits[] = {
	{ 0x1, "WNOHANG" },       { 0x2, "WSTOPPED" },
	{ 0x4, "WEXITED" },       { 0x8, "WCONTINUED" },
	{ 0x1000000, "WNOWAIT" }, { 0x20000000, "__WNOTHREAD" },
	{ 0x40000000, "__WALL" }, { 0x80000000, "__WCLONE" }
};

static const struct ow_flagname waited_values[] = { { 0, "P_ALL" },
						    { 1, "P_PID" },
						    { 2, "P_PGID" },
						    { 3, "P_PIDFD" } };

static const struct ow_flagname access_values[] = { { 0, "F_OK" } };

static const struct ow_flagname access_bits[] = { { 0x4, "R_OK" },
						  { 0x2, "W_OK" },
						  { 0x1, "X_OK" } };

static const struct ow_flagname at_bits[] = {
	{ 0x100, "AT_SYMLINK_NOFOLLOW" },  { 0x400, "AT_SYMLINK_FOLLOW" },
	{ 0x800, "AT_NO_AUTOMOUNT" },      { 0x1000, "AT_EMPTY_PATH" },
	{ 0x2000, "AT_STATX_FORCE_SYNC" }, { 0x4000, "AT_STATX_DONT_SYNC" },
	{ 0x8000, "AT_RECURSIVE" }
};

static const struct ow_flagname unlink_bits[] = { { 0x200, "AT_REMOVEDIR" } };

static const struct ow_flagname faccess_bits[] = {
	{ 0x100, "AT_SYMLINK_NOFOLLOW" },
	{ 0x200, "AT_EACCESS" },
	{ 0x1000, "AT_EMPTY_PATH" }
};

static const struct ow_flagname epoll_values[] = { { 1, "EPOLL_CTL_ADD" },
						   { 2, "EPOLL_CTL_DEL" },
						   { 3, "EPOLL_CTL_MOD" } };

static const struct ow_flagname epolled_bits[] = { { 0x80000,
						     "EPOLL_CLOEXEC" } };

static const struct ow_flagname eventfd_bits[] = { { 0x1, "EFD_SEMAPHORE" },
						   { 0x80000, "EFD_CLOEXEC" },
						   { 0x800, "EFD_NONBLOCK" } };

static const struct ow_flagname inotify_bits[] = { { 0x80000, "IN_CLOEXEC" },
						   { 0x800, "IN_NONBLOCK" } };

static const struct ow_flagname timerfd_bits[] = { { 0x80000, "TFD_CLOEXEC" },
						   { 0x800, "TFD_NONBLOCK" } };

static const struct ow_flagname clock_values[] = {
	{ 0, "CLOCK_REALTIME" },
	{ 1, "CLOCK_MONOTONIC" },
	{ 2, "CLOCK_PROCESS_CPUTIME_ID" },
	{ 3, "CLOCK_THREAD_CPUTIME_ID" },
	{ 4, "CLOCK_MONOTONIC_RAW" },
	{ 5, "CLOCK_REALTIME_COARSE" },
	{ 6, "CLOCK_MONOTONIC_COARSE" },
	{ 7, "CLOCK_BOOTTIME" },
	{ 8, "CLOCK_REALTIME_ALARM" },
	{ 9, "CLOCK_BOOTTIME_ALARM" },
	{ 11, "CLOCK_TAI" }
};

static const struct ow_flagname timer_bits[] = { { 0x1, "TIMER_ABSTIME" } };

static const struct ow_flagname random_bits[] = { { 0x1, "GRND_NONBLOCK" },
						  { 0x2, "GRND_RANDOM" },
						  { 0x4, "GRND_INSECURE" } };

static const struct ow_flagname memfd_bits[] = { { 0x1, "MFD_CLOEXEC" },
						 { 0x2, "MFD_ALLOW_SEALING" },
						 { 0x4, "MFD_HUGETLB" } };

static const struct ow_flagname flock_bits[] = { { 0x1, "LOCK_SH" },
						 { 0x2, "LOCK_EX" },
						 { 0x8, "LOCK_UN" },
						 { 0x4, "LOCK_NB" } };

static const struct ow_flagname ioctl_values[] = {
	{ 0x5401, "TCGETS" },         { 0x5402, "TCSETS" },
	{ 0x5403, "TCSETSW" },        { 0x5404, "TCSETSF" },
	{ 0x5409, "TCSBRK" },         { 0x540a, "TCXONC" },
	{ 0x540b, "TCFLSH" },         { 0x540e, "TIOCSCTTY" },
	{ 0x540f, "TIOCGPGRP" },      { 0x5410, "TIOCSPGRP" },
	{ 0x5411, "TIOCOUTQ" },       { 0x5413, "TIOCGWINSZ" },
	{ 0x5414, "TIOCSWINSZ" },     { 0x541b, "FIONREAD" },
	{ 0x5421, "FIONBIO" },        { 0x5422, "TIOCNOTTY" },
	{ 0x5429, "TIOCGSID" },       { 0x80045430, "TIOCGPTN" },
	{ 0x40045431, "TIOCSPTLCK" }, { 0x5441, "TIOCGPTPEER" },
	{ 0x5450, "FIONCLEX" },       { 0x5451, "FIOCLEX" },
	{ 0x5452, "FIOASYNC" },       { 0x8912, "SIOCGIFCONF" },
	{ 0x8913, "SIOCGIFFLAGS" },   { 0x8915, "SIOCGIFADDR" },
	{ 0x8933, "SIOCGIFINDEX" },   { 0x8910, "SIOCGIFNAME" }
};

static const struct ow_flagname limit_values[] = {
	{ 0, "RLIMIT_CPU" },       { 1, "RLIMIT_FSIZE" },
	{ 2, "RLIMIT_DATA" },      { 3, "RLIMIT_STACK" },
	{ 4, "RLIMIT_CORE" },      { 5, "RLIMIT_RSS" },
	{ 6, "RLIMIT_NPROC" },     { 7, "RLIMIT_NOFILE" },
	{ 8, "RLIMIT_MEMLOCK" },   { 9, "RLIMIT_AS" },
	{ 10, "RLIMIT_LOCKS" },    { 11, "RLIMIT_SIGPENDING" },
	{ 12, "RLIMIT_MSGQUEUE" }, { 13, "RLIMIT_NICE" },
	{ 14, "RLIMIT_RTPRIO" },   { 15, "RLIMIT_RTTIME" }
};

static const struct ow_flagname usage_values[] = { { 0xffffffff,
						     "RUSAGE_CHILDREN" },
						   { 0, "RUSAGE_SELF" },
						   { 1, "RUSAGE_THREAD" } };

static const struct ow_flagname arch_prctl_values[] = {
	{ 0x1001, "ARCH_SET_GS" },     { 0x1002, "ARCH_SET_FS" },
	{ 0x1003, "ARCH_GET_FS" },     { 0x1004, "ARCH_GET_GS" },
	{ 0x3001, "ARCH_CET_STATUS" }, { 0x3002, "ARCH_CET_DISABLE" },
	{ 0x3003, "ARCH_CET_LOCK" }
};

static const struct ow_flagname prctl_values[] = {
	{ 1, "PR_SET_PDEATHSIG" },
	{ 2, "PR_GET_PDEATHSIG" },
	{ 3, "PR_GET_DUMPABLE" },
	{ 4, "PR_SET_DUMPABLE" },
	{ 7, "PR_GET_KEEPCAPS" },
	{ 8, "PR_SET_KEEPCAPS" },
	{ 15, "PR_SET_NAME" },
	{ 16, "PR_GET_NAME" },
	{ 21, "PR_GET_SECCOMP" },
	{ 22, "PR_SET_SECCOMP" },
	{ 23, "PR_CAPBSET_READ" },
	{ 24, "PR_CAPBSET_DROP" },
	{ 27, "PR_GET_SECUREBITS" },
	{ 28, "PR_SET_SECUREBITS" },
	{ 29, "PR_SET_TIMERSLACK" },
	{ 30, "PR_GET_TIMERSLACK" },
	{ 35, "PR_SET_MM" },
	{ 36, "PR_SET_CHILD_SUBREAPER" },
	{ 37, "PR_GET_CHILD_SUBREAPER" },
	{ 38, "PR_SET_NO_NEW_PRIVS" },
	{ 39, "PR_GET_NO_NEW_PRIVS" },
	{ 40, "PR_GET_TID_ADDRESS" },
	{ 41, "PR_SET_THP_DISABLE" },
	{ 42, "PR_GET_THP_DISABLE" },
	{ 47, "PR_CAP_AMBIENT" },
	{ 0x59616d61, "PR_SET_PTRACER" },
	{ 0x53564d41, "PR_SET_VMA" }
};

static const struct ow_flagname lock_bits[] = { { 0x1, "MCL_CURRENT" },
						{ 0x2, "MCL_FUTURE" },
						{ 0x4, "MCL_ONFAULT" } };

#define VALUES(list) .values = list, .nr_values = OW_ARRAY_SIZE(list)
#define BITS(list)   .bits = list, .nr_bits = OW_ARRAY_SIZE(list)

static const struct ow_flagnames all[] = {
	{ 'O', 0x3, VALUES(open_values), BITS(open_bits) },
	{ '1', 0, BITS(opened_bits) },
	{ 'P', 0, VALUES(prot_values), BITS(prot_bits), .is_long = true },
	{ 'M', 0xf, VALUES(map_values), BITS(map_bits), .is_long = true },
	{ 'R', 0, BITS(mremap_bits), .is_long = true },
	{ 'Y', 0, BITS(msync_bits) },
	{ 'L', UINT32_MAX, VALUES(whence_values) },
	{ 'D', UINT32_MAX, VALUES(domain_values) },
	{ 'T', 0xf, VALUES(type_values), BITS(type_bits) },
	{ '4', 0, BITS(accepted_bits) },
	{ 'X', 0, BITS(message_bits) },
	{ 'Z', UINT32_MAX, VALUES(shutdown_values) },
	{ 'S', UINT32_MAX, VALUES(signal_values) },
	{ 'H', UINT32_MAX, VALUES(mask_values) },
	{ 'C', 0xff, VALUES(signal_values), BITS(clone_bits), .is_long = true },
	{ 'c', 0, BITS(unshare_bits), .is_long = true },
	{ 'n', 0, BITS(namespace_bits) },
	{ 'F', UINT32_MAX, VALUES(fcntl_values) },
	{ '2', 0, BITS(descriptor_bits) },
	{ 'U', 0xff, VALUES(futex_values), BITS(futex_bits) },
	{ 'A', UINT32_MAX, VALUES(advice_values) },
	{ '3', UINT32_MAX, VALUES(fadvice_values) },
	{ 'W', 0, BITS(wait_bits) },
	{ '7', UINT32_MAX, VALUES(waited_values) },
	{ 'Q', 0, VALUES(access_values), BITS(access_bits) },
	{ 'N', 0, BITS(at_bits) },
	{ '5', 0, BITS(unlink_bits) },
	{ '8', 0, BITS(faccess_bits) },
	{ 'E', UINT32_MAX, VALUES(epoll_values) },
	{ '6', 0, BITS(epolled_bits) },
	{ 'e', 0, BITS(eventfd_bits) },
	{ 'i', 0, BITS(inotify_bits) },
	{ 't', 0, BITS(timerfd_bits) },
	{ 'B', UINT32_MAX, VALUES(clock_values) },
	{ 'b', 0, BITS(timer_bits) },
	{ 'G', 0, BITS(random_bits) },
	{ 'J', 0, BITS(memfd_bits) },
	{ 'K', 0, BITS(flock_bits) },
	{ 'V', UINT32_MAX, VALUES(ioctl_values) },
	{ 'r', UINT32_MAX, VALUES(limit_values) },
	{ 'w', UINT32_MAX, VALUES(usage_values) },
	{ 'p', UINT32_MAX, VALUES(arch_prctl_values) },
	{ 'I', UINT32_MAX, VALUES(prctl_values) },
	{ 'k', 0, BITS(lock_bits) },
};

const struct ow_flagnames *ow_flagnames_of(char kind)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(all); i++)
		if (all[i].kind == kind)
			return &all[i];
	return NULL;
}
