/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of the objects that sampled processes have mapped, from 1: what each stands for,
 * and whether anything names it.  A number is another object's only after it was freed.
 */
#ifndef OW_OBJECTNUMBERS_H
#define OW_OBJECTNUMBERS_H

#include <outwind/record.h>

#include "capture.h"

#define OW_OBJECT_SHIFT 40 /* of a number, to where its object is */

/* What is known of a number beside its object. */
struct ow_object_kin {
	uint32_t next; /* number of another object of a path, or free; 0: none */
	bool is_kin;   /* in the list of its path */
	bool is_hashed, is_named, is_free;
	uint64_t hash;
	uint64_t size; /* of its telling bytes; 0: it is like no other one */
	uint32_t nr_lists; /* of mappings that processes have, that name it */
	uint64_t idle_since; /* CLOCK_MONOTONIC, ns: there is none, or it is closed */
	uid_t user;          /* whose process mapped it first */
};

struct ow_objectnumbers {
	/* Object n is module n - 1 of it, at addresses from n << OW_OBJECT_SHIFT on. */
	struct ow_capture *all;
	struct ow_object_kin *kin; /* of object n: n - 1 */
	uint32_t *kin_heads;       /* OW_BPF_OBJECTS lists, by path */
	uint32_t free;             /* a number without an object, or 0; more */
	uint32_t nr_free;          /* follow in kin, so many in all */
	uint64_t nameless; /* bytes of open files that have neither name nor user */
};

int ow_objectnumbers_init(struct ow_objectnumbers *n, struct ow_error *err);
void ow_objectnumbers_deinit(struct ow_objectnumbers *n);

struct ow_capture_module *
ow_objectnumbers_module(const struct ow_objectnumbers *n, uint32_t number);

/*
 * The first number of a list (ow_object_kin.next) in which all are whose objects have that
 * path, and maybe others; 0: there is none.
 */
uint32_t ow_objectnumbers_like(const struct ow_objectnumbers *n,
			       const char *path);

/* Return true if the user's processes may have another object. */
bool ow_objectnumbers_has_room(const struct ow_objectnumbers *n, uid_t user);

/* Give a module a number, where there is room; all that it points to is n's then. */
uint32_t ow_objectnumbers_keep(struct ow_objectnumbers *n,
			       struct ow_capture_module *m,
			       const struct ow_object_kin *kin);

/* Set the object of a number, which could not be opened before. */
void ow_objectnumbers_set_object(struct ow_objectnumbers *n, uint32_t number,
				 struct ow_object *obj);

/*
 * One more list of mappings that processes have names the object, or one less.
 * An object has no list at first.
 */
void ow_objectnumbers_hold(struct ow_objectnumbers *n, uint32_t number);
void ow_objectnumbers_leave(struct ow_objectnumbers *n, uint32_t number);

/* How many numbers are in use. */
uint32_t ow_objectnumbers_nr(const struct ow_objectnumbers *n);

/* Return true if so many numbers are in use that there soon may be none. */
bool ow_objectnumbers_is_crowded(const struct ow_objectnumbers *n);

/* Return true if it is time to close the object, as ow_sampledobjects_close_idle() has it. */
bool ow_objectnumbers_is_over(const struct ow_objectnumbers *n, uint32_t number,
			      uint64_t since, const bool *named);

/* Close the object of a number, which stays in use. */
void ow_objectnumbers_close(struct ow_objectnumbers *n, uint32_t number);

/* Return true if the object was open, and isn't any more. */
bool ow_objectnumbers_is_closed(const struct ow_objectnumbers *n,
				uint32_t number);

/*
 * Fill ret, of OW_BPF_OBJECTS, with numbers of what was closed, or could not be opened,
 * before then, but for those that named has or a list.  Return how many there are.
 */
uint32_t ow_objectnumbers_list_unused(const struct ow_objectnumbers *n,
				      uint64_t before, const bool *named,
				      uint32_t *ret);

/* Let another object have the number. */
void ow_objectnumbers_free(struct ow_objectnumbers *n, uint32_t number);

/* Return true if it is a number that no object has any more. */
bool ow_objectnumbers_is_free(const struct ow_objectnumbers *n,
			      uint64_t number);

#endif /* OW_OBJECTNUMBERS_H */
