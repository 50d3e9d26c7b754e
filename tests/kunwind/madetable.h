/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables that are made up, of the size that a test needs. */
#ifndef TESTS_KUNWIND_MADETABLE_H
#define TESTS_KUNWIND_MADETABLE_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "ow_table.h"

/*
 * A sound table of that many blocks, each of which has one row that no CFI covers:
 * what is told apart by its base is different to the byte.
 */
static inline uint8_t *make_table(uint32_t blocks, uint64_t base, size_t *size)
{
	size_t heads = sizeof(struct ow_table_head) + 4 * (size_t)blocks;
	struct ow_table_head *head;
	uint32_t i;
	uint8_t *t;

	*size = heads + OW_TABLE_BLOCK * (size_t)blocks;
	t = mmap(NULL, *size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	head = (void *)t;
	*head = (struct ow_table_head){
		.magic = OW_TABLE_MAGIC,
		.version = OW_TABLE_VERSION,
		.machine = 62,
		.base = base,
		.rows_size = OW_TABLE_BLOCK * blocks,
		.word = 8,
		.ra = 16,
	};
	for (i = 0; i < blocks; i++) {
		memcpy(t + sizeof(*head) + 4 * (size_t)i, &i, 4);
		t[heads + OW_TABLE_BLOCK * (size_t)i] = 1;
	}
	return t;
}

#endif /* TESTS_KUNWIND_MADETABLE_H */
