/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OW_SYSCALLADDRESS_H
#define OW_SYSCALLADDRESS_H

#include <stdio.h>

/* The address of a socket (struct sockaddr) as strace(1) writes it. */
void syscalladdress_put(FILE *out, const void *bytes, size_t size);

#endif /* OW_SYSCALLADDRESS_H */
