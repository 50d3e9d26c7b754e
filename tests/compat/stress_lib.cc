// SPDX-License-Identifier: BSD-2-Clause
/* Two libraries of this, with other frames at the same addresses. */
#include <stdexcept>

#ifndef ROOM
#define ROOM 16
#endif

extern "C" int __attribute__((noinline)) stress_call(int n, int (*leaf)(int))
{
	volatile char room[ROOM];

	for (int i = 0; i < ROOM; i += 8)
		room[i] = (char)n;
	if (n > 0)
		return stress_call(n - 1, leaf) + room[0];
	if (leaf(n) < 0)
		throw std::runtime_error("out of a library");
	return room[ROOM / 2];
}
