// SPDX-License-Identifier: BSD-2-Clause
#include "perfmoves.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clocks.h"
#include "grow.h"
#include "imagekin.h"
#include "imageusers.h"
#include "leftout.h"
#include "monotonic.h"
#include "perfcounts.h"

#define KPROBES "/sys/bus/event_source/devices/kprobe/type"

/* A call is told of as it begins; what it moves, it moves as late as that. */
#define LATE_NS 100000000
#define AGAIN_NS \
	10000000 /* what was seen so lately needn't be looked for again */
#define KNOWN_NS 100000000 /* so long it stays known whose memory one shares */

#define WORK     65536 /* of 0.1 s: users and changes that are looked at, */
#define ASKING   32    /* and more for each that the kernel is asked about, */
#define AT_ALL   1600  /* and for all that it is asked about at once */
#define MOST_KIN 64    /* that are looked at for a call */
#define PIECE    ((uint64_t)1 << 19) /* bytes of a call that are as much work, */
#define LARGE    ((uint64_t)1 << 26) /* where these are less */

#define WORK_NS   100000000
#define MOST_WORK (16 * WORK) /* of a reading, that may be late */

/* Linux, arch/x86/include/uapi/asm/perf_regs.h. */
enum {
	BX = 1,
	CX,
	DX,
	SI,
	DI,
	R8 = 16,
	R10 = 18
};

/* Arguments of calls, in the kernel's order of registers, and so told apart. */
#define REGS64 (1 << DX | 1 << SI | 1 << DI | 1 << R8 | 1 << R10)
#define REGS32 (1 << BX | 1 << CX | 1 << DX | 1 << SI | 1 << DI | 1 << R8)

struct span {
	uint64_t start, end;
};

/* A call of mremap(2), that may yet fail. */
struct call {
	pid_t pid;
	uint64_t time;
	struct span from, to; /* what is moved, or grows, and over what */
};

/* A sample of ours. */
struct sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t rest[];
};

/* Of raw_syscalls:sys_enter (Linux, include/trace/events/syscalls.h). */
struct raw {
	uint32_t size;
	uint8_t common[8]; /* aligned as the size puts it */
	uint8_t id[8];
	uint8_t args[6][8];
};

static uint32_t kprobes(void)
{
	FILE *f = fopen(KPROBES, "re");
	uint32_t type = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%u", &type) != 1)
		type = 0;
	fclose(f);
	return type;
}

static void begin_attr(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX,
		.disabled = 1,
	};
	ow_clocks_times(attr);
}

/* A kernel without 32-bit programs has no calls of theirs. */
static bool open_kprobes(struct ow_perfrings *r, uint32_t type)
{
	struct perf_event_attr attr;

	begin_attr(&attr);
	attr.type = type;
	attr.sample_type |= PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = REGS64;
	attr.kprobe_func = (uintptr_t) "__x64_sys_mremap";
	if (!ow_perfrings_add_aside(r, &attr, NULL))
		return false;
	attr.sample_regs_user = REGS32;
	attr.kprobe_func = (uintptr_t) "__ia32_sys_mremap";
	ow_perfrings_add_aside(r, &attr, NULL);
	return true;
}

static bool open_tracepoint(struct ow_perfrings *r)
{
	struct perf_event_attr attr;

	begin_attr(&attr);
	attr.sample_type |= PERF_SAMPLE_RAW;
	return ow_perfcounts_find_event(&attr) &&
	       ow_perfrings_add_aside(r, &attr, OW_PERFCOUNTS_FILTER);
}

void ow_perfmoves_open(struct ow_perfmoves *m, struct ow_perfrings *r,
		       struct ow_images *im)
{
	uint32_t type = kprobes();

	if (m->is_open)
		return;
	m->is_open = type && open_kprobes(r, type);
	if (!m->is_open)
		m->is_open = m->by_tracepoint = open_tracepoint(r);
	im->has_kin = m->is_open;
	if (m->is_open)
		ow_images_note_code(im);
}

