/* SPDX-License-Identifier: BSD-2-Clause */
/* What the stack of a system call is called: text, made once and shared. */
#ifndef OW_SITENAMES_H
#define OW_SITENAMES_H

#include <stdio.h>

#include <outwind/record.h>

/*
 * Each call writes its stack, and who is looked at chooses the names: those of a stack
 * are whole up to so many bytes, and so are those that are shown alone.
 */
#define SITENAMES_WHOLE 131072
#define SITENAMES_ALONE 4096

struct sitenames {
	unsigned int users; /* that hold it */
	uint64_t hash;      /* as sitenames_hash() has it; 0: not yet */
	size_t bytes;       /* of all */
	char *function;     /* or object; NULL: not known */
	char *stack;        /* lines; NULL: none were asked for */
	size_t stack_size;  /* bytes of these */
	size_t nr_lines;
	bool is_cut; /* some names of the stack are not whole */
};

/*
 * Name a stack; has_stack: in whole.  place_ret is the frame that stands for the call:
 * the first one outside of the object with the call's instruction, or else the innermost
 * one, with the offset in it; free() it.  Sets *is_cut_ret if its name isn't whole.
 * The names are the caller's until sitenames_release(); NULL when out of memory.
 */
struct sitenames *sitenames_make(struct ow_recorder *r,
				 const struct ow_recorded *is, bool has_stack,
				 char **place_ret, bool *is_cut_ret);

/*
 * Print the first size bytes of text, or of its whole characters, with "..." if there
 * are more.  The text has to be clean.
 */
void sitenames_put_part(FILE *out, const char *text, size_t text_size,
			size_t size);

/* Print of the stack no more than so many bytes: the first lines, each cut. */
#define SITENAMES_BRIEF 1024
void sitenames_put_brief(FILE *out, const struct sitenames *n);

/* A hash of the texts. */
uint64_t sitenames_hash(struct sitenames *n);

/* Order by text, as strcmp() has it; NULL comes first. */
int sitenames_order(const struct sitenames *a, const struct sitenames *b);

/* Return n, which may be NULL. */
struct sitenames *sitenames_hold(struct sitenames *n);
void sitenames_release(struct sitenames *n);

#endif /* OW_SITENAMES_H */
