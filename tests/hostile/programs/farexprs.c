// SPDX-License-Identifier: BSD-2-Clause
/*
 * farexprs HOW THREADS FRAMES DIR: threads that wait below so many frames of one function.
 * If HOW is "many", its CFA and registers are expressions of 27 reads each.  If it is "few",
 * they are as many operations as any row may have, and its CFA's reads a word of the stack
 * that is no address.  All other bytes that are read lie in a file that is far from the
 * code: 16 mappings of other files, of 120 segments each, are nearer.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "threads.h"

#define FILES    17
#define SEGMENTS 120
#define SLOT     0x1000000UL
#define BASE     0x200000000000UL
#define PLACE    (7 * SLOT + SLOT / 2) /* of the bytes, from BASE on */
#define PAGE     4096UL
#define MOST     (4UL << 20) /* bytes of this program's file */

/* DW_OP_const8u BASE + PLACE, and 27 times DW_OP_deref. */
#define PLACE_BYTES "0x0e, 0, 0, 0x80, 7, 0, 0x20, 0, 0"
#define READS                                       \
	PLACE_BYTES ", 6, 6, 6, 6, 6, 6, 6, 6, 6, " \
		    "6, 6, 6, 6, 6, 6, 6, 6, 6, "   \
		    "6, 6, 6, 6, 6, 6, 6, 6, 6"

__asm__(".text\n"
	".type near, @function\n"
	"near:\n"
	".cfi_startproc\n"
	"	nop\n"
	"near_call:\n"
	"	mov %rdi, %rsp\n"
	"1:	mov $34, %eax\n" /* pause(2) */
	"	syscall\n"
	"	jmp 1b\n"
	".cfi_endproc\n"
	".size near, . - near\n"
	".type many, @function\n"
	"many:\n"
	".cfi_startproc\n"
	/* DW_CFA_def_cfa_expression: the reads; drop; breg7 8 */
	".cfi_escape 0x0f, 39, " READS ", 0x13, 0x77, 8\n"
	/* DW_CFA_val_expression */
	".irp reg, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15\n"
	".cfi_escape 0x16, \\reg, 36, " READS "\n"
	".endr\n"
	"	nop\n"
	"many_call:\n"
	"	nop\n"
	".cfi_endproc\n"
	".size many, . - many\n");

__asm__(".text\n"
	".type few, @function\n"
	"few:\n"
	".cfi_startproc\n"
	/* DW_CFA_def_cfa_expression: breg7 0; deref; drop; a read; drop; breg7 16 */
	".cfi_escape 0x0f, 17, 0x77, 0, 6, 0x13, " PLACE_BYTES
	", 6, 0x13, 0x77, 16\n"
	/* DW_CFA_expression */
	".irp reg, 0, 1, 2, 3, 4, 5, 6, 8, 9\n"
	".cfi_escape 0x10, \\reg, 9, " PLACE_BYTES "\n"
	".endr\n"
	"	nop\n"
	"few_call:\n"
	"	nop\n"
	".cfi_endproc\n"
	".size few, . - few\n");

extern char near_call[], many_call[], few_call[];
extern const ElfW(Ehdr) __ehdr_start;

static uint8_t file[MOST + 4 * PAGE];
static size_t file_size;

static uintptr_t in_slot(int slot, const char *code)
{
	return BASE + slot * SLOT + (code - (const char *)&__ehdr_start);
}

static void read_own_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t got = fd < 0 ? -1 : read(fd, file, MOST);

	if (got <= 0 || got == (ssize_t)MOST)
		fail("own file");
	close(fd);
	file_size = ((size_t)got + PAGE - 1) & ~(PAGE - 1);
}

static Elf64_Phdr segment(uint64_t off, uint64_t vaddr)
{
	return (Elf64_Phdr){ .p_type = PT_LOAD,
			     .p_flags = PF_R,
			     .p_offset = off,
			     .p_vaddr = vaddr,
			     .p_filesz = 8,
			     .p_memsz = 8 };
}

/* Write a copy with more segments: one of the bytes, or many on both sides of them. */
static void write_copy(const char *path, bool has_bytes)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)file;
	Elf64_Phdr *all = (Elf64_Phdr *)(file + file_size + 64);
	uint64_t bytes = BASE + PLACE;
	size_t nr = __ehdr_start.e_phnum, i;
	int fd;

	memcpy(file + file_size, &bytes, sizeof(bytes));
	memcpy(all, file + __ehdr_start.e_phoff, nr * sizeof(*all));
	if (has_bytes)
		all[nr++] = segment(file_size, PLACE);
	for (i = 0; !has_bytes && nr < SEGMENTS; i++)
		all[nr++] = segment(0, (i % 2 ? SLOT / 4 : 16 * SLOT) + 64 * i);
	ehdr->e_phoff = file_size + 64;
	ehdr->e_phnum = (Elf64_Half)nr;
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0755);
	if (fd < 0 || write(fd, file, file_size + 2 * PAGE) < 0)
		fail(path);
	close(fd);
}

/* Map the code of a copy. */
static void map_copy(const char *path, int slot)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)(file + __ehdr_start.e_phoff);
	int fd = open(path, O_RDONLY);

	while (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
		p++;
	if (fd < 0 ||
	    mmap((void *)(BASE + slot * SLOT + p->p_vaddr), p->p_memsz,
		 PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		 (off_t)p->p_offset) == MAP_FAILED)
		fail("code");
	close(fd);
}

static void *run(void *stack)
{
	((void (*)(void *))in_slot(FILES / 2, near_call))(stack);
	return stack;
}

/* A call in each file, so that it is opened, and then the frames. */
static uint64_t *make_stack(bool is_few, long frames)
{
	uint64_t *stack =
		calloc(FILES + 2 * (size_t)frames + PAGE, sizeof(*stack));
	uint64_t call = in_slot(FILES / 2, is_few ? few_call : many_call);
	uint64_t *to = stack;
	int i;

	if (!stack)
		fail("stack");
	for (i = 0; i < FILES; i++)
		*to++ = in_slot(i, near_call);
	*to++ = call;
	while (--frames > 0) {
		if (is_few)
			*to++ = 0x12345;
		*to++ = call;
	}
	return stack;
}

int main(int argc, char **argv)
{
	bool is_few = argc > 1 && !strcmp(argv[1], "few");
	long i, nr = argc > 2 ? atol(argv[2]) : 1;

	if (argc < 5 || chdir(argv[4]))
		return 1;
	read_own_file();
	write_copy("has_bytes", true);
	write_copy("nearer", false);
	for (i = 0; i < FILES; i++)
		map_copy(i ? "nearer" : "has_bytes", (int)i);
	for (i = 0; i < nr; i++)
		start(run, make_stack(is_few, atol(argv[3])));
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
