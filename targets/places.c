// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of places in files that processes elsewhere, or long ago, had mapped.
 * Path and build-id are what was told of a process' mapping.  A process that has
 * a file of another one's path and build-id is given the names of that one's file,
 * which is looked for here; the other process' names are still its own.
 */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "error.h"
#include "fileobject.h"
#include "hash.h"

#define MAX_OBJECTS 8192
#define NR_BUCKETS  (2 * MAX_OBJECTS) /* a power of two */
#define SHARES      4  /* a user has one of so many of what is left */
#define SHIFT       40 /* of a number, to where its object is */

struct place {
	uint8_t build_id[OW_BUILD_ID_MAX];
	size_t build_id_size;
	bool tried;
};

struct ow_places {
	/* Object n is module n - 1 of it, at addresses from n << SHIFT on. */
	struct ow_capture *all;
	struct place *places;
	uint16_t *buckets; /* numbers of objects by their hash, 0: free */
	struct ow_symbolizer *symbolizer;
	char *sysroot;
};

static int init(struct ow_places *p, const char *sysroot, unsigned int naming,
		struct ow_error *err)
{
	p->all = ow_capture_create(err);
	if (!p->all)
		return -OW_CODE_MEMORY;
	p->all->modules = calloc(MAX_OBJECTS, sizeof(*p->all->modules));
	p->all->ranges = calloc(MAX_OBJECTS, sizeof(*p->all->ranges));
	p->places = calloc(MAX_OBJECTS, sizeof(*p->places));
	p->buckets = calloc(NR_BUCKETS, sizeof(*p->buckets));
	p->sysroot = sysroot ? strdup(sysroot) : NULL;
	if (!p->all->modules || !p->all->ranges || !p->places || !p->buckets ||
	    (sysroot && !p->sysroot))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	p->all->target.map.ranges = p->all->ranges;
	/* The symbolizer makes room for as many objects as there may be. */
	p->all->nr_modules = MAX_OBJECTS;
	p->symbolizer = ow_symbolizer_create(p->all, naming, err);
	p->all->nr_modules = 0;
	return p->symbolizer ? 0 : -OW_CODE_MEMORY;
}

struct ow_places *ow_places_create(const char *sysroot, unsigned int naming,
				   struct ow_error *err)
{
	struct ow_places *p = calloc(1, sizeof(*p));

	if (!p) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		return NULL;
	}
	if (init(p, sysroot, naming, err)) {
		ow_places_destroy(p);
		return NULL;
	}
	return p;
}

void ow_places_destroy(struct ow_places *p)
{
	if (!p)
		return;
	ow_symbolizer_destroy(p->symbolizer);
	ow_capture_destroy(p->all);
	free(p->places);
	free(p->buckets);
	free(p->sysroot);
	free(p);
}

static bool is_same(const struct ow_places *p, size_t i, const char *path,
		    const uint8_t *build_id, size_t size)
{
	return p->places[i].build_id_size == size &&
	       (size == 0 ||
		memcmp(p->places[i].build_id, build_id, size) == 0) &&
	       strcmp(p->all->modules[i].path, path) == 0;
}

static unsigned int add(struct ow_places *p, const char *path,
			const uint8_t *build_id, size_t size)
{
	size_t i = p->all->nr_modules;
	struct ow_capture_module *m = &p->all->modules[i];

	m->path = strdup(path);
	if (!m->path)
		return 0;
	m->start = (uint64_t)(i + 1) << SHIFT;
	m->end = m->start + ((uint64_t)1 << SHIFT);
	m->base.bias = m->start;
	m->base.state = OW_MODULE_READY;
	p->places[i].build_id_size = size;
	if (size)
		memcpy(p->places[i].build_id, build_id, size);
	p->all->ranges[i] = (struct ow_range){ m->start, m->end, &m->base };
	p->all->nr_modules = p->all->target.map.nr = i + 1;
	return (unsigned int)i + 1;
}

