/* SPDX-License-Identifier: BSD-2-Clause */
int plugin_enter(int (*f)(int));

static __attribute__((noinline)) int plugin_inner(int (*f)(int))
{
#ifdef DECOY
	volatile char room[4096];

	room[0] = 1;
	return f(2) + room[0];
#else
	return f(1) + 1;
#endif
}

#ifdef DECOY
/* Other names at the same addresses. */
#define plugin_enter decoy_enter
int plugin_enter(int (*f)(int));
#endif

int plugin_enter(int (*f)(int))
{
	return plugin_inner(f) + 1;
}
