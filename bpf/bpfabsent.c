// SPDX-License-Identifier: BSD-2-Clause
/* In place of the BPF engine, where it could not be built. */
#include "error.h"
#include "recorder.h"

static int engine_open(struct ow_recorder *r, struct ow_error *err)
{
	(void)r;
	return ow_fail(err, OW_CODE_UNSUPPORTED,
		       "built without BPF: clang, bpftool and libbpf were "
		       "missing, or the machine is no x86-64");
}

const struct ow_engine_ops ow_bpf_engine = { .open = engine_open };
