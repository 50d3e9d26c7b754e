// SPDX-License-Identifier: BSD-2-Clause
#include "kerneltables.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"
#include "monotonic.h"

int ow_kerneltables_init(struct ow_kerneltables *k, int tables, int heads,
			 struct ow_error *err)
{
	void *p;

	k->tables = tables;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->changed, NULL);
	k->all = calloc(OW_BPF_OBJECTS, sizeof(*k->all));
	p = mmap(NULL, OW_BPF_OBJECTS * sizeof(*k->heads),
		 PROT_READ | PROT_WRITE, MAP_SHARED, heads, 0);
	k->heads = p == MAP_FAILED ? NULL : p;
	if (!k->all || !k->heads)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	return 0;
}

void ow_kerneltables_deinit(struct ow_kerneltables *k)
{
	while (k->nr_made)
		close(k->made[--k->nr_made].fd);
	if (k->heads)
		munmap(k->heads, OW_BPF_OBJECTS * sizeof(*k->heads));
	free(k->all);
}

static void set_state(struct ow_kerneltables *k, uint32_t number,
		      enum ow_bpf_state state)
{
	__atomic_store_n(&k->heads[number].state, state, __ATOMIC_RELEASE);
}

void ow_kerneltables_expect(struct ow_kerneltables *k, uint32_t number)
{
	k->all[number].stage = OW_KERNELTABLE_DUE;
	set_state(k, number, OW_BPF_EVICTED);
}

void ow_kerneltables_give_up(struct ow_kerneltables *k, uint32_t number,
			     enum ow_kerneltable_stage stage)
{
	k->bytes -= k->all[number].size;
	k->all[number].size = 0;
	k->all[number].stage = stage;
	set_state(k, number,
		  stage == OW_KERNELTABLE_NONE ? OW_BPF_NO_TABLE :
		  stage == OW_KERNELTABLE_LATE ? OW_BPF_LATE :
						 OW_BPF_EVICTED);
}

bool ow_kerneltables_is_crowded(const struct ow_kerneltables *k)
{
	return k->bytes >= k->limit - k->limit / 4;
}

/* All of them into the map of maps; bit i: not the one at i. */
static uint64_t update(const struct ow_kerneltables *k,
		       const struct ow_kerneltable_made *made, unsigned int nr)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t numbers[OW_KERNELTABLES_WAITING], i, done = nr;
	int fds[OW_KERNELTABLES_WAITING];
	uint64_t failed = 0;

	for (i = 0; i < nr; i++) {
		numbers[i] = made[i].number;
		fds[i] = made[i].fd;
	}
	if (!bpf_map_update_batch(k->tables, numbers, fds, &done, &opts))
		return 0;
	for (i = 0; i < nr; i++)
		if (bpf_map_update_elem(k->tables, &numbers[i], &fds[i],
					BPF_ANY))
			failed |= (uint64_t)1 << i;
	return failed;
}

/* A table is in the map of maps. */
static void note_there(struct ow_kerneltables *k, uint32_t number, uint64_t now)
{
	struct ow_kerneltable *t = &k->all[number];

	t->stage = OW_KERNELTABLE_THERE;
	t->is_replaced = false;
	set_state(k, number, OW_BPF_READY);
	if (!t->since)
		t->since = now;
}

void ow_kerneltables_enter(struct ow_kerneltables *k)
{
	struct ow_kerneltable_made made[OW_KERNELTABLES_WAITING];
	uint64_t failed, now = ow_now_ns();
	unsigned int nr = k->nr_made, i;

	memcpy(made, k->made, nr * sizeof(*made));
	k->nr_made = 0;
	k->entering++;
	for (i = 0; i < nr; i++) {
		k->heads[made[i].number] = made[i].head;
		if (!k->all[made[i].number].is_replaced)
			set_state(k, made[i].number, OW_BPF_READY);
	}
	pthread_mutex_unlock(&k->lock);
	failed = update(k, made, nr);
	for (i = 0; i < nr; i++)
		close(made[i].fd);
	pthread_mutex_lock(&k->lock);
	for (i = 0; i < nr; i++)
		if (failed >> i & 1)
			ow_kerneltables_give_up(k, made[i].number,
						OW_KERNELTABLE_AWAY);
		else
			note_there(k, made[i].number, now);
	k->entering--;
	pthread_cond_broadcast(&k->changed);
}

