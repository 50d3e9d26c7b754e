// SPDX-License-Identifier: BSD-2-Clause
#define SPIN  ".second"
#define NEVER ".first"
#include "swapexec.h"
