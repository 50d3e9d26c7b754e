// SPDX-License-Identifier: BSD-2-Clause
#include "bpftables.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"
#include "tablegen.h"
#include "tablemap.h"

int ow_bpftables_init(struct ow_bpftables *t, int tables, int heads,
		      struct ow_error *err)
{
	void *p;

	t->tables = tables;
	t->sizes = calloc(OW_BPF_OBJECTS, sizeof(*t->sizes));
	t->tried = calloc(OW_BPF_OBJECTS, sizeof(*t->tried));
	p = mmap(NULL, OW_BPF_OBJECTS * sizeof(*t->heads),
		 PROT_READ | PROT_WRITE, MAP_SHARED, heads, 0);
	t->heads = p == MAP_FAILED ? NULL : p;
	if (!t->sizes || !t->tried || !t->heads)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	return 0;
}

void ow_bpftables_deinit(struct ow_bpftables *t)
{
	while (t->nr_waiting)
		close(t->waiting_fds[--t->nr_waiting]);
	if (t->heads)
		munmap(t->heads, OW_BPF_OBJECTS * sizeof(*t->heads));
	free(t->sizes);
	free(t->tried);
}

void ow_bpftables_flush(struct ow_bpftables *t)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t i, nr = t->nr_waiting, done = nr;
	int one_by_one;

	if (nr == 0)
		return;
	one_by_one = bpf_map_update_batch(t->tables, t->waiting, t->waiting_fds,
					  &done, &opts);
	for (i = 0; i < nr; i++) {
		if (!one_by_one ||
		    !bpf_map_update_elem(t->tables, &t->waiting[i],
					 &t->waiting_fds[i], BPF_ANY))
			__atomic_store_n(&t->heads[t->waiting[i]].state,
					 OW_BPF_READY, __ATOMIC_RELEASE);
		close(t->waiting_fds[i]);
	}
	t->nr_waiting = 0;
}

static void evict(struct ow_bpftables *t, uint32_t number)
{
	t->heads[number].state = OW_BPF_EVICTED;
	bpf_map_delete_elem(t->tables, &number);
	t->bytes -= t->sizes[number];
	t->sizes[number] = 0;
	t->evictions++;
}

static void make_room(struct ow_bpftables *t, size_t size)
{
	uint32_t i, oldest;

	if (t->bytes + size > t->limit)
		ow_bpftables_flush(t);
	while (t->bytes && t->bytes + size > t->limit) {
		oldest = 0;
		for (i = 1; i < OW_BPF_OBJECTS; i++)
			if (t->sizes[i] &&
			    (!oldest ||
			     t->heads[i].used < t->heads[oldest].used))
				oldest = i;
		if (!oldest)
			return;
		evict(t, oldest);
	}
}

/* The bytes as a map, to be entered under the number. */
static bool put(struct ow_bpftables *t, uint32_t number, const uint8_t *bytes,
		size_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts,
		    .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	void *at;
	int fd;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "outwind_table",
			    sizeof(uint32_t), OW_BPF_CHUNK,
			    (uint32_t)(size / OW_BPF_CHUNK), &opts);
	if (fd < 0)
		return false;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		close(fd);
		return false;
	}
	memcpy(at, bytes, size);
	munmap(at, size);
	if (t->nr_waiting == OW_BPFTABLES_WAITING)
		ow_bpftables_flush(t);
	t->waiting[t->nr_waiting] = number;
	t->waiting_fds[t->nr_waiting++] = fd;
	return true;
}

static void make(struct ow_bpftables *t, uint32_t number,
		 const struct ow_object *obj, const struct ow_table *table)
{
	struct ow_bpf_object head;
	size_t size;
	_cleanup_(ow_freep)
		uint8_t *bytes = ow_tablemap_make(obj, table, &head, &size);

	if (!bytes || size > t->limit)
		return;
	make_room(t, size);
	if (!put(t, number, bytes, size))
		return;
	head.entry = obj->elf.entry;
	head.used = t->now;
	/* Who asks meanwhile is told to wait, and not that there is none. */
	head.state = OW_BPF_EVICTED;
	t->sizes[number] = (uint32_t)size;
	t->bytes += size;
	t->heads[number] = head;
}

void ow_bpftables_load(struct ow_bpftables *t, uint32_t number)
{
	struct ow_object *obj = ow_sampledobjects_get(t->objects, number);
	_cleanup_(ow_freep) uint8_t *bytes = NULL;
	struct ow_tablefile *file;
	struct ow_table_stats stats;
	struct ow_table table;
	size_t size;

	if (!obj || t->sizes[number] || obj->elf.arch != &ow_arch_x86_64)
		return;
	t->tried[number] = true;
	t->heads[number].entry = obj->elf.entry;
	if (ow_object_load_cfi(obj, NULL))
		return;
	/* Tables on disk are of .eh_frame only. */
	file = obj->cfi.debug_index.nr ? NULL : ow_tablefile_open(obj);
	if (file) {
		make(t, number, obj, &file->table);
		ow_tablefile_close(file);
		return;
	}
	bytes = ow_table_generate_all(obj, &size, &stats, NULL, NULL);
	if (bytes && !ow_table_open(&table, bytes, size))
		make(t, number, obj, &table);
}

bool ow_bpftables_prepare(struct ow_bpftables *t, uint32_t number)
{
	if (number == 0 || t->tried[number])
		return false;
	t->tried[number] = true;
	/* A full house: who is needed will be asked for. */
	if (t->bytes >= t->limit - t->limit / 4)
		t->heads[number].state = OW_BPF_EVICTED;
	else
		ow_bpftables_load(t, number);
	return true;
}