/* Let the one go that was not read for the longest time; false: none is there. */
static bool evict(struct ow_kerneltables *k)
{
	uint32_t i, oldest = 0;

	for (i = 1; i < OW_BPF_OBJECTS; i++)
		if (k->all[i].stage == OW_KERNELTABLE_THERE &&
		    (!oldest || k->heads[i].used < k->heads[oldest].used))
			oldest = i;
	if (!oldest)
		return false;
	ow_kerneltables_give_up(k, oldest, OW_KERNELTABLE_LEAVING);
	k->evictions++;
	pthread_mutex_unlock(&k->lock);
	bpf_map_delete_elem(k->tables, &oldest);
	pthread_mutex_lock(&k->lock);
	k->all[oldest].stage = OW_KERNELTABLE_AWAY;
	pthread_cond_broadcast(&k->changed);
	return true;
}

/* False if there never will be, or it is of no use any more. */
static bool take_room(struct ow_kerneltables *k, uint32_t number, size_t size)
{
	if (size > k->limit)
		return false;
	while (!k->stop && k->bytes + size > k->limit) {
		if (evict(k))
			continue;
		if (k->nr_made)
			ow_kerneltables_enter(k);
		else
			pthread_cond_wait(&k->changed, &k->lock);
	}
	if (k->stop)
		return false;
	k->all[number].size = (uint32_t)size;
	k->bytes += size;
	return true;
}

/* The bytes as a map, or -1. */
static int create(const uint8_t *bytes, size_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts,
		    .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	void *at;
	int fd;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "outwind_table",
			    sizeof(uint32_t), OW_BPF_CHUNK,
			    (uint32_t)(size / OW_BPF_CHUNK), &opts);
	if (fd < 0)
		return -1;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		close(fd);
		return -1;
	}
	memcpy(at, bytes, size);
	munmap(at, size);
	return fd;
}

bool ow_kerneltables_put(struct ow_kerneltables *k, uint32_t number,
			 const struct ow_bpf_object *head, const uint8_t *bytes,
			 size_t size)
{
	struct ow_kerneltable_made made = { number, -1, *head };

	if (!take_room(k, number, size))
		return false;
	pthread_mutex_unlock(&k->lock);
	made.fd = create(bytes, size);
	pthread_mutex_lock(&k->lock);
	if (made.fd < 0)
		return false;
	made.head.used = __atomic_load_n(&k->now, __ATOMIC_RELAXED);
	/* Who asks meanwhile is told to wait, and not that there is none. */
	made.head.state = OW_BPF_EVICTED;
	while (k->nr_made == OW_KERNELTABLES_WAITING)
		ow_kerneltables_enter(k);
	k->made[k->nr_made++] = made;
	pthread_cond_broadcast(&k->changed);
	return true;
}

/*
 * Maps of maps have no batch of deletions, and one by one each would be waited for:
 * so one that is next to nothing takes all their places.
 */
static bool replace_all(const struct ow_kerneltables *k, uint32_t *numbers,
			int *fds, uint32_t nr)
{
	static const uint8_t nothing[OW_BPF_CHUNK];
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	int fd = create(nothing, sizeof(nothing));
	uint32_t i, done = nr;
	bool failed;

	if (fd < 0)
		return false;
	for (i = 0; i < nr; i++)
		fds[i] = fd;
	failed = bpf_map_update_batch(k->tables, numbers, fds, &done, &opts);
	close(fd);
	return !failed;
}

bool ow_kerneltables_forget(struct ow_kerneltables *k, const uint32_t *numbers,
			    uint32_t nr)
{
	uint32_t *there = calloc((size_t)nr + 1, sizeof(*there));
	int *fds = calloc((size_t)nr + 1, sizeof(*fds));
	bool is_done = there && fds;
	struct ow_kerneltable *t;
	uint32_t i, nr_there = 0;

	for (i = 0; is_done && i < nr; i++) {
		set_state(k, numbers[i], OW_BPF_NO_TABLE);
		if (k->all[numbers[i]].stage == OW_KERNELTABLE_THERE)
			there[nr_there++] = numbers[i];
	}
	is_done = is_done &&
		  (nr_there == 0 || replace_all(k, there, fds, nr_there));
	free(there);
	free(fds);
	for (i = 0; is_done && i < nr; i++) {
		t = &k->all[numbers[i]];
		k->bytes -= t->size;
		*t = (struct ow_kerneltable){
			.is_replaced = t->is_replaced ||
				       t->stage == OW_KERNELTABLE_THERE,
		};
		k->heads[numbers[i]] = (struct ow_bpf_object){ 0 };
	}
	return is_done;
}
