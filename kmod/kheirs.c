// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kheirs.h"

#include <linux/hashtable.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kfollow.h"
#include "klater.h"
#include "kpoint.h"
#include "kspace.h"
#include "kuser.h"

/* A process that sessions follow, whatever it forks and executes. */
struct family {
	struct hlist_node node;
	struct pid *pid; /* a reference */
	struct list_head heirs;
	unsigned int nr[2]; /* of sessions, by whether they are privileged */
};

/* A session follows a family. */
struct heir {
	struct list_head of_family, of_session;
	struct kw_session *session; /* a reference */
	struct kw_share *share; /* of its events: of the process' user; or NULL */
	struct family *family;
};

/* What a session pays, though a family, and a share, may have several. */
#define HEIR_PRICE \
	(sizeof(struct heir) + sizeof(struct family) + sizeof(struct kw_share))

static DEFINE_HASHTABLE(families, 12);
static struct family everybody = { .heirs = LIST_HEAD_INIT(everybody.heirs) };
static DEFINE_SPINLOCK(heirs_lock);
static atomic_t nr_heirs = ATOMIC_INIT(0);
static bool probed;
static u32 features; /* what is told; a bit may go when probes are switched off */

/* --- who follows whom; under heirs_lock --- */

/* NULL: nobody follows it. */
static struct family *family_of(const struct pid *pid)
{
	struct family *f;

	hash_for_each_possible(families, f, node, (unsigned long)pid)
	{
		if (f->pid == pid)
			return f;
	}
	return NULL;
}

static struct heir *find(const struct kw_session *session,
			 const struct family *f)
{
	struct heir *h;

	list_for_each_entry(h, &f->heirs, of_family)
		if (h->session == session)
			return h;
	return NULL;
}

/* Memory that was paid for, of what may be added; NULL: there is none. */
static struct heir *heir_alloc(struct kw_session *session, gfp_t gfp)
{
	struct heir *h;

	if (kw_user_charge(session->user, HEIR_PRICE))
		return NULL;
	h = kzalloc(sizeof(*h), gfp | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!h) {
		kw_user_uncharge(session->user, HEIR_PRICE);
		return NULL;
	}
	kw_session_get(session);
	h->session = session;
	return h;
}

static void heir_free(struct heir *h)
{
	kw_user_uncharge(h->session->user, HEIR_PRICE);
	kw_session_put(h->session);
	kfree(h);
}

static struct family *family_alloc(struct pid *pid, gfp_t gfp)
{
	struct family *f =
		kzalloc(sizeof(*f), gfp | __GFP_ACCOUNT | __GFP_NOWARN);

	if (!f)
		return NULL;
	f->pid = get_pid(pid);
	INIT_LIST_HEAD(&f->heirs);
	return f;
}

static void family_free(struct family *f)
{
	if (!f)
		return;
	put_pid(f->pid);
	kfree(f);
}

/* 0, or why the session can't follow the family, which it doesn't yet. */
static int may_enter(const struct kw_session *session, const struct family *f)
{
	if (READ_ONCE(session->closed))
		return -EBADF;
	if (f->nr[session->privileged] >= OW_KUNWIND_MAX_SESSIONS)
		return -EUSERS;
	return 0;
}

/* The share of the heir's session for that user; -ENOMEM. */
static int find_share(struct heir *h, struct kw_user *user)
{
	struct kw_events *e = &h->session->events;
	struct kw_share *fresh = NULL;

	h->share = kw_events_join(e, user, KW_PART_HEIRS, &fresh);
	if (h->share)
		return 0;
	fresh = kw_share_alloc(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);
	h->share = kw_events_join(e, user, KW_PART_HEIRS, &fresh);
	kfree(fresh);
	return h->share ? 0 : -ENOMEM;
}

/* Count it for its process' user, who may have it, or else -ENOSPC or -ENOMEM. */
static int join(struct heir *h, struct kw_user *user)
{
	struct kw_session *session = h->session;
	int err = find_share(h, user);

	if (err)
		return err;
	if (kw_share_fits(&session->events, h->share, KW_PART_HEIRS,
			  session->nr_heirs + 1, kw_follow_max(session))) {
		session->nr_heirs++;
		return 0;
	}
	kw_events_leave(&session->events, h->share, KW_PART_HEIRS);
	h->share = NULL;
	return -ENOSPC;
}

