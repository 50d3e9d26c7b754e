// SPDX-License-Identifier: BSD-2-Clause
#include "profileout.h"

#include <stdlib.h>

#include "commands.h"

#define MOST_OWNERS 4   /* that a message lists */
#define LINE        200 /* bytes of the list */

/* The owner of most of what is left out, or 0 if no more of it has a known one. */
static uint32_t owner_of_most(const struct profile *p, const uint64_t *nr_cut)
{
	uint32_t most = 0, i;

	for (i = 1; i <= p->nr_owners; i++)
		if (nr_cut[i] > (most ? nr_cut[most] : 0))
			most = i;
	return most;
}

/* Return true if an owner, or nobody who is known, has lost anything. */
static bool is_any_cut(const struct profile *p, const uint64_t *nr_cut)
{
	return nr_cut[0] || owner_of_most(p, nr_cut);
}

/* " (12 of user 3, 4 of user 5 and others)"; or "" where nobody is known. */
static void list_owners(char line[LINE], const struct profile *p,
			uint64_t *nr_cut)
{
	FILE *out = fmemopen(line, LINE, "w");
	uint32_t owner;
	int nr;

	if (!out)
		return;
	for (nr = 0; nr < MOST_OWNERS; nr++) {
		owner = owner_of_most(p, nr_cut);
		if (!owner)
			break;
		fprintf(out, "%s%llu of user %u", nr ? ", " : " (",
			(unsigned long long)nr_cut[owner],
			p->owners[owner - 1]);
		nr_cut[owner] = 0;
	}
	if (nr)
		fputs(is_any_cut(p, nr_cut) ? " and others)" : ")", out);
	fclose(out);
}

static void tell_coarse(const struct profile_writer *writer, uint64_t nr)
{
	complain("format '%s' would take more than %llu MiB for the labels of "
		 "functions without names: %llu are called by their objects "
		 "alone; format 'json' tells them apart",
		 writer->name, (unsigned long long)(PROFILE_MOST_LABELS >> 20),
		 (unsigned long long)nr);
}

static void tell_cut(const struct profile_writer *writer,
		     const struct profile *p, const struct profile_options *o)
{
	char owners[LINE] = "";

	list_owners(owners, p, o->nr_cut_of_ret);
	complain("format '%s' would take more than %llu MiB of text: %llu %s "
		 "are left out%s; other formats write each name once",
		 writer->name, (unsigned long long)(PROFILE_MOST_TEXT >> 20),
		 (unsigned long long)*o->nr_cut_ret, writer->cut, owners);
}

/* Write the profile with what o counts. */
static int write_counted(const struct profile_writer *writer, FILE *out,
			 const struct profile *p,
			 const struct profile_options *o)
{
	if (!o->nr_cut_of_ret || p->failed || !writer->write(out, p, o)) {
		complain("out of memory");
		return EXIT_NONE;
	}
	if (*o->nr_coarse_ret)
		tell_coarse(writer, *o->nr_coarse_ret);
	if (*o->nr_cut_ret)
		tell_cut(writer, p, o);
	return *o->nr_coarse_ret || *o->nr_cut_ret ? EXIT_SOME : EXIT_WELL;
}

int profileout_write(const struct profile_writer *writer, FILE *out,
		     const struct profile *p,
		     const struct profile_options *options)
{
	struct profile_options o = *options;
	uint64_t nr_cut = 0, nr_coarse = 0;
	int status;

	o.nr_cut_ret = &nr_cut;
	o.nr_coarse_ret = &nr_coarse;
	o.nr_cut_of_ret =
		calloc((size_t)p->nr_owners + 1, sizeof(*o.nr_cut_of_ret));
	status = write_counted(writer, out, p, &o);
	free(o.nr_cut_of_ret);
	return status;
}
