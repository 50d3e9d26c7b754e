/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All objects that sampled processes have mapped, each once, by numbers from 1.
 * They stay open until no process has had them mapped for a while, and the frames
 * in them are named: an open file keeps its file system mounted and, if it has no
 * name any more, its bytes on disk or in memory.  A number is given again only
 * when nothing names its object any more.
 *
 * Two mappings have the same number if they are of the same file in the same
 * state, by the same path.  Another file has the number only if it has the same
 * path, build-id and telling bytes (likeness.h), and if the file that was opened
 * is root's, or both belong to one user.  A build-id alone says nothing: anybody
 * can give a file the build-id of another one.
 */
#ifndef OW_SAMPLEDOBJECTS_H
#define OW_SAMPLEDOBJECTS_H

#include <outwind/record.h>

#include "mappings.h"
#include "objectnumbers.h"

struct ow_object_alias; /* a file by which one was found */

struct ow_sampledobjects {
	struct ow_objectnumbers numbers;
	struct ow_symbolizer *symbolizer;
	struct ow_object_alias *aliases;
	size_t nr_aliases, room_aliases;
	size_t nr_held;          /* files that aliases keep open */
	uint32_t *alias_heads;   /* room_aliases lists of them, by hash */
	uint64_t bytes_compared; /* to tell files of one build-id apart */
	uid_t user; /* whose process maps what is asked for; -1: unknown */
	/* When that process began, once it was asked for; 0 when a look at one begins. */
	uint64_t began;
	bool with_lines; /* names have lines or inlined calls, too */
	bool is_full;    /* no object is opened any more */
	/* Asked before bytes of files are compared, which true ends; or NULL. */
	bool (*must_end)(const void *arg);
	const void *arg;
};

int ow_sampledobjects_init(struct ow_sampledobjects *o, unsigned int naming,
			   struct ow_error *err);
void ow_sampledobjects_deinit(struct ow_sampledobjects *o);

/*
 * Look at the file of a process's mapping, by its address; no file: it can't be
 * looked at.  The kernel may keep this waiting: let a delegate do it.
 */
struct ow_identity ow_sampledobjects_see(pid_t pid,
					 const struct ow_mapping *map);

/*
 * The number of what a process has mapped, opened if it is new; 0: no room.  seen is
 * what ow_sampledobjects_see() has just returned.
 */
uint32_t ow_sampledobjects_number(struct ow_sampledobjects *o, pid_t pid,
				  const struct ow_mapping *map,
				  const struct ow_identity *seen);

/* What is asked before the object of that number goes; false: it is in use. */
typedef bool ow_sampledobjects_release_fn(void *arg, uint32_t number);

/*
 * Close objects that no list has named since an instant (CLOCK_MONOTONIC, ns): at
 * once those whose files have no name any more, others a minute later.  Where numbers
 * are crowded, named isn't NULL (ow_images_mark()), and objects that it hasn't are closed
 * at once.
 */
void ow_sampledobjects_close_idle(struct ow_sampledobjects *o, uint64_t since,
				  const bool *named,
				  ow_sampledobjects_release_fn *release,
				  void *arg);

/* What is asked before numbers are given again; false: they can't be. */
typedef bool ow_sampledobjects_forget_fn(void *arg, const uint32_t *numbers,
					 uint32_t nr);

/*
 * Give numbers of what was closed, or could not be opened, before an instant
 * (CLOCK_MONOTONIC, ns) to other objects from now on, but for those that named has or a
 * list.  Paths and names of such objects are no longer valid.
 */
void ow_sampledobjects_reuse(struct ow_sampledobjects *o, uint64_t before,
			     const bool *named,
			     ow_sampledobjects_forget_fn *forget, void *arg);

/* The object of that number, or NULL if it is not open. */
struct ow_object *ow_sampledobjects_get(const struct ow_sampledobjects *o,
					uint32_t number);

/* Names of vaddr in an object; flags are enum ow_frame_flags. */
size_t ow_sampledobjects_name(struct ow_sampledobjects *o, uint32_t number,
			      uint64_t vaddr, uint8_t flags,
			      struct ow_name *names, size_t max);

/*
 * Look whether files in which something was named have been written to since they were
 * opened; ow_left_out() tells of each that was, or may have been.  is_last: nothing is
 * named any more.
 */
void ow_sampledobjects_look_again(const struct ow_sampledobjects *o,
				  bool is_last);

#endif /* OW_SAMPLEDOBJECTS_H */