static void leave(struct heir *h)
{
	if (!h->share)
		return;
	kw_events_leave(&h->session->events, h->share, KW_PART_HEIRS);
	h->share = NULL;
	h->session->nr_heirs--;
}

static void enter(struct heir *h, struct family *f)
{
	h->family = f;
	list_add(&h->of_family, &f->heirs);
	f->nr[h->session->privileged]++;
	list_add(&h->of_session, &h->session->heirs);
	atomic_inc(&nr_heirs);
}

/* To a list of what is to be freed; a family goes with its last heir. */
static void move_out(struct heir *h, struct list_head *to)
{
	struct family *f = h->family;

	leave(h);
	list_del(&h->of_session);
	f->nr[h->session->privileged]--;
	list_move(&h->of_family, to);
	atomic_dec(&nr_heirs);
	h->family = NULL;
	if (f == &everybody || !list_empty(&f->heirs))
		return;
	hash_del(&f->node);
	h->family = f;
}

/* The lock isn't held. */
static void free_all(struct list_head *list)
{
	struct heir *h, *next;

	list_for_each_entry_safe(h, next, list, of_family) {
		family_free(h->family);
		heir_free(h);
	}
}

/*
 * Have the session follow the family of pid, whose process is that user's, by what was
 * allocated; *f and *h are NULL where that is used.  1: it does already.
 */
static int add(struct pid *pid, struct kw_user *user, struct family **f,
	       struct heir **h)
{
	struct family *old = pid ? family_of(pid) : &everybody;
	struct kw_session *session = (*h)->session;
	int err;

	if (old && find(session, old))
		return 1;
	err = may_enter(session, old ? old : *f);
	if (!err)
		err = join(*h, user);
	if (err)
		return err;
	if (!old) {
		old = *f;
		hash_add(families, &old->node, (unsigned long)pid);
		*f = NULL;
	}
	enter(*h, old);
	*h = NULL;
	return 0;
}

/* The same for a user, or NULL where there was no memory for it. */
static int add_for(struct kw_session *session, struct pid *pid,
		   struct kw_user *user)
{
	struct family *f = NULL;
	struct heir *h;
	int err;

	h = heir_alloc(session, GFP_KERNEL);
	if (!h)
		return -ENOSPC;
	if (pid)
		f = family_alloc(pid, GFP_KERNEL);
	err = -ENOMEM;
	if (user && (f || !pid)) {
		spin_lock(&heirs_lock);
		err = add(pid, user, &f, &h);
		spin_unlock(&heirs_lock);
	}
	family_free(f);
	if (h)
		heir_free(h);
	return err;
}

int kw_heirs_add(struct kw_session *session, struct pid *pid,
		 struct task_struct *task)
{
	struct kw_user *user;
	int err;

	if (!(features & OW_KUNWIND_TRACKS_EXEC))
		return -EOPNOTSUPP;
	user = task ? kw_user_of_task(task, GFP_KERNEL) :
		      kw_user_share(session->user);
	err = add_for(session, pid, user);
	kw_user_put(user);
	return err;
}

void kw_heirs_remove(struct kw_session *session, struct pid *pid)
{
	struct family *f;
	struct heir *h;
	LIST_HEAD(gone);

	spin_lock(&heirs_lock);
	f = family_of(pid);
	h = f ? find(session, f) : NULL;
	if (h)
		move_out(h, &gone);
	spin_unlock(&heirs_lock);
	free_all(&gone);
}

void kw_heirs_drop_all(struct kw_session *session)
{
	struct heir *h, *next;
	LIST_HEAD(gone);

	spin_lock(&heirs_lock);
	list_for_each_entry_safe(h, next, &session->heirs, of_session)
		move_out(h, &gone);
	spin_unlock(&heirs_lock);
	free_all(&gone);
}

/* --- what the kernel tells --- */

#ifdef CONFIG_KPROBES

/* The task that maps and unmaps a page to see whether the probes fire, and which have. */
static const struct task_struct *tester;
static bool mmap_fired, unmap_fired;

static void note_fired(bool *fired)
{
	if (unlikely(READ_ONCE(tester) == current))
		*fired = true;
}

/*
 * New code is being mapped; or mprotect(2) has changed what is mapped, so that it is code,
 * or is no more.
 */
