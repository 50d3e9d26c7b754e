// SPDX-License-Identifier: BSD-2-Clause
#include "procfs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "error.h"
#include "scratch.h"
#include "test.h"

/* A thread may be named like what is looked for, in front of it. */
static void test_names_like_keys(void)
{
	static const char *const names[] = {
		"TracerPid:\t1", "\nTracerPid:\t1", "\rTracerPid:\t1",
		"TracerPid:\n1", "x\nTracerPid: 1", "\\nTracerPid: 1",
	};
	long tracer = ow_status_number(getpid(), "TracerPid:"), pid, none;
	size_t i;

	CHECK(tracer >= 0); /* not 0 below a debugger */
	for (i = 0; i < OW_ARRAY_SIZE(names); i++) {
		prctl(PR_SET_NAME, names[i]);
		CHECK(ow_status_number(getpid(), "TracerPid:") == tracer);
		pid = ow_status_number(getpid(), "Pid:");
		CHECK(pid == getpid());
		none = ow_status_number(getpid(), "Nonsense:");
		CHECK(none == -1);
	}
	CHECK(ow_status_number(INT32_MAX, "TracerPid:") == -1);
}

static void test_names_like_stat(void)
{
	static const char *const names[] = {
		"plain", ") Z 1 (", "a) X", "((((", "))))", "", "\n) Z\n",
	};
	char name[32], state = '?';
	uint64_t start;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(names); i++) {
		prctl(PR_SET_NAME, names[i]);
		CHECK(ow_task_stat(getpid(), getpid(), name, sizeof(name),
				   &state));
		CHECK(strcmp(name, names[i]) == 0);
		CHECK(state == 'R');
	}
	prctl(PR_SET_NAME, "fifteen letters");
	CHECK(ow_task_stat(getpid(), getpid(), name, 8, &state));
	CHECK(strcmp(name, "fifteen") == 0);
	start = 0;
	CHECK(ow_task_stat_start(getpid(), getpid(), name, sizeof(name), &state,
				 &start));
	CHECK(strcmp(name, "fifteen letters") == 0 && state == 'R');
	CHECK(start == ow_process_stack_start(getpid()));
	CHECK(start > (uintptr_t)name);
	/* A thread of another process is none of this one's. */
	CHECK(!ow_task_stat(getpid(), getppid(), name, sizeof(name), &state));
	CHECK(!ow_task_stat(INT32_MAX, INT32_MAX, name, sizeof(name), &state));
}

struct mapped {
	const char *file;
	int prot, flags;
	bool unlinked;
};

/* A page of the file at offset 0x1000, and what is told of it. */
static void check_mapped(const struct mapped *t)
{
	struct ow_mappings maps;
	const struct ow_mapping *m;
	struct stat st;
	char path[256];
	FILE *f = fopen(t->file, "w+e");
	uint8_t *at;

	if (!f || ftruncate(fileno(f), 0x2000) || fstat(fileno(f), &st))
		abort();
	at = mmap(NULL, 0x1000, t->prot, t->flags, fileno(f), 0x1000);
	if (at == MAP_FAILED)
		abort();
	if (t->unlinked)
		unlink(t->file);
	snprintf(path, sizeof(path), "%s/%s", scratch_dir, t->file);
	CHECK(ow_mappings_read(getpid(), &maps, NULL) == 0);
	m = ow_mappings_from(&maps, (uintptr_t)at + 0xfff);
	CHECK(m && m->start == (uintptr_t)at);
	CHECK(m && m->end == (uintptr_t)at + 0x1000);
	CHECK(m && m->off == 0x1000);
	CHECK(m && m->dev == st.st_dev && m->inode == st.st_ino);
	CHECK(m && m->readable == !!(t->prot & PROT_READ));
	CHECK(m && m->writable == !!(t->prot & PROT_WRITE));
	CHECK(m && m->executable == !!(t->prot & PROT_EXEC));
	CHECK(m && m->deleted == t->unlinked);
	CHECK(m && strcmp(m->path, path) == 0);
	ow_mappings_free(&maps);
	munmap(at, 0x1000);
	fclose(f);
}

static void test_mappings(void)
{
	static const struct mapped list[] = {
		{ "plain", PROT_READ, MAP_PRIVATE, false },
		{ "gone", PROT_READ | PROT_EXEC, MAP_PRIVATE, true },
		{ "shared", PROT_READ | PROT_WRITE, MAP_SHARED, false },
		{ "none", PROT_NONE, MAP_PRIVATE, false },
		{ "two\nlines", PROT_READ, MAP_PRIVATE, false },
		{ " a space at both ends ", PROT_READ, MAP_PRIVATE, false },
		{ "1000-2000 r-xp 00000000 08:01 1 x", PROT_READ, MAP_PRIVATE,
		  false },
	};
	struct ow_mappings maps;
	struct ow_error err;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(list); i++)
		check_mapped(&list[i]);
	CHECK(ow_mappings_read(INT32_MAX, &maps, &err) == -OW_CODE_ABSENT);
	CHECK(strcmp(err.msg, "no process 2147483647") == 0);
	ow_mappings_free(&maps);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names like keys", test_names_like_keys },
		{ "names like what stat says", test_names_like_stat },
		{ "mappings", test_mappings },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
