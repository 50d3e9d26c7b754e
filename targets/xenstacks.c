// SPDX-License-Identifier: BSD-2-Clause
#include "xenstacks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "monotonic.h"

#define SECOND      1000000000ULL
#define FIRST_STACK ((size_t)16384)
#define MOST_STACK  ((size_t)1 << 20)

int ow_xenstacks_init(struct ow_xenstacks *s, struct ow_xen *x, size_t most,
		      bool no_pause)
{
	uint32_t i;

	*s = (struct ow_xenstacks){ .x = x,
				    .most = most ? most : MOST_STACK,
				    .no_pause = no_pause };
	s->list = calloc(x->nr_vcpus, sizeof(*s->list));
	s->left = calloc(x->nr_vcpus, sizeof(*s->left));
	if (!s->list || !s->left)
		return -ENOMEM;
	for (i = 0; i < x->nr_vcpus; i++)
		s->list[i].want = s->most < FIRST_STACK ? s->most : FIRST_STACK;
	return 0;
}

void ow_xenstacks_free(struct ow_xenstacks *s)
{
	uint32_t i;

	for (i = 0; s->list && i < s->x->nr_vcpus; i++)
		free(s->list[i].bytes);
	for (i = 0; s->left && i < s->x->nr_vcpus; i++)
		free(s->left[i].bytes);
	free(s->list);
	free(s->left);
	*s = (struct ow_xenstacks){ 0 };
}

void ow_xenstacks_want(struct ow_xenstacks *s, size_t i, uint64_t addr,
		       size_t size)
{
	struct ow_xenstack *k = &s->list[i];
	uint64_t beyond = addr + size - 1 - k->start;

	if (k->err || beyond < k->size)
		return;
	if (!k->is_cut || beyond >= s->most) {
		ow_xenlinks_learn(k, &s->left[i], s->x->vcpus[i].arch->word,
				  addr, size);
		return;
	}
	while (k->want <= beyond || k->want <= k->size)
		k->want *= 2;
	if (k->want > s->most)
		k->want = s->most;
}

bool ow_xenstacks_read_left(const struct ow_xenstacks *s, size_t i,
			    uint64_t addr, void *buf, size_t size)
{
	const struct ow_xenstack *left = &s->left[i];
	uint64_t off = addr - left->start;

	if (off >= left->size || size > left->size - off)
		return false;
	memcpy(buf, left->bytes + off, size);
	return true;
}

bool ow_xenstacks_wants(const struct ow_xenstacks *s, bool links_too)
{
	const struct ow_xenstack *k;
	uint32_t i;

	for (i = 0; i < s->x->nr_vcpus; i++) {
		k = &s->list[i];
		if (!k->err &&
		    (k->want > k->wanted ||
		     (links_too && k->nr_links > s->left[i].nr_links)))
			return true;
	}
	return false;
}

static bool reserve_one(struct ow_xenstack *k)
{
	if (k->room >= k->want)
		return true;
	free(k->bytes);
	k->room = k->size = 0;
	k->bytes = malloc(k->want);
	if (!k->bytes)
		return false;
	k->room = k->want;
	memset(k->bytes, 0xff, k->room);
	return true;
}

/* Room for what is wanted, all of it there already. */
static bool reserve(struct ow_xenstacks *s)
{
	uint32_t i;

	for (i = 0; i < s->x->nr_vcpus; i++)
		if (!reserve_one(&s->list[i]) || !reserve_one(&s->left[i]))
			return false;
	return true;
}

/*
 * A guest that balloons may put other memory behind a frame number of its own,
 * which no mapping shows: so these are not kept for long.
 */
static void drop_old(struct ow_xenstacks *s, uint64_t pages_before)
{
	const struct ow_xen_info *info = &s->x->info;
	uint64_t now = ow_now_ns();

	if (info->is_hvm &&
	    (info->pages != pages_before || now - s->mapped_at >= SECOND)) {
		ow_xenpages_drop(&s->x->pages);
		s->mapped_at = now;
	}
	ow_xenpages_begin(&s->x->pages);
}

