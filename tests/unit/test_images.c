// SPDX-License-Identifier: BSD-2-Clause
#include "imagecheck.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "imageshares.h"
#include "monotonic.h"
#include "procfs.h"
#include "test.h"

#define PARENT 1000000001 /* processes that there are none of */
#define CHILD  1000000002
#define NOBODY 1000000100 /* and further */
#define HERE   ((uint64_t)1 << 40)
#define THERE  ((uint64_t)1 << 41)
#define SIZE   4096

/* Code of no file, so that nothing is opened for it. */
static const struct ow_mapping *code(uint64_t start)
{
	static struct ow_mapping map;

	map = (struct ow_mapping){ .start = start,
				   .end = start + SIZE,
				   .executable = true,
				   .path = "" };
	return &map;
}

/* Has the process had code there at that time? */
static bool had(struct ow_images *im, pid_t pid, uint64_t time, uint64_t addr)
{
	const struct ow_image *image = ow_images_at(im, pid, time);

	return image && ow_image_range(image, addr);
}

static void test_each_time_has_its_image(void)
{
	struct ow_images im = { 0 };

	CHECK(!ow_images_at(&im, PARENT, 5));
	CHECK(ow_images_exec(&im, PARENT, 10));
	CHECK(ow_images_map(&im, PARENT, 20, code(HERE)));
	CHECK(ow_images_exec(&im, PARENT, 30));
	CHECK(ow_images_map(&im, PARENT, 40, code(THERE)));
	CHECK(!had(&im, PARENT, 19, HERE) && had(&im, PARENT, 20, HERE));
	CHECK(had(&im, PARENT, 29, HERE) && !had(&im, PARENT, 30, HERE));
	CHECK(!had(&im, PARENT, 39, THERE) && had(&im, PARENT, 40, THERE));
	CHECK(!had(&im, PARENT, 99, HERE) && had(&im, PARENT, 99, THERE));
	CHECK(ow_images_as_of(&im, PARENT) == 40);
	ow_images_deinit(&im);
}

/* The vDSO is what exec maps last. */
static void test_between_programs(void)
{
	const struct ow_mapping vdso = { .start = HERE,
					 .end = HERE + SIZE,
					 .path = "[vdso]" };
	struct ow_images im = { 0 };

	CHECK(!ow_images_is_between(&im, PARENT, 5));
	CHECK(ow_images_exec(&im, PARENT, 10));
	CHECK(ow_images_is_between(&im, PARENT, 1000));
	/* There may be none. */
	CHECK(!ow_images_is_between(&im, PARENT, 1000000000));
	CHECK(ow_images_map(&im, PARENT, 2000, &vdso));
	CHECK(ow_images_is_between(&im, PARENT, 3000));
	CHECK(!ow_images_is_between(&im, PARENT, 1000000));
	CHECK(ow_images_exec(&im, PARENT, 2000000));
	CHECK(ow_images_is_between(&im, PARENT, 2100000));
	ow_images_deinit(&im);
}

static void test_child_has_what_its_parent_had(void)
{
	struct ow_images im = { 0 };

	ow_images_map(&im, PARENT, 10, code(HERE));
	ow_images_exec(&im, PARENT, 50);
	ow_images_fork(&im, PARENT, CHILD, 20);
	CHECK(had(&im, CHILD, 20, HERE) && !had(&im, PARENT, 50, HERE));
	CHECK(ow_images_as_of(&im, CHILD) == 20);
	/* Older than what is known of the parent, but of the child it is news. */
	CHECK(ow_images_map(&im, CHILD, 30, code(THERE)));
	CHECK(had(&im, CHILD, 30, THERE) && !had(&im, CHILD, 29, THERE));
	ow_images_deinit(&im);
}

static void test_ends(void)
{
	struct ow_images im = { 0 };

	ow_images_map(&im, PARENT, 10, code(HERE));
	ow_images_fork(&im, PARENT, CHILD, 20);
	CHECK(ow_images_lives(&im, CHILD) && !ow_images_lives(&im, 3));
	ow_images_end(&im, CHILD, 20); /* another one, of the same number */
	CHECK(ow_images_lives(&im, CHILD));
	ow_images_end(&im, CHILD, 30);
	CHECK(!ow_images_lives(&im, CHILD) && ow_images_lives(&im, PARENT));
	CHECK(had(&im, CHILD, 25, HERE));
	ow_images_deinit(&im);
}

