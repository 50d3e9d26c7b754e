// SPDX-License-Identifier: BSD-2-Clause
#include "sampledobjects.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "ow_sample.h"
#include "procobject.h"

#define LOW   ((uint64_t)1 << 32)
#define SHIFT 40 /* of a number, to where its object is */

struct ow_object_alias {
	uint64_t dev, inode;
	bool low; /* mapped below 4 GiB: programs of 32 bits have their own vDSO */
	uint32_t number;
	/* The file, if it isn't the number's own but of the same build: as long as
	   it is open, its inode is no other file's.  Or NULL. */
	struct ow_object *held;
};

static bool is_low(const struct ow_mapping *map)
{
	return map->inode == 0 && map->end <= LOW;
}

int ow_sampledobjects_init(struct ow_sampledobjects *o, unsigned int naming,
			   struct ow_error *err)
{
	*o = (struct ow_sampledobjects){ .all = ow_capture_create(err) };
	if (!o->all)
		return -OW_CODE_MEMORY;
	o->all->modules = calloc(OW_BPF_OBJECTS, sizeof(*o->all->modules));
	o->all->ranges = calloc(OW_BPF_OBJECTS, sizeof(*o->all->ranges));
	if (!o->all->modules || !o->all->ranges)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	o->all->target.map.ranges = o->all->ranges;
	/* The symbolizer makes room for as many objects as there may be. */
	o->all->nr_modules = OW_BPF_OBJECTS;
	o->symbolizer = ow_symbolizer_create(o->all, naming, err);
	o->all->nr_modules = 0;
	return o->symbolizer ? 0 : -OW_CODE_MEMORY;
}

void ow_sampledobjects_deinit(struct ow_sampledobjects *o)
{
	size_t i;

	for (i = 0; i < o->nr_aliases; i++)
		ow_object_close(o->aliases[i].held);
	ow_symbolizer_destroy(o->symbolizer);
	ow_capture_destroy(o->all);
	free(o->aliases);
	*o = (struct ow_sampledobjects){ 0 };
}

static struct ow_object_alias *find_alias(struct ow_sampledobjects *o,
					  const struct ow_mapping *map)
{
	size_t i;

	for (i = 0; i < o->nr_aliases; i++)
		if (o->aliases[i].dev == map->dev &&
		    o->aliases[i].inode == map->inode &&
		    o->aliases[i].low == is_low(map))
			return &o->aliases[i];
	return NULL;
}

/* held is the alias' then. */
static bool add_alias(struct ow_sampledobjects *o, const struct ow_mapping *map,
		      uint32_t number, struct ow_object *held)
{
	struct ow_object_alias *more;

	if (o->nr_aliases == o->room_aliases) {
		o->room_aliases = 2 * o->room_aliases + 64;
		more = realloc(o->aliases, o->room_aliases * sizeof(*more));
		if (!more)
			return false;
		o->aliases = more;
	}
	o->aliases[o->nr_aliases++] =
		(struct ow_object_alias){ map->dev, map->inode, is_low(map),
					  number, held };
	return true;
}

/* The number of an object of the same build, or 0. */
static uint32_t find_build(const struct ow_sampledobjects *o,
			   const char *build_id)
{
	size_t i;

	for (i = 0; build_id[0] && i < o->all->nr_modules; i++)
		if (strcmp(o->all->modules[i].build_id, build_id) == 0)
			return (uint32_t)i + 1;
	return 0;
}

/* Give the module the next number. */
static uint32_t keep(struct ow_sampledobjects *o, struct ow_capture_module *m)
{
	uint32_t number = (uint32_t)o->all->nr_modules + 1;
	struct ow_capture_module *to = &o->all->modules[number - 1];

	m->start = (uint64_t)number << SHIFT;
	m->end = m->start + ((uint64_t)1 << SHIFT);
	m->base.bias = m->start;
	m->base.state = OW_MODULE_READY;
	m->owns_object = m->object != NULL;
	*to = *m;
	o->all->ranges[number - 1] =
		(struct ow_range){ to->start, to->end, &to->base };
	o->all->nr_modules = o->all->target.map.nr = number;
	return number;
}

/* *same_ret is the file, to be closed, where another one of its build is there. */
static uint32_t add(struct ow_sampledobjects *o, pid_t pid,
		    const struct ow_mapping *map, struct ow_object **same_ret)
{
	struct ow_capture from = { .pid = pid, .live = pid };
	struct ow_capture_module m = {
		.start = map->start,
		.end = map->end,
		.off = map->off,
		.dev = map->dev,
		.inode = map->inode,
		.deleted = map->deleted,
	};
	uint32_t number;

	if (o->all->nr_modules + 1 >= OW_BPF_OBJECTS)
		return 0;
	m.path = strdup(map->path);
	if (!m.path)
		return 0;
	m.object = ow_procobject_open(&from, &m, &m.why);
	if (m.object) {
		ow_object_build_id(m.object, m.build_id);
		number = find_build(o, m.build_id);
		if (number) {
			ow_object_drop_fd(m.object);
			*same_ret = m.object;
			free(m.path);
			return number;
		}
	}
	return keep(o, &m);
}

uint32_t ow_sampledobjects_number(struct ow_sampledobjects *o, pid_t pid,
				  const struct ow_mapping *map)
{
	struct ow_object_alias *alias = find_alias(o, map);
	struct ow_object *same = NULL;
	uint32_t number;

	if (alias)
		return alias->number;
	number = add(o, pid, map, &same);
	if (!number || !add_alias(o, map, number, same))
		ow_object_close(same);
	return number;
}

struct ow_object *ow_sampledobjects_get(const struct ow_sampledobjects *o,
					uint32_t number)
{
	return number && number <= o->all->nr_modules ?
		       o->all->modules[number - 1].object :
		       NULL;
}

size_t ow_sampledobjects_name(struct ow_sampledobjects *o, uint32_t number,
			      uint64_t vaddr, uint8_t flags,
			      struct ow_name *names, size_t max)
{
	struct ow_frame frame = {
		.pc = ((uint64_t)number << SHIFT) + vaddr,
		.flags = flags,
	};

	return ow_symbolizer_name(o->symbolizer, &frame, names, max);
}
