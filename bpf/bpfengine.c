// SPDX-License-Identifier: BSD-2-Clause
/* The engine whose walks are programs in the kernel. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpftables.h"
#include "clocks.h"
#include "copywalk.h"
#include "error.h"
#include "lives.h"
#include "recorder.h"
#include "sampler.skel.h"

#define HALF_FULL 32768 /* of the kernel's counts: time to empty them */
#define BATCH     1024

struct engine {
	struct sampler_bpf *skel;
	struct ow_bpftables tables;
	struct ow_bpf_range *ranges; /* the map of them, mapped */
	struct ring_buffer *ring;
	struct ow_clocks cycles, faults;
	struct ow_lives lives;
	struct ow_copywalk copies;
	pid_t *changed; /* whose mappings the kernel isn't told of yet */
	size_t nr_changed, room_changed;
	struct bpf_link **links;
	size_t nr_links;
	uint64_t nr_stacks; /* that came since counts were emptied */
	uint64_t ends[OW_NR_ENDS], frames; /* of copies */
	int stats_fd; /* makes the kernel measure programs, or -1 */
};

/* What libbpf says last, as it tells more than errno. */
static char last_words[256];

static int hear(enum libbpf_print_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

static int hear(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN && !last_words[0])
		vsnprintf(last_words, sizeof(last_words), fmt, ap);
	return 0;
}

static int refuse(struct ow_error *err, const char *what)
{
	last_words[strcspn(last_words, "\n")] = '\0';
	if (errno == EPERM || errno == EACCES)
		return ow_fail(err, OW_CODE_PERMISSION,
			       "BPF isn't permitted: root, or CAP_BPF and "
			       "CAP_PERFMON, are needed");
	return ow_fail(err, OW_CODE_UNSUPPORTED, "%s: %s%s%s", what,
		       strerror(errno), last_words[0] ? ": " : "", last_words);
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

/* Which argument of a system call is a text that tells most. */
static void set_texts(struct sampler_bpf *skel)
{
	static const struct {
		const char *name;
		uint8_t arg;
	} list[] = {
		{ "open", 1 },     { "openat", 2 },     { "openat2", 2 },
		{ "stat", 1 },     { "lstat", 1 },      { "newfstatat", 2 },
		{ "statx", 2 },    { "access", 1 },     { "faccessat", 2 },
		{ "execve", 1 },   { "readlink", 1 },   { "readlinkat", 2 },
		{ "unlink", 1 },   { "unlinkat", 2 },   { "mkdir", 1 },
		{ "mkdirat", 2 },  { "rmdir", 1 },      { "chdir", 1 },
		{ "rename", 1 },   { "renameat2", 2 },  { "creat", 1 },
		{ "truncate", 1 }, { "faccessat2", 2 }, { "statfs", 1 },
	};

	size_t i;
	int nr;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		nr = ow_syscall_number(list[i].name);
		if (nr >= 0 && nr < OW_BPF_SYSCALLS)
			skel->rodata->text_args[nr] = list[i].arg;
	}
}

static void set_options(struct sampler_bpf *skel,
			const struct ow_recorder_options *o)
{
	size_t i;

	set_arch(skel);
	set_texts(skel);
	skel->rodata->max_frames = o->max_frames;
	skel->rodata->everyone = o->everyone;
	skel->rodata->by_thread = o->by_thread;
	skel->rodata->follow = o->children;
	skel->rodata->with_kernel = o->kernel;
	skel->rodata->with_results = o->on_syscall != NULL;
	skel->rodata->with_stacks = !o->no_stacks;
	skel->rodata->all_wanted = !o->syscalls;
	for (i = 0; i < o->nr_syscalls; i++)
		if (o->syscalls[i] >= 0 && o->syscalls[i] < OW_BPF_SYSCALLS)
			skel->rodata->wanted[o->syscalls[i]] = 1;
}

