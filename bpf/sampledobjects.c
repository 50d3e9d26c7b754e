// SPDX-License-Identifier: BSD-2-Clause
#include "sampledobjects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copiedup.h"
#include "debugfile.h"
#include "error.h"
#include "hash.h"
#include "leftout.h"
#include "likeness.h"
#include "monotonic.h"
#include "objectwatch.h"
#include "ow_sample.h"
#include "procfs.h"
#include "procobject.h"
#include "walk.h"
#include "watchshare.h"

#define LOW ((uint64_t)1 << 32)

#define OTHERS_MAY_WRITE (S_IWGRP | S_IWOTH)

/*
 * Files that are kept open only because they are like another one.  Processes can bring
 * any number of files of one build-id.
 */
#define MOST_HELD 1024

#define AT_ONCE  4          /* tries to open what could not be opened, */
#define AGAIN_NS 1000000000 /* and then so far apart */
#define LOOKS_NS 1000000000 /* at bytes that may have been written to */

struct ow_object_alias {
	uint64_t dev, inode; /* as the mapping has them */
	pid_t pid; /* whose memory the object was taken from; 0: it is a file */
	uint64_t born; /* when that process began, as ow_process_start_ns() has it */
	uint32_t number;
	uint32_t next;           /* of its list, plus 1; 0: none */
	struct ow_identity file; /* also of what is no object; or none */
	/* The file, if it isn't the number's own but one like it: as long as it
	   is open, its inode is no other file's.  Or NULL. */
	struct ow_object *held;
	uint64_t used;      /* CLOCK_MONOTONIC, ns: it was asked for last */
	unsigned int tries; /* to open it again, the last one then: */
	uint64_t tried;     /* CLOCK_MONOTONIC, ns */
};

int ow_sampledobjects_init(struct ow_sampledobjects *o, unsigned int naming,
			   struct ow_error *err)
{
	int failed;

	*o = (struct ow_sampledobjects){ .with_lines = naming &
						       (OW_SYMBOLIZER_INLINES |
							OW_SYMBOLIZER_LINES) };
	failed = ow_objectnumbers_init(&o->numbers, err);
	if (failed)
		return failed;
	/* The symbolizer makes room for as many objects as there may be. */
	o->numbers.all->nr_modules = OW_BPF_OBJECTS;
	o->symbolizer = ow_symbolizer_create(o->numbers.all, naming, err);
	o->numbers.all->nr_modules = 0;
	return o->symbolizer ? 0 : -OW_CODE_MEMORY;
}

void ow_sampledobjects_deinit(struct ow_sampledobjects *o)
{
	size_t i;

	for (i = 0; i < o->nr_aliases; i++)
		ow_object_close(o->aliases[i].held);
	ow_symbolizer_destroy(o->symbolizer);
	ow_objectnumbers_deinit(&o->numbers);
	free(o->aliases);
	free(o->alias_heads);
	*o = (struct ow_sampledobjects){ 0 };
}

static struct ow_capture_module *module_of(const struct ow_sampledobjects *o,
					   uint32_t number)
{
	return ow_objectnumbers_module(&o->numbers, number);
}

static struct ow_object_kin *kin_of(const struct ow_sampledobjects *o,
				    uint32_t number)
{
	return &o->numbers.kin[number - 1];
}

static bool is_of_file(const struct ow_mapping *map)
{
	return ow_identity_is_file(map->dev, map->inode);
}

static bool is_known(const struct ow_identity *file)
{
	return ow_identity_is_file(file->dev, file->inode);
}

struct ow_identity ow_sampledobjects_see(pid_t pid,
					 const struct ow_mapping *map)
{
	struct ow_identity seen = { .inode = 0 };

	if (is_of_file(map) && !ow_mapping_look(pid, map, &seen))
		seen = (struct ow_identity){ .inode = 0 };
	return seen;
}

/*
 * The file of a mapping as it is now, or false if it can't be looked at.  On
 * btrfs and overlay the device that a mapping tells is not that of stat(2), so
 * files of two subvolumes can have the same numbers there.  a is what was mapped
 * by these numbers before.
 */
