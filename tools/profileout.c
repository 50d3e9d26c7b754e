// SPDX-License-Identifier: BSD-2-Clause
#include "profileout.h"

#include "commands.h"

int profileout_write(const struct profile_writer *writer, FILE *out,
		     const struct profile *p,
		     const struct profile_options *options)
{
	struct profile_options o = *options;
	uint64_t nr_cut = 0, nr_coarse = 0;

	o.nr_cut_ret = &nr_cut;
	o.nr_coarse_ret = &nr_coarse;
	if (p->failed || !writer->write(out, p, &o)) {
		complain("out of memory");
		return EXIT_NONE;
	}
	if (nr_coarse)
		complain(
			"format '%s' would take more than %llu MiB for the "
			"labels of functions without names: %llu are called by "
			"their objects alone; format 'json' tells them apart",
			writer->name,
			(unsigned long long)(PROFILE_MOST_LABELS >> 20),
			(unsigned long long)nr_coarse);
	if (!nr_cut)
		return nr_coarse ? EXIT_SOME : EXIT_WELL;
	complain("format '%s' would take more than %llu MiB of text: %llu "
		 "%s are left out; other formats write each name once",
		 writer->name, (unsigned long long)(PROFILE_MOST_TEXT >> 20),
		 (unsigned long long)nr_cut, writer->cut);
	return EXIT_SOME;
}