/* Load one of the tables that an image needs; false if all are there. */
static bool load_one(struct engine *e, const struct ow_image *image)
{
	uint32_t i;

	for (i = 0; i < image->nr; i++)
		if (ow_bpftables_prepare(&e->tables, image->ranges[i].object))
			return true;
	return false;
}

/* The process' list of mappings, once their tables are there. */
static void publish(struct ow_recorder *r, pid_t pid, struct ow_image *image)
{
	struct engine *e = r->priv;
	struct ow_bpf_process p;
	uint32_t key = (uint32_t)pid;

	if (!image->is_placed) {
		if (!ow_images_place(&r->images, image))
			return;
		memcpy(e->ranges + image->first, image->ranges,
		       image->nr * sizeof(*image->ranges));
	}
	p = (struct ow_bpf_process){ image->id, image->first, image->nr, 0 };
	bpf_map_update_elem(bpf_map__fd(e->skel->maps.processes), &key, &p,
			    BPF_ANY);
}

static bool look(struct ow_recorder *r, pid_t pid)
{
	struct ow_image *image;
	bool is_new;

	image = ow_images_look(&r->images, pid, &is_new);
	while (image && load_one(r->priv, image))
		;
	if (image)
		publish(r, pid, image);
	return image;
}

static bool is_wanted(void *arg, pid_t pid)
{
	struct engine *e = ((struct ow_recorder *)arg)->priv;
	uint32_t key = (uint32_t)pid, one;

	/* Targets that have ended are none any more, but known. */
	return e->skel->rodata->everyone ||
	       ow_images_of(&((struct ow_recorder *)arg)->images, pid) ||
	       !bpf_map_lookup_elem(bpf_map__fd(e->skel->maps.targets), &key,
				    &one);
}

static void note_change(void *arg, pid_t pid)
{
	struct engine *e = ((struct ow_recorder *)arg)->priv;
	pid_t *more;
	size_t i;

	for (i = 0; i < e->nr_changed; i++)
		if (e->changed[i] == pid)
			return;
	if (e->nr_changed == e->room_changed) {
		more = realloc(e->changed,
			       (2 * e->room_changed + 64) * sizeof(*more));
		if (!more)
			return;
		e->changed = more;
		e->room_changed = 2 * e->room_changed + 64;
	}
	e->changed[e->nr_changed++] = pid;
}

static void follow_lives(struct ow_recorder *r)
{
	struct engine *e = r->priv;

	ow_lives_apply(&e->lives, &r->images, is_wanted, note_change, r);
}

/* Tell the kernel of one whose mappings changed, if it still runs. */
static bool publish_one(struct ow_recorder *r)
{
	struct engine *e = r->priv;
	struct ow_image *image;
	uint64_t since;
	pid_t pid;

	if (e->nr_changed == 0)
		return false;
	pid = e->changed[e->nr_changed - 1];
	image = ow_images_of(&r->images, pid);
	/* A large one may take its time; what comes is looked at meanwhile. */
	if (image && image->users && load_one(e, image))
		return true;
	e->nr_changed--;
	if (!image || image->nr == 0 || !image->users)
		return true;
	since = image->since;
	publish(r, pid, image);
	since = ow_recorder_now() - since;
	if (image->since && since > r->stats.slowest_ns)
		r->stats.slowest_ns = since;
	return true;
}

