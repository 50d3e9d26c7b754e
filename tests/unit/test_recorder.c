// SPDX-License-Identifier: BSD-2-Clause
/* Sampling by the engine that needs nothing of the kernel. */
#include "recorder.h"

#include <linux/bpf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monotonic.h"
#include "scratch.h"
#include "subuid.h"
#include "subuids.h"
#include "test.h"

#define TOO_LONG 300 /* seconds, for what takes some milliseconds */

/* As often as can be, and no longer than was asked for. */
static void test_too_often(void)
{
	pid_t pid = fork();
	const struct ow_recorder_options options = {
		.engine = OW_ENGINE_PTRACE,
		.events = OW_RECORD_CPU,
		.pids = &pid,
		.nr_pids = 1,
		.frequency = UINT32_MAX,
	};
	struct ow_recorder_stats stats;
	struct ow_recorder *r;
	struct ow_error err;

	if (pid == 0)
		for (;;)
			pause();
	r = ow_recorder_open(&options, &err);
	CHECK(r && !ow_recorder_start(r, &err));
	alarm(TOO_LONG);
	CHECK(r && !ow_recorder_wait(r, 10, &err));
	alarm(0);
	if (r)
		ow_recorder_stats(r, &stats);
	CHECK(r && stats.frequency > 0 && stats.frequency < UINT32_MAX);
	ow_recorder_close(r);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#define MOST_FDS     1024
#define FIRST_PID    (1U << 22) /* there are none from here on */
#define PROCESS_SIZE 32         /* bytes, of struct ow_bpf_process */

static bool is_processes(const char *info)
{
	char size[32];

	snprintf(size, sizeof(size), "\nvalue_size:\t%d\n", PROCESS_SIZE);
	return strstr(info, "\nmap_type:\t1\n") && strstr(info, size) &&
	       strstr(info, "\nmax_entries:\t32768\n");
}

/* The map of the processes that the kernel knows, among our own files; or -1. */
static int find_processes(void)
{
	char path[48], info[1024];
	size_t n;
	FILE *f;
	int fd;

	for (fd = 0; fd < MOST_FDS; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		f = fopen(path, "re");
		n = f ? fread(info, 1, sizeof(info) - 1, f) : 0;
		if (f)
			fclose(f);
		info[n] = '\0';
		if (is_processes(info))
			return fd;
	}
	return -1;
}

static bool put_process(int map, uint32_t pid)
{
	const uint64_t value[PROCESS_SIZE / 8] = { 0 };
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)&pid;
	attr.value = (uintptr_t)value;
	return syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) == 0;
}

/* A recorder of engine bpf that has no process yet; NULL: not root, or built without. */
static struct ow_recorder *open_for_none(void)
{
	const pid_t none = getpid();
	const struct ow_recorder_options options = {
		.engine = OW_ENGINE_BPF,
		.events = OW_RECORD_CPU,
		.pids = &none,
	};

	return ow_recorder_open(&options, NULL);
}

/* The kernel knows of so many processes only: the others are counted. */
static void test_too_many_processes(void)
{
	struct ow_recorder *r = open_for_none();
	struct ow_recorder_stats stats;
	struct ow_error err;
	uint32_t i = 0;
	int map;

	if (!r)
		return; /* not root, or built without */
	map = find_processes();
	CHECK(map >= 0);
	while (map >= 0 && put_process(map, FIRST_PID + i))
		i++;
	CHECK(i == 32768);
	CHECK(!ow_recorder_add(r, getpid(), &err));
	ow_recorder_stats(r, &stats);
	CHECK(stats.crowded_out == 1);
	ow_recorder_close(r);
}

static bool knows(int map, pid_t pid)
{
	uint64_t value[PROCESS_SIZE / 8];
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)&pid;
	attr.value = (uintptr_t)value;
	return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) == 0;
}

