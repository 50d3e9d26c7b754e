// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kcontext.h"

#include <linux/cpuhotplug.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "err.h"

DEFINE_PER_CPU(struct kw_context *[KW_LEVELS], kw_contexts);

static noinline int read_faulting(void *to, const void __user *from,
				  size_t size)
{
	return copy_from_user(to, from, size) ? -OW_EFAULT : 0;
}

static __always_inline int read_user(const struct kw_context *c, void *to,
				     u64 addr, size_t size)
{
	const void __user *from = (const void __user *)(unsigned long)addr;

	if (addr != (unsigned long)addr)
		return -OW_EFAULT;
	if (c->faulting)
		return read_faulting(to, from, size);
	return copy_from_user_nofault(to, from, size) ? -OW_EFAULT : 0;
}

/*
 * Have the window hold [start, end), and the walk read from there; or nothing, where
 * that can't be read.  What it is to be is written first, so that nothing has to be kept
 * on the stack meanwhile.
 */
static __always_inline void fill_window(struct kw_context *c, u64 start,
					u64 end)
{
	struct ow_window *stack = &c->walk.step.stack;

	stack->start = start;
	stack->size = end - start;
	stack->bytes = c->window;
	if (read_user(c, c->window, start, end - start))
		stack->size = 0;
}

/*
 * The same of what lies around addr on its page: the stack goes on upwards, but a
 * frame's registers are read from the highest down.  Return false if that isn't all that
 * is asked for.
 */
static bool move_window(struct kw_context *c, u64 addr, size_t size)
{
	u64 page = addr & PAGE_MASK, end = page + PAGE_SIZE;
	u64 start = addr - page > KW_WINDOW_BELOW ? addr - KW_WINDOW_BELOW :
						    page;

	if (end - start > KW_WINDOW)
		end = start + KW_WINDOW;
	if (addr + size > end || addr + size < addr)
		return false;
	c->moves++;
	fill_window(c, start, end);
	return true;
}

static bool on_stack(const struct kw_context *c, u64 addr)
{
	u64 sp = c->walk.regs.val[c->target.arch->sp];

	return addr + KW_WINDOW_BELOW >= sp &&
	       addr - sp + KW_WINDOW_BELOW <= KW_STACK;
}

/*
 * A read begins.  With the first one for a frame, the window may be moved again, and
 * pages may be there.  Return false if the page is known to be absent.  It is written
 * where nothing has to be kept on the stack meanwhile, too.
 */
static bool begin_read(struct kw_context *c, u64 addr, size_t size)
{
	if (c->read_for != c->walk.nr) {
		c->read_for = c->walk.nr;
		c->moves = 0;
		c->absent = KW_NO_PAGE;
	}
	c->page = addr & PAGE_MASK;
	if (c->page == c->absent)
		return false;
	if (addr - c->page + size > PAGE_SIZE)
		c->page = KW_NO_PAGE;
	return true;
}

static int fail_read(struct kw_context *c)
{
	c->absent = c->page;
	return -OW_EFAULT;
}

/* A row may ask for many words, whose pages it chooses: each costs little, or a fault. */
static int target_read(const struct ow_memory *mem, uint64_t addr, void *buf,
		       size_t size)
{
	struct kw_context *c = container_of(mem, struct kw_context, target.mem);

	if (!begin_read(c, addr, size))
		return -OW_EFAULT;
	/* Code and what else is not on the stack is read as it is. */
	if (c->moves == KW_MOVES || !on_stack(c, addr) ||
	    !move_window(c, addr, size))
		return read_user(c, buf, addr, size) ? fail_read(c) : 0;
	if (!c->walk.step.stack.size)
		return fail_read(c);
	memcpy(buf, c->window + (addr - c->walk.step.stack.start), size);
	return 0;
}

static void context_init(struct kw_context *c)
{
	c->target.mem.read = target_read;
	c->cache.entries = c->rows;
	c->cache.mask = KW_CACHE_MASK;
}

struct kw_context *kw_context_create(void)
{
	struct kw_context *c = kvzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	context_init(c);
	c->faulting = true;
	return c;
}

void kw_context_destroy(struct kw_context *c)
{
	kvfree(c);
}

/* --- those of each CPU --- */

static DEFINE_MUTEX(ready_mutex);
static bool ready;              /* written under ready_mutex */
static enum cpuhp_state on_cpu; /* if ready */
static atomic64_t bytes = ATOMIC64_INIT(0);

/* A CPU is about to come, or is there. */
static int prepare(unsigned int cpu)
{
	struct kw_context *c;
	int i;

	for (i = 0; i < KW_LEVELS; i++) {
		if (per_cpu(kw_contexts, cpu)[i])
			continue;
		c = kvzalloc_node(sizeof(*c), GFP_KERNEL, cpu_to_node(cpu));
		if (!c)
			return -ENOMEM;
		context_init(c);
		atomic64_add(sizeof(*c), &bytes);
		smp_store_release(&per_cpu(kw_contexts, cpu)[i], c);
	}
	return 0;
}

int kw_contexts_use(void)
{
	int state = 0;

	if (kw_contexts_ready())
		return 0;
	mutex_lock(&ready_mutex);
	if (!ready)
		state = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN,
					  "kunwind:prepare", prepare, NULL);
	if (state > 0) {
		on_cpu = state;
		smp_store_release(&ready, true);
	}
	mutex_unlock(&ready_mutex);
	return min(state, 0);
}

bool kw_contexts_ready(void)
{
	return smp_load_acquire(&ready);
}

u64 kw_contexts_bytes(void)
{
	return atomic64_read(&bytes);
}

void kw_contexts_exit(void)
{
	int cpu, i;

	if (ready)
		cpuhp_remove_state_nocalls(on_cpu);
	for_each_possible_cpu(cpu) for (i = 0; i < KW_LEVELS; i++)
		kvfree(per_cpu(kw_contexts, cpu)[i]);
}