/* Walk what was copied, as the kernel could not. */
static void take_copy(struct ow_recorder *r, struct ow_bpf_copy *c, size_t size)
{
	struct engine *e = r->priv;
	struct ow_window window;
	const struct ow_image *image;
	struct ow_regs regs = { 0 };
	struct ow_bpf_stack head;
	enum ow_end end = OW_END_NO_MODULE;
	pid_t pid = (pid_t)c->head.key.pid;
	unsigned int i;
	bool is_new;

	if (size < sizeof(*c) || c->head.nr_kernel > OW_BPF_KERNEL)
		return;
	for (i = 0; i < OW_BPF_REGS; i++)
		ow_regs_set(&regs, i, c->regs[i]);
	image = ow_images_at(&r->images, pid, c->time);
	if (!image)
		image = ow_images_look(&r->images, pid, &is_new);
	if (image && !ow_images_of(&r->images, pid)->is_placed)
		note_change(r, pid);
	window = (struct ow_window){ regs.val[ow_arch_x86_64.sp] &
					     ~(uint64_t)(OW_BPF_PAGE - 1),
				     (uint64_t)c->nr_pages * OW_BPF_PAGE,
				     c->stack };
	head = c->head;
	memcpy(e->copies.packed, c->kernel, 8 * (size_t)head.nr_kernel);
	if (image)
		head.nr = (uint16_t)ow_copywalk_run(&e->copies, image, &regs,
						    &window, head.nr_kernel,
						    &end);
	e->ends[end]++;
	e->ends[head.key.end % OW_NR_ENDS]--; /* as the kernel has it */
	e->frames += head.nr;
	ow_samplestore_add_of(&r->store, &head, e->copies.packed,
			      image ? image->id : 0, end);
}

static void take_stack(struct ow_recorder *r, const struct ow_bpf_stack *s,
		       size_t size)
{
	struct engine *e = r->priv;

	if (size < sizeof(*s) ||
	    size - sizeof(*s) < 8 * ((size_t)s->nr_kernel + s->nr))
		return;
	ow_samplestore_add(&r->store, s, (const uint64_t *)(s + 1));
	e->nr_stacks++;
}

static void take_syscall(struct ow_recorder *r, const struct ow_bpf_syscall *s,
			 size_t size)
{
	struct ow_recorded_syscall out;
	const struct ow_stored *stored;
	unsigned int arg;

	if (size < sizeof(*s) || !r->options.on_syscall)
		return;
	out = (struct ow_recorded_syscall){
		.is_end = s->notice.type == OW_BPF_EVENT_LEAVE,
		.pid = (pid_t)s->notice.pid,
		.tid = (pid_t)s->tid,
		.nr = s->nr,
		.result = s->result,
		.time = s->time,
		.text = s->text,
	};
	memcpy(out.args, s->args, sizeof(out.args));
	memcpy(out.comm, s->comm, sizeof(out.comm) - 1);
	arg = s->nr >= 0 && s->nr < OW_BPF_SYSCALLS ?
		      ((struct engine *)r->priv)
			      ->skel->rodata->text_args[s->nr] :
		      0;
	out.text_arg = s->text[0] ? arg : 0;
	stored = ow_samplestore_find(&r->store, &s->key);
	out.stack = stored ? &stored->is : NULL;
	r->options.on_syscall(r->options.arg, &out);
}

static int take_event(void *arg, void *bytes, size_t size)
{
	const struct ow_bpf_notice *n = bytes;
	struct ow_recorder *r = arg;

	r->stats.bytes_out += size;
	if (size < sizeof(*n))
		return 0;
	if (n->type == OW_BPF_EVENT_STACK)
		take_stack(r, bytes, size);
	else if (n->type == OW_BPF_EVENT_ENTER || n->type == OW_BPF_EVENT_LEAVE)
		take_syscall(r, bytes, size);
	else if (n->type == OW_BPF_EVENT_COPY)
		take_copy(r, bytes, size);
	else if (n->type == OW_BPF_EVENT_EVICTED && n->arg < OW_BPF_OBJECTS)
		ow_bpftables_load(&((struct engine *)r->priv)->tables,
				  (uint32_t)n->arg);
	return 0;
}

static int map_ranges(struct engine *e, struct ow_error *err)
{
	void *at = mmap(NULL, OW_BPF_RANGES * sizeof(*e->ranges),
			PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(e->skel->maps.ranges), 0);

	if (at == MAP_FAILED)
		return ow_fail(err, OW_CODE_SYSTEM, "mmap of a BPF map");
	e->ranges = at;
	return 0;
}

