// SPDX-License-Identifier: BSD-2-Clause
/* The program whose build-id samebuild_impostor.c has, too. */
#define NAME(n) n
#define FRAME   64

#include "samebuild.h"