static bool identify(const struct ow_mapping *map,
		     const struct ow_identity *seen,
		     const struct ow_object_alias *a, struct ow_identity *ret)
{
	if (!is_of_file(map))
		return false;
	*ret = *seen;
	if (is_known(seen) && ret->inode == map->inode)
		return true;
	/* The process may be gone, or we may not look there. */
	return map->path[0] == '/' && !map->deleted &&
	       ow_identity_look_cached(map->path, ret) &&
	       (ret->dev == map->dev || ret->dev == a->file.dev) &&
	       ret->inode == map->inode;
}

/* A file can have any number of paths. */
static uint32_t *head_of(const struct ow_sampledobjects *o, uint64_t dev,
			 uint64_t inode, const char *path)
{
	uint64_t words[] = { dev, inode, ow_hash(path, strlen(path)) };
	uint64_t hash = ow_hash(words, sizeof(words));

	return &o->alias_heads[hash & (o->room_aliases - 1)];
}

/*
 * The alias of what is mapped, whatever the state of the file was, or NULL: the
 * process' own, if there is one.
 */
static struct ow_object_alias *find_alias(const struct ow_sampledobjects *o,
					  pid_t pid,
					  const struct ow_mapping *map)
{
	struct ow_object_alias *a, *of_file = NULL;
	uint32_t i;

	if (!o->room_aliases)
		return NULL;
	for (i = *head_of(o, map->dev, map->inode, map->path); i; i = a->next) {
		a = &o->aliases[i - 1];
		if (a->dev != map->dev || a->inode != map->inode ||
		    (a->pid && a->pid != pid) ||
		    strcmp(module_of(o, a->number)->path, map->path) != 0)
			continue;
		if (a->pid)
			return a;
		if (!of_file)
			of_file = a;
	}
	return of_file;
}

static void link_alias(struct ow_sampledobjects *o, size_t i)
{
	struct ow_object_alias *a = &o->aliases[i];
	uint32_t *head =
		head_of(o, a->dev, a->inode, module_of(o, a->number)->path);

	a->next = *head;
	*head = (uint32_t)i + 1;
}

static bool grow_aliases(struct ow_sampledobjects *o)
{
	size_t room = o->room_aliases ? 2 * o->room_aliases : 64, i;
	uint32_t *heads = calloc(room, sizeof(*heads));
	void *more = realloc(o->aliases, room * sizeof(*o->aliases));

	if (more)
		o->aliases = more;
	if (!heads || !more) {
		free(heads);
		return false;
	}
	free(o->alias_heads);
	o->alias_heads = heads;
	o->room_aliases = room;
	for (i = 0; i < o->nr_aliases; i++)
		link_alias(o, i);
	return true;
}

/*
 * Forget aliases of objects that aren't open any more, and those whose file is held
 * open, but was asked for before an instant only.
 */
static void forget_aliases(struct ow_sampledobjects *o, uint64_t before)
{
	size_t kept = 0, i;
	struct ow_object_alias *a;

	if (o->room_aliases)
		memset(o->alias_heads, 0,
		       o->room_aliases * sizeof(*o->alias_heads));
	o->nr_held = 0;
	for (i = 0; i < o->nr_aliases; i++) {
		a = &o->aliases[i];
		if (ow_objectnumbers_is_closed(&o->numbers, a->number) ||
		    (a->held && a->used < before)) {
			ow_object_close(a->held);
			continue;
		}
		o->nr_held += a->held != NULL;
		o->aliases[kept] = *a;
		link_alias(o, kept++);
	}
	o->nr_aliases = kept;
}

/* Its file and held are the alias' then. */
static bool add_alias(struct ow_sampledobjects *o,
		      const struct ow_object_alias *a)
{
	if (o->nr_held >= MOST_HELD)
		forget_aliases(o, UINT64_MAX);
	if (o->nr_aliases == o->room_aliases && !grow_aliases(o))
		return false;
	o->aliases[o->nr_aliases] = *a;
	o->nr_held += a->held != NULL;
	link_alias(o, o->nr_aliases++);
	return true;
}