/* Is there still a guest, and how do its vCPUs run?  Once a second. */
static int ask(struct ow_xenstacks *s, struct ow_error *err)
{
	uint64_t now = ow_now_ns();
	struct ow_xen_domain d;
	uint32_t i;
	int failed;

	if (s->asked_at && now - s->asked_at < SECOND)
		return 0;
	s->asked_at = now;
	if (ow_xen_domain(s->x, &d, err))
		return -(int)OW_CODE_ABSENT;
	if (d.ended)
		return ow_fail(err, OW_CODE_ABSENT, "domain %u: %s", d.id,
			       d.ending);
	for (i = 0; i < s->x->nr_vcpus; i++) {
		failed = ow_xen_ask_run(s->x, i, &s->list[i].run);
		if (failed == -ESRCH)
			return ow_xen_fail(s->x, failed, "ask how it runs",
					   err);
		if (failed)
			s->list[i].run = (struct ow_xen_run){ .online = true };
	}
	return 0;
}

static int take_registers(struct ow_xenstacks *s)
{
	struct ow_xen *x = s->x;
	struct ow_xenstack *k;
	uint32_t i;

	for (i = 0; i < x->nr_vcpus; i++) {
		k = &s->list[i];
		k->err = k->run.online ? ow_xen_ask_vcpu(x, i) : -ENODATA;
		if (k->err == -ESRCH)
			return k->err;
		k->size = 0;
		k->wanted = k->want;
		k->is_cut = false;
		k->is_done = k->err != 0;
		if (!k->err)
			k->start = x->vcpus[i].regs.val[x->vcpus[i].arch->sp];
	}
	return 0;
}

/* Copy on until a page is not at hand, which is asked for. */
static void copy_on(struct ow_xenpages *p, const struct ow_xen_vcpu *v,
		    struct ow_xenstack *k)
{
	size_t avail = 0;
	const uint8_t *from;
	uint64_t addr;

	while (k->size < k->wanted) {
		addr = (k->start + k->size) & ow_arch_mask(v->arch);
		from = addr < k->start ?
			       NULL :
			       ow_xenpages_find(p, &v->paging, addr, &avail);
		if (!from) {
			k->is_done = addr < k->start || !p->is_pending;
			return;
		}
		if (avail > k->wanted - k->size)
			avail = k->wanted - k->size;
		memcpy(k->bytes + k->size, from, avail);
		k->size += avail;
	}
	k->is_done = k->is_cut = true;
}

/*
 * Ask for what the rest of a stack needs, so that one call maps it all.  What
 * lies behind a hole is asked for in vain, and not copied.
 */
static void look_ahead(struct ow_xenpages *p, const struct ow_xen_vcpu *v,
		       const struct ow_xenstack *k)
{
	uint64_t addr = k->start + k->size;
	uint64_t end = k->start + k->wanted;
	size_t avail;

	for (; addr < end && p->nr_wanted < OW_XENPAGES_BATCH; addr += avail) {
		avail = OW_XEN_PAGE - addr % OW_XEN_PAGE;
		ow_xenpages_find(p, &v->paging, addr, &avail);
	}
}

/* Each round maps, by one call, what is lacking of all stacks. */
static void copy_list(struct ow_xenstacks *s, struct ow_xenstack *list)
{
	struct ow_xenpages *p = &s->x->pages;
	unsigned int rounds;
	uint32_t i;

	for (rounds = 0; rounds <= OW_XENPAGES_ROUNDS; rounds++) {
		for (i = 0; i < s->x->nr_vcpus; i++) {
			if (list[i].is_done)
				continue;
			copy_on(p, &s->x->vcpus[i], &list[i]);
			if (!list[i].is_done)
				look_ahead(p, &s->x->vcpus[i], &list[i]);
		}
		if (p->nr_wanted == 0 || ow_xenpages_map(p))
			return;
	}
}

