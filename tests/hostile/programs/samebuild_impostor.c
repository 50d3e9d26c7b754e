// SPDX-License-Identifier: BSD-2-Clause
/* A program with the build-id, the layout and none of the names of another one. */
#define NAME(n) false_##n
#define FRAME   600

#include "samebuild.h"
