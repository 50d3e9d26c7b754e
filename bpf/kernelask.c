// SPDX-License-Identifier: BSD-2-Clause
#include "kernelask.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpfwords.h"
#include "kernelask.skel.h"

struct ow_kernelask {
	struct kernelask_bpf *skel;
};

struct ow_kernelask *ow_kernelask_open(void)
{
	struct ow_kernelask *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	/* Who can't is no worse off, and isn't told. */
	ow_bpfwords_listen();
	k->skel = kernelask_bpf__open_and_load();
	if (k->skel)
		return k;
	free(k);
	return NULL;
}

static bool run(const struct bpf_program *program, int *ret)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	if (bpf_prog_test_run_opts(bpf_program__fd(program), &opts))
		return false;
	*ret = (int)opts.retval;
	return true;
}

bool ow_kernelask_name(struct ow_kernelask *k, uint64_t addr,
		       const char **name_ret, uint64_t *off_ret)
{
	char *text = k->skel->bss->text, *plus;
	unsigned long long off;
	int size;

	k->skel->bss->address = addr;
	if (!run(k->skel->progs.say_symbol, &size) || size <= 0)
		return false;
	text[sizeof(k->skel->bss->text) - 1] = '\0';
	/* "name+0xoff/0xsize", and maybe " [module]"; or an address alone */
	plus = strrchr(text, '+');
	if (!plus || plus == text || sscanf(plus, "+%llx/", &off) != 1)
		return false;
	*plus = '\0';
	*name_ret = text;
	*off_ret = off;
	return true;
}

bool ow_kernelask_address(struct ow_kernelask *k, const char *name,
			  uint64_t *ret)
{
	int failed;

	if (strlen(name) >= sizeof(k->skel->bss->name))
		return false;
	strncpy(k->skel->bss->name, name, sizeof(k->skel->bss->name));
	if (!run(k->skel->progs.find_symbol, &failed) || failed)
		return false;
	*ret = k->skel->bss->address;
	return true;
}

void ow_kernelask_close(struct ow_kernelask *k)
{
	if (!k)
		return;
	kernelask_bpf__destroy(k->skel);
	free(k);
}
