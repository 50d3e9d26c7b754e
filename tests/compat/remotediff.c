// SPDX-License-Identifier: BSD-2-Clause
/*
 * All registers of all frames of another process, or of a core file, by two
 * libunwinds side by side.
 *
 * remotediff OURS THEIRS PID|PID=CORE...: OURS and THEIRS are folders of
 * libraries; a core is compared with the process that it is of.  Prints a line per difference and "N passed,
 * N failed" at the end, a test being a thread.
 */
#include <dlfcn.h>
#include <libunwind-coredump.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT(x) #x
#define NAME(x) TEXT(x)
#define ANY(fn) "_U" NAME(UNW_TARGET) "_" #fn
#define NR_REGS 18
#define MOST    512 /* frames */

struct library {
	unw_addr_space_t (*create)(unw_accessors_t *, int);
	int (*set_policy)(unw_addr_space_t, unw_caching_policy_t);
	int (*init)(unw_cursor_t *, unw_addr_space_t, void *);
	int (*step)(unw_cursor_t *);
	int (*get_reg)(unw_cursor_t *, int, unw_word_t *);
	int (*is_signal_frame)(unw_cursor_t *);
	int (*get_proc_info)(unw_cursor_t *, unw_proc_info_t *);
	int (*get_proc_name)(unw_cursor_t *, char *, size_t, unw_word_t *);
	void *(*upt_create)(pid_t);
	void (*upt_destroy)(void *);
	struct UCD_info *(*ucd_create)(const char *);
	void (*ucd_destroy)(struct UCD_info *);
	int (*ucd_nr)(struct UCD_info *);
	void (*ucd_select)(struct UCD_info *, int);
	pid_t (*ucd_pid)(struct UCD_info *);
	unw_accessors_t *upt, *ucd;
	unw_addr_space_t as;
};

static struct library libs[2];
static unsigned long frames, values, differences;
static unsigned int passed, failed;
static const char *subject;

static void *symbol(const char *dir, const char *file, const char *name)
{
	char path[4096];
	void *handle, *ret;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ret = handle ? dlsym(handle, name) : NULL;
	if (!ret) {
		printf("%s\n", dlerror());
		exit(2);
	}
	return ret;
}

static void open_library(struct library *l, const char *dir)
{
	const char *any = "libunwind-x86_64.so.8";
	const char *upt = "libunwind-ptrace.so.0";
	const char *ucd = "libunwind-coredump.so.0";

	l->create = symbol(dir, any, ANY(create_addr_space));
	l->set_policy = symbol(dir, any, ANY(set_caching_policy));
	l->init = symbol(dir, any, ANY(init_remote));
	l->step = symbol(dir, any, ANY(step));
	l->get_reg = symbol(dir, any, ANY(get_reg));
	l->is_signal_frame = symbol(dir, any, ANY(is_signal_frame));
	l->get_proc_info = symbol(dir, any, ANY(get_proc_info));
	l->get_proc_name = symbol(dir, any, ANY(get_proc_name));
	l->upt_create = symbol(dir, upt, "_UPT_create");
	l->upt_destroy = symbol(dir, upt, "_UPT_destroy");
	l->upt = symbol(dir, upt, "_UPT_accessors");
	l->ucd_create = symbol(dir, ucd, "_UCD_create");
	l->ucd_destroy = symbol(dir, ucd, "_UCD_destroy");
	l->ucd_nr = symbol(dir, ucd, "_UCD_get_num_threads");
	l->ucd_select = symbol(dir, ucd, "_UCD_select_thread");
	l->ucd_pid = symbol(dir, ucd, "_UCD_get_pid");
	l->ucd = symbol(dir, ucd, "_UCD_accessors");
}

static void same(int frame, const char *what, long ours, long theirs)
{
	values++;
	if (ours == theirs)
		return;
	differences++;
	printf("%s: frame %d: %s: ours %#lx, theirs %#lx\n", subject, frame,
	       what, ours, theirs);
}

static void compare_registers(int n, unw_cursor_t c[2])
{
	unw_word_t val[2];
	char what[32];
	int err[2], reg, i;

	for (reg = 0; reg < NR_REGS; reg++) {
		for (i = 0; i < 2; i++) {
			val[i] = 0;
			err[i] = libs[i].get_reg(&c[i], reg, &val[i]);
		}
		snprintf(what, sizeof(what), "register %d", reg);
		same(n, what, val[0], val[1]);
		same(n, "its error", err[0], err[1]);
	}
}

static void compare_names(int n, unw_cursor_t c[2])
{
	char name[2][512] = { "", "" };
	unw_word_t off[2] = { 0, 0 };
	int err[2], i;

	for (i = 0; i < 2; i++)
		err[i] = libs[i].get_proc_name(&c[i], name[i], sizeof(name[i]),
					       &off[i]);
	same(n, "error of name", err[0], err[1]);
	if (err[0] || err[1])
		return;
	same(n, "offset", off[0], off[1]);
	values++;
	if (strcmp(name[0], name[1]) == 0)
		return;
	differences++;
	printf("%s: frame %d: ours %s, theirs %s\n", subject, n, name[0],
	       name[1]);
}

