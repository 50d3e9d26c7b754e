// SPDX-License-Identifier: BSD-2-Clause
/* A function that calls its argument, with so much ROOM on its stack. */
#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

__asm__(".text\n"
	".globl through\n"
	".type through, @function\n"
	"through:\n"
	".cfi_startproc\n"
	"sub $" TEXT(
		ROOM) ", %rsp\n"
		      ".cfi_adjust_cfa_offset " TEXT(
			      ROOM) "\n"
				    "call *%rdi\n"
				    "add $" TEXT(
					    ROOM) ", %rsp\n"
						  ".cfi_adjust_cfa_offset -" TEXT(
							  ROOM) "\n"
								"ret\n"
								".cfi_endproc\n"
								".size through, . - through\n");