/* Only what is needed is verified: that takes a while. */
static void choose_programs(struct sampler_bpf *skel,
			    const struct ow_recorder_options *o)
{
	unsigned int events = o->events;

	bpf_program__set_autoload(skel->progs.on_clock, events & OW_RECORD_CPU);
	bpf_program__set_autoload(skel->progs.on_fault,
				  events & OW_RECORD_FAULTS);
	bpf_program__set_autoload(skel->progs.on_switch,
				  events & OW_RECORD_OFF_CPU);
	bpf_program__set_autoload(skel->progs.on_enter,
				  events & OW_RECORD_SYSCALLS);
	bpf_program__set_autoload(skel->progs.on_leave,
				  events & OW_RECORD_SYSCALLS && o->on_syscall);
}

static int load(struct ow_recorder *r, struct engine *e, struct ow_error *err)
{
	libbpf_set_print(hear);
	last_words[0] = '\0';
	e->skel = sampler_bpf__open();
	if (!e->skel)
		return refuse(err, "open BPF programs");
	set_options(e->skel, &r->options);
	choose_programs(e->skel, &r->options);
	if (sampler_bpf__load(e->skel))
		return refuse(err, "load BPF programs");
	return 0;
}

static int engine_open(struct ow_recorder *r, struct ow_error *err)
{
	struct engine *e = calloc(1, sizeof(*e));
	int failed;

	if (!e)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	r->priv = e;
	e->stats_fd = -1;
	failed = load(r, e, err);
	if (failed)
		return failed;
	e->tables.objects = &r->objects;
	e->tables.limit = r->options.table_memory;
	r->images.room_ranges = OW_BPF_RANGES;
	failed = ow_bpftables_init(&e->tables,
				   bpf_map__fd(e->skel->maps.tables),
				   bpf_map__fd(e->skel->maps.objects),
				   bpf_map__fd(e->skel->maps.used), err);
	if (!failed)
		failed = map_ranges(e, err);
	if (!failed)
		failed = ow_copywalk_init(&e->copies, &r->images,
					  r->options.max_frames, err);
	if (!failed)
		failed = ow_lives_open(&e->lives, err);
	if (failed)
		return failed;
	e->ring = ring_buffer__new(bpf_map__fd(e->skel->maps.events),
				   take_event, r, NULL);
	return e->ring ? 0 : refuse(err, "ring buffer");
}

static int engine_add(struct ow_recorder *r, pid_t pid, struct ow_error *err)
{
	struct engine *e = r->priv;
	uint32_t key = (uint32_t)pid, one = 1;

	if (bpf_map_update_elem(bpf_map__fd(e->skel->maps.targets), &key, &one,
				BPF_ANY))
		return refuse(err, "too many processes");
	if (look(r, pid))
		return 0;
	return ow_fail(err, OW_CODE_ABSENT,
		       "no process %d, or it has no memory", pid);
}

/* All processes that there are. */
static void look_everywhere(struct ow_recorder *r)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int pid;

	while (dir && (d = readdir(dir)) != NULL) {
		pid = atoi(d->d_name);
		if (pid > 0)
			look(r, pid);
	}
	if (dir)
		closedir(dir);
}

static int keep_link(struct engine *e, struct bpf_link *link,
		     struct ow_error *err)
{
	struct bpf_link **more;

	if (!link)
		return refuse(err, "attach a BPF program");
	more = realloc(e->links, (e->nr_links + 1) * sizeof(*more));
	if (!more)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	e->links = more;
	e->links[e->nr_links++] = link;
	return 0;
}

static int attach_clocks(struct engine *e, struct bpf_program *prog,
			 const struct ow_clocks *c, struct ow_error *err)
{
	int failed = 0;
	size_t i;

	/* The link closes its event. */
	for (i = 0; !failed && i < c->nr; i++)
		failed = keep_link(
			e, bpf_program__attach_perf_event(prog, dup(c->fds[i])),
			err);
	return failed;
}