static void compare_infos(int n, unw_cursor_t c[2])
{
	unw_proc_info_t pi[2];
	int err[2], i;

	memset(pi, 0, sizeof(pi));
	for (i = 0; i < 2; i++)
		err[i] = libs[i].get_proc_info(&c[i], &pi[i]);
	same(n, "error of proc info", err[0], err[1]);
	if (err[0] || err[1])
		return;
	same(n, "start", pi[0].start_ip, pi[1].start_ip);
	same(n, "end", pi[0].end_ip, pi[1].end_ip);
	same(n, "handler", pi[0].handler, pi[1].handler);
	same(n, "lsda", pi[0].lsda, pi[1].lsda);
}

static void compare_walks(void *args[2])
{
	unw_cursor_t c[2];
	int more[2], n = 0, i;

	for (i = 0; i < 2; i++) {
		if (libs[i].init(&c[i], libs[i].as, args[i])) {
			same(0, "init", i, -1);
			return;
		}
	}
	do {
		compare_registers(n, c);
		same(n, "is signal behind", libs[0].is_signal_frame(&c[0]) > 0,
		     libs[1].is_signal_frame(&c[1]) > 0);
		compare_infos(n, c);
		compare_names(n, c);
		same(n, "is signal", libs[0].is_signal_frame(&c[0]) > 0,
		     libs[1].is_signal_frame(&c[1]) > 0);
		for (i = 0; i < 2; i++)
			more[i] = libs[i].step(&c[i]);
		same(n, "step", more[0], more[1]);
		frames++;
	} while (++n < MOST && more[0] > 0 && more[1] > 0);
	if (n < 3)
		same(n, "depth", n, 3);
}

static void count(unsigned long before)
{
	if (differences == before)
		passed++;
	else
		failed++;
}

static void stop(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
	    waitpid(pid, NULL, __WALL) != pid) {
		perror("ptrace");
		exit(2);
	}
}

static void compare_process(pid_t pid)
{
	unsigned long before = differences;
	void *args[2];
	int i, policy;

	stop(pid);
	for (i = 0; i < 2; i++) {
		libs[i].as = libs[i].create(libs[i].upt, 0);
		args[i] = libs[i].upt_create(pid);
	}
	/* Not remembered; found and remembered; remembered. */
	for (policy = 0; policy < 3; policy++) {
		for (i = 0; i < 2 && policy < 2; i++)
			libs[i].set_policy(libs[i].as,
					   policy ? UNW_CACHE_GLOBAL :
						    UNW_CACHE_NONE);
		compare_walks(args);
	}
	for (i = 0; i < 2; i++)
		libs[i].upt_destroy(args[i]);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	count(before);
}

/*
 * libunwind 1.6.2 knows cores only of objects whose code is at the file's
 * begin, and takes r8 to r15 for one another; so it looks at the process.
 */
static void compare_core(pid_t pid, const char *path)
{
	struct UCD_info *ui = libs[0].ucd_create(path);
	unsigned long before = differences;
	void *args[2] = { ui, NULL };

	if (!ui) {
		printf("%s: can't be opened\n", path);
		exit(2);
	}
	stop(pid);
	libs[0].as = libs[0].create(libs[0].ucd, 0);
	libs[1].as = libs[1].create(libs[1].upt, 0);
	args[1] = libs[1].upt_create(pid);
	libs[0].ucd_select(ui, 0);
	same(0, "pid", libs[0].ucd_pid(ui), pid);
	same(0, "threads", libs[0].ucd_nr(ui), 1);
	compare_walks(args);
	libs[1].upt_destroy(args[1]);
	libs[0].ucd_destroy(ui);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	count(before);
}

int main(int argc, char **argv)
{
	char path[4096];
	const char *core;
	int i;

	if (argc < 4) {
		fprintf(stderr,
			"usage: remotediff OURS THEIRS PID|PID=CORE...\n");
		return 2;
	}
	/* Debian's libunwind-ptrace doesn't say that it needs these two. */
	snprintf(path, sizeof(path), "%s/libunwind-x86_64.so.8", argv[2]);
	if (!dlopen("liblzma.so.5", RTLD_NOW | RTLD_GLOBAL) ||
	    !dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
		printf("%s\n", dlerror());
		return 2;
	}
	open_library(&libs[0], argv[1]);
	open_library(&libs[1], argv[2]);
	for (i = 3; i < argc; i++) {
		subject = argv[i];
		core = strchr(argv[i], '=');
		if (core)
			compare_core(atoi(argv[i]), core + 1);
		else
			compare_process(atoi(argv[i]));
	}
	printf("# %lu frames, %lu values compared\n", frames, values);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
