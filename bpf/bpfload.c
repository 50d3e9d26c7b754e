// SPDX-License-Identifier: BSD-2-Clause
#include "bpfload.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpfwords.h"
#include "error.h"
#include "hash.h"
#include "procfs.h"
#include "sampler.skel.h"
#include "subuids.h"

#define HASH_KEY   1          /* any word: its hash is by this run's key */
#define CALLS_RING (1U << 26) /* bytes, as every call leaves */

/* Threads that wait at once, and processes: each takes some 100 bytes. */
#define MOST_WAITS     (1U << 20)
#define MOST_PROCESSES (1U << 18)

/* Linux's PROC_PID_INIT_INO: the PID namespace that is not within another. */
#define FIRST_NAMESPACE 0xEFFFFFFCU

_Static_assert(OW_BPF_I386 == OW_SYSCALL_I386 && OW_BPF_X32 == OW_SYSCALL_X32 &&
		       OW_BPF_NUMBERS == OW_SYSCALL_NUMBERS,
	       "one numbering");
_Static_assert(OW_SUBUIDS_MOST <= OW_BPF_SUBUIDS, "all have room");

int ow_bpfload_refuse(struct ow_error *err, const char *what)
{
	const char *words = ow_bpfwords_said();

	if (errno == EPERM || errno == EACCES)
		return ow_fail(err, OW_CODE_PERMISSION,
			       "BPF isn't permitted: root, or CAP_BPF and "
			       "CAP_PERFMON, are needed");
	return ow_fail(err, OW_CODE_UNSUPPORTED, "%s: %s%s%s", what,
		       strerror(errno), words[0] ? ": " : "", words);
}

static void set_arch(struct sampler_bpf *skel)
{
	const struct ow_arch *a = &ow_arch_x86_64;

	skel->rodata->arch.callee_saved = a->callee_saved;
	skel->rodata->arch.pc = a->pc;
	skel->rodata->arch.sp = a->sp;
	skel->rodata->arch.fp = a->fp;
	skel->rodata->arch.ra = a->ra;
}

/* What a call of any ABI is to the programs: its text, and whether it execs. */
static void set_call(struct sampler_bpf *skel, int nr)
{
	const struct ow_syscall_shape *shape = ow_syscall_shape(nr);
	const char *text = shape ? strpbrk(shape->args, "sa") : NULL;
	uint32_t place = ow_bpf_call_place((uint32_t)nr);

	if (text)
		skel->rodata->text_args[place] =
			(uint8_t)((text - shape->args + 1) |
				  (*text == 'a' ? OW_BPF_ADDRESS : 0));
	/* It ends as a call of what has been executed. */
	if (shape && strcmp(ow_syscall_text(nr), "execve") == 0)
		skel->rodata->wanted[place] |= 2;
}

static void set_calls(struct sampler_bpf *skel,
		      const struct ow_recorder_options *o)
{
	uint32_t place;
	size_t i;
	int nr;

	for (nr = 0; nr < OW_BPF_NUMBERS; nr++) {
		set_call(skel, nr);
		set_call(skel, nr | OW_BPF_X32);
		set_call(skel, nr | OW_BPF_I386);
	}
	skel->rodata->all_wanted = !o->syscalls;
	for (i = 0; i < o->nr_syscalls; i++) {
		place = ow_bpf_call_place((uint32_t)o->syscalls[i]);
		if (place < OW_BPF_SYSCALLS)
			skel->rodata->wanted[place] = 3;
		else
			skel->rodata->others_wanted = true;
	}
}

/*
 * The PID namespace that the numbers are of which we have from /proc; 0: the
 * first one, or /proc is another one's.
 */
static uint32_t find_namespace(void)
{
	char self[16] = "";
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_NAMESPACE ||
	    readlink("/proc/self", self, sizeof(self) - 1) < 0 ||
	    atoi(self) != getpid())
		return 0;
	return (uint32_t)st.st_ino;
}