/* What is told later than the process was looked at was so before that. */
static void test_look_is_not_undone(void)
{
	struct ow_images im = { 0 };
	struct ow_sampledobjects objects;
	uint64_t looked;
	bool is_new;

	CHECK(ow_sampledobjects_init(&objects, 0, NULL) == 0);
	im.objects = &objects;
	ow_images_map(&im, PARENT, 1, code(HERE));
	ow_images_map(&im, getpid(), 10, code(HERE));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	looked = ow_images_as_of(&im, getpid());
	CHECK(!had(&im, getpid(), looked * 2, HERE));
	CHECK(!ow_images_map(&im, getpid(), 30, code(THERE)));
	CHECK(!ow_images_map(&im, getpid(), 40, code(THERE)));
	CHECK(!ow_images_exec(&im, getpid(), 50));
	CHECK(ow_images_as_of(&im, getpid()) == looked);
	CHECK(had(&im, getpid(), 10, HERE) && !had(&im, getpid(), 29, THERE));
	CHECK(had(&im, getpid(), 30, THERE) && had(&im, getpid(), 49, HERE));
	CHECK(!had(&im, getpid(), 50, HERE) && !had(&im, getpid(), 60, THERE));
	CHECK(!had(&im, getpid(), looked * 2, THERE));
	CHECK(had(&im, getpid(), looked * 2,
		  (uint64_t)(uintptr_t)test_look_is_not_undone));
	/* Nor is it what its parent has. */
	ow_images_fork(&im, PARENT, getpid(), 20);
	CHECK(!had(&im, getpid(), looked * 2, HERE));
	ow_images_deinit(&im);
	ow_sampledobjects_deinit(&objects);
}