static int on_mmap(struct kprobe *probe, struct pt_regs *regs)
{
	const struct vm_area_struct *vma =
		(void *)regs_get_kernel_argument(regs, 0);

	note_fired(&mmap_fired);
	if (!(vma->vm_flags & VM_EXEC))
		kw_space_cut(vma->vm_mm, vma->vm_start, vma->vm_end);
	else if (vma->vm_mm == current->mm)
		kw_space_refresh_later();
	return 0;
}

/*
 * The arguments of unmap_vmas() from the third on are the first mapping, and where it begins
 * and ends: so it is in all of these kernels.
 */
typedef void unmap_6_1(struct mmu_gather *tlb, struct maple_tree *mt,
		       struct vm_area_struct *vma, unsigned long start,
		       unsigned long end);
typedef void unmap_6_3(struct mmu_gather *tlb, struct maple_tree *mt,
		       struct vm_area_struct *vma, unsigned long start,
		       unsigned long end, bool mm_wr_locked);
typedef void unmap_6_5(struct mmu_gather *tlb, struct maple_tree *mt,
		       struct vm_area_struct *vma, unsigned long start,
		       unsigned long end, unsigned long tree_end,
		       bool mm_wr_locked);
typedef void unmap_6_6(struct mmu_gather *tlb, struct ma_state *mas,
		       struct vm_area_struct *vma, unsigned long start,
		       unsigned long end, unsigned long tree_end,
		       bool mm_wr_locked);

