/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) WITH Linux-syscall-note */
/*
 * A frame of a stack, how it was found, and why a stack ends.  The same for
 * user space, the kernel module and BPF; values are only ever added.
 */
#ifndef UAPI_OW_FRAME_H
#define UAPI_OW_FRAME_H

#ifndef __VMLINUX_H__ /* BPF programs take __u64 from vmlinux.h instead */
#include <linux/types.h>
#endif

/* How a frame was found: by what its callee's row came from. */
enum ow_how {
	OW_HOW_REGS,   /* the innermost frame: the thread's registers */
	OW_HOW_TABLE,  /* compact table */
	OW_HOW_CFI,    /* .eh_frame */
	OW_HOW_DEBUG,  /* .debug_frame */
	OW_HOW_SIGNAL, /* the kernel's signal frame, known by its code or by the
			  table */
	OW_HOW_FP,     /* frame pointer: a guess that the ABI backs */
	OW_HOW_CALL,   /* return address on top: a call to nowhere */
	OW_HOW_ORC,    /* Linux's own unwind data */
	OW_NR_HOWS
};

/* Why a walk ended.  None of them is an error: the frames found are right. */
enum ow_end {
	OW_END_NOT_YET,
	OW_END_OUTERMOST,   /* complete: the outermost frame was reached */
	OW_END_LIMIT,       /* as many frames as were asked for */
	OW_END_NO_MODULE,   /* pc is in no executable mapping */
	OW_END_NO_CFI,      /* nothing covers pc, and no frame pointer helps */
	OW_END_BAD_RULE,    /* the unwind data at pc is malformed */
	OW_END_UNSUPPORTED, /* it is well-formed, but refused */
	OW_END_FAULT,       /* memory that the rule needs is missing */
	OW_END_UNKNOWN,     /* a register that the rule needs is not known */
	OW_END_CYCLE,       /* sp did not move towards the stack's base */
	OW_END_WANT,        /* not an end: the walk needs a module read */
	OW_END_NO_ROOM,     /* the recorder has no room for what is mapped */
	OW_END_COSTLY,      /* to run the unwind data at pc takes too long */
	OW_END_KERNEL, /* frames of the kernel that it began by are missing */
	OW_NR_ENDS
};

enum ow_frame_flags {
	OW_FRAME_RETURN = 1, /* pc is a return address: look up at pc - 1 */
	OW_FRAME_SIGNAL = 2, /* the kernel's trampoline behind a handler */
};

struct ow_frame {
	__u64 pc;
	__u64 sp;
	__u8 how;   /* enum ow_how */
	__u8 flags; /* enum ow_frame_flags */
	__u8 reserved[6];
};

#endif /* UAPI_OW_FRAME_H */
