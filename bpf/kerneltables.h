/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of objects in BPF maps: which are there, and which have to make room.
 *
 * Several threads put tables there.  Whoever calls one of these functions has
 * the lock, unless it says otherwise; where the kernel takes its time the lock
 * is given up meanwhile.
 */
#ifndef OW_KERNELTABLES_H
#define OW_KERNELTABLES_H

#include <outwind/outwind.h>
#include <pthread.h>

#include "ow_sample.h"

#define OW_KERNELTABLES_WAITING 64

/* What has become of an object's table. */
enum ow_kerneltable_stage {
	OW_KERNELTABLE_UNSEEN,
	OW_KERNELTABLE_DUE, /* to be made, in the making, or on its way */
	OW_KERNELTABLE_THERE,
	OW_KERNELTABLE_LEAVING, /* makes room, */
	OW_KERNELTABLE_AWAY,    /* and has done so, or found none */
	OW_KERNELTABLE_LATE,    /* there was no time for it, yet */
	OW_KERNELTABLE_NONE,    /* the object can't have one */
};

struct ow_kerneltable {
	uint64_t since; /* CLOCK_MONOTONIC, ns: it was there first; or 0 */
	uint32_t size;  /* bytes that it takes, or for which it has room */
	uint8_t stage;  /* enum ow_kerneltable_stage */
	/* Another object's table was there, in whose place lies one that is nothing. */
	bool is_replaced;
};

/* One that was made, but not entered yet. */
struct ow_kerneltable_made {
	uint32_t number;
	int fd; /* of its map */
	struct ow_bpf_object head;
};

struct ow_kerneltables {
	int tables;                  /* fd of the map of maps */
	struct ow_bpf_object *heads; /* the map of objects, mapped */
	size_t limit;                /* of bytes */
	uint32_t now; /* the programs note it with what they read; atomic */
	bool stop;    /* nothing is put there any more; atomic */
	pthread_mutex_t lock;
	pthread_cond_t changed;     /* anything of what follows */
	struct ow_kerneltable *all; /* by number */
	struct ow_kerneltable_made made[OW_KERNELTABLES_WAITING];
	unsigned int nr_made, entering; /* entering: threads that do */
	size_t bytes;                   /* sum of sizes */
	uint64_t evictions;
};

/* Without the lock, as no one else is there. */
int ow_kerneltables_init(struct ow_kerneltables *k, int tables, int heads,
			 struct ow_error *err);
void ow_kerneltables_deinit(struct ow_kerneltables *k);

/* The object's table is coming; who asks for it is told to wait. */
void ow_kerneltables_expect(struct ow_kerneltables *k, uint32_t number);

/* It won't be there: stage is OW_KERNELTABLE_AWAY, or one that follows. */
void ow_kerneltables_give_up(struct ow_kerneltables *k, uint32_t number,
			     enum ow_kerneltable_stage stage);

/* So full that only what samples wait for is worth others' leaving. */
bool ow_kerneltables_is_crowded(const struct ow_kerneltables *k);

/*
 * Put a table that is expected in a map, to be entered.  Others that were not
 * read for the longest time make room for it.  False if that can't be done.
 */
bool ow_kerneltables_put(struct ow_kerneltables *k, uint32_t number,
			 const struct ow_bpf_object *head, const uint8_t *bytes,
			 size_t size);

/*
 * Enter all that were put.  Programs can read them at once; but the kernel
 * returns only when none runs any more that could not, which takes it a while.
 */
void ow_kerneltables_enter(struct ow_kerneltables *k);

/*
 * Forget the tables of objects that no program works with, none of which is due or
 * leaving: their numbers may be other objects' then.  Return false if there is no
 * memory: then none is forgotten.
 */
bool ow_kerneltables_forget(struct ow_kerneltables *k, const uint32_t *numbers,
			    uint32_t nr);

#endif /* OW_KERNELTABLES_H */
