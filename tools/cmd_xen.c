// SPDX-License-Identifier: BSD-2-Clause
/* outwind xen: what is to be done about domains beside their stacks. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "xenrequest.h"

static void print_usage(FILE *to)
{
	fputs("usage: outwind xen unpause DOMAIN\n"
	      "\n"
	      "Takes back one pause of a domain, by its id or name: that of an "
	      "outwind or\n"
	      "uniprof that was killed by SIGKILL while it copied.\n"
	      "\n"
	      "  -h, --help              this\n"
	      "\n"
	      "Exit status: 0 taken back, 2 there is none or it could not be, "
	      "64 usage.\n",
	      to);
}

static int unpause(const char *text)
{
	const char *domain = xen_request_domain(text);
	struct ow_error err;
	struct ow_xen *x = ow_xen_open(domain ? domain : text, NULL, &err);
	int status = EXIT_NONE;

	if (x && !ow_xen_unpause(x, &err))
		status = EXIT_WELL;
	else
		complain("%s", err.msg);
	ow_xen_close(x);
	return status;
}

int cmd_xen(int argc, char **argv)
{
	if (argc == 2 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		print_usage(stdout);
		return finish_output(EXIT_WELL);
	}
	if (argc == 3 && strcmp(argv[1], "unpause") == 0)
		return unpause(argv[2]);
	print_usage(stderr);
	return EXIT_USAGE;
}