void ow_perfmoves_begin(struct ow_perfmoves *m)
{
	uint64_t now = ow_now_ns(), ns = now - m->begun;

	m->work = ns >= MOST_WORK / WORK * WORK_NS ?
			  MOST_WORK :
			  (unsigned int)(ns * WORK / WORK_NS);
	if (m->work < WORK)
		m->work = WORK;
	m->begun = now;
}

static struct span span(uint64_t start, uint64_t size)
{
	return (struct span){ start, size > UINT64_MAX - start ? UINT64_MAX :
								 start + size };
}

/*
 * What grows in its place is code only if it was before; and a size of 0 is that of
 * what is mapped once more.
 */
static void read_args(struct call *c, uint64_t from, uint64_t old_size,
		      uint64_t size, uint64_t flags, uint64_t to)
{
	c->from = span(from, old_size ? old_size : 1);
	if (flags & MREMAP_FIXED)
		c->to = span(to, size);
}

static bool read_raw(const struct sample *s, size_t size, struct call *c)
{
	const struct raw *raw = (const void *)s->rest;
	uint64_t args[6];

	if (size < sizeof(*raw) || raw->size + sizeof(raw->size) < sizeof(*raw))
		return false;
	memcpy(args, raw->args, sizeof(args));
	read_args(c, args[0], args[1], args[2], args[3], args[4]);
	return true;
}

static bool read_regs(const struct sample *s, size_t size, struct call *c)
{
	const uint64_t *v = s->rest + 1; /* behind the ABI */

	if (size < 6 * sizeof(*v) || s->rest[0] == PERF_SAMPLE_REGS_ABI_NONE)
		return false;
	if (size == 6 * sizeof(*v)) /* dx, si, di, r8, r10 */
		read_args(c, v[2], v[1], v[0], v[4], v[3]);
	else /* bx, cx, dx, si, di, r8 */
		read_args(c, (uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2],
			  v[3], (uint32_t)v[4]);
	return true;
}

static bool read_call(const struct ow_perfmoves *m,
		      const struct perf_event_header *h, struct call *c)
{
	const struct sample *s = (const void *)h;
	size_t size;

	if (h->type != PERF_RECORD_SAMPLE || h->size < sizeof(*s))
		return false;
	size = h->size - sizeof(*s);
	*c = (struct call){ .pid = (pid_t)s->pid, .time = s->time };
	/* Who is in no container of ours has no number here. */
	return c->pid > 0 && (m->by_tracepoint ? read_raw(s, size, c) :
						 read_regs(s, size, c));
}

static bool is_code(const struct ow_image *image, const struct span *span)
{
	const struct ow_bpf_range *r = ow_image_from(image, span->start);

	return r && r->start < span->end;
}

static bool has_work(struct ow_perfmoves *m, size_t nr)
{
	bool ret = m->work >= nr;

	m->work = ret ? m->work - (unsigned int)nr : 0;
	return ret;
}

/* Nothing has a name in an image that isn't known. */
static bool is_moved(const struct ow_image *image, const struct call *c)
{
	return !ow_image_is_full(image) &&
	       (is_code(image, &c->from) || is_code(image, &c->to));
}

static bool overlaps(const struct ow_bpf_range *r, const struct span *span)
{
	return r->start < span->end && span->start < r->end;
}

static bool is_mapped(const struct ow_bpf_range *r, const struct call *c)
{
	return overlaps(r, &c->from) || overlaps(r, &c->to);
}

/*
 * Does a call concern code that the user was told to have since it executed its
 * program?  No image is made for that.
 */
static bool concerns(const struct ow_image_user *user, const struct call *c)
{
	const struct ow_image_change *e = user->log + user->nr;

	while (e > user->log) {
		e--;
		if (e->event == OW_IMAGE_EXEC && e->time <= c->time)
			return false;
		if (e->event == OW_IMAGE_MAP && is_mapped(&e->range, c))
			return true;
		if (e->event == OW_IMAGE_LOOK && e->image &&
		    is_moved(e->image, c))
			return true;
	}
	return user->base && is_moved(user->base, c);
}

