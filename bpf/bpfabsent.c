// SPDX-License-Identifier: BSD-2-Clause
/* In place of what needs BPF, where that could not be built. */
#include "error.h"
#include "kernelask.h"
#include "recorder.h"

static int engine_open(struct ow_recorder *r, struct ow_error *err)
{
	(void)r;
	return ow_fail(err, OW_CODE_UNSUPPORTED,
		       "built without BPF: clang, bpftool and libbpf were "
		       "missing, or the machine is no x86-64");
}

struct ow_kernelask *ow_kernelask_open(void)
{
	return NULL;
}

bool ow_kernelask_name(struct ow_kernelask *k, uint64_t addr,
		       const char **name_ret, uint64_t *off_ret)
{
	(void)k;
	(void)addr;
	(void)name_ret;
	(void)off_ret;
	return false;
}

bool ow_kernelask_address(struct ow_kernelask *k, const char *name,
			  uint64_t *ret)
{
	(void)k;
	(void)name;
	(void)ret;
	return false;
}

void ow_kernelask_close(struct ow_kernelask *k)
{
	(void)k;
}

const struct ow_engine_ops ow_bpf_engine = { .open = engine_open };
