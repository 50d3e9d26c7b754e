/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Another process' mm, without being one of its users: the last mmput() of a process
 * that was killed waits for its I/O, which a FUSE server need not answer.
 */
#ifndef KW_MM_H
#define KW_MM_H

#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

/*
 * The first of a process' threads that has not ended, of the process of which the task
 * is one: it has the process' memory.  NULL: there is none.  The caller is in an RCU read
 * section.
 */
static inline struct task_struct *kw_live_thread(struct task_struct *task)
{
	struct task_struct *t;

	if (READ_ONCE(task->mm))
		return task;
	for_each_thread(task, t) if (READ_ONCE(t->mm)) return t;
	return NULL;
}

/* A task's mm with a reference, which mmdrop() gives back; or NULL. */
static inline struct mm_struct *kw_mm_of(struct task_struct *task)
{
	struct mm_struct *mm;

	task_lock(task);
	mm = task->flags & PF_KTHREAD ? NULL : task->mm;
	if (mm)
		mmgrab(mm);
	task_unlock(task);
	return mm;
}

/* Return false if the mm's process is gone, or executes something else. */
static inline bool kw_mm_is_used(const struct mm_struct *mm)
{
	return atomic_read(&mm->mm_users) != 0;
}

/*
 * Try to lock what an mm maps for reading; *err is -ESRCH if its process is gone.  Its
 * mappings stay while the lock is held, even if the process goes meanwhile: exit_mmap()
 * takes the lock for writing before it frees them (Linux, mm/mmap.c).
 */
static inline bool kw_mm_try_lock(struct mm_struct *mm, int *err)
{
	if (!kw_mm_is_used(mm)) {
		*err = -ESRCH;
		return false;
	}
	if (!mmap_read_trylock(mm))
		return false;
	if (kw_mm_is_used(mm))
		return true;
	mmap_read_unlock(mm);
	*err = -ESRCH;
	return false;
}

#endif /* KW_MM_H */
