#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write C functions that differ in what they do to the stack.

Each calls the next one of a path (bench/stacks.h) and has a frame of its own:
0 to 6 saved registers, small or large locals, and in one of eight an alloca(),
so that its CFA is a frame pointer's.  The same for every run.
"""
import random

COUNT = 256
SIZES = [0, 0, 8, 16, 24, 40, 64, 72, 120, 200, 256, 1000, 4000]


def function(n, rnd):
    saves = rnd.randrange(7)
    size = rnd.choice(SIZES)
    out = [f"static unsigned long f{n}(const struct bench_path *p, "
           "unsigned int i)", "{"]
    out += [f"\tunsigned long v{k} = i + {k};" for k in range(saves)]
    out.append(f"\tunsigned long r = {n};")
    if rnd.randrange(8) == 0:
        size += 32
        out.append(f"\tvolatile char *buf = alloca({size} + i % 3 * 16);")
    elif size:
        out.append(f"\tvolatile char buf[{size}];")
    if size:
        out.append(f"\tbuf[i % {size}] = (char)i;")
    # The compiler must keep what it can't compute again.
    out += [f'\tasm volatile("" : "+r"(v{k}));' for k in range(saves)]
    out.append("\tr += p->next[i](p, i + 1);")
    out += [f'\tasm volatile("" : "+r"(v{k}));' for k in range(saves)]
    out += [f"\tr ^= v{k};" for k in range(saves)]
    if size:
        out.append(f"\tr += buf[r % {size}];")
    out += ["\treturn r + 1;", "}", ""]
    return out


def main():
    rnd = random.Random(1)
    out = ["/* Made by gen_functions.py. */", "#include <alloca.h>", "",
           '#include "stacks.h"', ""]
    for n in range(COUNT):
        out += function(n, rnd)
    out.append("bench_fn *const FUNCTIONS[BENCH_FUNCTIONS] = {")
    out += [f"\tf{n}," for n in range(COUNT)]
    out.append("};")
    print("\n".join(out))


main()