static void copy_stacks(struct ow_xenstacks *s)
{
	struct ow_xenstack *left;
	bool any = false;
	uint32_t i;

	copy_list(s, s->list);
	for (i = 0; i < s->x->nr_vcpus; i++) {
		left = &s->left[i];
		left->size = 0;
		left->wanted = left->want;
		left->nr_links = s->list[i].nr_links;
		left->is_done = s->list[i].err ||
				!ow_xenlinks_follow(&s->list[i], left,
						    s->x->vcpus[i].arch->word);
		any = any || !left->is_done;
	}
	if (any)
		copy_list(s, s->left);
}

/* Which of them ran since the last time? */
static void compare_times(struct ow_xenstacks *s, bool is_end)
{
	struct ow_xenstack *k;
	uint32_t i;

	for (i = 0; i < s->x->nr_vcpus; i++) {
		k = &s->list[i];
		k->certain = false;
		if (ow_xen_ask_run(s->x, i, &k->run))
			k->run = (struct ow_xen_run){ .online = true };
		else if (is_end)
			k->certain = k->ran == k->run.cpu_time &&
				     !k->run.running;
		k->ran = k->run.cpu_time;
	}
}

static int take_running(struct ow_xenstacks *s)
{
	int failed;

	compare_times(s, false);
	failed = take_registers(s);
	if (failed)
		return failed;
	copy_stacks(s);
	compare_times(s, true);
	return 0;
}

/* *unpause_err is that of the unpausing, which comes whatever fails. */
static int take_paused(struct ow_xenstacks *s, int *unpause_err)
{
	uint64_t begin = ow_now_ns();
	int failed = ow_xen_ask_pause(s->x);
	uint32_t i;

	if (failed)
		return failed;
	failed = take_registers(s);
	if (!failed)
		copy_stacks(s);
	*unpause_err = ow_xen_ask_unpause(s->x);
	if (*unpause_err == -EINTR || *unpause_err == -EAGAIN)
		*unpause_err = ow_xen_ask_unpause(s->x);
	s->paused_ns = ow_now_ns() - begin;
	for (i = 0; i < s->x->nr_vcpus; i++)
		s->list[i].certain = true;
	return failed;
}

/* Fill the caches while the guest runs: then its first pause is short, too. */
static int take_blocked(struct ow_xenstacks *s, struct ow_error *err)
{
	int unpause_err = 0, failed;
	sigset_t all, before;

	if (s->no_pause) {
		failed = take_running(s);
		return failed ? ow_xen_fail(s->x, failed, "registers", err) : 0;
	}
	if (s->x->pages.nr_batches == 0 && !take_registers(s))
		copy_stacks(s);
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* a fault while it is blocked ends us */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = take_paused(s, &unpause_err);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (unpause_err && unpause_err != -ESRCH)
		return ow_xen_fail(s->x, unpause_err, "unpause", err);
	return failed ? ow_xen_fail(s->x, failed, "pause", err) : 0;
}

int ow_xenstacks_take(struct ow_xenstacks *s, struct ow_error *err)
{
	uint64_t calls, maps, pages = s->x->info.pages;
	uint32_t i;
	int failed = ask(s, err);

	s->paused_ns = s->calls = s->maps = 0;
	if (failed)
		return failed;
	if (!reserve(s))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	drop_old(s, pages);
	calls = s->x->seam->nr_calls;
	maps = s->x->seam->nr_maps;
	failed = take_blocked(s, err);
	s->calls = (unsigned int)(s->x->seam->nr_calls - calls);
	s->maps = (unsigned int)(s->x->seam->nr_maps - maps);
	s->bytes = 0;
	for (i = 0; i < s->x->nr_vcpus; i++)
		s->bytes += s->list[i].size + s->left[i].size;
	return failed;
}
