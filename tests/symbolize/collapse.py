# SPDX-License-Identifier: BSD-2-Clause
"""The DTrace format as FlameGraph's stackcollapse.pl takes it: three lines of
head, frames from the leaf on, and a line of digits that ends a stack."""

import collections
import re


def collapse(text):
    """Return the folded stacks of a trace, in order, one a line."""
    stacks = collections.Counter()
    frames = []
    for line in text.split('\n')[3:]:
        line = line.strip()
        if re.fullmatch(r'[0-9]+', line):
            stacks[';'.join(reversed(frames))] += int(line)
            frames = []
        elif line:
            frames.append(re.sub(r'\+[^+]*$', '', line))
    return ''.join('%s %d\n' % s for s in sorted(stacks.items()))
