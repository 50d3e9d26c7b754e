/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) WITH Linux-syscall-note */
/*
 * What /dev/kunwind understands.  All structures are the same for 32-bit and
 * 64-bit callers: pointers are __u64, and there is no padding that isn't named.
 * Reserved fields and unknown flags must be zero.
 *
 * Each open file is a session.  Tables and followed processes belong to it and
 * go when it is closed.  Tables of a session whose opener has CAP_PERFMON or
 * CAP_SYS_ADMIN count for all processes; those of others only for the processes
 * that the same session follows, which have to be the opener's own.
 */
#ifndef UAPI_OW_KUNWIND_H
#define UAPI_OW_KUNWIND_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "ow_frame.h"

#define OW_KUNWIND_ABI          4
#define OW_KUNWIND_DEVICE       "/dev/kunwind"
#define OW_KUNWIND_MAX_FRAMES   1024
#define OW_KUNWIND_MAX_SEGS     16
#define OW_KUNWIND_MAX_TABLE    (256u << 20)
#define OW_KUNWIND_MAX_SESSIONS 16   /* of a kind that follow one process */
#define OW_KUNWIND_FILE_EVENTS  1024 /* that one session may have waiting */
#define OW_KUNWIND_MAX_POLLS    64   /* that wait for one session's events */
#define OW_KUNWIND_NO_USER      ((__u32)-1)

enum ow_kunwind_features {
	OW_KUNWIND_TRACKS_MMAP = 1, /* new mappings are seen as they are made */
	OW_KUNWIND_TRACKS_EXEC = 2, /* fork and exec are followed */
	OW_KUNWIND_HOOKS = 4,       /* the kernel's walkers can be redirected */
};

/* OW_KUNWIND_INFO: what runs, and its limits. */
struct ow_kunwind_info {
	__u32 abi;           /* OW_KUNWIND_ABI */
	__u32 table_version; /* OW_TABLE_VERSION */
	__u32 features;      /* enum ow_kunwind_features */
	__u32 max_frames;
	__u64 max_bytes_user; /* of tables and maps of one user */
	__u64 max_bytes_all;
	__u32 max_followed; /* processes of one session */
	__u32 privileged;   /* 1: this session's tables count for all */
};

enum ow_kunwind_unwind_flags {
	OW_KUNWIND_FAULT_IN = 1, /* pages that aren't there may be fetched */
};

/*
 * OW_KUNWIND_UNWIND: the calling thread's own stack, innermost frame first,
 * which is the system call itself.  That a stack is not complete is no error:
 * end says why.  Errors: EINVAL for max of 0, EFAULT for where frames points to.
 */
struct ow_kunwind_unwind {
	__u64 frames; /* pointer to struct ow_frame[max] */
	__u32 max;    /* more than OW_KUNWIND_MAX_FRAMES is that many */
	__u32 flags;  /* enum ow_kunwind_unwind_flags */
	__u32 nr;     /* out: frames found */
	__u32 end;    /* out: enum ow_end */
};

/* A segment with code, as the object's program header has it. */
struct ow_kunwind_segment {
	__u64 off, size; /* in the file */
	__u64 vaddr;
};

enum ow_kunwind_table_kind {
	OW_KUNWIND_FILE, /* fd is open for reading on the object */
	OW_KUNWIND_VDSO, /* no file: what the kernel itself maps; fd is -1 */
};

enum ow_kunwind_table_flags {
	/*
	 * For a process of the user uid, who pays; once only others' processes map
	 * it, one of those pays, and once none does, it may go for others.  Without:
	 * the file's owner pays.  Of a session that is not privileged it is ignored:
	 * the session's user pays.
	 */
	OW_KUNWIND_FOR_USER = 1,
	OW_KUNWIND_FOR_PRIVILEGED = 2, /* as the event was of privileged ones */
};

/*
 * OW_KUNWIND_TABLE: here is the table of an object.  One that the same user has
 * handed in already, to the byte, is held once.  A newer table of the same object
 * replaces the older one of the session.  Processes that are followed have it when the
 * call returns; but where something else makes a process' map for longer than some 20
 * ms, the process has it when that is done.
 * Errors: ENOSPC (limits; one that is larger than the user's limit is refused
 * before anything else is looked at), EBADF, EINVAL (not a table, or not a sound
 * one), EFAULT, EAGAIN (the bytes were swapped out again and again), ENOMEM,
 * EINTR (the caller is being killed).
 */
struct ow_kunwind_table {
	__s32 fd;
	__u32 kind;  /* enum ow_kunwind_table_kind */
	__u64 bytes; /* pointer: a table, uapi/ow_table.h; and where rare_size
			is not 0, behind it at the next multiple of 8, rows
			that it leaves to the CFI, uapi/ow_rare.h */
	__u32 size;
	__u32 nr_segments;
	__u64 segments; /* pointer to struct ow_kunwind_segment[nr_segments] */
	__u64 entry;    /* vaddr where the program starts, or 0 */
	__u32 rare_size;
	__u32 flags; /* enum ow_kunwind_table_flags */
	__u32 uid;   /* FOR_USER: an event's */
	__u32 reserved;
};

enum ow_kunwind_follow_flags {
	OW_KUNWIND_INHERIT = 1, /* and what it forks and executes */
	OW_KUNWIND_ALL = 2,     /* every process from now on; pid is 0, and the
				   session privileged */
	OW_KUNWIND_NOWAIT = 4,  /* EBUSY at once where a lock is held */
};

