// SPDX-License-Identifier: BSD-2-Clause
#include "kwvdso.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "mappings.h"
#include "monotonic.h"
#include "processmem.h"
#include "reach.h"

#define VDSO_MAX (1u << 20)
#define WAIT_NS  5000000000ULL
#define CODE_AT  0x08048000 /* where i386 programs usually begin */

/*
 * A program of i386 that waits for a signal, for 10 s at most: alarm(10), and pause() again
 * and again.  (Numbers of system calls: Linux, arch/x86/entry/syscalls/syscall_32.tbl.)
 */
static const uint8_t i386_code[] = {
	0xbb, 10,   0, 0, 0, /* mov $10, %ebx */
	0xb8, 27,   0, 0, 0, /* mov $27, %eax */
	0xcd, 0x80,          /* int $0x80 */
	0xb8, 29,   0, 0, 0, /* mov $29, %eax */
	0xcd, 0x80,          /* int $0x80 */
	0xeb, 0xf7,          /* jmp to mov $29, %eax */
};

struct i386_program {
	Elf32_Ehdr file;
	Elf32_Phdr segment;
	uint8_t code[sizeof(i386_code)];
};

static void make_program(struct i386_program *p)
{
	*p = (struct i386_program){
		.file = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				     ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_386,
			.e_version = EV_CURRENT,
			.e_entry = CODE_AT + offsetof(struct i386_program, code),
			.e_phoff = offsetof(struct i386_program, segment),
			.e_ehsize = sizeof(p->file),
			.e_phentsize = sizeof(p->segment),
			.e_phnum = 1,
		},
		.segment = {
			.p_type = PT_LOAD,
			.p_vaddr = CODE_AT,
			.p_filesz = sizeof(*p),
			.p_memsz = sizeof(*p),
			.p_flags = PF_R | PF_X,
			.p_align = 4096,
		},
	};
	memcpy(p->code, i386_code, sizeof(i386_code));
}

/* Start the program, of a file of its own; return its number, or 0 and errno. */
static pid_t start_program(void)
{
	char name[] = "outwind-vdso", *const arguments[] = { name, NULL };
	char *const environment[] = { NULL };
	_cleanup_(ow_closep) int fd = memfd_create(name, MFD_CLOEXEC);
	struct i386_program p;
	char path[40];
	pid_t pid;
	int failed;

	make_program(&p);
	if (fd < 0 || write(fd, &p, sizeof(p)) != sizeof(p))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	failed = posix_spawn(&pid, path, NULL, NULL, arguments, environment);
	errno = failed;
	return failed ? 0 : pid;
}

/* A copy of a process' memory, or NULL. */
static uint8_t *copy_memory(pid_t pid, uint64_t start, size_t size)
{
	struct ow_patience patience = { 0 };
	struct ow_processmem mem;
	uint8_t *bytes = malloc(size);
	size_t got = 0;

	ow_processmem_open(&mem, pid, OW_READING_VM);
	/* Yama refuses a user's delegate; a user asks of own processes only. */
	if (bytes && geteuid() == 0 && pid != getpid())
		got = ow_processmem_read_patiently(&mem, &patience, start,
						   bytes, size);
	else if (bytes)
		got = ow_processmem_read(&mem, start, bytes, size);
	ow_processmem_close(&mem);
	if (got == size)
		return bytes;
	free(bytes);
	return NULL;
}

/* The vDSO of a process of ours, or NULL. */
static uint8_t *copy_vdso(pid_t pid, size_t *size_ret)
{
	struct ow_mappings maps;
	uint8_t *image = NULL;
	size_t i;

	if (!ow_mappings_read(pid, &maps, NULL))
		for (i = 0; i < maps.nr && !image; i++) {
			if (strcmp(maps.list[i].path, "[vdso]") != 0)
				continue;
			*size_ret = maps.list[i].end - maps.list[i].start;
			image = copy_memory(pid, maps.list[i].start, *size_ret);
		}
	ow_mappings_free(&maps);
	return image;
}

/* As posix_spawn(3) returns, the kernel may not have mapped it yet. */
static uint8_t *wait_for_vdso(pid_t pid, size_t *size_ret)
{
	const struct timespec nap = { 0, 1000000 };
	uint64_t until = ow_now_ns() + WAIT_NS;
	uint8_t *image = copy_vdso(pid, size_ret);

	while (!image && ow_now_ns() < until) {
		nanosleep(&nap, NULL);
		image = copy_vdso(pid, size_ret);
	}
	return image;
}

static uint8_t *copy_i386_vdso(size_t *size_ret, struct ow_error *err)
{
	pid_t pid = start_program();
	uint8_t *image;

	if (!pid) {
		ow_fail(err, OW_CODE_SYSTEM,
			"run a program of 32 bits, to read its vDSO");
		return NULL;
	}
	image = wait_for_vdso(pid, size_ret);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!image)
		ow_fail(err, OW_CODE_TIMEOUT,
			"read the vDSO of a program of 32 bits");
	return image;
}

static uint8_t *copy_own_vdso(size_t *size_ret, struct ow_error *err)
{
	uint8_t *image = copy_vdso(getpid(), size_ret);

	if (!image)
		ow_fail(err, OW_CODE_SYSTEM, "read our own vDSO");
	return image;
}

/* The architecture whose vDSO process pid has, or NULL. */
static const struct ow_arch *arch_of(pid_t pid, uint64_t start, size_t size,
				     struct ow_error *err)
{
	uint8_t *image = copy_memory(pid, start, size);
	const struct ow_owner own = ow_owner_of((uid_t)-1);
	const struct ow_arch *arch;
	struct ow_object *obj;

	if (!image) {
		ow_fail(err, OW_CODE_SYSTEM, "read the vDSO of process %d",
			(int)pid);
		return NULL;
	}
	obj = ow_object_from_image(image, size, own, "[vdso]", err);
	arch = obj ? obj->elf.arch : NULL;
	ow_object_close(obj);
	return arch;
}

struct ow_object *ow_kwvdso_open(pid_t pid, uint64_t start, size_t size,
				 struct ow_error *err)
{
	const struct ow_arch *arch = NULL;
	const struct ow_owner own = ow_owner_of(0);
	uint8_t *image = NULL;

	if (size == 0 || size > VDSO_MAX)
		ow_fail(err, OW_CODE_ARGUMENT,
			"the vDSO of process %d: no size", (int)pid);
	else
		arch = arch_of(pid, start, size, err);
	if (!arch)
		return NULL;
	if (arch->word == sizeof(void *))
		image = copy_own_vdso(&size, err);
	else if (arch->machine == EM_386)
		image = copy_i386_vdso(&size, err);
	else
		ow_fail(err, OW_CODE_UNSUPPORTED,
			"the vDSO of process %d: of another architecture",
			(int)pid);
	return image ? ow_object_from_image(image, size, own, "[vdso]", err) :
		       NULL;
}
