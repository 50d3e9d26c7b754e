// SPDX-License-Identifier: BSD-2-Clause
/*
 * corecode SEGMENTS FILE: wait in code of a file that says it is a core file of so many
 * segments.  Their headers are a hole of the file.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CODE_AT  4096
#define SEGMENTS 8192   /* where their headers are */
#define MANY     0xffff /* e_phnum says so; section 0 has the number */

/* pause(2), again and again. */
static const uint8_t code[] = {
	0xb8, SYS_pause, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7
};

int main(int argc, char **argv)
{
	Elf64_Ehdr head = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = 1,
		.e_phoff = SEGMENTS,
		.e_shoff = sizeof(head),
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = MANY,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 1,
	};
	Elf64_Shdr zero = { .sh_info = 0 };
	void *at;
	int fd;

	if (argc < 3)
		return 2;
	zero.sh_info = (uint32_t)strtoul(argv[1], NULL, 0);
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0755);
	if (pwrite(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    pwrite(fd, &zero, sizeof(zero), sizeof(head)) != sizeof(zero) ||
	    pwrite(fd, code, sizeof(code), CODE_AT) != sizeof(code) ||
	    ftruncate(fd, SEGMENTS + (off_t)zero.sh_info *
					     (off_t)sizeof(Elf64_Phdr)))
		return 1;
	at = mmap(NULL, CODE_AT, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		  CODE_AT);
	if (at == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	((void (*)(void))at)();
	return 0;
}