/* It isn't known whose code a call concerns. */
static void lose(struct ow_perfmoves *m, struct ow_images *im,
		 const struct call *c)
{
	m->nr_lost++;
	im->moves_lost_at = c->time;
}

/* Does a call concern code of a user?  Who was marked lately needn't be asked about. */
static bool is_hit(struct ow_perfmoves *m, const struct ow_image_user *user,
		   const struct call *c)
{
	if (c->time < ow_imagekin_moved(user) + AGAIN_NS)
		return false;
	return has_work(m, user->nr + 1) && concerns(user, c);
}

static struct ow_image_user *next_kin(const struct ow_image_user *user,
				      const struct ow_image_user *first)
{
	return user->next_kin == first ? NULL : user->next_kin;
}

/*
 * Mark the memory of a user, and of all that may share it, if code of one is concerned;
 * and if they are too many to look at.
 */
static void mark_all(struct ow_perfmoves *m, struct ow_images *im,
		     struct ow_image_user *user, const struct call *c)
{
	struct ow_image_user *kin;
	unsigned int nr = 0;

	for (kin = user; kin && nr < MOST_KIN; kin = next_kin(kin, user), nr++)
		if (is_hit(m, kin, c))
			break;
	if (kin)
		ow_imagekin_note_move(user, c->time);
	else if (m->work == 0)
		lose(m, im, c);
}

/* Users whose memory may be that of the process of a call. */
struct candidates {
	struct ow_image_user **users;
	struct ow_kinpair *pairs;
	size_t nr, room_users, room_pairs;
};

static bool add_candidate(struct candidates *all, struct ow_image_user *user,
			  pid_t pid)
{
	if (!ow_grow(&all->users, &all->room_users, all->nr + 1,
		     sizeof(struct ow_image_user *)) ||
	    !ow_grow(&all->pairs, &all->room_pairs, all->nr + 1,
		     sizeof(*all->pairs)))
		return false;
	all->users[all->nr] = user;
	all->pairs[all->nr++] = (struct ow_kinpair){ .a = user->pid, .b = pid };
	return true;
}

static bool is_of_family(const struct ow_image_user *user,
			 const struct ow_image_user *kin)
{
	return kin && kin->family && user->family == kin->family;
}

/*
 * List the processes that a call concerns if it is one of their memory.  Of those that
 * have ended nothing can be asked any more: return true if there are any.
 */
static bool list_candidates(struct ow_perfmoves *m, const struct ow_images *im,
			    const struct call *c,
			    const struct ow_image_user *user,
			    struct candidates *all)
{
	struct ow_image_user *other;
	bool have_ended = false;
	size_t i;

	for (i = 0; i < im->nr_user_buckets; i++)
		for (other = im->users[i]; other; other = other->next) {
			if (!has_work(m, other->nr + 1))
				return have_ended;
			if (other->pid == c->pid || is_of_family(other, user) ||
			    !concerns(other, c))
				continue;
			have_ended = have_ended || other->is_gone;
			if (!other->is_gone &&
			    (!has_work(m, ASKING) ||
			     !add_candidate(all, other, c->pid)))
				return have_ended;
		}
	return have_ended;
}

/*
 * Make a family of all that share the memory of the process of a call, of user too if
 * that isn't NULL; return one of them, or NULL.
 */
static struct ow_image_user *find_kin(struct ow_perfmoves *m,
				      struct ow_images *im,
				      const struct call *c,
				      struct ow_image_user *user)
{
	struct candidates all = { .nr = 0 };
	struct ow_image_user *kin = user;
	size_t i;

	/* A child that has ended, and was not asked about, may have shared it, too. */
	if (list_candidates(m, im, c, user, &all) && im->nr_forks &&
	    has_work(m, AT_ALL))
		ow_imagekin_settle(im);
	if (all.nr && !has_work(m, AT_ALL))
		all.nr = 0;
	ow_imagekin_ask(all.pairs, all.nr);
	for (i = 0; i < all.nr; i++) {
		if (all.pairs[i].answer != OW_KIN_YES)
			continue;
		if (kin && !is_of_family(all.users[i], kin))
			ow_imagekin_join(all.users[i], kin);
		kin = all.users[i];
	}
	free(all.users);
	free(all.pairs);
	return kin;
}

