// SPDX-License-Identifier: BSD-2-Clause
/* What stacks.c loads. */
void plugin_call(void (*func)(void));

void plugin_call(void (*func)(void))
{
	volatile char fill[40];

	fill[0] = 1;
	func();
	fill[1] = fill[0];
}
