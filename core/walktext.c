// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What a walk tells, for people. */
#include "walk.h"

static const char *const how_texts[OW_NR_HOWS] = {
	[OW_HOW_REGS] = "registers", [OW_HOW_TABLE] = "table",
	[OW_HOW_CFI] = "eh_frame",   [OW_HOW_DEBUG] = "debug_frame",
	[OW_HOW_SIGNAL] = "signal",  [OW_HOW_FP] = "frame pointer",
	[OW_HOW_CALL] = "bad call",  [OW_HOW_ORC] = "orc",
};

static const char *const end_texts[OW_NR_ENDS] = {
	[OW_END_NOT_YET] = "not ended",
	[OW_END_OUTERMOST] = "complete",
	[OW_END_LIMIT] = "frame limit reached",
	[OW_END_NO_MODULE] = "pc is in no executable mapping",
	[OW_END_NO_CFI] = "no unwind information for pc",
	[OW_END_BAD_RULE] = "malformed unwind information for pc",
	[OW_END_UNSUPPORTED] = "unsupported unwind information for pc",
	[OW_END_FAULT] = "memory of the frame could not be read",
	[OW_END_UNKNOWN] = "a register that the frame needs is not known",
	[OW_END_CYCLE] = "the stack does not go on towards its base",
	[OW_END_WANT] = "module not read yet",
	[OW_END_NO_ROOM] = "tables had no room",
	[OW_END_COSTLY] = "unwind information takes too long to run for pc",
	[OW_END_KERNEL] = "frames of the kernel are missing",
};

const char *ow_end_text(enum ow_end end)
{
	return (unsigned int)end < OW_NR_ENDS ? end_texts[end] : "unknown";
}

const char *ow_how_text(enum ow_how how)
{
	return (unsigned int)how < OW_NR_HOWS ? how_texts[how] : "unknown";
}
