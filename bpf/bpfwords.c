// SPDX-License-Identifier: BSD-2-Clause
#include "bpfwords.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

/* By thread, as two may load programs at a time. */
static _Thread_local char words[256];

static int hear(enum libbpf_print_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

static int hear(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN && !words[0])
		vsnprintf(words, sizeof(words), fmt, ap);
	return 0;
}

void ow_bpfwords_listen(void)
{
	words[0] = '\0';
	libbpf_set_print(hear);
}

const char *ow_bpfwords_said(void)
{
	words[strcspn(words, "\n")] = '\0';
	return words;
}