/*
 * OW_KUNWIND_FOLLOW: keep the map of a process, so that it can be unwound; pid 0
 * is the caller.  Once more: ask again for all tables that it lacks.
 * OW_KUNWIND_UNFOLLOW: don't any more.
 * Errors: ESRCH, EPERM (it isn't the opener's own, or ptrace(2) would not let the
 * opener read it), EUSERS (OW_KUNWIND_MAX_SESSIONS follow it; privileged sessions
 * are counted by themselves), EBUSY (its locks are held for a second in all, as by an
 * mmap(2) that waits for a FUSE server), ENOSPC, ENOMEM; unfollow: ENOENT.
 */
struct ow_kunwind_follow {
	__s32 pid;
	__u32 flags; /* enum ow_kunwind_follow_flags */
};

/*
 * OW_KUNWIND_STATS: counters since the module was loaded, and what is held now.  A
 * session that is not privileged is told of what its own user holds, and no more.
 */
struct ow_kunwind_stats {
	__u64 walks, frames;
	__u64 ends[16]; /* walks by enum ow_end */
	__u64 unmapped; /* walks of processes that nobody follows */
	__u64 busy;     /* refused: one was under way in the same context */
	__u64 events_lost;
	__u64 tables, table_bytes; /* now */
	__u64 followed, map_bytes; /* now */
	__u64 bytes_user;    /* now, of the session's user's max_bytes_user */
	__u64 context_bytes; /* now, what walks need, of all CPUs */
};

#define OW_KUNWIND_MAX_SUBUIDS 4096

/* Ids from first to last that a user has outside of namespaces of the user's own. */
struct ow_kunwind_subuid {
	__u32 first, last;
	__u32 owner;
};

/*
 * OW_KUNWIND_SUBUIDS: here is who has which subordinate ids (subuid(5)), in order.  Until
 * another list comes, their processes and files count as their owners', whichever session
 * follows them; a process, from the next time on that it maps code.  Errors: EPERM
 * (CAP_SYS_ADMIN is needed), EINVAL (more than OW_KUNWIND_MAX_SUBUIDS, not in order, or
 * one with root's id), EFAULT, ENOMEM.
 */
struct ow_kunwind_subuids {
	__u64 ranges; /* pointer to struct ow_kunwind_subuid[nr] */
	__u32 nr;
	__u32 reserved;
};

enum ow_kunwind_event_kind {
	OW_KUNWIND_EV_FOLLOWED, /* a process is followed now */
	OW_KUNWIND_EV_LACKS,    /* it maps code of an object without a table */
	OW_KUNWIND_EV_EXIT,     /* its address space is gone */
	OW_KUNWIND_EV_LOST,     /* there were more events than room, or what a
				   process forked or executed could not be
				   followed for want of room, or there is
				   none for a process' map */
	OW_KUNWIND_NR_EVS
};

/*
 * What read() gives: whole events.  Those of one user's processes are in their order.
 * Users take turns: next comes the one whose events took the reader the least time, from
 * one read() to the next.  A user's processes may have at most half of the events
 * waiting that others leave room for, but for root's, and those of the session's own
 * user; what there is no room for is lost.
 */
struct ow_kunwind_event {
	__u32 kind;       /* enum ow_kunwind_event_kind */
	__s32 pid;        /* as the session's opener sees it; 0: not at all */
	__u32 uid;        /* whose process it is, or who made the user namespace
			     that it is in; NO_USER: of several users */
	__u32 privileged; /* 1: that user's processes with CAP_SYS_RESOURCE */
	__u64 nr;         /* the event's number, which grows; LOST: how many of
			     that user's are lost, 0: some are not followed */
	__u64 newest;     /* the highest number when it was read */
	__u64 dev, ino;   /* LACKS: st_dev as the kernel has it, st_ino; the
			     vDSO has neither */
	__u64 start, end; /* LACKS: where it is mapped */
	__u64 off;        /* LACKS: file offset there */
};

#define OW_KUNWIND_MAGIC 0xF6
#define OW_KUNWIND_INFO  _IOR(OW_KUNWIND_MAGIC, 0xA0, struct ow_kunwind_info)
#define OW_KUNWIND_UNWIND \
	_IOWR(OW_KUNWIND_MAGIC, 0xA1, struct ow_kunwind_unwind)
#define OW_KUNWIND_TABLE  _IOW(OW_KUNWIND_MAGIC, 0xA2, struct ow_kunwind_table)
#define OW_KUNWIND_FOLLOW _IOW(OW_KUNWIND_MAGIC, 0xA3, struct ow_kunwind_follow)
#define OW_KUNWIND_UNFOLLOW \
	_IOW(OW_KUNWIND_MAGIC, 0xA4, struct ow_kunwind_follow)
#define OW_KUNWIND_STATS _IOR(OW_KUNWIND_MAGIC, 0xA5, struct ow_kunwind_stats)
#define OW_KUNWIND_SUBUIDS \
	_IOW(OW_KUNWIND_MAGIC, 0xA6, struct ow_kunwind_subuids)

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(struct ow_kunwind_info) == 40, "no padding");
_Static_assert(sizeof(struct ow_kunwind_unwind) == 24, "no padding");
_Static_assert(sizeof(struct ow_kunwind_table) == 56, "no padding");
_Static_assert(sizeof(struct ow_kunwind_event) == 72, "no padding");
_Static_assert(sizeof(struct ow_kunwind_subuids) == 16, "no padding");
#endif

#endif /* UAPI_OW_KUNWIND_H */
