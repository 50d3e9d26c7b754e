// SPDX-License-Identifier: BSD-2-Clause
/* libdwfl: modules from the process's maps, memory from the capture. */
#include <elfutils/libdwfl.h>
#include <stdlib.h>

#include "peer.h"

#define NR_REGS 17

struct dwfl {
	struct bench_peer base; /* first */
	Dwfl *dwfl;
	size_t thread;
	size_t nr; /* of pcs, so far */
	Dwarf_Addr pcs[BENCH_MAX_PCS];
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	/* One at a time; *thread_arg is NULL to begin with. */
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret, void *arg)
{
	struct dwfl *d = arg;
	const struct ow_memory *mem = &d->base.c->target.mem;
	const struct ow_window *w = &d->base.c->threads[d->thread].stack;
	uint64_t skip = addr - w->start;

	(void)dwfl;
	if (skip < w->size && w->size - skip >= sizeof(*ret)) {
		memcpy(ret, w->bytes + skip, sizeof(*ret));
		return true;
	}
	return mem->read(mem, addr, ret, sizeof(*ret)) == 0;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct dwfl *d = arg;
	Dwarf_Word regs[NR_REGS];
	unsigned int i;

	for (i = 0; i < NR_REGS; i++)
		regs[i] = bench_reg(d->base.c, d->thread, i);
	return dwfl_thread_state_registers(thread, 0, NR_REGS, regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct dwfl *d = arg;

	if (d->nr == BENCH_MAX_PCS ||
	    !dwfl_frame_pc(frame, &d->pcs[d->nr], NULL))
		return DWARF_CB_ABORT;
	d->nr++;
	return DWARF_CB_OK;
}

static size_t walk(struct bench_peer *p, size_t i)
{
	struct dwfl *d = (struct dwfl *)p;

	d->thread = i;
	d->nr = 0;
	dwfl_getthread_frames(d->dwfl, 1, add_frame, d);
	return d->nr;
}

static void destroy(struct bench_peer *p)
{
	struct dwfl *d = (struct dwfl *)p;

	dwfl_end(d->dwfl);
	free(d);
}

struct bench_peer *bench_dwfl(struct ow_capture *c)
{
	struct dwfl *d = calloc(1, sizeof(*d));

	if (!d)
		bench_die("out of memory");
	d->base = (struct bench_peer){ walk, destroy, c, d->pcs,
				       sizeof(d->pcs[0]) };
	d->dwfl = dwfl_begin(&callbacks);
	if (!d->dwfl || dwfl_linux_proc_report(d->dwfl, c->pid) ||
	    dwfl_report_end(d->dwfl, NULL, NULL) ||
	    !dwfl_attach_state(d->dwfl, NULL, c->pid, &thread_callbacks, d))
		bench_die("libdwfl: %s", dwfl_errmsg(-1));
	return &d->base;
}
