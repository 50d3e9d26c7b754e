// SPDX-License-Identifier: BSD-2-Clause
#include "bpftables.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cpulimit.h"
#include "error.h"
#include "fdeindex.h"
#include "grow.h"
#include "monotonic.h"
#include "tablegen.h"
#include "tablemap.h"
#include "threadstart.h"
#include "worktime.h"

#define MOST_MAKING 2         /* threads that make tables */
#define HASTE       10        /* of nice(2) */
#define TICK_NS     100000000 /* between looks at whether to wait any longer */
#define WAIT_NS     5000000000ULL /* that all tables are waited for */
#define MOST_NS     2000000000    /* of CPU time, for one of a user's file */

/* Objects that there was no time for are tried again so often, for so long. */
#define RETRY_EVERY_NS 1000000000
#define RETRY_NS       50000000

static void *work(void *arg);

/* Signals are for who waits for events, but for what a thread does itself. */
static void start(struct ow_bpftables *t)
{
	sigset_t all, before;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (t->nr_threads < OW_BPFTABLES_THREADS &&
	       !ow_thread_start(&t->threads[t->nr_threads], work, t))
		t->nr_threads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int ow_bpftables_init(struct ow_bpftables *t, int tables, int heads,
		      size_t limit, struct ow_error *err)
{
	int failed = ow_kerneltables_init(&t->in, tables, heads, err);

	if (failed)
		return failed;
	t->in.limit = limit;
	start(t);
	return t->nr_threads ? 0 :
			       ow_fail(err, OW_CODE_SYSTEM, "start a thread");
}

void ow_bpftables_stop(struct ow_bpftables *t)
{
	if (!t->nr_threads)
		return;
	pthread_mutex_lock(&t->in.lock);
	__atomic_store_n(&t->in.stop, true, __ATOMIC_RELAXED);
	__atomic_store_n(&t->must_halt, true, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&t->in.changed);
	pthread_mutex_unlock(&t->in.lock);
}

void ow_bpftables_deinit(struct ow_bpftables *t)
{
	ow_bpftables_stop(t);
	while (t->nr_threads)
		pthread_join(t->threads[--t->nr_threads], NULL);
	ow_kerneltables_deinit(&t->in);
	ow_tablesdue_deinit(&t->due);
	free(t->late);
}

/* An object's table, laid out as programs read it; NULL if it can't have one. */
static uint8_t *lay_out(const struct ow_object *obj, const bool *stop,
			struct ow_bpf_object *head, size_t *size_ret)
{
	_cleanup_(ow_freep) uint8_t *bytes = NULL;
	struct ow_tablefile *file;
	struct ow_table_stats stats;
	struct ow_table table;
	uint8_t *ret = NULL;
	size_t size;

	/* Tables on disk are of .eh_frame only. */
	file = obj->cfi.debug_index.nr ? NULL : ow_tablefile_open(obj);
	if (file) {
		ret = ow_tablemap_make(obj, &file->table, stop, head, size_ret);
		ow_tablefile_close(file);
		return ret;
	}
	bytes = ow_table_generate_all(obj, &size, &stats, stop, NULL);
	if (bytes && !ow_table_open(&table, bytes, size))
		ret = ow_tablemap_make(obj, &table, stop, head, size_ret);
	return ret;
}

/* The same before others may run, if that is permitted. */
static uint8_t *lay_out_hastily(const struct ow_object *obj, const bool *stop,
				struct ow_bpf_object *head, size_t *size_ret)
{
	int before = getpriority(PRIO_PROCESS, 0); /* this thread's */
	bool is_raised = !setpriority(PRIO_PROCESS, 0, before - HASTE);
	uint8_t *bytes = lay_out(obj, stop, head, size_ret);

	if (is_raised)
		setpriority(PRIO_PROCESS, 0, before);
	return bytes;
}

/* One of a file that anybody may have made is given up when it takes too long. */
static uint8_t *lay_out_in_time(const struct ow_bpftables *t,
				const struct ow_object *obj, bool is_hasty,
				struct ow_bpf_object *head, size_t *size_ret)
{
	struct ow_cpulimit limit;
	const bool *stop = &t->must_halt;
	uint8_t *bytes;

	if (obj->owner.share) {
		ow_cpulimit_begin(&limit, MOST_NS, 0, &t->must_halt);
		stop = limit.is_watched ? &limit.stop : stop;
	}
	bytes = (is_hasty ? lay_out_hastily : lay_out)(obj, stop, head,
						       size_ret);
	if (obj->owner.share)
		ow_cpulimit_end(&limit);
	return bytes;
}

/* Make one; false if there can't be one. */
static bool make(struct ow_bpftables *t, const struct ow_tabledue *due)
{
	bool is_hasty = t->is_hasty && !due->is_unhurried, done;
	const struct ow_worktime *mine = ow_worktime_mine();
	uint64_t begun = ow_worktime_ns(mine);
	struct ow_bpf_object head;
	uint8_t *bytes;
	size_t size;

	pthread_mutex_unlock(&t->in.lock);
	bytes = lay_out_in_time(t, due->object, is_hasty, &head, &size);
	head.entry = due->object->elf.entry;
	pthread_mutex_lock(&t->in.lock);
	ow_tablesdue_pay(&t->due, due->uid, ow_worktime_ns(mine) - begun,
			 ow_now_ns());
	done = bytes &&
	       ow_kerneltables_put(&t->in, due->number, &head, bytes, size);
	free(bytes);
	return done;
}

static void take(struct ow_bpftables *t, const struct ow_tabledue *due)
{
	t->making++;
	t->making_large += due->is_large;
	/* A full house: who is needed will be asked for. */
	if (!due->is_asked && ow_kerneltables_is_crowded(&t->in))
		ow_kerneltables_give_up(&t->in, due->number,
					OW_KERNELTABLE_AWAY);
	else if (!make(t, due))
		ow_kerneltables_give_up(&t->in, due->number,
					t->must_halt ? OW_KERNELTABLE_AWAY :
						       OW_KERNELTABLE_NONE);
	t->making--;
	t->making_large -= due->is_large;
	pthread_cond_broadcast(&t->in.changed);
}

/* With the lock, until a thread has done something, or a tick has passed. */
static void wait_tick(struct ow_bpftables *t)
{
	uint64_t ns = ow_now_ns() + TICK_NS;
	const struct timespec until = { (time_t)(ns / 1000000000),
					(long)(ns % 1000000000) };

	pthread_cond_clockwait(&t->in.changed, &t->in.lock, CLOCK_MONOTONIC,
			       &until);
}

/* What was put in maps is entered when there is nothing to make: many at once. */
static void *work(void *arg)
{
	struct ow_bpftables *t = arg;
	struct ow_tabledue due;

	pthread_mutex_lock(&t->in.lock);
	while (!t->in.stop) {
		if (t->making < MOST_MAKING &&
		    ow_tablesdue_take(&t->due, !t->making_large, ow_now_ns(),
				      &due))
			take(t, &due);
		else if (t->in.nr_made)
			ow_kerneltables_enter(&t->in);
		else if (t->due.nr)
			wait_tick(t);
		else
			pthread_cond_wait(&t->in.changed, &t->in.lock);
	}
	pthread_mutex_unlock(&t->in.lock);
	return NULL;
}

/* Have an object's table made for a user; its CFI is loaded. */
static void order(struct ow_bpftables *t, uint32_t number, uid_t uid,
		  bool is_asked)
{
	const struct ow_object *obj = ow_sampledobjects_get(t->objects, number);
	size_t nr = obj->cfi.hdr_nr + obj->cfi.eh_index.nr +
		    obj->cfi.debug_index.nr;
	struct ow_tabledue due = {
		.object = obj,
		.number = number,
		.uid = uid,
		.is_asked = is_asked,
		.is_large = nr >= OW_FDEINDEX_MANY,
	};

	ow_kerneltables_expect(&t->in, number);
	if (ow_tablesdue_add(&t->due, &due))
		pthread_cond_broadcast(&t->in.changed);
	else
		ow_kerneltables_give_up(&t->in, number, OW_KERNELTABLE_NONE);
}

/* The user needs the object's table: return what has become of it. */
static enum ow_kerneltable_stage need(struct ow_bpftables *t, uint32_t number,
				      uid_t uid)
{
	enum ow_kerneltable_stage stage;

	pthread_mutex_lock(&t->in.lock);
	stage = t->in.all[number].stage;
	if (stage == OW_KERNELTABLE_DUE)
		ow_tablesdue_need(&t->due, number, uid);
	pthread_mutex_unlock(&t->in.lock);
	return stage;
}

/*
 * Load an object's CFI for a user's table.  This thread does so, and not those that make
 * tables: others look at the object, too.  Return false if there is none, or as long as the
 * object waits for time to load all of it.
 */
static bool load(struct ow_bpftables *t, struct ow_object *obj, uid_t uid)
{
	const struct ow_worktime *mine = ow_worktime_mine();
	uint64_t begun = ow_worktime_ns(mine);
	bool is_known = !ow_object_load_cfi(obj, NULL) && !obj->cfi_is_late;
	uint64_t took = ow_worktime_ns(mine) - begun;

	pthread_mutex_lock(&t->in.lock);
	ow_tablesdue_pay(&t->due, uid, took, ow_now_ns());
	pthread_mutex_unlock(&t->in.lock);
	return is_known;
}

static bool must_wait(struct ow_bpftables *t, uid_t uid)
{
	bool ret;

	pthread_mutex_lock(&t->in.lock);
	ret = ow_tablesdue_must_wait(&t->due, uid, ow_now_ns());
	pthread_mutex_unlock(&t->in.lock);
	return ret;
}

/*
 * An object has no CFI: it can have no table, or there was no time for that, yet.  Without
 * memory to keep it in mind it is not tried again.
 */
static void give_up_unloaded(struct ow_bpftables *t, uint32_t number, uid_t uid)
{
	const struct ow_object *obj = ow_sampledobjects_get(t->objects, number);
	bool is_late = obj && obj->cfi_is_late &&
		       ow_grow(&t->late, &t->room_late, t->nr_late + 1,
			       sizeof(*t->late));

	if (is_late)
		t->late[t->nr_late++] = (struct ow_bpflate){ number, uid };
	ow_kerneltables_give_up(&t->in, number,
				is_late ? OW_KERNELTABLE_LATE :
					  OW_KERNELTABLE_NONE);
}

/* Do the programs walk stacks of its code? */
static bool is_walked(const struct ow_object *obj)
{
	return obj && (obj->elf.arch == &ow_arch_x86_64 ||
		       obj->elf.arch == &ow_arch_i386);
}

void ow_bpftables_prepare(struct ow_bpftables *t, uint32_t number, uid_t uid,
			  bool lazily)
{
	struct ow_object *obj = ow_sampledobjects_get(t->objects, number);
	bool is_known;

	if (number == 0 || need(t, number, uid) != OW_KERNELTABLE_UNSEEN)
		return;
	if (is_walked(obj))
		t->in.heads[number].entry = obj->elf.entry;
	lazily = lazily || must_wait(t, uid);
	is_known = is_walked(obj) && (lazily || load(t, obj, uid));
	pthread_mutex_lock(&t->in.lock);
	if (is_known && lazily)
		ow_kerneltables_give_up(&t->in, number, OW_KERNELTABLE_AWAY);
	else if (is_known)
		order(t, number, uid, false);
	else
		give_up_unloaded(t, number, uid);
	pthread_mutex_unlock(&t->in.lock);
}

/*
 * An object's table isn't there; the lock is given up while its CFI is loaded.  If the user's
 * tables have taken too much time, the next sample asks again.
 */
static void order_again(struct ow_bpftables *t, uint32_t number, uid_t uid)
{
	struct ow_object *obj = ow_sampledobjects_get(t->objects, number);
	bool is_known;

	if (ow_tablesdue_must_wait(&t->due, uid, ow_now_ns()))
		return;
	pthread_mutex_unlock(&t->in.lock);
	is_known = obj && load(t, obj, uid);
	pthread_mutex_lock(&t->in.lock);
	if (is_known)
		order(t, number, uid, true);
	else
		give_up_unloaded(t, number, uid);
}

/* Return false if the object is another one by now, or was tried. */
static bool is_late(struct ow_bpftables *t, uint32_t number)
{
	bool ret;

	pthread_mutex_lock(&t->in.lock);
	ret = t->in.all[number].stage == OW_KERNELTABLE_LATE;
	pthread_mutex_unlock(&t->in.lock);
	return ret && ow_sampledobjects_get(t->objects, number);
}

/* Return true if it is known what becomes of an object that there was no time for. */
static bool load_late(struct ow_bpftables *t, const struct ow_bpflate *one)
{
	struct ow_object *obj = ow_sampledobjects_get(t->objects, one->number);
	bool is_known = load(t, obj, one->uid);

	if (!is_known && obj->cfi_is_late)
		return false;
	pthread_mutex_lock(&t->in.lock);
	if (is_known)
		order(t, one->number, one->uid, false);
	else
		ow_kerneltables_give_up(&t->in, one->number,
					OW_KERNELTABLE_NONE);
	pthread_mutex_unlock(&t->in.lock);
	return true;
}

void ow_bpftables_retry(struct ow_bpftables *t)
{
	uint64_t now = ow_now_ns(), until = ow_cpu_ns() + RETRY_NS;
	size_t i, nr = 0;

	if (!t->nr_late || now - t->retried < RETRY_EVERY_NS)
		return;
	t->retried = now;
	for (i = 0; i < t->nr_late; i++) {
		const struct ow_bpflate *one = &t->late[i];

		if (is_late(t, one->number) &&
		    (ow_cpu_ns() > until || must_wait(t, one->uid) ||
		     !load_late(t, one)))
			t->late[nr++] = *one;
	}
	t->nr_late = nr;
}

void ow_bpftables_ask(struct ow_bpftables *t, uint32_t number, uid_t uid)
{
	pthread_mutex_lock(&t->in.lock);
	if (t->in.all[number].stage == OW_KERNELTABLE_DUE)
		ow_tablesdue_ask(&t->due, number, uid);
	else if (t->in.all[number].stage == OW_KERNELTABLE_AWAY)
		order_again(t, number, uid);
	pthread_mutex_unlock(&t->in.lock);
}

bool ow_bpftables_release(struct ow_bpftables *t, uint32_t number)
{
	bool is_due;

	pthread_mutex_lock(&t->in.lock);
	if (ow_tablesdue_drop(&t->due, number))
		ow_kerneltables_give_up(&t->in, number, OW_KERNELTABLE_AWAY);
	is_due = t->in.all[number].stage == OW_KERNELTABLE_DUE;
	pthread_mutex_unlock(&t->in.lock);
	return !is_due;
}

bool ow_bpftables_is_settled(struct ow_bpftables *t, uint32_t number,
			     uint64_t *since)
{
	const struct ow_kerneltable *table = &t->in.all[number];
	bool is_settled;

	pthread_mutex_lock(&t->in.lock);
	is_settled = table->stage != OW_KERNELTABLE_DUE;
	*since = table->since;
	pthread_mutex_unlock(&t->in.lock);
	return is_settled;
}

static bool is_at_work(const struct ow_bpftables *t)
{
	return !t->in.stop && (ow_tablesdue_is_any(&t->due, ow_now_ns()) ||
			       t->making || t->in.nr_made || t->in.entering);
}

void ow_bpftables_wait(struct ow_bpftables *t, const struct ow_images *im)
{
	uint64_t begun = ow_now_ns(), took = 0;

	pthread_mutex_lock(&t->in.lock);
	while (is_at_work(t) && !ow_images_must_end(im) &&
	       t->waited + took < WAIT_NS) {
		wait_tick(t);
		took = ow_now_ns() - begun;
	}
	t->waited += took;
	pthread_mutex_unlock(&t->in.lock);
}

/* Return true if another thread takes the table of one of the objects away now. */
static bool is_leaving(const struct ow_bpftables *t, const uint32_t *numbers,
		       uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (t->in.all[numbers[i]].stage == OW_KERNELTABLE_LEAVING)
			return true;
	return false;
}

bool ow_bpftables_forget(struct ow_bpftables *t, const uint32_t *numbers,
			 uint32_t nr)
{
	bool is_done;

	pthread_mutex_lock(&t->in.lock);
	while (is_leaving(t, numbers, nr))
		wait_tick(t);
	is_done = ow_kerneltables_forget(&t->in, numbers, nr);
	pthread_mutex_unlock(&t->in.lock);
	return is_done;
}

bool ow_bpftables_forget_all(struct ow_bpftables *t)
{
	uint32_t numbers[OW_BPF_OBJECTS - 1], i;

	for (i = 0; i < OW_BPF_OBJECTS - 1; i++)
		numbers[i] = i + 1;
	pthread_mutex_lock(&t->in.lock);
	ow_tablesdue_clear(&t->due);
	__atomic_store_n(&t->must_halt, true, __ATOMIC_RELAXED);
	while (is_at_work(t))
		wait_tick(t);
	__atomic_store_n(&t->must_halt, t->in.stop, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&t->in.lock);
	return ow_bpftables_forget(t, numbers, OW_BPF_OBJECTS - 1);
}

void ow_bpftables_hurry(struct ow_bpftables *t)
{
	pthread_mutex_lock(&t->in.lock);
	t->is_hasty = true;
	pthread_mutex_unlock(&t->in.lock);
}

void ow_bpftables_count(struct ow_bpftables *t, uint64_t *bytes,
			uint64_t *evictions)
{
	pthread_mutex_lock(&t->in.lock);
	*bytes = t->in.bytes;
	*evictions = t->in.evictions;
	pthread_mutex_unlock(&t->in.lock);
}