static void set_options(struct sampler_bpf *skel,
			const struct ow_recorder_options *o)
{
	set_arch(skel);
	skel->rodata->hash_key = ow_hash_word(HASH_KEY) | 1;
	set_calls(skel, o);
	skel->rodata->pid_namespace = find_namespace();
	skel->rodata->max_frames = o->max_frames;
	skel->rodata->everyone = o->everyone;
	skel->rodata->worker_flags = ow_task_worker_flags();
	skel->rodata->by_thread = o->by_thread;
	skel->rodata->follow = o->children;
	skel->rodata->with_kernel = o->kernel;
	skel->rodata->with_results = o->on_syscall != NULL;
	skel->rodata->with_stacks = !o->no_stacks;
}

/* May programs go through all tasks? */
static bool can_list(void)
{
	return libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER) > 0;
}

/*
 * May programs be attached to the kernel's functions?  The kernel is asked with
 * a type that is none: who knows of such programs says EINVAL, as may who doesn't,
 * which is seen then.  To look up a function in its types would take longer than
 * all that follows.
 */
static bool can_trace(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = 1);
	const struct bpf_insn insns[] = { { .code = BPF_ALU64 | BPF_MOV,
					    .dst_reg = BPF_REG_0 },
					  { .code = BPF_JMP | BPF_EXIT } };
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "outwind_probe",
			       "Dual BSD/GPL", insns, 2, &opts);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno == EINVAL;
}

/* Only what is needed is verified: that takes a while. */
static void choose_programs(struct sampler_bpf *skel,
			    const struct ow_recorder_options *o, bool trace)
{
	unsigned int events = o->events;
	/* Whose children are followed is a command that hasn't begun yet. */
	bool list = events & OW_RECORD_OFF_CPU && !o->children && can_list();

	bpf_program__set_autoload(skel->progs.on_clock, events & OW_RECORD_CPU);
	bpf_program__set_autoload(skel->progs.on_fault,
				  events & OW_RECORD_FAULTS);
	bpf_program__set_autoload(skel->progs.on_switch,
				  events & OW_RECORD_OFF_CPU);
	bpf_program__set_autoload(skel->progs.on_task, list);
	skel->bss->listing = list;
	bpf_program__set_autoload(skel->progs.on_enter,
				  events & OW_RECORD_SYSCALLS);
	bpf_program__set_autoload(skel->progs.on_leave,
				  events & OW_RECORD_SYSCALLS && o->on_syscall);
	/* Each is there for kernels that lack those before it. */
	bpf_program__set_autoload(skel->progs.on_map, trace);
	bpf_program__set_autoload(skel->progs.on_move, trace);
	bpf_program__set_autoload(skel->progs.on_growth, trace);
}

static uint32_t read_limit(const char *path)
{
	FILE *f = fopen(path, "re");
	uint32_t most = UINT32_MAX;

	if (!f)
		return most;
	if (fscanf(f, "%u", &most) != 1)
		most = UINT32_MAX;
	fclose(f);
	return most;
}

/*
 * As many as the kernel can have threads, if that is not out of all proportion: any
 * user's threads and processes must not take the room of others'.
 */
static uint32_t as_many_as_threads(uint32_t limit)
{
	uint32_t pids = read_limit("/proc/sys/kernel/pid_max");
	uint32_t threads = read_limit("/proc/sys/kernel/threads-max");
	uint32_t most = pids < threads ? pids : threads;

	if (most < OW_RECORD_PROCESSES)
		return OW_RECORD_PROCESSES;
	return most < limit ? most : limit;
}