static int attach(struct engine *e, struct bpf_program *prog,
		  struct ow_error *err)
{
	return keep_link(e, bpf_program__attach(prog), err);
}

static int attach_life(struct engine *e, struct ow_error *err)
{
	int failed = attach(e, e->skel->progs.on_fork, err);

	if (!failed)
		failed = attach(e, e->skel->progs.on_exec, err);
	if (!failed)
		failed = attach(e, e->skel->progs.on_exit, err);
	return failed;
}

static int attach_cpu(struct ow_recorder *r, struct engine *e,
		      struct ow_error *err)
{
	struct perf_event_attr attr;
	int failed;

	ow_clocks_cycles(&attr, r->options.frequency);
	failed = ow_clocks_open(&e->cycles, &attr, -1, err);
	r->stats.clock = e->cycles.name;
	return failed ? failed :
			attach_clocks(e, e->skel->progs.on_clock, &e->cycles,
				      err);
}

static int attach_faults(struct engine *e, struct ow_error *err)
{
	struct perf_event_attr attr;
	int failed;

	ow_clocks_faults(&attr);
	failed = ow_clocks_open(&e->faults, &attr, -1, err);
	return failed ? failed :
			attach_clocks(e, e->skel->progs.on_fault, &e->faults,
				      err);
}

static int engine_start(struct ow_recorder *r, struct ow_error *err)
{
	struct engine *e = r->priv;
	unsigned int events = r->options.events;
	int failed = attach_life(e, err);

	if (!failed && e->skel->rodata->everyone)
		look_everywhere(r);
	e->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (!failed && events & OW_RECORD_CPU)
		failed = attach_cpu(r, e, err);
	if (!failed && events & OW_RECORD_FAULTS)
		failed = attach_faults(e, err);
	if (!failed && events & OW_RECORD_OFF_CPU)
		failed = attach(e, e->skel->progs.on_switch, err);
	if (!failed && events & OW_RECORD_SYSCALLS)
		failed = attach(e, e->skel->progs.on_enter, err);
	if (!failed && events & OW_RECORD_SYSCALLS && r->options.on_syscall)
		failed = attach(e, e->skel->progs.on_leave, err);
	return failed;
}

/* Counts that the kernel has, to ours; and none in the kernel. */
static int collect(struct ow_recorder *r, struct ow_error *err)
{
	struct engine *e = r->priv;
	int fd = bpf_map__fd(e->skel->maps.counts);
	struct ow_sample_key *keys = calloc(BATCH, sizeof(*keys));
	struct ow_sample_value *values = calloc(BATCH, sizeof(*values));
	struct ow_stored *s;
	uint32_t nr, at = 0, i;
	bool first = true;
	int end = 0;

	follow_lives(r);
	ring_buffer__consume(e->ring);
	while (keys && values && !end) {
		nr = BATCH;
		end = bpf_map_lookup_and_delete_batch(
			fd, first ? NULL : &at, &at, keys, values, &nr, NULL);
		first = false;
		if (end && errno != ENOENT)
			break;
		ring_buffer__consume(e->ring);
		r->stats.bytes_out += nr * (sizeof(*keys) + sizeof(*values));
		for (i = 0; i < nr; i++) {
			s = ow_samplestore_find(&r->store, &keys[i]);
			if (!s)
				continue;
			s->is.count += values[i].count;
			s->is.value += values[i].value;
		}
	}
	end = keys && values && (!end || errno == ENOENT) ? 0 : -1;
	free(keys);
	free(values);
	e->nr_stacks = 0;
	return end ? refuse(err, "read counts") : 0;
}

/* Until something has come from the kernel, or a signal: that is -1. */
static int poll_all(struct engine *e, int ms)
{
	size_t i, nr = e->lives.rings.nr;
	struct pollfd *fds = calloc(nr + 1, sizeof(*fds));
	int n;

	if (!fds)
		return 0;
	fds[nr] = (struct pollfd){ .fd = ring_buffer__epoll_fd(e->ring),
				   .events = POLLIN };
	for (i = 0; i < nr; i++)
		fds[i] = (struct pollfd){ .fd = e->lives.rings.all[i].fd,
					  .events = POLLIN };
	n = poll(fds, nr + 1, ms);
	free(fds);
	return n;
}

