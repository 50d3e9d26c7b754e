/* SPDX-License-Identifier: BSD-2-Clause */
/* What is copied of the fake guest's code while it runs. */
#ifndef OW_TEST_GUEST_H
#define OW_TEST_GUEST_H

#include <stdint.h>
#include <ucontext.h>

struct guest_state {
	ucontext_t context;
	uint64_t sp, top; /* of what bytes has */
	uint8_t bytes[4096];
};

int guest_start(struct guest_state *g);
int guest_c(struct guest_state *g, int n);
void asm_exc_divide_error(void);
extern const char linux_banner[128];

#endif /* OW_TEST_GUEST_H */