/* Children that aren't asked about yet may share any memory. */
static bool is_fresh(const struct ow_perfother *o, const struct ow_images *im,
		     const struct call *c)
{
	uint64_t ns = o->kin ? KNOWN_NS : AGAIN_NS;

	return o->pid == c->pid && c->time <= o->asked + ns &&
	       (o->begun == im->nr_begun || (o->kin && !im->nr_forks));
}

/* A user whose memory the process of a call shares, or has as user; or NULL. */
static struct ow_image_user *any_kin(struct ow_perfmoves *m,
				     struct ow_images *im, const struct call *c,
				     struct ow_image_user *user)
{
	struct ow_perfother *o =
		&m->others[(uint32_t)c->pid % OW_PERFMOVES_OTHERS];
	struct ow_image_user *kin;

	if (is_fresh(o, im, c))
		return user || !o->kin ? user : ow_images_user(im, o->kin);
	kin = find_kin(m, im, c, user);
	*o = (struct ow_perfother){
		.pid = c->pid,
		.kin = kin && (kin != user || kin->family) ? kin->pid : 0,
		.asked = c->time,
		.begun = im->nr_begun,
	};
	/* Then it isn't known. */
	if (m->work == 0)
		o->pid = 0;
	return kin;
}

static bool may_have_code(struct ow_perfmoves *m, struct ow_images *im,
			  const struct span *span)
{
	uint64_t size = span->end - span->start;

	return span->start < span->end &&
	       (!has_work(m, size < LARGE ? 1 + (size_t)(size / PIECE) : 1) ||
		ow_images_may_have_code(im, span->start, span->end));
}

static void take_call(struct ow_perfmoves *m, struct ow_images *im,
		      const struct call *c)
{
	struct ow_image_user *own, *user;

	if (!may_have_code(m, im, &c->from) && !may_have_code(m, im, &c->to))
		return;
	own = ow_imageusers_at(im, c->pid, c->time);
	user = any_kin(m, im, c, own);
	if (!user) {
		if (m->work == 0)
			lose(m, im, c);
		return;
	}
	if (!own)
		ow_imagekin_note_stranger(user);
	mark_all(m, im, user, c);
}

void ow_perfmoves_take(struct ow_perfmoves *m, struct ow_images *im,
		       const struct perf_event_header *h)
{
	const struct sample *s = (const void *)h;
	struct call c;

	if (h->type == PERF_RECORD_LOST && h->size >= sizeof(*s)) {
		m->nr_lost += s->time; /* id, number */
		im->moves_lost_at = ow_perfrings_time(h);
	} else if (read_call(m, h, &c)) {
		take_call(m, im, &c);
	}
}

void ow_perfmoves_note_untold(const struct ow_images *im,
			      struct ow_image_user *user)
{
	if (im->moves_lost_at + LATE_NS > user->checked &&
	    !ow_imagekin_moved(user))
		ow_imagekin_note_move(user, user->checked + 1);
}

void ow_perfmoves_end(const struct ow_perfmoves *m)
{
	char text[96];

	if (!m->nr_lost)
		return;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " calls, more than there was room for", m->nr_lost);
	ow_leave_out("code that mremap(2) moves", text);
}

bool ow_perfmoves_has_moved(const struct ow_images *im,
			    const struct ow_image_user *user)
{
	uint64_t last = ow_imagekin_moved(user), called;

	/*
	 * Who has moved code before may have done it where calls were lost, unless it has
	 * made none.
	 */
	if (last && im->moves_lost_at > last) {
		called = ow_imagekin_called(user);
		if (called > im->moves_lost_at)
			called = im->moves_lost_at;
		if (last < called)
			last = called;
	}
	return last && last + LATE_NS > user->checked;
}