/* First who is who, then what they did, then tables: those take longest. */
static int engine_wait(struct ow_recorder *r, unsigned int ms,
		       struct ow_error *err)
{
	struct engine *e = r->priv;
	uint64_t now = ow_recorder_now(), end = now + ms * 1000000ULL;
	int wait_ms;

	for (; now < end; now = ow_recorder_now()) {
		wait_ms = e->nr_changed ? 0 :
					  (int)((end - now + 999999) / 1000000);
		if (poll_all(e, wait_ms) < 0)
			return errno == EINTR ? 0 : refuse(err, "poll events");
		follow_lives(r);
		ring_buffer__consume(e->ring);
		publish_one(r);
		if (e->nr_stacks > HALF_FULL && collect(r, err))
			return -OW_CODE_SYSTEM;
	}
	return 0;
}

static void engine_stop(struct ow_recorder *r)
{
	struct engine *e = r->priv;
	size_t i;

	for (i = 0; i < e->nr_links; i++)
		bpf_link__destroy(e->links[i]);
	e->nr_links = 0;
	ow_clocks_close(&e->cycles);
	ow_clocks_close(&e->faults);
}

static uint64_t tally(const struct engine *e, uint32_t which)
{
	int nr = libbpf_num_possible_cpus(), i;
	uint64_t values[1024], sum = 0;

	if (nr > 1024 || bpf_map_lookup_elem(bpf_map__fd(e->skel->maps.tallies),
					     &which, values))
		return 0;
	for (i = 0; i < nr; i++)
		sum += values[i];
	return sum;
}

static void count_runs(struct ow_recorder *r, struct bpf_program *prog)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_program__fd(prog) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size))
		return;
	r->stats.program_ns += info.run_time_ns;
	r->stats.program_runs += info.run_cnt;
}

static void engine_count(struct ow_recorder *r, struct ow_recorder_stats *s)
{
	struct engine *e = r->priv;
	uint32_t i;

	s->samples = tally(e, OW_BPF_SAMPLES);
	s->missed = tally(e, OW_BPF_MISSED);
	s->lost = tally(e, OW_BPF_LOST);
	s->copied = tally(e, OW_BPF_COPIED);
	s->frames = e->frames + tally(e, OW_BPF_SEEN);
	s->cold = tally(e, OW_BPF_COLD);
	for (i = 0; i < OW_NR_ENDS; i++)
		s->ends[i] = e->ends[i] + tally(e, OW_BPF_ENDS + i);
	s->table_bytes = e->tables.bytes;
	s->evictions = e->tables.evictions;
	s->program_ns = s->program_runs = 0;
	count_runs(r, e->skel->progs.on_clock);
	count_runs(r, e->skel->progs.on_fault);
	count_runs(r, e->skel->progs.on_switch);
	count_runs(r, e->skel->progs.on_enter);
}

static void engine_close(struct ow_recorder *r)
{
	struct engine *e = r->priv;

	engine_stop(r);
	free(e->links);
	ring_buffer__free(e->ring);
	if (e->ranges)
		munmap(e->ranges, OW_BPF_RANGES * sizeof(*e->ranges));
	ow_bpftables_deinit(&e->tables);
	ow_copywalk_deinit(&e->copies);
	ow_lives_close(&e->lives);
	free(e->changed);
	sampler_bpf__destroy(e->skel);
	if (e->stats_fd >= 0)
		close(e->stats_fd);
	free(e);
}

const struct ow_engine_ops ow_bpf_engine = {
	.open = engine_open,
	.add = engine_add,
	.start = engine_start,
	.wait = engine_wait,
	.stop = engine_stop,
	.collect = collect,
	.count = engine_count,
	.close = engine_close,
};
