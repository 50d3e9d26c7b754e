#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Is the checker worth its name?  Stacks made by walks through a guest's graph
are right; each way of breaking one must be seen.
callgraph_test.py ELF [PREFIX]"""

import random
import sys

import callgraph


def make_stack(graph, dice, sites, starts):
    """A stack from its outermost frame on, without interrupts: return
    addresses outermost first, and then a pc."""
    name, pcs, runs = dice.choice(starts), [], {}
    while len(pcs) < 2000:
        names = {name} if dice.random() < 0.7 else graph.reach(name)
        own = [(r, c) for n in names for r, c in sites.get(n, ())]
        deeper = [k for k in graph.levels if name.startswith(k)]
        if deeper:
            runs[deeper[0]] = runs.get(deeper[0], 0) + 1
            goes_on = runs[deeper[0]] < graph.levels[deeper[0]]
            own = [(r, c) for r, c in own
                   if bool(c and c.startswith(deeper[0])) == goes_on]
        if not own or (not deeper and pcs and dice.random() < 0.05):
            break
        pc, callee = dice.choice(own)
        pcs.append(pc)
        name = callee or dice.choice(sorted(graph.reach(None)))
    pcs.append(dice.choice([a for a, (n, _) in graph.code.items()
                            if n == name]))
    return pcs[::-1]


def main():
    graph = callgraph.Graph(*sys.argv[1:])
    dice = random.Random(1)
    sites, tried, seen, named, named_seen = {}, 0, 0, 0, 0
    for pc, (caller, callee) in graph.sites.items():
        sites.setdefault(caller, []).append((pc, callee))
    starts = sorted(f for f in graph.functions
                    if f.startswith('start_') and f in sites)
    for _ in range(2000):
        stack = make_stack(graph, dice, sites, starts)
        why, names = graph.check(stack)
        assert why is None, (why, names)
        assert graph.check_names(names) is None, names
        if len(stack) < 4:
            continue
        i = dice.randrange(1, len(stack) - 1)
        for broken in (stack[:i] + stack[i + 1:], stack[:-1],
                       stack[:i] + [stack[i] + 1] + stack[i + 1:],
                       stack[:i] + [stack[i - 1]] + stack[i:],
                       stack[:i] + [0] + stack[i + 1:]):
            tried += 1
            seen += graph.check(broken)[0] is not None
        for broken in (names[:i] + names[i + 1:], names[:-1],
                       names[:i] + ['busy'] + names[i:]):
            named += 1
            named_seen += graph.check_names(broken) is not None
    # A frame of a recursion may go unseen while it is still going down.
    print('%d of %d broken stacks are seen' % (seen, tried))
    assert seen > 0.97 * tried > 0
    print('%d of %d by their names' % (named_seen, named))
    assert named_seen > 0.9 * named > 0
    print('1 passed, 0 failed')


if __name__ == '__main__':
    main()
