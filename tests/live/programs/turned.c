/* SPDX-License-Identifier: BSD-2-Clause */
/* Code that replaced.c maps: it needs nothing but itself. */
int turn(int (*work)(void));

int turn(int (*work)(void))
{
	volatile char room[ROOM];

	room[0] = room[ROOM - 1] = 1;
	return work() + room[0];
}