static bool must_end(const struct ow_sampledobjects *o)
{
	return o->must_end && o->must_end(o->arg);
}

/* Know later whether the object's file was written to, which was just opened. */
static void watch(const struct ow_sampledobjects *o, struct ow_object *obj)
{
	ow_objectwatch_begin(obj, o->with_lines, o->user);
}

/*
 * Likewise of debug files that names will come from.  An object of root's or ours has
 * those that root or we have put there: they are looked for when there is something to
 * name.
 */
static void watch_debug_files(const struct ow_sampledobjects *o,
			      struct ow_object *obj)
{
	uint64_t most = ow_watchshare_left(OW_WATCHSHARE_BEGIN, o->user);
	uint64_t left = most;

	if (!most || !ow_objectwatch_is_others(obj) || obj->path[0] != '/')
		return;
	ow_debugfile_find_named(obj, o->with_lines, &left);
	ow_watchshare_spend(OW_WATCHSHARE_BEGIN, o->user, most - left, 0);
	watch(o, obj);
}

/* So many bytes were compared, and waits had been for others before. */
static void note_compared(struct ow_sampledobjects *o, uint64_t bytes,
			  uint64_t waits)
{
	o->bytes_compared += bytes;
	ow_watchshare_spend(OW_WATCHSHARE_ALIKE, o->user, bytes,
			    ow_watchshare_waits() - waits);
}

/* Hash the object, unless that was done. */
static void hash_kin(struct ow_sampledobjects *o, const struct ow_object *obj,
		     struct ow_object_kin *kin)
{
	uint64_t waits = ow_watchshare_waits();

	if (kin->is_hashed)
		return;
	kin->size = ow_likeness_hash(obj, &kin->hash);
	kin->is_hashed = true;
	note_compared(o, kin->size, waits);
}

/*
 * Return true if what is read of one file may stand for another one's bytes.
 * The file may be overwritten after it was compared; so its owner has to be
 * root, or the other file's, too.  What was copied from memory stays as it is.
 */
static bool may_stand_for(const struct ow_object *obj,
			  const struct ow_object *other)
{
	if (obj->is_image)
		return other->is_image;
	return !ow_identity_is_inode(&obj->file, &other->file) &&
	       (obj->file.uid == 0 || obj->file.uid == other->file.uid) &&
	       !(obj->file.mode & OTHERS_MAY_WRITE);
}

/* Return true if all is equal that tells, and the kernel knows the owner. */
static bool is_alike(struct ow_sampledobjects *o, const struct ow_object *obj,
		     const struct ow_object *other, uint64_t size)
{
	uint64_t waits = ow_watchshare_waits();
	bool is_same =
		(obj->is_image || ow_identity_was_roots(obj->file.dev)) &&
		ow_likeness_is_same(obj, other);

	note_compared(o, size, waits);
	return is_same;
}

/* Return true if the object is of a file that was just opened again. */
static bool is_same_state(const struct ow_sampledobjects *o,
			  struct ow_object *obj, const struct ow_object *again)
{
	return ow_identity_is_same(&obj->file, &again->file) &&
	       ow_objectwatch_is_same(obj, again, o->user);
}

/*
 * The number of an object that is like m's, or 0.  Each object is hashed once,
 * and compared with at most one, so that the work is linear in its size.
 */
static uint32_t find_alike(struct ow_sampledobjects *o,
			   const struct ow_capture_module *m,
			   struct ow_object_kin *kin)
{
	const struct ow_capture_module *other;
	uint32_t i;

