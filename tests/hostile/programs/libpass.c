// SPDX-License-Identifier: BSD-2-Clause
/* A library that a stack goes through. */

static __attribute__((noipa)) void pass_inner(void (*next)(void))
{
	volatile char room[100];

	room[0] = 1;
	next();
	room[1] = room[0];
}

__attribute__((noipa)) void pass_on(void (*next)(void))
{
	volatile char room[50];

	room[0] = 1;
	pass_inner(next);
	room[1] = room[0];
}