/* Code of no file that this process has mapped itself. */
static uint64_t map_code(void)
{
	return (uint64_t)(uintptr_t)mmap(NULL, SIZE, PROT_READ | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static bool begin(struct ow_images *im, struct ow_sampledobjects *objects)
{
	*im = (struct ow_images){ .objects = objects };
	return ow_sampledobjects_init(objects, 0, NULL) == 0;
}

static void end(struct ow_images *im)
{
	struct ow_sampledobjects *objects = im->objects;

	ow_images_deinit(im);
	ow_sampledobjects_deinit(objects);
}

/* What is mapped while a look is taken was there before that is over. */
static void test_change_during_a_look(void)
{
	uint64_t here = map_code(), t, own = (uint64_t)(uintptr_t)map_code;
	struct ow_sampledobjects objects;
	struct ow_images im;
	bool is_new;

	CHECK(begin(&im, &objects));
	ow_images_map(&im, getpid(), 10, code(THERE));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	t = ow_images_as_of(&im, getpid());
	CHECK(ow_images_user(&im, getpid())->log[1].time > t + 3);
	/* Seen by the look. */
	CHECK(ow_images_map(&im, getpid(), t + 1, code(here)));
	CHECK(!had(&im, getpid(), t, here) && had(&im, getpid(), t + 1, here));
	CHECK(had(&im, getpid(), t + 1, THERE));
	CHECK(ow_images_as_of(&im, getpid()) == t + 1);
	/* And after it. */
	CHECK(ow_images_map(&im, getpid(), t + 3, code(HERE)));
	CHECK(!had(&im, getpid(), t + 2, HERE));
	CHECK(had(&im, getpid(), t + 3, HERE) &&
	      had(&im, getpid(), t + 3, here));
	CHECK(!had(&im, getpid(), t + 3, own) &&
	      had(&im, getpid(), 2 * t, own));
	CHECK(had(&im, getpid(), 2 * t, here) &&
	      had(&im, getpid(), 2 * t, HERE));
	CHECK(!had(&im, getpid(), 2 * t, THERE));
	CHECK(ow_images_as_of(&im, getpid()) == t + 3);
	end(&im);
	munmap((void *)(uintptr_t)here, SIZE);
}

/* What came and went before a look that finds nothing new was there meanwhile. */
static void test_change_and_back_before_a_look(void)
{
	uint64_t here = map_code(), first, t;
	struct ow_sampledobjects objects;
	struct ow_images im;
	bool is_new;

	CHECK(begin(&im, &objects));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	first = ow_images_as_of(&im, getpid());
	CHECK(ow_images_look(&im, getpid(), &is_new) && !is_new);
	t = ow_images_as_of(&im, getpid());
	CHECK(t > first + 4);
	CHECK(!ow_images_exec(&im, getpid(), t - 4));
	CHECK(!ow_images_map(&im, getpid(), t - 2, code(HERE)));
	CHECK(!ow_images_map(&im, getpid(), t - 1, code(here)));
	CHECK(had(&im, getpid(), t - 5, here) &&
	      !had(&im, getpid(), t - 4, here));
	CHECK(!had(&im, getpid(), t - 3, HERE) &&
	      had(&im, getpid(), t - 2, HERE));
	CHECK(!had(&im, getpid(), t - 2, here) &&
	      had(&im, getpid(), t - 1, here));
	CHECK(had(&im, getpid(), 2 * t, here) &&
	      !had(&im, getpid(), 2 * t, HERE));
	CHECK(ow_images_as_of(&im, getpid()) == t);
	/* What was there already is no news. */
	CHECK(ow_images_map(&im, getpid(), 2 * t, code(here)));
	CHECK(ow_images_as_of(&im, getpid()) == 2 * t);
	end(&im);
	munmap((void *)(uintptr_t)here, SIZE);
}

/* Its number is another process' now, which has mapped the same. */
static void test_look_at_who_has_ended(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im;
	bool is_new;

	CHECK(begin(&im, &objects));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	ow_images_end(&im, getpid(), 2 * ow_images_as_of(&im, getpid()));
	CHECK(!ow_images_lives(&im, getpid()));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	CHECK(ow_images_lives(&im, getpid()));
	end(&im);
}

/* What was shown counts, whatever the process has now. */
static void test_show(void)
{
	const uint64_t own = (uint64_t)(uintptr_t)test_show;
	struct ow_sampledobjects objects;
	const struct ow_image *image;
	struct ow_mappings maps;
	struct ow_images im;
	bool is_new;

	CHECK(begin(&im, &objects));
	image = ow_images_show(&im, getpid(), code(HERE), 1);
	CHECK(image && image->nr == 1 && ow_image_range(image, HERE));
	CHECK(ow_images_show(&im, getpid(), code(HERE), 1) == image);
	image = ow_images_look(&im, getpid(), &is_new);
	CHECK(image && is_new && !ow_image_range(image, HERE));
	CHECK(ow_mappings_read_code(getpid(), &maps, NULL) == 0);
	CHECK(ow_images_show(&im, getpid(), maps.list, maps.nr) == image);
	CHECK(image && ow_image_range(image, own)->object > 0);
	image = ow_images_show(&im, getpid(), code(THERE), 1);
	CHECK(image && !ow_image_range(image, own));
	CHECK(ow_image_range(image, THERE));
	ow_mappings_free(&maps);
	end(&im);
}

static unsigned int nr_named(const struct ow_images *im, uint32_t *last)
{
	bool named[OW_BPF_OBJECTS] = { false };
	unsigned int nr = 0;
	uint32_t i;

	ow_images_mark(im, named);
	for (i = 0; i < OW_BPF_OBJECTS; i++)
		if (named[i]) {
			*last = i;
			nr++;
		}
	return nr;
}

/* An object has its number as long as an image, or a stack's part of one, names it. */
static void test_named_objects(void)
{
	const uint64_t own = (uint64_t)(uintptr_t)test_named_objects;
	const uint64_t frame = OW_SAMPLE_FRAME(own, OW_HOW_REGS, 0);
	struct ow_recorded stack = { .nr = 1, .packed = &frame };
	struct ow_sampledobjects objects;
	const struct ow_image *image;
	struct ow_images im;
	uint32_t last = 0, number;
	bool is_new;

	CHECK(begin(&im, &objects));
	CHECK(nr_named(&im, &last) == 0);
	image = ow_images_look(&im, getpid(), &is_new);
	CHECK(image && nr_named(&im, &last) == objects.numbers.all->nr_modules);
	CHECK(last == objects.numbers.all->nr_modules);
	stack.image = image->id;
	number = ow_image_range(image, own)->object;
	ow_images_claim(&im, &stack);
	ow_images_end(&im, getpid(), 2 * ow_images_as_of(&im, getpid()));
	ow_images_settle(&im, UINT64_MAX - 1);
	ow_images_thin(&im, UINT64_MAX);
	CHECK(nr_named(&im, &last) == 1 && last == number);
	ow_images_unclaim(&im, &stack);
	CHECK(nr_named(&im, &last) == 0);
	end(&im);
}

static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* A child whose first thread has ended; another one lives, if asked for. */
static pid_t start_ended(bool lives)
{
	char name[16], state = 0;
	pthread_t other;
	pid_t pid = fork();
	int i;

	if (pid) {
		for (i = 0; i < 1000 && state != 'Z'; i++) {
			usleep(10000);
			CHECK(ow_task_stat(pid, pid, name, sizeof(name),
					   &state));
		}
		return pid;
	}
	if (lives && !pthread_create(&other, NULL, stay, NULL))
		syscall(SYS_exit, 0);
	_exit(0);
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Its first thread ends, and at last the other one. */
static void test_first_thread_ends(void)
{
	pid_t pid = start_ended(true), ended = start_ended(false);
	struct ow_images im = { 0 };
	uint64_t time = ow_now_ns();
	int i;

	ow_images_map(&im, pid, 10, code(HERE));
	ow_images_map(&im, ended, 10, code(HERE));
	ow_images_exit(&im, pid, time);
	CHECK(ow_images_exit(&im, ended, time));
	CHECK(ow_images_lives(&im, pid) && !ow_images_lives(&im, ended));
	ow_images_settle(&im, ow_now_ns());
	CHECK(ow_images_lives(&im, pid) && had(&im, pid, time + 1, HERE));
	CHECK(!ow_images_user(&im, ended));
	end_child(pid);
	end_child(ended);
	for (i = 0; i < 100 && ow_images_user(&im, pid); i++) {
		usleep(100000);
		ow_images_settle(&im, ow_now_ns());
	}
	CHECK(!ow_images_user(&im, pid));
	ow_images_deinit(&im);
}

/* It is looked at where its memory is: the first thread has none any more. */
static void test_look_without_first_thread(void)
{
	struct ow_sampledobjects objects;
	struct ow_image *image = NULL;
	struct ow_images im;
	pid_t pid = start_ended(true);
	bool is_new;

	CHECK(begin(&im, &objects));
	image = ow_images_look(&im, pid, &is_new);
	CHECK(image && is_new && image->nr > 0 && image->ranges[0].object);
	CHECK(ow_images_user(&im, pid)->live == ow_tasks_other(pid));
	end_child(pid);
	end(&im);
}

/* What may have changed isn't known, and is looked at now and then. */
static void test_doubt(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im;
	struct ow_image_user *user;
	bool is_new;

	CHECK(begin(&im, &objects));
	CHECK(ow_images_look(&im, getpid(), &is_new));
	user = ow_images_user(&im, getpid());
	ow_images_doubt(&im, getpid());
	CHECK(ow_image_is_full(ow_images_of(&im, getpid())));
	CHECK(!ow_images_map(&im, getpid(), ow_now_ns(), code(HERE)));
	CHECK(user->nr == 0);
	user->looked_until = UINT64_MAX;
	CHECK(!ow_images_look_again(&im, getpid()));
	user->looked_until = 0;
	CHECK(ow_images_look_again(&im, getpid()));
	CHECK(user->looked_until > user->looked);
	/* What it had before was other, maybe. */
	CHECK(ow_image_is_full(ow_images_at(&im, getpid(), user->looked - 1)));
	CHECK(had(&im, getpid(), UINT64_MAX, (uintptr_t)test_doubt));
	CHECK(ow_images_map(&im, getpid(), ow_now_ns(), code(HERE)));
	CHECK(had(&im, getpid(), UINT64_MAX, HERE));
	CHECK(had(&im, getpid(), UINT64_MAX, (uintptr_t)test_doubt));
	/* Some follow each other without a rest; many don't. */
	user->looked_until = ow_now_ns() + 1000000000;
	CHECK(ow_images_look_again(&im, getpid()));
	user->looked_until = ow_now_ns() + 10000000000;
	CHECK(!ow_images_look_again(&im, getpid()));
	end(&im);
}

/* Something may not have been told of this process, whose code is mapped elsewhere. */
static void begin_loss(struct ow_images *im, struct ow_sampledobjects *objects)
{
	CHECK(begin(im, objects));
	ow_images_map(im, getpid(), 10, code(HERE));
	ow_images_lose(im, ow_now_ns());
	CHECK(ow_images_is_in_doubt(im, getpid(), 20));
}

/* What a look shows was not there before, when something else was known. */
static void test_sample_after_a_loss(void)
{
	const uint64_t own = (uint64_t)(uintptr_t)test_sample_after_a_loss;
	struct ow_sampledobjects objects;
	struct ow_images im;
	uint64_t looked;

	begin_loss(&im, &objects);
	CHECK(ow_image_is_full(ow_images_sampled(&im, getpid(), 20)));
	looked = ow_images_looked(&im, getpid());
	CHECK(looked && !ow_images_is_in_doubt(&im, getpid(), looked));
	CHECK(ow_image_is_full(ow_images_at(&im, getpid(), 30)));
	CHECK(had(&im, getpid(), UINT64_MAX, own));
	CHECK(!had(&im, getpid(), UINT64_MAX, HERE));
	/* What comes is heeded. */
	CHECK(ow_images_map(&im, getpid(), ow_now_ns(), code(HERE)));
	CHECK(had(&im, getpid(), UINT64_MAX, HERE));
	CHECK(had(&im, getpid(), UINT64_MAX, own));
	end(&im);
}

/* A child of that time has what isn't known, and is to be looked at itself. */
static void test_child_after_a_loss(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im;
	uint64_t forked;

	begin_loss(&im, &objects);
	forked = im.lost_at + 1;
	CHECK(ow_image_is_full(ow_images_sampled(&im, getpid(), 20)));
	CHECK(ow_images_fork(&im, getpid(), CHILD, forked));
	CHECK(ow_image_is_full(ow_images_at(&im, CHILD, forked + 1)));
	CHECK(ow_images_is_in_doubt(&im, CHILD, forked + 1));
	/* One that is made later has what the look showed. */
	CHECK(ow_images_fork(&im, getpid(), CHILD + 1, ow_now_ns()));
	CHECK(!ow_image_is_full(ow_images_of(&im, CHILD + 1)));
	CHECK(!ow_images_is_in_doubt(&im, CHILD + 1, ow_now_ns()));
	end(&im);
}

/* What a look shows to be so still was so before. */
static void test_sample_of_who_did_nothing(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im;
	struct ow_image *image;
	bool is_new;

	CHECK(begin(&im, &objects));
	image = ow_images_look(&im, getpid(), &is_new);
	ow_images_lose(&im, ow_now_ns());
	CHECK(ow_images_is_in_doubt(&im, getpid(), 20));
	CHECK(image && ow_images_sampled(&im, getpid(), 20) == image);
	CHECK(!ow_images_is_in_doubt(&im, getpid(), 20));
	end(&im);
}

/* Without a look nothing is known anew, and nothing is forgotten. */
static void test_sample_without_a_look(void)
{
	struct ow_sampledobjects objects;
	struct ow_image_user *user;
	struct ow_images im;

	begin_loss(&im, &objects);
	user = ow_images_user(&im, getpid());
	user->looked_until = UINT64_MAX;
	CHECK(ow_image_is_full(ow_images_sampled(&im, getpid(), 20)));
	CHECK(!ow_image_is_full(ow_images_at(&im, getpid(), 20)));
	/* But for what a look has shown shortly before. */
	user->looked = ow_now_ns();
	user->added = 0;
	CHECK(ow_images_sampled(&im, getpid(), 20) ==
	      ow_images_at(&im, getpid(), 20));
	CHECK(ow_image_is_full(
		ow_images_sampled(&im, getpid(), user->looked + 1000000000)));
	/* One that had just begun then has likely executed a program since. */
	user->added = user->looked - 1;
	CHECK(ow_image_is_full(ow_images_sampled(&im, getpid(), 20)));
	user->looked_until = 0;
	CHECK(ow_image_is_full(ow_images_sampled(&im, getpid(), 20)));
	CHECK(ow_image_is_full(ow_images_at(&im, getpid(), 20)));
	end(&im);
}

/* It has ended, and nothing tells what it had executed. */
static void test_sample_of_who_has_ended(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im;

	CHECK(begin(&im, &objects));
	ow_images_map(&im, PARENT, 10, code(HERE));
	ow_images_fork(&im, PARENT, CHILD, 15);
	CHECK(had(&im, CHILD, 20, HERE));
	ow_images_lose(&im, 30);
	CHECK(ow_image_is_full(ow_images_sampled(&im, CHILD, 20)));
	CHECK(!ow_images_sampled(&im, NOBODY, 20));
	end(&im);
}

/* What a process has mapped is nothing that one had whose number it has. */
static void test_sample_of_a_number(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im;

	CHECK(begin(&im, &objects));
	ow_images_exec(&im, getpid(), 10);
	ow_images_map(&im, getpid(), 11, code(HERE));
	ow_images_doubt(&im, getpid());
	ow_images_end(&im, getpid(), 30);
	CHECK(ow_image_is_full(ow_images_sampled(&im, getpid(), 20)));
	CHECK(!ow_images_looked(&im, getpid()));
	CHECK(!ow_image_is_full(ow_images_sampled(&im, getpid(), 40)));
	CHECK(ow_images_looked(&im, getpid()));
	end(&im);
}

/* All have ended before it is told that the first one had. */
static void test_first_thread_ended_long_ago(void)
{
	pid_t pid = start_ended(false);
	struct ow_images im = { 0 };
	uint64_t time = ow_now_ns() - 100;

	ow_images_map(&im, pid, 10, code(HERE));
	CHECK(ow_images_exit(&im, pid, time));
	CHECK(had(&im, pid, time + 1, HERE));
	CHECK(ow_images_lives_at(&im, pid, time + 2));
	CHECK(!ow_images_lives_at(&im, pid, ow_now_ns()));
	/* Another thread executes a program, which starts another process. */
	ow_images_exec(&im, pid, time + 2);
	ow_images_map(&im, pid, time + 3, code(THERE));
	CHECK(ow_images_fork(&im, pid, CHILD, time + 4));
	CHECK(!ow_images_exit(&im, pid, time + 5));
	CHECK(had(&im, pid, time + 5, THERE) && !had(&im, pid, time + 5, HERE));
	CHECK(had(&im, CHILD, time + 5, THERE));
	/* A later process with the number has nothing that it had. */
	CHECK(ow_images_fork(&im, CHILD, pid, time + 6));
	ow_images_exec(&im, pid, time + 7);
	CHECK(!had(&im, pid, time + 8, THERE));
	CHECK(had(&im, pid, time + 5, THERE));
	end_child(pid);
	ow_images_deinit(&im);
}

#define SOMEONE 65534

/* A process of another user, for which root's name stands in /proc. */
static pid_t start_hidden(void)
{
	pid_t pid;
	int ready[2];
	char c;

	CHECK(pipe(ready) == 0);
	pid = fork();
	if (pid == 0) {
		if (setresuid(SOMEONE, SOMEONE, SOMEONE) ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	CHECK(read(ready[0], &c, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* A file that is not there, but has a number. */
static const struct ow_mapping *file(uint64_t inode)
{
	static struct ow_mapping map;

	map = (struct ow_mapping){ .start = HERE + inode * SIZE,
				   .end = HERE + inode * SIZE + SIZE,
				   .inode = inode,
				   .dev = 1,
				   .executable = true,
				   .path = "/none" };
	return &map;
}

/* A child that has ended before anything asks about it, with its parent's user. */
static const struct ow_image_user *add_ended(struct ow_images *im, pid_t parent)
{
	uint64_t t = ow_images_as_of(im, parent);

	ow_images_fork(im, parent, CHILD, t + 1);
	ow_images_map(im, CHILD, t + 2, file(1));
	CHECK(ow_images_of(im, CHILD));
	return ow_images_user(im, CHILD);
}

static void test_user_of_a_hidden_process(void)
{
	struct ow_sampledobjects objects;
	const struct ow_image_user *user;
	struct ow_images im;
	pid_t pid = getuid() == 0 ? start_hidden() : getpid();
	uid_t uid = getuid() == 0 ? SOMEONE : getuid();
	bool is_new;

	CHECK(begin(&im, &objects));
	CHECK(ow_images_look(&im, pid, &is_new));
	user = ow_images_user(&im, pid);
	CHECK(user->has_uid && user->uid == uid);
	user = add_ended(&im, pid);
	CHECK(user->has_uid && user->uid == uid);
	end(&im);
	if (pid == getpid())
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* One that root started is another user's by then. */
static void test_user_that_changes(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im;
	pid_t pid;
	bool is_new;

	if (getuid() != 0)
		return;
	pid = start_hidden();
	CHECK(begin(&im, &objects));
	CHECK(ow_images_uid(&im, pid) == SOMEONE);
	CHECK(ow_images_look(&im, pid, &is_new));
	ow_images_tell_uid(&im, pid, ow_now_ns(), 0);
	CHECK(ow_images_uid(&im, pid) == 0);
	ow_images_user(&im, pid)->uid_as_of = 0;
	CHECK(ow_images_uid(&im, pid) == SOMEONE);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ow_images_user(&im, pid)->uid_as_of = 0;
	CHECK(ow_images_uid(&im, pid) == SOMEONE);
	end(&im);
	CHECK(ow_images_uid(&im, pid) == (uid_t)-1);
}

/* Root's may have become another's; a sample tells. */
static void test_child_of_root_is_not_roots(void)
{
	struct ow_sampledobjects objects;
	const struct ow_image_user *user;
	struct ow_images im;

	CHECK(begin(&im, &objects));
	ow_images_map(&im, PARENT, 1, code(THERE));
	ow_images_tell_uid(&im, PARENT, 2, 0);
	user = ow_images_user(&im, PARENT);
	CHECK(user->has_uid && user->uid == 0);
	user = add_ended(&im, PARENT);
	CHECK(!user->has_uid);
	ow_images_tell_uid(&im, CHILD, user->begun, SOMEONE);
	CHECK(user->has_uid && user->uid == SOMEONE);
	end(&im);
}

/* Processes of which nobody told whose they are share what one user may have. */
static void test_files_of_nobody_in_particular(void)
{
	const uint64_t each = OW_RECORD_FILES;
	struct ow_sampledobjects objects;
	struct ow_images im;
	uint64_t i;

	CHECK(begin(&im, &objects));
	for (i = 0; i < 3 * each; i++)
		ow_images_map(&im, PARENT + (pid_t)(i / each), i + 1,
			      file(i + 1));
	for (i = 0; i < 3; i++) {
		CHECK(ow_images_of(&im, PARENT + (pid_t)i));
		/* However long that took. */
		im.shares->looked_until = 0;
	}
	CHECK(im.nr_refused > each / 2);
	end(&im);
}

#define LIVES 20000
#define CODES 5 /* mappings of a short process */

/* A command that a shell runs: it is forked, executes, and ends. */
static void live(struct ow_images *im, pid_t pid, uint64_t time)
{
	int i;

	ow_images_fork(im, PARENT, pid, time);
	ow_images_exec(im, pid, time + 1);
	for (i = 0; i < CODES; i++)
		ow_images_map(im, pid, time + 2 + (uint64_t)i,
			      code(HERE + SIZE * (uint64_t)i));
	ow_images_end(im, pid, time + 10);
}

/* An image of two pages of code, at those places of an object that isn't opened. */
static struct ow_image *pages_of(struct ow_images *im, uint64_t first,
				 uint64_t second)
{
	struct ow_bpf_range *ranges = calloc(2, sizeof(*ranges));

	ranges[0] = (struct ow_bpf_range){ HERE, HERE + SIZE, first, 1, 0 };
	ranges[1] = (struct ow_bpf_range){ HERE + SIZE, HERE + 2 * SIZE, second,
					   1, 0 };
	return ow_images_add(im, PARENT, ranges, 2);
}

static void note_pages(struct ow_images *im, uint64_t as_of, uint64_t first,
		       uint64_t second)
{
	const struct ow_image_change c = {
		.time = as_of + 10,
		.image = pages_of(im, first, second),
		.as_of = as_of,
		.event = OW_IMAGE_LOOK,
	};

	ow_images_hold(im, c.image);
	ow_imageusers_note(im, ow_images_user(im, PARENT), &c);
}

/* How many ranges a look has shown to be other code; addr is the first one's. */
static uint32_t nr_changed(struct ow_images *im, uint64_t as_of, uint64_t *addr)
{
	uint32_t nr;
	struct ow_bpf_range *list =
		ow_imagecheck_changed(im, PARENT, as_of, &nr);

	*addr = list ? list->start : 0;
	free(list);
	return nr;
}

static void test_code_that_nobody_told_of(void)
{
	struct ow_images im = { 0 };
	uint64_t addr;

	ow_imageusers_begin(&im, ow_imageusers_add(&im, PARENT, 0),
			    pages_of(&im, 1, 2));
	note_pages(&im, 100, 1, 2);
	CHECK(nr_changed(&im, 100, &addr) == 0);
	note_pages(&im, 200, 1, 3);
	CHECK(nr_changed(&im, 200, &addr) == 1 && addr == HERE + SIZE);
	/* What was told while one looked may be what was seen. */
	CHECK(ow_images_map(&im, PARENT, 305, code(HERE)));
	note_pages(&im, 300, 5, 4);
	CHECK(nr_changed(&im, 300, &addr) == 1 && addr == HERE + SIZE);
	/* At that time there was no look. */
	CHECK(nr_changed(&im, 400, &addr) == 0);
	ow_images_deinit(&im);
}

/* What no sample hits makes no image, and is forgotten when it has ended. */
static void test_lives_leave_nothing(void)
{
	struct ow_images im = { 0 };
	size_t most = 0;
	int i;

	ow_images_map(&im, PARENT, 1, code(HERE));
	for (i = 0; i < LIVES; i++) {
		live(&im, NOBODY + i, 100 * (uint64_t)(i + 1));
		if (i % 100 == 0)
			ow_images_settle(&im, 100 * (uint64_t)i);
		most = im.nr_users > most ? im.nr_users : most;
	}
	/* The parent's, which its children began with. */
	CHECK(im.last_id == 1 && im.nr == 1);
	CHECK(most <= 202);
	ow_images_settle(&im, UINT64_MAX - 1);
	CHECK(im.nr_users == 1 && im.nr_unsettled == 0);
	ow_images_thin(&im, UINT64_MAX);
	CHECK(im.nr == 1 && ow_images_of(&im, PARENT));
	ow_images_deinit(&im);
}

/* An image that was asked for goes, too, unless a stack that was stored needs it. */
static void test_sampled_lives(void)
{
	const uint64_t frame = OW_SAMPLE_FRAME(HERE + 8, OW_HOW_REGS, 0);
	struct ow_recorded stack = { .nr = 1, .packed = &frame };
	struct ow_images im = { 0 };
	struct ow_image *image;
	int i;

	ow_images_map(&im, PARENT, 1, code(HERE));
	for (i = 0; i < 1000; i++) {
		live(&im, NOBODY + i, 100 * (uint64_t)(i + 1));
		image = ow_images_at(&im, NOBODY + i,
				     100 * (uint64_t)(i + 1) + 9);
		CHECK(image && image->nr == CODES);
		stack.image = image ? image->id : 0;
		if (i % 2)
			ow_images_claim(&im, &stack);
	}
	ow_images_settle(&im, UINT64_MAX - 1);
	ow_images_thin(&im, UINT64_MAX);
	/* Of each only the range that the stack has a frame in. */
	CHECK(im.nr == 501 && im.nr_ranges == 501);
	image = ow_images_get(&im, stack.image);
	CHECK(image && ow_image_range(image, HERE + 8));
	ow_images_unclaim(&im, &stack);
	CHECK(im.nr == 500 && !ow_images_get(&im, stack.image));
	ow_images_deinit(&im);
}

/* A process that maps code without end, which nobody tells of being unmapped. */
static void test_mapping_without_end(void)
{
	struct ow_images im = { 0 };
	struct ow_image *image;
	uint64_t i;

	for (i = 0; i < 200000; i++) {
		ow_images_map(&im, PARENT, i + 1,
			      code(HERE + 2 * SIZE * (i % 100)));
		if (i % 1000 == 999)
			ow_images_settle(&im, i);
	}
	/* Few images were made of so many changes, each of what there is. */
	CHECK(im.last_id <= 200 && im.nr_ranges <= 200 * 100);
	image = ow_images_of(&im, PARENT);
	CHECK(image && image->nr == 100);
	for (i = 0; i < 40000; i++)
		ow_images_map(&im, PARENT, 300000 + i,
			      code(THERE + 2 * SIZE * i));
	/* That is more than is followed: it would be asked for. */
	image = ow_images_of(&im, PARENT);
	CHECK(image && ow_image_is_full(image));
	CHECK(ow_images_user(&im, PARENT)->nr == 0);
	ow_images_fork(&im, PARENT, CHILD, 350000);
	CHECK(ow_images_user(&im, CHILD)->is_unheeded);
	/* What follows an exec is known again. */
	ow_images_exec(&im, PARENT, 400000);
	ow_images_map(&im, PARENT, 400001, code(HERE));
	CHECK(had(&im, PARENT, 400002, HERE) &&
	      !had(&im, PARENT, 400002, THERE));
	ow_images_deinit(&im);
}

/* Room in the kernel's array: what was used the longest ago makes room. */
static void test_places(void)
{
	static struct ow_bpf_range kernel[OW_BPF_RANGES];
	struct ow_images im = { .kernel = kernel };
	struct ow_image *small[3], *large[8], *more;
	size_t i;

	for (i = 0; i < 8; i++) {
		large[i] = ow_images_add(&im, PARENT,
					 calloc(OW_RECORD_MAPPINGS,
						sizeof(*kernel)),
					 OW_RECORD_MAPPINGS);
		CHECK(large[i] && ow_images_place(&im, large[i]) == (i < 8));
		CHECK(kernel[large[i]->first - 1].object == large[i]->id);
	}
	for (i = 0; i < 3; i++)
		small[i] = ow_images_add(&im, PARENT,
					 calloc(2, sizeof(*kernel)), 2);
	/* There is none; it comes when programs can't read it any more. */
	kernel[large[5]->first - 1].start -= 5;
	CHECK(!ow_images_place(&im, small[0]) && im.evictions == 1);
	CHECK(!large[5]->is_placed && large[4]->is_placed);
	CHECK(kernel[large[5]->first - 1].object == 0);
	CHECK(!ow_images_place(&im, small[1]) && im.evictions == 1);
	usleep(1100000);
	for (i = 0; i < 3; i++)
		CHECK(ow_images_place(&im, small[i]));
	/* What is large doesn't take the places of what is small. */
	more = ow_images_add(&im, PARENT,
			     calloc(OW_RECORD_MAPPINGS, sizeof(*kernel)),
			     OW_RECORD_MAPPINGS);
	CHECK(!ow_images_place(&im, more) && im.evictions == 2);
	for (i = 0; i < 3; i++)
		CHECK(small[i]->is_placed);
	more->nr = OW_RECORD_MAPPINGS + 1;
	CHECK(!ow_images_place(&im, more) && im.evictions == 2);
	more->nr--;
	ow_images_deinit(&im);
}

int main(void)
{
	static const struct test tests[] = {
		{ "each time has its image", test_each_time_has_its_image },
		{ "between two programs", test_between_programs },
		{ "a child has what its parent had",
		  test_child_has_what_its_parent_had },
		{ "ends", test_ends },
		{ "a look is not undone", test_look_is_not_undone },
		{ "a change during a look", test_change_during_a_look },
		{ "a change and back, before a look",
		  test_change_and_back_before_a_look },
		{ "a look at who has ended", test_look_at_who_has_ended },
		{ "what a stop has shown", test_show },
		{ "the first thread ends", test_first_thread_ends },
		{ "the first thread ended long ago",
		  test_first_thread_ended_long_ago },
		{ "a look where the first thread has ended",
		  test_look_without_first_thread },
		{ "doubt", test_doubt },
		{ "a sample after a loss", test_sample_after_a_loss },
		{ "a child of before the look", test_child_after_a_loss },
		{ "a sample of who did nothing",
		  test_sample_of_who_did_nothing },
		{ "a sample without a look", test_sample_without_a_look },
		{ "a sample of who has ended", test_sample_of_who_has_ended },
		{ "a sample of a process whose number is another's",
		  test_sample_of_a_number },
		{ "the user of a hidden process",
		  test_user_of_a_hidden_process },
		{ "the user of a process, which changes",
		  test_user_that_changes },
		{ "a child of root is not root's",
		  test_child_of_root_is_not_roots },
		{ "files of nobody in particular",
		  test_files_of_nobody_in_particular },
		{ "code that nobody told of", test_code_that_nobody_told_of },
		{ "objects that images name", test_named_objects },
		{ "short lives leave nothing", test_lives_leave_nothing },
		{ "short lives that were sampled", test_sampled_lives },
		{ "mapping without end", test_mapping_without_end },
		{ "places in the kernel's array", test_places },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
