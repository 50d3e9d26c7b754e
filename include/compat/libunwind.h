/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libunwind's interface, of the machine that this is compiled for; see
 * libunwind-outwind(3).  Names, numbers and sizes are those of libunwind 1.8.
 */
#ifndef OUTWIND_COMPAT_LIBUNWIND_H
#define OUTWIND_COMPAT_LIBUNWIND_H

#if defined __x86_64__
#include "libunwind-x86_64.h"
#elif defined __aarch64__
#include "libunwind-aarch64.h"
#else
#error "outwind has libunwind's interface for x86-64 and AArch64 only"
#endif

#endif /* OUTWIND_COMPAT_LIBUNWIND_H */
