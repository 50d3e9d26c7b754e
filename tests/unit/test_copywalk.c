// SPDX-License-Identifier: BSD-2-Clause
/* Walks by what this process has mapped itself. */
#include "chainwalk.h"

#include <unistd.h>

#include "test.h"

struct own {
	struct ow_sampledobjects objects;
	struct ow_images images;
	struct ow_copywalk walks;
	struct ow_image *image;
	struct ow_imagewalk *by;
};

static void begin(struct own *o)
{
	bool is_new;

	*o = (struct own){ 0 };
	o->images.objects = &o->objects;
	CHECK(!ow_sampledobjects_init(&o->objects, 0, NULL));
	CHECK(!ow_copywalk_init(&o->walks, &o->images, 64, NULL));
	o->image = ow_images_look(&o->images, getpid(), &is_new);
	CHECK(o->image);
	o->by = ow_copywalk_by(&o->walks, o->image, &ow_arch_x86_64);
	CHECK(o->by);
}

static void end(struct own *o)
{
	ow_images_deinit(&o->images);
	ow_copywalk_deinit(&o->walks);
	ow_sampledobjects_deinit(&o->objects);
}

static uint64_t here(void)
{
	return (uint64_t)(uintptr_t)here;
}

static const struct ow_module *module_here(const struct own *o)
{
	return ow_map_find(&o->by->target.map, here())->module;
}

/* What there is no time to load is loaded by a later walk. */
static void test_no_time_to_load(void)
{
	struct own o;

	begin(&o);
	o.by->load_left = 0;
	CHECK(!ow_imagewalk_ready(o.by, module_here(&o)));
	CHECK(module_here(&o)->state == OW_MODULE_UNREAD);
	o.by->load_left = 1;
	CHECK(ow_imagewalk_ready(o.by, module_here(&o)));
	CHECK(module_here(&o)->state == OW_MODULE_READY);
	CHECK(module_here(&o)->cfi && o.by->load_left == 0);
	end(&o);
}

/* Walks of chains of addresses may run CFI, as those of copies may. */
static void test_chain_may_run_cfi(void)
{
	const uint64_t pcs[] = { here(), here() + 1 };
	enum ow_end why;
	struct own o;

	begin(&o);
	CHECK(ow_chainwalk_run(&o.walks, o.image, pcs, 2, false, 0, &why) == 2);
	CHECK(OW_SAMPLE_PC(o.walks.packed[0]) == here());
	CHECK(OW_SAMPLE_HOW(o.walks.packed[1]) == OW_HOW_TABLE);
	CHECK(o.by->cfi_left > 0);
	CHECK(o.by->load_left < OW_IMAGEWALK_LOAD_NS);
	CHECK(module_here(&o)->state == OW_MODULE_READY);
	end(&o);
}

/* Rows are forgotten when what there was no time for is tried again, by either walk. */
static void test_chain_forgets_rows(void)
{
	const uint64_t pcs[] = { here() };
	struct ow_brief *old;
	enum ow_end why;
	struct own o;

	begin(&o);
	old = ow_cache_pair(&o.walks.cache, here() + 64);
	old->addr = here() + 64;
	CHECK(ow_chainwalk_run(&o.walks, o.image, pcs, 1, false, 0, &why) == 1);
	CHECK(old->addr == here() + 64);
	o.by->late_ns = 1;
	CHECK(ow_chainwalk_run(&o.walks, o.image, pcs, 1, false, 0, &why) == 1);
	CHECK(old->addr == 0 && o.by->late_ns == 0);
	end(&o);
}

int main(void)
{
	static const struct test tests[] = {
		{ "no time to load", test_no_time_to_load },
		{ "a chain may run CFI", test_chain_may_run_cfi },
		{ "a chain forgets rows", test_chain_forgets_rows },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