/* Where its number is, or is to be: half of the buckets are free at least. */
static uint16_t *bucket_of(const struct ow_places *p, const char *path,
			   const uint8_t *build_id, size_t size)
{
	size_t i = ow_hash(path, strlen(path)) ^ ow_hash(build_id, size);

	while (p->buckets[i %= NR_BUCKETS] &&
	       !is_same(p, p->buckets[i] - 1u, path, build_id, size))
		i++;
	return &p->buckets[i];
}

/* May a user who has added so many add one more? */
static bool may_add(const struct ow_places *p, const unsigned int *added)
{
	size_t nr = p->all->nr_modules;

	return nr < MAX_OBJECTS &&
	       (!added || *added < (MAX_OBJECTS - (nr - *added)) / SHARES);
}

unsigned int ow_places_object(struct ow_places *p, const char *path,
			      const uint8_t *build_id, size_t build_id_size,
			      unsigned int *added)
{
	size_t size = build_id_size <= OW_BUILD_ID_MAX ? build_id_size : 0;
	uint16_t *bucket = bucket_of(p, path, build_id, size);

	if (*bucket || !may_add(p, added))
		return *bucket;
	*bucket = (uint16_t)add(p, path, build_id, size);
	if (*bucket && added)
		++*added;
	return *bucket;
}

unsigned int ow_places_nr(const struct ow_places *p)
{
	return (unsigned int)p->all->nr_modules;
}

const char *ow_places_path(const struct ow_places *p, unsigned int number)
{
	return number && number <= p->all->nr_modules ?
		       p->all->modules[number - 1].path :
		       NULL;
}

/* Open it, the first time that it is needed. */
static struct ow_object *object_of(struct ow_places *p, unsigned int number)
{
	struct ow_capture_module *m = &p->all->modules[number - 1];
	struct place *place = &p->places[number - 1];
	const struct ow_wanted_file w = {
		.path = m->path,
		.sysroot = p->sysroot,
		.build_id = place->build_id_size ? place->build_id : NULL,
		.build_id_size = place->build_id_size,
	};

	if (place->tried || m->path[0] == '[') /* the kernel's own: no file */
		return m->object;
	place->tried = true;
	m->object = ow_fileobject_open(&w, &m->why);
	if (m->object) {
		m->owns_object = true;
		ow_object_build_id(m->object, m->build_id);
	}
	return m->object;
}

size_t ow_places_name(struct ow_places *p, unsigned int number, uint64_t off,
		      unsigned int flags, struct ow_name *names, size_t max)
{
	struct ow_frame frame = { .pc = off, .flags = (uint8_t)flags };
	uint64_t at = ow_frame_lookup_pc(&frame), bias;
	const struct ow_object *obj;

	if (!number || number > p->all->nr_modules ||
	    off >= ((uint64_t)1 << SHIFT)) {
		names[0] = (struct ow_name){ .module_offset = off };
		return 1;
	}
	obj = object_of(p, number);
	if (obj && ow_object_bias(obj, at, at, &bias))
		frame.pc = off - bias;
	frame.pc += (uint64_t)number << SHIFT;
	return ow_symbolizer_name(p->symbolizer, &frame, names, max);
}

bool ow_places_is_trampoline(struct ow_places *p, unsigned int number,
			     uint64_t off)
{
	const struct ow_object *obj;
	struct ow_row row;

	if (!number || number > p->all->nr_modules)
		return false;
	obj = object_of(p, number);
	return obj && off < obj->size &&
	       ow_arch_signal_row(obj->elf.arch, obj->bytes + off,
				  obj->size - off, &row);
}

bool ow_places_lacks(const struct ow_places *p, unsigned int number,
		     struct ow_error *why)
{
	if (!number || number > p->all->nr_modules ||
	    !p->places[number - 1].tried || p->all->modules[number - 1].object)
		return false;
	*why = p->all->modules[number - 1].why;
	return true;
}