/* A process whose end is lost, and that was told of after it, has no place for ever. */
static void test_end_that_was_not_told(void)
{
	struct ow_recorder *r = open_for_none();
	struct ow_error err;
	int map = r ? find_processes() : -1;
	pid_t pid;

	if (!r)
		return; /* not root, or built without */
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	CHECK(!ow_recorder_add(r, pid, &err) && knows(map, pid));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(put_process(map, (uint32_t)pid));
	ow_images_lose(&r->images, ow_now_ns());
	ow_images_settle(&r->images, ow_now_ns());
	CHECK(!ow_images_lives(&r->images, pid) && !knows(map, pid));
	ow_recorder_close(r);
}

#define SOMEONE 65534
#define STORE   ((size_t)1 << 20) /* bytes that all stacks may take */
#define STACKS  2000 /* of a process, far more than there is room for */

static pid_t start(void (*prepare)(void))
{
	int ends[2];
	pid_t pid;
	char c;

	CHECK(!pipe(ends));
	pid = fork();
	if (pid == 0) {
		prepare();
		CHECK(write(ends[1], "", 1) == 1);
		for (;;)
			pause();
	}
	CHECK(read(ends[0], &c, 1) == 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void become_someone(void)
{
	CHECK(!setuid(SOMEONE));
}

/* Count stacks that are all different. */
static void count_many(struct ow_recorder *r, pid_t pid)
{
	struct ow_bpf_stack head = { 0 };
	uint64_t frames[OW_BPF_FRAMES] = { 0 };

	for (frames[0] = 1; frames[0] <= STACKS; frames[0]++) {
		head = (struct ow_bpf_stack){ .nr = 64 };
		head.key.pid = (uint32_t)pid;
		CHECK(!ow_recorder_count(r, &head, frames, 1));
	}
}

/* Whose a stack is, is known when it is stored: a user has but a share of the room. */
static void test_share_of_a_user(void)
{
	struct ow_recorder *r = calloc(1, sizeof(*r));
	struct ow_stored *s;
	size_t i, nr = 0;
	pid_t pids[4];

	if (geteuid() != 0 || !r) {
		free(r);
		return;
	}
	r->store.limit = STORE;
	for (i = 0; i < OW_ARRAY_SIZE(pids); i++) {
		pids[i] = start(become_someone);
		count_many(r, pids[i]);
	}
	for (i = 0; i < r->store.room; i++) {
		s = r->store.slots[i];
		nr += s && s->uid == SOMEONE && s->is.uid == SOMEONE;
	}
	CHECK(nr == r->store.nr && nr > 100);
	CHECK(r->store.bytes <= STORE / 2 + 4096);
	ow_samplestore_deinit(&r->store);
	free(r);
	for (i = 0; i < OW_ARRAY_SIZE(pids); i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

static void spin(void)
{
	for (;;)
		;
}

struct seen {
	pid_t pid;
	uid_t uid;
	uint64_t nr;
};

static void see(void *arg, const struct ow_recorded *s)
{
	struct seen *seen = arg;

	if (s->pid != seen->pid)
		return;
	seen->nr += s->count;
	seen->uid = s->uid;
}

/* Record until there is a stack of a process; return whose it is. */
static uid_t user_seen(struct ow_recorder *r, pid_t pid)
{
	struct seen seen = { .pid = pid };
	struct ow_error err;

	alarm(TOO_LONG);
	while (seen.nr == 0)
		CHECK(!ow_recorder_wait(r, 10, &err) &&
		      !ow_recorder_drain(r, see, &seen, &err));
	alarm(0);
	return seen.uid;
}

static struct ow_recorder *record(enum ow_engine engine, const pid_t *pids,
				  size_t nr)
{
	const struct ow_recorder_options options = {
		.engine = engine,
		.events = OW_RECORD_CPU,
		.frequency = 1000,
		.pids = pids,
		.nr_pids = nr,
	};
	struct ow_recorder *r = ow_recorder_open(&options, NULL);

	CHECK(!r || !ow_recorder_start(r, NULL));
	return r;
}

/* Whose stacks are, by an engine, of a process that is ended then; -1: there is none. */
static void check_user(enum ow_engine engine, pid_t pid, uid_t user)
{
	struct ow_recorder *r;

	if (pid < 0)
		return; /* not allowed here */
	r = record(engine, &pid, 1);
	CHECK(!r || user_seen(r, pid) == user);
	ow_recorder_close(r);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const enum ow_engine engines[] = { OW_ENGINE_BPF, OW_ENGINE_PERF,
					  OW_ENGINE_PTRACE };

/* All numbers that a user has in a namespace are one user's. */
static void test_user_of_a_namespace(void)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(engines) && getuid() == 0; i++)
		check_user(engines[i], subuid_start(SUBUID_OWNER, 2, spin),
			   SUBUID_OWNER);
}

/* Have a list of the test's own; return false if that is not allowed. */
static bool put_subuids(void)
{
	static bool has_list;

	has_list = has_list ||
		   (getuid() == 0 && subuid_put("", "anna:x:1000:1000:\n"));
	if (!has_list)
		printf("# not allowed to mount\n");
	return has_list;
}

#define TRIES 1000

/* As if the list was read long ago. */
static void change_subuids(const char *text)
{
	static uint64_t later;

	scratch_write("subuid", text);
	later += 3600ULL * 1000000000;
	ow_subuids_renew(ow_now_ns() + later);
}

/* A user's subordinate ids are the user's outside of the namespace, too. */
static void test_user_of_subordinate_ids(void)
{
	size_t i;

	if (!put_subuids())
		return;
	change_subuids("anna:200000:65536\n");
	for (i = 0; i < OW_ARRAY_SIZE(engines); i++) {
		check_user(engines[i], subuid_start(265535, 0, spin), 1000);
		check_user(engines[i], subuid_start(200001, 1, spin), 1000);
		check_user(engines[i], subuid_start(265536, 0, spin), 265536);
		check_user(engines[i], subuid_start(199999, 0, spin), 199999);
	}
}

static void spin_later(void)
{
	raise(SIGSTOP);
	spin();
}

/* The programs in the kernel are told of ids that a user has got meanwhile. */
static void test_new_subordinate_ids(void)
{
	pid_t pids[2];
	struct ow_recorder *r;
	size_t i;

	if (!put_subuids())
		return;
	change_subuids("anna:200000:65536\n");
	pids[0] = subuid_start(200001, 0, spin);
	pids[1] = subuid_start(300001, 0, spin_later);
	waitpid(pids[1], NULL, WUNTRACED);
	r = record(OW_ENGINE_BPF, pids, 2);
	CHECK(!r || user_seen(r, pids[0]) == 1000);
	change_subuids("bert:199990:20\nanna:300000:65536\n");
	/* The programs know by then; a stack is its first user's for good. */
	if (r)
		user_seen(r, pids[0]);
	kill(pids[1], SIGCONT);
	/* Stacks that leave the kernel as copies go by what was seen a second ago. */
	for (i = 0; r && i < TRIES && user_seen(r, pids[1]) != 1000; i++)
		;
	CHECK(i < TRIES);
	ow_recorder_close(r);
	for (i = 0; i < OW_ARRAY_SIZE(pids); i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

#define PROCESSES 12
#define PARTS     32000 /* of code, of each; those before sampling are 262,144 */

static void map_parts(size_t nr)
{
	size_t size = 2 * nr * (size_t)4096, i;
	uint8_t *at =
		mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	for (i = 0; i < nr; i++)
		CHECK(!mprotect(at + 2 * i * 4096, 4096,
				PROT_READ | PROT_EXEC));
}

static void map_much(void)
{
	map_parts(PARTS);
}

/* Sampling begins before all are looked at, where these have very much mapped. */
static void test_much_that_is_mapped(void)
{
	const struct ow_recorder_options options = {
		.engine = OW_ENGINE_BPF,
		.events = OW_RECORD_CPU,
		.everyone = true,
	};
	struct ow_error err;
	struct ow_recorder *r = ow_recorder_open(&options, &err);
	pid_t pids[PROCESSES];
	int i, nr = 0;

	if (!r)
		return; /* not root, or built without */
	for (i = 0; i < PROCESSES; i++)
		pids[i] = start(map_much);
	CHECK(!ow_recorder_start(r, &err));
	for (i = 0; i < PROCESSES; i++)
		nr += ow_images_looked(&r->images, pids[i]) != 0;
	CHECK(nr < PROCESSES);
	CHECK(r->images.looked < (1 << 18) + PARTS + 1000);
	ow_recorder_close(r);
	for (i = 0; i < PROCESSES; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

#define LARGE     9     /* of these the kernel has room for 8 */
#define AN_EIGHTH 16000 /* of its ranges, about */

static void map_an_eighth(void)
{
	map_parts(AN_EIGHTH);
}

/* Tables are ordered of what has a place, once; what has none isn't tried at once again. */
static void test_no_place(void)
{
	struct ow_recorder *r = open_for_none();
	struct ow_error err;
	const struct ow_image *image;
	pid_t pids[LARGE];
	int i, nr = 0;

	if (!r)
		return; /* not root, or built without */
	for (i = 0; i < LARGE; i++) {
		pids[i] = start(map_an_eighth);
		CHECK(!ow_recorder_add(r, pids[i], &err));
	}
	for (i = 0; i < LARGE; i++) {
		image = ow_images_of(&r->images, pids[i]);
		CHECK(image && image->nr > AN_EIGHTH);
		nr += image && image->is_prepared;
		CHECK(image &&
		      (image->placeless_until == 0) == image->is_prepared);
	}
	CHECK(nr == LARGE - 1);
	ow_recorder_close(r);
	for (i = 0; i < LARGE; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

struct naming {
	struct ow_recorder *recorder;
	bool is_short;       /* no memory is left for names */
	size_t nr, nr_named; /* frames */
};

static void name_frames(void *arg, const struct ow_recorded *s)
{
	struct naming *n = arg;
	uint64_t limit = ow_get_memory_limit();
	struct ow_name names[16];
	size_t i;

	if (n->is_short)
		ow_memory_limit(0);
	for (i = s->nr_kernel; i < s->nr_kernel + s->nr; i++) {
		ow_recorder_name(n->recorder, s, i, names, 16);
		n->nr++;
		n->nr_named += names[0].function != NULL;
	}
	ow_memory_limit(limit);
}

/* Sample until there is something to name. */
static struct naming name_samples(struct ow_recorder *r, bool is_short)
{
	struct naming n = { .recorder = r, .is_short = is_short };

	while (n.nr == 0) {
		CHECK(!ow_recorder_wait(r, 20, NULL));
		CHECK(!ow_recorder_drain(r, name_frames, &n, NULL));
	}
	return n;
}

/* Names that there was no room for are made again later, but not all the time. */
static void test_drop(void)
{
	pid_t pid = fork();
	const struct ow_recorder_options options = {
		.engine = OW_ENGINE_PTRACE,
		.events = OW_RECORD_CPU,
		.pids = &pid,
		.nr_pids = 1,
	};
	struct ow_recorder *r;
	uint64_t dropped;

	if (pid == 0)
		for (;;)
			getppid();
	r = ow_recorder_open(&options, NULL);
	CHECK(r && !ow_recorder_start(r, NULL));
	alarm(TOO_LONG);
	CHECK(name_samples(r, true).nr_named == 0);
	dropped = r->dropped;
	CHECK(dropped && !ow_symbolizer_lacks_names(r->objects.symbolizer));
	CHECK(name_samples(r, true).nr_named == 0);
	CHECK(r->dropped == dropped);
	CHECK(ow_symbolizer_lacks_names(r->objects.symbolizer));
	/* As if that had been long ago. */
	r->dropped = 1;
	CHECK(name_samples(r, true).nr_named == 0);
	CHECK(r->dropped > dropped);
	CHECK(name_samples(r, false).nr_named > 0);
	alarm(0);
	ow_recorder_close(r);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "more often than can be", test_too_often },
		{ "an end that was not told", test_end_that_was_not_told },
		{ "the share of a user", test_share_of_a_user },
		{ "more processes than there is room for",
		  test_too_many_processes },
		{ "the user of a namespace", test_user_of_a_namespace },
		{ "the user of subordinate ids", test_user_of_subordinate_ids },
		{ "new subordinate ids", test_new_subordinate_ids },
		{ "much that is mapped", test_much_that_is_mapped },
		{ "no place among the kernel's ranges", test_no_place },
		{ "names that are dropped", test_drop },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
