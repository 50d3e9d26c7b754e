/* SPDX-License-Identifier: BSD-2-Clause */
/* Which symbols are functions, and which of two is the better name. */
#ifndef OW_FUNCTION_H
#define OW_FUNCTION_H

#include "elfsym.h"

struct ow_owner;

struct ow_function {
	uint64_t start;
	uint64_t end; /* of the section, where the symbol has no size */
	const char *name;
	uint8_t rank; /* which of two aliases to take: the higher */
	bool sized;
};

/* One symbol table that names functions, and the file that it is in. */
struct ow_symbols {
	const struct ow_elf *elf;
	struct ow_elfsyms syms;
};

/*
 * To be asked before symbol i, of a pass over them in order: what takes longer than symbols
 * usually do, as each name may lie in a page of its own, is their user's time (bulk.h).
 * *since is 0 at first.  Return false if there is no time left.
 */
bool ow_function_has_time(size_t i, const struct ow_owner *own,
			  uint64_t *since);

/* Can a symbol of that type be a function? */
static inline bool ow_function_type(uint8_t type)
{
	return type == OW_STT_FUNC || type == OW_STT_GNU_IFUNC ||
	       type == OW_STT_NOTYPE;
}

/* Take a symbol as a function; false if it is none. */
bool ow_function_from(const struct ow_elf *elf, const struct ow_elfsym *sym,
		      struct ow_function *ret);

/*
 * May f be a label, that is, a part of the function that it stands in?  So
 * what has a size and a type of its own is none.
 */
bool ow_function_is_label(const struct ow_function *f);

/*
 * Is f the better name for what both cover?  After rank, the one with fewer
 * underscores in front, the shorter, the first by the alphabet: so the result
 * depends on no order in the file.  Only the first 4 KiB of a name count.
 */
bool ow_function_better(const struct ow_function *f,
			const struct ow_function *g);

#endif /* OW_FUNCTION_H */