static void size_maps(struct sampler_bpf *skel,
		      const struct ow_recorder_options *o)
{
	uint32_t processes = as_many_as_threads(MOST_PROCESSES);
	int nr = libbpf_num_possible_cpus();
	uint32_t slots = OW_BPF_SLOTS * (nr > 0 ? (uint32_t)nr : 1);

	bpf_map__set_max_entries(skel->maps.processes, processes);
	bpf_map__set_max_entries(skel->maps.changes, processes);
	bpf_map__set_max_entries(skel->maps.targets, processes);
	bpf_map__set_max_entries(skel->maps.walks, slots);
	bpf_map__set_max_entries(skel->maps.copies, slots);
	if (o->on_syscall)
		bpf_map__set_max_entries(skel->maps.events, CALLS_RING);
	else
		bpf_map__set_max_entries(skel->maps.callshares, 1);
	bpf_map__set_max_entries(skel->maps.waits,
				 o->events & OW_RECORD_OFF_CPU ?
					 as_many_as_threads(MOST_WAITS) :
					 1);
}

static void put_subuids(struct ow_bpf_subuids *to,
			const struct ow_subuids *list)
{
	const struct ow_subuid_range *from = list->all;
	uint32_t i;

	for (i = 0; i < list->nr; i++, from++)
		to[i] = (struct ow_bpf_subuids){ from->first, from->last,
						 from->owner };
	for (; i < OW_BPF_SUBUIDS; i++)
		to[i] = (struct ow_bpf_subuids){ .first = UINT32_MAX };
}

void ow_bpfload_renew_subuids(struct ow_bpfengine *e)
{
	const struct ow_subuids *list = ow_subuids_list();
	struct sampler_bpf__bss *bss = e->skel->bss;
	uint32_t base = bss->subuids_base ^ OW_BPF_SUBUIDS;

	if (e->subuids == list)
		return;
	put_subuids(bss->subuids + base, list);
	__atomic_store_n(&bss->subuids_base, base, __ATOMIC_RELEASE);
	bss->lowest_subuid = list->nr ? list->all[0].first : UINT32_MAX;
	e->subuids = list;
}

static int load(struct ow_recorder *r, bool trace)
{
	struct ow_bpfengine *e = r->priv;

	ow_bpfwords_listen();
	sampler_bpf__destroy(e->skel);
	e->skel = sampler_bpf__open();
	if (!e->skel)
		return -1;
	set_options(e->skel, &r->options);
	choose_programs(e->skel, &r->options, trace);
	size_maps(e->skel, &r->options);
	e->subuids = NULL;
	ow_bpfload_renew_subuids(e);
	return sampler_bpf__load(e->skel);
}

int ow_bpfload_open(struct ow_recorder *r, struct ow_error *err)
{
	if ((can_trace() && !load(r, true)) || !load(r, false))
		return 0;
	/* The kernel's verifier says EACCES; who may not load programs: EPERM. */
	if (errno == EACCES)
		errno = EINVAL;
	return ow_bpfload_refuse(err, "load BPF programs");
}

static int keep_link(struct ow_bpfengine *e, struct bpf_link *link,
		     struct ow_error *err)
{
	struct bpf_link **more;

	if (!link)
		return ow_bpfload_refuse(err, "attach a BPF program");
	more = realloc(e->links, (e->nr_links + 1) * sizeof(*more));
	if (!more)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	e->links = more;
	e->links[e->nr_links++] = link;
	return 0;
}

static int attach_clocks(struct ow_bpfengine *e, struct bpf_program *prog,
			 const struct ow_clocks *c, struct ow_error *err)
{
	struct bpf_link *link;
	int fd, failed = 0;
	size_t i;

	/* The link closes its event. */
	for (i = 0; !failed && i < c->nr; i++) {
		fd = fcntl(c->fds[i], F_DUPFD_CLOEXEC, 0);
		link = fd < 0 ? NULL : bpf_program__attach_perf_event(prog, fd);
		if (!link && fd >= 0)
			close(fd);
		failed = keep_link(e, link, err);
	}
	return failed;
}

static int attach(struct ow_bpfengine *e, struct bpf_program *prog,
		  struct ow_error *err)
{
	return keep_link(e, bpf_program__attach(prog), err);
}

