/* SPDX-License-Identifier: BSD-2-Clause */
/* The growth of every list that is one piece of memory. */
#ifndef OW_GROW_H
#define OW_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OW_GROW_LEAST 64 /* elements */

/*
 * Make room for needed elements of size bytes, at least one: list is the address
 * of a pointer to memory of malloc(), or to NULL, with room for *room_ret.  Where
 * that is too little, there is room for more than twice as many afterwards.
 * Return false if there is no memory, with all as it was.
 */
static inline bool ow_grow(void *list, size_t *room_ret, size_t needed,
			   size_t size)
{
	size_t room = *room_ret;
	void *at;

	if (needed <= room)
		return true;
	if (room > SIZE_MAX / 4 || needed > SIZE_MAX / size)
		return false;
	room = 2 * room + OW_GROW_LEAST;
	if (room < needed || room > SIZE_MAX / size)
		room = needed;
	memcpy(&at, list, sizeof(at));
	at = realloc(at, room * size);
	if (!at)
		return false;
	memcpy(list, &at, sizeof(at));
	*room_ret = room;
	return true;
}

#endif /* OW_GROW_H */
