// SPDX-License-Identifier: BSD-2-Clause
/* Files of mappings that were told of: which are looked at and opened, and how often. */
#include "imageusers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampledobjects.h"
#include "scratch.h"
#include "test.h"

#define HERE   ((uint64_t)1 << 40)
#define THERE  ((uint64_t)1 << 41)
#define SIZE   4096
#define MANY   1000
#define NOBODY 1000000001 /* processes that there are none of, from here on */

static struct ow_sampledobjects objects;
static char *names[2]; /* of one file */

static void begin(struct ow_images *im)
{
	*im = (struct ow_images){ .objects = &objects };
	CHECK(ow_sampledobjects_init(&objects, 0, NULL) == 0);
}

static void end(struct ow_images *im)
{
	ow_images_deinit(im);
	ow_sampledobjects_deinit(&objects);
}

/* Tell that a process has mapped the file, by a name, at the n-th place. */
static void map(struct ow_images *im, pid_t pid, uint64_t time, int name, int n)
{
	const uint64_t start = HERE + (uint64_t)n * SIZE;
	struct ow_mapping m = { .start = start,
				.end = start + SIZE,
				.executable = true,
				.path = names[name] };
	struct stat st;

	CHECK(stat(names[name], &st) == 0);
	m.dev = st.st_dev;
	m.inode = st.st_ino;
	ow_images_map(im, pid, time, &m);
}

/* What was replaced since is not looked at. */
static void test_replaced(void)
{
	const struct ow_image *image;
	struct ow_images im;
	uint64_t i;

	begin(&im);
	for (i = 1; i <= MANY; i++)
		map(&im, getpid(), i, i % 2, 0);
	image = ow_images_at(&im, getpid(), MANY);
	CHECK(image && image->nr == 1 && image->ranges[0].start == HERE &&
	      image->ranges[0].end == HERE + SIZE &&
	      image->ranges[0].object != 0);
	CHECK(im.looked < 100);
	CHECK(objects.numbers.all->nr_modules == 1);
	/* It was there at another time. */
	image = ow_images_at(&im, getpid(), MANY - 1);
	CHECK(image && image->nr == 1 && image->ranges[0].object != 0);
	CHECK(im.looked < 200);
	CHECK(objects.numbers.all->nr_modules + objects.nr_aliases <= 4);
	end(&im);
}

/* Each file is looked at once, however often it is mapped. */
static void test_places(void)
{
	const struct ow_image *image;
	struct ow_images im;
	uint32_t nr = 0, i;

	begin(&im);
	for (i = 0; i < MANY; i++)
		map(&im, getpid(), 1 + i, (int)(i % 2), (int)i);
	image = ow_images_at(&im, getpid(), MANY);
	CHECK(image && image->nr == MANY);
	for (i = 0; image && i < image->nr; i++)
		nr += image->ranges[i].object != 0 &&
		      image->ranges[i].start == HERE + (uint64_t)i * SIZE;
	CHECK(nr == MANY);
	CHECK(im.looked < 100);
	end(&im);
}

/* Processes whose changes take long to settle take turns. */
static void test_turns(void)
{
	struct ow_images im;
	size_t before;
	int i, k, calls = 0;

	begin(&im);
	for (i = 0; i < MANY; i++) {
		for (k = 0; k < 100; k++)
			map(&im, NOBODY + i, 1 + (uint64_t)k, k % 2, k);
		/* Root's may take as long as they do. */
		ow_images_tell_uid(&im, NOBODY + i, 1, 0);
	}
	CHECK(im.nr_unsettled == MANY);
	do {
		before = im.looked;
		ow_images_settle(&im, 1000);
		CHECK(im.looked - before < 5000);
	} while (im.looked > before && calls++ < MANY);
	CHECK(calls > 2 && calls < MANY);
	for (i = 0, k = 0; i < MANY; i++)
		k += ow_images_user(&im, NOBODY + i)->nr == 0;
	CHECK(k == MANY);
	end(&im);
}

#define LONG_NAME 3900 /* bytes */
#define NAMES     20000
#define MOST      ((size_t)1 << 20) /* of a process's log, and some */

/* Tell that a process has mapped a file of that number, whose name is long. */
static void map_long(struct ow_images *im, pid_t pid, uint64_t time, int n)
{
	static char name[LONG_NAME + 1];
	struct ow_mapping m = { .start = HERE,
				.end = HERE + SIZE,
				.executable = true,
				.dev = 1,
				.inode = 1000 + (uint64_t)n,
				.path = name };

	memset(name, 'x', LONG_NAME);
	name[LONG_NAME] = '\0';
	ow_images_map(im, pid, time, &m);
}

/* Have the process begin with as many ranges as a process may have. */
static void begin_large(struct ow_images *im, pid_t pid)
{
	uint32_t nr = OW_RECORD_MAPPINGS, i;
	struct ow_bpf_range *ranges = calloc(nr, sizeof(*ranges));

	for (i = 0; ranges && i < nr; i++)
		ranges[i] = (struct ow_bpf_range){ THERE + 2 * SIZE * i,
						   THERE + 2 * SIZE * i + SIZE,
						   0, 0, 0 };
	ow_imageusers_begin(im, ow_imageusers_add(im, pid, 0),
			    ow_images_add(im, pid, ranges, nr));
	ow_images_tell_uid(im, pid, 1, 0);
}

/* Long names of files that are mapped by turns take no more than they may. */
static void test_long_names(void)
{
	struct ow_images im;
	size_t most = 0;
	int i;

	begin(&im);
	begin_large(&im, NOBODY);
	for (i = 0; i < NAMES; i++) {
		map_long(&im, NOBODY, 1 + (uint64_t)i, i);
		most = im.noted > most ? im.noted : most;
	}
	CHECK(most > MOST / 2 && most < MOST + 2 * LONG_NAME);
	CHECK(ow_images_user(&im, NOBODY)->is_unheeded);
	end(&im);
}

/* What is not settled takes no more than an image, and all of them what they may. */
static void test_many_long_names(void)
{
	struct ow_images im;
	size_t most = 0;
	int i, k;

	begin(&im);
	for (k = 0; k < 200; k++)
		begin_large(&im, NOBODY + k);
	for (k = 0; k < 200; k++)
		for (i = 0; i < 250; i++) {
			map_long(&im, NOBODY + k, 1 + (uint64_t)i, i);
			most = im.noted > most ? im.noted : most;
		}
	CHECK(most > 32 * MOST && most < 67 * MOST);
	for (i = 0; i < 100 && im.nr_unsettled; i++)
		ow_images_settle(&im, 1000000);
	CHECK(im.nr_unsettled == 0 && im.noted < 200 * MOST / 2);
	ow_images_drop_users(&im);
	CHECK(im.noted == 0);
	im.users = NULL;
	im.files = NULL;
	im.unsettled = NULL;
	im.shares = NULL;
	im.nr_user_buckets = im.nr_unsettled = im.nr_shares = 0;
	end(&im);
}

int main(void)
{
	static const struct test tests[] = {
		{ "mappings that were replaced", test_replaced },
		{ "one file at many places", test_places },
		{ "processes take turns", test_turns },
		{ "long names", test_long_names },
		{ "many long names", test_many_long_names },
	};

	scratch_enter();
	CHECK(scratch_run("cp /bin/true one; ln one two"));
	names[0] = realpath("one", NULL);
	names[1] = realpath("two", NULL);
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
