// SPDX-License-Identifier: BSD-2-Clause
#define SPIN  ".first"
#define NEVER ".second"
#include "swapexec.h"