	if (!m->build_id[0])
		return 0;
	for (i = ow_objectnumbers_like(&o->numbers, m->path); i;
	     i = kin_of(o, i)->next) {
		other = module_of(o, i);
		if (strcmp(other->path, m->path) != 0 || !other->object ||
		    strcmp(other->build_id, m->build_id) != 0)
			continue;
		if (!m->object->is_image &&
		    is_same_state(o, other->object, m->object))
			return i;
		if (!may_stand_for(other->object, m->object))
			continue;
		if (!ow_watchshare_left(OW_WATCHSHARE_ALIKE, o->user))
			return 0;
		hash_kin(o, m->object, kin);
		hash_kin(o, other->object, kin_of(o, i));
		if (!kin->size || kin->size != kin_of(o, i)->size ||
		    kin->hash != kin_of(o, i)->hash)
			continue;
		return is_alike(o, other->object, m->object, kin->size) ? i : 0;
	}
	return 0;
}

static struct ow_capture_module module_at(const struct ow_mapping *map)
{
	return (struct ow_capture_module){
		.start = map->start,
		.end = map->end,
		.off = map->off,
		.dev = map->dev,
		.inode = map->inode,
		.deleted = map->deleted,
	};
}

/* When the process that is looked at began: a process may have many files of its own. */
static uint64_t begin_of(struct ow_sampledobjects *o, pid_t pid)
{
	if (!o->began)
		o->began = ow_process_start_ns(pid);
	return o->began;
}

/*
 * What was found by a process' memory, or wasn't, is of that process alone: it may have
 * written there.
 */
static void set_owner(struct ow_sampledobjects *o, struct ow_object_alias *a,
		      pid_t pid, const struct ow_capture_module *m)
{
	bool is_own = m->is_other || (m->object && m->object->is_image);

	a->pid = is_own && ow_identity_is_file(a->dev, a->inode) ? pid : 0;
	a->born = a->pid ? begin_of(o, pid) : 0;
}

static void open_object(pid_t pid, struct ow_capture_module *m)
{
	struct ow_capture from = { .pid = pid, .live = pid };

	m->object = ow_procobject_open(&from, m, &m->why);
}

/*
 * The vDSO that the kernel gives programs of our word size.  A process may have
 * written to its own copy.
 */
static void open_own_vdso(struct ow_capture_module *m)
{
	struct ow_mappings maps;
	size_t i;

	if (!ow_mappings_read(getpid(), &maps, &m->why))
		for (i = 0; i < maps.nr && !m->object; i++) {
			if (strcmp(maps.list[i].path, m->path) != 0)
				continue;
			m->start = maps.list[i].start;
			m->end = maps.list[i].end;
			open_object(getpid(), m);
		}
	ow_mappings_free(&maps);
}

static bool is_own_vdso(const struct ow_mapping *map)
{
	return !is_of_file(map) && (map->end > LOW) == (sizeof(void *) == 8);
}

/* Fill what is to be known of a, whose file is set, and number what is mapped there. */
static uint32_t add(struct ow_sampledobjects *o, pid_t pid,
		    const struct ow_mapping *map, struct ow_object_alias *a)
{
	struct ow_capture_module m = module_at(map);
	struct ow_object_kin kin = { .user = o->user };
	uint32_t number;

	if (o->is_full || !ow_objectnumbers_has_room(&o->numbers, o->user))
		return 0;
	m.path = strdup(map->path);
	if (!m.path)
		return 0;
	if (is_own_vdso(map))
		open_own_vdso(&m);
	else
		open_object(pid, &m);
	set_owner(o, a, pid, &m);
	if (!m.object)
		return ow_objectnumbers_keep(&o->numbers, &m, &kin);
	watch(o, m.object);
	ow_object_build_id(m.object, m.build_id);
	a->file = m.object->file;
	number = find_alike(o, &m, &kin);
	if (!number) {
		watch_debug_files(o, m.object);
		return ow_objectnumbers_keep(&o->numbers, &m, &kin);
	}
	ow_object_drop_fd(m.object);
	a->held = m.object;
	free(m.path);
	return number;
}