#define IS_UNMAP(type) \
	__builtin_types_compatible_p(typeof(unmap_vmas), unmap_##type)
static_assert(IS_UNMAP(6_1) || IS_UNMAP(6_3) || IS_UNMAP(6_5) || IS_UNMAP(6_6),
	      "the arguments of unmap_vmas() are others in this kernel");

static int on_unmap(struct kprobe *probe, struct pt_regs *regs)
{
	const struct vm_area_struct *vma =
		(void *)regs_get_kernel_argument(regs, 2);

	note_fired(&unmap_fired);
	kw_space_cut(vma->vm_mm, regs_get_kernel_argument(regs, 3),
		     regs_get_kernel_argument(regs, 4));
	return 0;
}

static int on_end(struct kprobe *probe, struct pt_regs *regs)
{
	kw_space_end((void *)regs_get_kernel_argument(regs, 0));
	return 0;
}

/* It does nothing but that its probe fires, unless probes are switched off. */
static noinline __noclone void tick(bool *fired)
{
	barrier_data(fired);
}

static int on_tick(struct kprobe *probe, struct pt_regs *regs)
{
	*(bool *)regs_get_kernel_argument(regs, 0) = true;
	return 0;
}

static bool ticks(void)
{
	bool fired = false;

	tick(&fired);
	return READ_ONCE(fired);
}

static struct kprobe mmap_probe = {
	.symbol_name = "perf_event_mmap",
	.pre_handler = on_mmap,
};

static struct kprobe unmap_probe = {
	.symbol_name = "unmap_vmas",
	.pre_handler = on_unmap,
};

static struct kprobe end_probe = {
	.symbol_name = "exit_mmap",
	.pre_handler = on_end,
};

static struct kprobe tick_probe = {
	.addr = (kprobe_opcode_t *)tick,
	.pre_handler = on_tick,
};

static struct kprobe *probes[] = { &mmap_probe, &unmap_probe, &end_probe,
				   &tick_probe };

/*
 * A compiler that sees all of the kernel may have put a function where it is called, and
 * left the symbol.  Without a process' memory there is nothing to be seen.
 */
static bool probes_fire(void)
{
	unsigned long at;

	if (!current->mm)
		return true;
	WRITE_ONCE(tester, current);
	at = vm_mmap(NULL, 0, PAGE_SIZE, PROT_NONE, MAP_PRIVATE, 0);
	if (!IS_ERR_VALUE(at))
		vm_munmap(at, PAGE_SIZE);
	WRITE_ONCE(tester, NULL);
	return IS_ERR_VALUE(at) || (mmap_fired && unmap_fired && ticks());
}

static bool probe_mm(void)
{
	if (register_kprobes(probes, ARRAY_SIZE(probes)))
		return false;
	if (probes_fire())
		return true;
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	pr_warn("kunwind: kprobes of this kernel do not fire\n");
	return false;
}

static void unprobe_mm(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
}

static void disarm_probes(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		disable_kprobe(probes[i]);
}

static bool arm_probes(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (enable_kprobe(probes[i]))
			return false;
	return true;
}

#else

static bool probe_mm(void)
{
	return false;
}

static void unprobe_mm(void)
{
}

static void disarm_probes(void)
{
}

static bool arm_probes(void)
{
	return false;
}

static bool ticks(void)
{
	return false;
}

#endif

/* --- whether it tells, once somebody is followed --- */

#define LOOK_EVERY HZ

static DEFINE_MUTEX(begin_mutex);
static bool begun; /* written under begin_mutex */

/* All of a module's probes are switched off at once, without a word to it. */
static void note_blind(void)
{
	if (!(READ_ONCE(features) & OW_KUNWIND_TRACKS_MMAP))
		return;
	WRITE_ONCE(features, features & ~OW_KUNWIND_TRACKS_MMAP);
	pr_warn("kunwind: kprobes have been switched off: new mappings are seen late, and what is unmapped is believed until then; load kunwind anew when they are on\n");
}

/* See seldom whether the probes are still on; any process context. */
static void look(void)
{
	static unsigned long next;

	if (!smp_load_acquire(&begun) ||
	    !(READ_ONCE(features) & OW_KUNWIND_TRACKS_MMAP) ||
	    time_before(jiffies, READ_ONCE(next)))
		return;
	WRITE_ONCE(next, jiffies + LOOK_EVERY);
	if (!ticks())
		note_blind();
}

/* The caller has the mutex. */
static void begin(void)
{
	if (begun)
		return;
	if (probed && !arm_probes())
		note_blind();
	smp_store_release(&begun, true);
}

void kw_heirs_begin(void)
{
	if (!smp_load_acquire(&begun)) {
		mutex_lock(&begin_mutex);
		begin();
		mutex_unlock(&begin_mutex);
	}
	look();
}

#ifdef CONFIG_TRACEPOINTS

/* The sessions of a kind that follow a family, with references. */
static unsigned int sessions_of(const struct pid *pid, bool privileged,
				struct kw_session **ret)
{
	const struct family *f;
	unsigned int nr = 0;
	struct heir *h;

	spin_lock(&heirs_lock);
	f = pid ? family_of(pid) : &everybody;
	if (f)
		list_for_each_entry(h, &f->heirs, of_family)
			if (h->session->privileged == privileged) {
				kw_session_get(h->session);
				ret[nr++] = h->session;
			}
	spin_unlock(&heirs_lock);
	return nr;
}

static void follow_for(const struct pid *pid, bool privileged)
{
	struct kw_session *sessions[OW_KUNWIND_MAX_SESSIONS];
	unsigned int nr = sessions_of(pid, privileged, sessions), i;

	for (i = 0; i < nr; i++) {
		kw_follow_current(sessions[i]);
		kw_session_put(sessions[i]);
	}
}

/* The heir's process, current, is another user's by now, who may have no room for it. */
static void renew(struct heir *h, struct list_head *gone)
{
	struct kw_user *user = kw_user_of_task(current, GFP_NOWAIT);

	if (!user)
		return;
	leave(h);
	if (join(h, user)) {
		kw_events_miss(&h->session->events, kw_user_uid(user));
		move_out(h, gone);
	}
	kw_user_put(user);
}

static void renew_current(void)
{
	struct heir *h, *next;
	struct family *f;
	LIST_HEAD(gone);

	spin_lock(&heirs_lock);
	f = family_of(task_tgid(current));
	if (f)
		list_for_each_entry_safe(h, next, &f->heirs, of_family)
			if (!kw_user_is_of(h->share->user, current))
				renew(h, &gone);
	spin_unlock(&heirs_lock);
	free_all(&gone);
}

/* In current's own context: it is a new process, or executes something new. */
static void follow_now(void *arg)
{
	if (!current->mm)
		return;
	renew_current();
	follow_for(task_tgid(current), false);
	follow_for(task_tgid(current), true);
	follow_for(NULL, true);
}

/* One session follows the user's child, too; *f as in add(). */
static int inherit_one(struct kw_session *session, struct pid *child,
		       struct kw_user *user, struct family **f)
{
	struct heir *fresh = heir_alloc(session, GFP_NOWAIT);
	int err;

	if (!fresh)
		return -ENOSPC;
	err = add(child, user, f, &fresh);
	if (fresh)
		heir_free(fresh);
	return err;
}

/* The sessions of a family follow the child; under heirs_lock. */
static void inherit_all(struct family *parents, struct task_struct *child)
{
	struct family *fresh = family_alloc(task_tgid(child), GFP_NOWAIT);
	struct kw_user *user = kw_user_of_task(child, GFP_NOWAIT);
	bool have = fresh && user;
	struct heir *h;

	list_for_each_entry(h, &parents->heirs, of_family)
		if (!have ||
		    inherit_one(h->session, task_tgid(child), user, &fresh) < 0)
			kw_events_miss(&h->session->events,
				       kw_user_uid_of_task(child));
	kw_user_put(user);
	family_free(fresh);
}

/*
 * The parent's sessions follow the child, and are told where they can't; false:
 * there are none.  There are few, so that a fork is not held up.
 */
static bool inherit(struct pid *parent, struct task_struct *child)
{
	struct family *f;
	bool any;

	spin_lock(&heirs_lock);
	f = family_of(parent);
	if (f)
		inherit_all(f, child);
	any = f || !list_empty(&everybody.heirs);
	spin_unlock(&heirs_lock);
	return any;
}

static bool is_followed(const struct pid *pid)
{
	bool ret;

	spin_lock(&heirs_lock);
	ret = family_of(pid) || !list_empty(&everybody.heirs);
	spin_unlock(&heirs_lock);
	return ret;
}

/*
 * A child that shares its parent's memory until it executes something is followed
 * with its parent: the memory would be known by the child's number, and be known by
 * it still when the child is gone.
 */
static void on_fork(void *data, struct task_struct *parent,
		    struct task_struct *child)
{
	if (atomic_read(&nr_heirs) == 0 || parent->tgid == child->tgid ||
	    child->flags & PF_KTHREAD)
		return;
	if (inherit(task_tgid(parent), child) && child->mm != parent->mm)
		kw_later(child, follow_now, NULL);
}

/*
 * A process has ended, or is another program's.  A compiler that sees all of the kernel
 * may have put exit_mmap() where it is called.
 */
static void end_gone(void)
{
	look();
	if (IS_ENABLED(CONFIG_LTO_CLANG) ||
	    !(READ_ONCE(features) & OW_KUNWIND_TRACKS_MMAP))
		kw_space_end_later();
}

static void on_exec(void *data, struct task_struct *p, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	end_gone();
	if (atomic_read(&nr_heirs) && is_followed(task_tgid(p)))
		kw_later(p, follow_now, NULL);
}

/* The last thread of a process: nobody needs to remember it. */
static void forget(struct task_struct *p)
{
	struct heir *h, *next;
	struct family *f;
	LIST_HEAD(gone);

	if (atomic_read(&nr_heirs) == 0 || atomic_read(&p->signal->live))
		return;
	spin_lock(&heirs_lock);
	f = family_of(task_tgid(p));
	if (f)
		list_for_each_entry_safe(h, next, &f->heirs, of_family)
			move_out(h, &gone);
	spin_unlock(&heirs_lock);
	free_all(&gone);
}

static void on_exit(void *data, struct task_struct *p)
{
	end_gone();
	forget(p);
}

static struct kw_point points[] = {
	{ "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec },
	{ "sched_process_exit", on_exit },
};

static bool join_points(void)
{
	return kw_points_join(points, ARRAY_SIZE(points)) == 0;
}

static void leave_points(void)
{
	kw_points_leave(points, ARRAY_SIZE(points));
}

#else

static void leave_points(void)
{
}

static bool join_points(void)
{
	return false;
}

#endif

int kw_heirs_init(void)
{
	if (join_points())
		features |= OW_KUNWIND_TRACKS_EXEC;
	probed = probe_mm();
	if (probed) {
		features |= OW_KUNWIND_TRACKS_MMAP;
		disarm_probes();
	}
	return 0;
}

void kw_heirs_exit(void)
{
	/* These look whether the probes fire. */
	if (features & OW_KUNWIND_TRACKS_EXEC)
		leave_points();
	if (probed)
		unprobe_mm();
}

void kw_heirs_catch_up(void)
{
	look();
	if (!(READ_ONCE(features) & OW_KUNWIND_TRACKS_MMAP))
		kw_space_refresh_current();
}

u32 kw_heirs_features(void)
{
	return READ_ONCE(features);
}