#define WAYS 3 /* to notice something, the best first */

/* Attach the first program that the kernel takes.  Return false if it takes none. */
static bool attach_one(struct ow_bpfengine *e, struct bpf_program *const *progs,
		       size_t nr)
{
	struct bpf_link *link = NULL;
	size_t i;

	for (i = 0; !link && i < nr; i++)
		if (bpf_program__fd(progs[i]) >= 0)
			link = bpf_program__attach(progs[i]);
	return link && !keep_link(e, link, NULL);
}

/* Notice at once that code is mapped, or moved, where the kernel can tell that. */
static void attach_mapping(struct ow_recorder *r, struct ow_bpfengine *e)
{
	struct bpf_program *const maps[WAYS] = { e->skel->progs.on_map,
						 e->skel->progs.on_map_probe,
						 e->skel->progs.on_lock };
	struct bpf_program *const moves[WAYS] = { e->skel->progs.on_move,
						  e->skel->progs.on_move_probe,
						  e->skel->progs.on_unlock };
	struct bpf_program *const growths[] = {
		e->skel->progs.on_growth, e->skel->progs.on_growth_probe
	};
	bool is_watched = attach_one(e, maps, WAYS);

	r->stats.unwatched = !attach_one(e, moves, WAYS) || !is_watched;
	/* Where neither of these can be attached, the last of the former tells. */
	attach_one(e, growths, OW_ARRAY_SIZE(growths));
	ow_bpfwords_listen();
}

int ow_bpfload_attach_lives(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;
	int failed = attach(e, e->skel->progs.on_fork, err);

	if (!failed)
		failed = attach(e, e->skel->progs.on_rename, err);
	if (!failed)
		failed = attach(e, e->skel->progs.on_exec, err);
	if (!failed)
		failed = attach(e, e->skel->progs.on_exit, err);
	if (!failed)
		attach_mapping(r, e);
	return failed;
}

static int attach_cpu(struct ow_recorder *r, struct ow_bpfengine *e,
		      struct ow_error *err)
{
	struct perf_event_attr attr;
	int failed;

	ow_clocks_cycles(&attr, r->options.frequency);
	r->stats.frequency = (unsigned int)attr.sample_freq;
	failed = ow_clocks_open(&e->cycles, &attr, -1, err);
	r->stats.clock = e->cycles.name;
	return failed ? failed :
			attach_clocks(e, e->skel->progs.on_clock, &e->cycles,
				      err);
}

static int attach_faults(struct ow_bpfengine *e, struct ow_error *err)
{
	struct perf_event_attr attr;
	int failed;

	ow_clocks_faults(&attr);
	failed = ow_clocks_open(&e->faults, &attr, -1, err);
	return failed ? failed :
			attach_clocks(e, e->skel->progs.on_fault, &e->faults,
				      err);
}

int ow_bpfload_attach(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;
	unsigned int events = r->options.events;
	int failed = 0;

	e->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (events & OW_RECORD_CPU)
		failed = attach_cpu(r, e, err);
	if (!failed && events & OW_RECORD_FAULTS)
		failed = attach_faults(e, err);
	if (!failed && events & OW_RECORD_OFF_CPU)
		failed = attach(e, e->skel->progs.on_switch, err);
	/* First its end: none that begins then is without. */
	if (!failed && events & OW_RECORD_SYSCALLS && r->options.on_syscall)
		failed = attach(e, e->skel->progs.on_leave, err);
	if (!failed && events & OW_RECORD_SYSCALLS)
		failed = attach(e, e->skel->progs.on_enter, err);
	return failed;
}

void ow_bpfload_detach(struct ow_bpfengine *e)
{
	/* The last ones first: who takes samples goes by what the others tell. */
	while (e->nr_links)
		bpf_link__destroy(e->links[--e->nr_links]);
	ow_clocks_close(&e->cycles);
	ow_clocks_close(&e->faults);
}
