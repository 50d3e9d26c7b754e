// SPDX-License-Identifier: BSD-2-Clause
#include "kwvdso.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "test.h"

/* What a process has written where its vDSO is: a header, and nothing else that is true. */
static uint8_t false_vdso[8192];

static void write_false(uint8_t class, uint16_t machine)
{
	Elf32_Ehdr *narrow = (Elf32_Ehdr *)false_vdso;
	Elf64_Ehdr *wide = (Elf64_Ehdr *)false_vdso;

	memset(false_vdso, 0x5a, sizeof(false_vdso));
	if (class == ELFCLASS64)
		*wide = (Elf64_Ehdr){ .e_type = ET_DYN,
				      .e_machine = machine,
				      .e_version = EV_CURRENT,
				      .e_ehsize = sizeof(*wide) };
	else
		*narrow = (Elf32_Ehdr){ .e_type = ET_DYN,
					.e_machine = machine,
					.e_version = EV_CURRENT,
					.e_ehsize = sizeof(*narrow) };
	memcpy(false_vdso, ELFMAG, SELFMAG);
	false_vdso[EI_CLASS] = class;
	false_vdso[EI_DATA] = ELFDATA2LSB;
	false_vdso[EI_VERSION] = EV_CURRENT;
}

static struct ow_object *open_false(struct ow_error *err)
{
	return ow_kwvdso_open(getpid(), (uintptr_t)false_vdso,
			      sizeof(false_vdso), err);
}

static void test_own(void)
{
	const uint8_t *own = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct ow_object *obj;
	struct ow_error err;

	write_false(ELFCLASS64, EM_X86_64);
	obj = open_false(&err);
	CHECK(obj && obj->elf.is_64);
	CHECK(obj && obj->elf.size >= 4096 &&
	      memcmp(obj->elf.bytes, own, 4096) == 0);
	ow_object_close(obj);
}

static void test_i386(void)
{
	struct ow_object *obj;
	struct ow_error err;

	write_false(ELFCLASS32, EM_386);
	obj = open_false(&err);
	CHECK(obj && !obj->elf.is_64 && obj->elf.arch->machine == EM_386);
	/* Linux calls it so, and has had the function since 2.6. */
	CHECK(obj &&
	      memmem(obj->elf.bytes, obj->elf.size, "linux-gate.so.1", 16));
	CHECK(obj &&
	      memmem(obj->elf.bytes, obj->elf.size, "__kernel_vsyscall", 18));
	ow_object_close(obj);
}

static void test_none(void)
{
	struct ow_error err;

	memset(false_vdso, 0, sizeof(false_vdso));
	CHECK(!open_false(&err));
	CHECK(!ow_kwvdso_open(getpid(), (uintptr_t)false_vdso, 0, &err));
	CHECK(strstr(err.msg, "no size"));
	write_false(ELFCLASS32, EM_ARM);
	CHECK(!open_false(&err));
}

int main(void)
{
	static const struct test tests[] = {
		{ "of our own word size", test_own },
		{ "of programs of i386", test_i386 },
		{ "of what is none", test_none },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