/* Open what could not be opened before. */
static void open_again(struct ow_sampledobjects *o, pid_t pid,
		       const struct ow_mapping *map, struct ow_object_alias *a)
{
	struct ow_capture_module *to = module_of(o, a->number);
	struct ow_capture_module m = module_at(map);

	m.path = to->path;
	open_object(pid, &m);
	if (!m.object || (!a->pid && m.is_other)) {
		ow_object_close(m.object);
		return;
	}
	ow_objectnumbers_set_object(&o->numbers, a->number, m.object);
	watch(o, to->object);
	watch_debug_files(o, to->object);
	ow_object_build_id(to->object, to->build_id);
	a->file = to->object->file;
	set_owner(o, a, pid, &m);
}

/*
 * Return true if what could not be opened may be openable now: its process may have ended
 * then, or nobody had the file mapped since, so that its inode may be another file's.
 */
static bool may_open_now(const struct ow_sampledobjects *o,
			 const struct ow_object_alias *a)
{
	int code = module_of(o, a->number)->why.code;

	return code == OW_CODE_ABSENT || code == OW_CODE_SYSTEM ||
	       !kin_of(o, a->number)->nr_lists;
}

/* Return true, and count it, if it is time to try to open it again. */
static bool is_time(struct ow_object_alias *a)
{
	uint64_t now = ow_now_ns();

	if (a->tries < AT_ONCE)
		a->tries++;
	else if (now - a->tried < AGAIN_NS)
		return false;
	a->tried = now;
	return true;
}

/* Return true if the alias is what is mapped there now. */
static bool is_current(struct ow_sampledobjects *o, pid_t pid,
		       const struct ow_mapping *map,
		       const struct ow_identity *seen,
		       struct ow_object_alias *a)
{
	const struct ow_capture_module *m = module_of(o, a->number);
	struct ow_identity now;

	if (a->pid && a->born != begin_of(o, pid))
		return false;
	/* Where devices are told apart, the inode is that one: it is open. */
	if (!identify(map, seen, a, &now))
		return a->pid || a->file.dev == a->dev || !is_known(&a->file);
	if (m->object && m->object->is_image)
		return true;
	if ((m->object || is_known(&a->file)) &&
	    !ow_identity_is_same(&a->file, &now))
		return false;
	if (m->object)
		return must_end(o) ||
		       !ow_objectwatch_is_rewritten(
			       a->held ? a->held : m->object, o->user);
	if (!o->is_full && may_open_now(o, a) && is_time(a))
		open_again(o, pid, map, a);
	return true;
}

/* Return true if the process has something else mapped than the file. */
static bool is_others(const struct ow_sampledobjects *o, pid_t pid,
		      const struct ow_mapping *map,
		      const struct ow_object_alias *a)
{
	const struct ow_object *obj = module_of(o, a->number)->object;

	return !a->pid && obj && !obj->is_image &&
	       ow_copiedup_is(pid, map->start, map->off, obj);
}

uint32_t ow_sampledobjects_number(struct ow_sampledobjects *o, pid_t pid,
				  const struct ow_mapping *map,
				  const struct ow_identity *seen)
{
	/* Each process of another word size tells of a vDSO itself. */
	bool is_told = !is_of_file(map) && !is_own_vdso(map);
	struct ow_object_alias *old = is_told ? NULL : find_alias(o, pid, map);
	struct ow_object_alias new = { .dev = map->dev,
				       .inode = map->inode,
				       .file = *seen };

	if (old && is_others(o, pid, map, old))
		old = NULL;
	if (old && is_current(o, pid, map, seen, old)) {
		old->used = ow_now_ns();
		return old->number;
	}
	new.used = ow_now_ns();
	new.number = add(o, pid, map, &new);
	if (new.number && old) {
		ow_object_close(old->held);
		o->nr_held += (new.held != NULL) - (old->held != NULL);
		new.next = old->next;
		*old = new;
	} else if (!new.number || is_told || !add_alias(o, &new)) {
		ow_object_close(new.held);
	}
	return new.number;
}

static void look_at_file(struct ow_object *file, enum ow_objectwatch_look look)
{
	if (ow_objectwatch_is_changed(file, look))
		ow_doubt(file->path, "it was written to after it was opened: "
				     "names in it, and stacks through it, may "
				     "be of another state");
	else if (ow_objectwatch_is_blind(file))
		ow_doubt(file->path, "whether it was written to is not known: "
				     "it was not compared, and its times need "
				     "not tell");
}

