/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of "outwind stack". */
#ifndef OW_STACKREQUEST_H
#define OW_STACKREQUEST_H

#include "stackoptions.h"

enum stack_asked {
	STACK_ASKED_WELL,
	STACK_ASKED_HELP,  /* and no more; it has been printed */
	STACK_ASKED_WRONG, /* complained of */
};

/*
 * Fill the request by the command line, of which it borrows strings.  Whatever
 * comes of it, stack_request_free() it.
 */
enum stack_asked stack_request_parse(struct stack_request *r, int argc,
				     char **argv);

void stack_request_free(struct stack_request *r);

#endif /* OW_STACKREQUEST_H */
