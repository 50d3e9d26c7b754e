// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rows of a map are not taken for those of another map whose generation, which kwtest.ko
 * sets, is the same in its low half.  Run on one CPU.
 *
 * usage: generations FOLDER: of through-8.so and through-24.so, which are mapped to the same
 * place in turn.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#define PARAMETER "/sys/module/kwtest/parameters/generation"
#define TRIES     10

static int passed, failed, dev;
static void *loaded;
static void *through; /* of what is loaded */
static bool complete;

static void say(bool well, const char *what, long figure)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld)\n", what, figure);
}

static long long generation(void)
{
	FILE *f = fopen(PARAMETER, "re");
	long long ret = -1;

	if (f && fscanf(f, "%lld", &ret) != 1)
		ret = -1;
	if (f)
		fclose(f);
	return ret;
}

static void set_generation(long long to)
{
	FILE *f = fopen(PARAMETER, "we");

	if (f) {
		fprintf(f, "%lld", to);
		fclose(f);
	}
}

/* It gets its table, too. */
static bool load(const char *folder, int room)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/through-%d.so", folder, room);
	loaded = dlopen(path, RTLD_NOW);
	through = loaded ? dlsym(loaded, "through") : NULL;
	return through && ow_kunwind_serve(dev, NULL, NULL, NULL, NULL) >= 0;
}

static void look(void)
{
	struct ow_frame frames[64];
	enum ow_end end = OW_END_NOT_YET;

	complete = ow_kunwind_unwind(dev, frames, 64, 0, &end, NULL) >= 4 &&
		   end == OW_END_OUTERMOST;
}

static bool is_complete(void)
{
	void (*call)(void (*what)(void));

	*(void **)&call = through;
	call(look);
	return complete;
}

/* Return by how much a load has the generation grow. */
static long long growth(const char *folder)
{
	long long before = generation(), after;

	say(load(folder, 24), "load", 24);
	after = generation();
	dlclose(loaded);
	return after - before;
}

/* Return true if the second one has been at the place and of the generation wanted. */
static bool try(const char *folder)
{
	long long grows = growth(folder), first;
	const void *place;

	say(load(folder, 8), "load", 8);
	first = generation();
	place = through;
	say(is_complete(), "a stack through the first", 0);
	dlclose(loaded);
	set_generation(first + (1LL << 32) - grows);
	say(load(folder, 24), "load", 24);
	say(is_complete(), "a stack through the second", 0);
	first += 1LL << 32;
	grows = generation() - first;
	dlclose(loaded);
	return through == place && grows == 0;
}

int main(int argc, char **argv)
{
	struct ow_error err;
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	dev = ow_kunwind_open(&err);
	if (argc != 2 || dev < 0 || ow_kunwind_follow(dev, 0, 0, &err)) {
		printf("%s\n0 passed, 1 failed\n", err.msg);
		return 1;
	}
	for (i = 0; i < TRIES && !try(argv[1]); i++)
		;
	say(i < TRIES, "the same low half of a generation", i);
	printf("# after %d tries\n%d passed, %d failed\n", i, passed, failed);
	return failed != 0;
}