/*
 * Tell if what was named of the object may have been of another state of its files, of
 * which nothing is read after an instant.
 */
static void look_again(const struct ow_sampledobjects *o, uint32_t number,
		       enum ow_objectwatch_look look, uint64_t until)
{
	struct ow_object *obj = module_of(o, number)->object, *file;
	bool is_late;
	unsigned int i;

	if (!obj || !kin_of(o, number)->is_named)
		return;
	for (i = 0; (file = ow_objectwatch_file(obj, i)); i++) {
		is_late = must_end(o) || ow_now_ns() > until;
		look_at_file(file, is_late ? OW_OBJECTWATCH_TIMES : look);
	}
}

void ow_sampledobjects_look_again(const struct ow_sampledobjects *o,
				  bool is_last)
{
	uint64_t until = ow_now_ns() + LOOKS_NS;
	uint32_t number;

	for (number = 1; number <= o->numbers.all->nr_modules; number++)
		look_again(o, number,
			   is_last ? OW_OBJECTWATCH_LAST : OW_OBJECTWATCH_SOME,
			   until);
}

static void close_object(struct ow_sampledobjects *o, uint32_t number,
			 uint64_t until)
{
	look_again(o, number, OW_OBJECTWATCH_LAST, until);
	ow_symbolizer_forget(o->symbolizer, module_of(o, number)->object);
	ow_objectnumbers_close(&o->numbers, number);
}

void ow_sampledobjects_close_idle(struct ow_sampledobjects *o, uint64_t since,
				  const bool *named,
				  ow_sampledobjects_release_fn *release,
				  void *arg)
{
	uint64_t until = ow_now_ns() + LOOKS_NS;
	uint32_t number;

	for (number = 1; number <= o->numbers.all->nr_modules; number++)
		if (ow_objectnumbers_is_over(&o->numbers, number, since,
					     named) &&
		    release(arg, number))
			close_object(o, number, until);
	forget_aliases(o, since);
}

static bool is_free_address(void *arg, uint64_t pc)
{
	const struct ow_sampledobjects *o = arg;
	return ow_objectnumbers_is_free(&o->numbers, pc >> OW_OBJECT_SHIFT);
}

void ow_sampledobjects_reuse(struct ow_sampledobjects *o, uint64_t before,
			     const bool *named,
			     ow_sampledobjects_forget_fn *forget, void *arg)
{
	uint32_t numbers[OW_BPF_OBJECTS], nr, i;

	nr = ow_objectnumbers_list_unused(&o->numbers, before, named, numbers);
	if (nr == 0 || !forget(arg, numbers, nr))
		return;
	for (i = 0; i < nr; i++)
		ow_objectnumbers_free(&o->numbers, numbers[i]);
	forget_aliases(o, 0);
	ow_symbolizer_forget_names(o->symbolizer, is_free_address, o);
}

struct ow_object *ow_sampledobjects_get(const struct ow_sampledobjects *o,
					uint32_t number)
{
	return number && number <= o->numbers.all->nr_modules ?
		       module_of(o, number)->object :
		       NULL;
}

size_t ow_sampledobjects_name(struct ow_sampledobjects *o, uint32_t number,
			      uint64_t vaddr, uint8_t flags,
			      struct ow_name *names, size_t max)
{
	struct ow_frame frame = {
		.pc = ((uint64_t)number << OW_OBJECT_SHIFT) + vaddr,
		.flags = flags,
	};

	/* A file can say that it is anywhere: what would be another number's. */
	if (vaddr >> OW_OBJECT_SHIFT ||
	    ow_frame_lookup_pc(&frame) >> OW_OBJECT_SHIFT != number) {
		names[0] = (struct ow_name){
			.module = module_of(o, number)->path,
			.module_offset = vaddr,
		};
		return 1;
	}
	kin_of(o, number)->is_named = true;
	return ow_symbolizer_name(o->symbolizer, &frame, names, max);
}
