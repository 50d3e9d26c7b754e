# SPDX-License-Identifier: BSD-2-Clause
"""What user stacks cost in a kernel trace, by way of taking them.

usage: lttng.py perf FILE: "events lost bytes" of what perf record wrote
       lttng.py table OUT COUNTED ROUNDS CALLS: a table of what lttng.sh left, in
       COUNTED where nanoseconds are instructions
"""
import os
import re
import struct
import subprocess
import sys

LOST, SAMPLE, LOST_SAMPLES = 2, 9, 13
DEPTH = 16                      # of lttng_calls.c
STACK = re.compile(r'callstack_user\w* = \[ (.*?) \]')
WAYS = (('none-omit', 'no tracing', None),
        ('none-fp', 'no tracing, with frame pointers', None),
        ('plain-omit', 'LTTng, no stacks', 'none-omit'),
        ('plain-fp', 'LTTng, no stacks, with frame pointers', 'none-fp'),
        ('fp', 'callstack-user, frame pointers', 'plain-fp'),
        ('hook', 'callstack-user, kunwind', 'plain-omit'),
        ('event', 'kunwind_callstack', 'plain-omit'),
        ('perf', 'perf record --call-graph dwarf', 'plain-omit'))


def perf(path):
    """Counts by the records of a perf.data file (perf.data-file-format.txt)."""
    data = open(path, 'rb').read()
    at, size = struct.unpack_from('<QQ', data, 40)
    end = at + size
    events = lost = lost_samples = used = 0
    while at < end:
        kind, _, length = struct.unpack_from('<IHH', data, at)
        if kind == SAMPLE:
            events += 1
            used += length
        elif kind == LOST:
            lost += struct.unpack_from('<Q', data, at + 16)[0]
        elif kind == LOST_SAMPLES:
            lost_samples += struct.unpack_from('<Q', data, at + 8)[0]
        at += length
    print(events, max(lost, lost_samples), used)


def trace_of(out, way, turn):
    """(events, whole stacks, lost, bytes), but for kunwind_syscall_exit's."""
    top = '%s/%s.%d' % (out, way, turn)
    used = 0
    for folder, _, files in os.walk(top):
        used += sum(os.path.getsize(os.path.join(folder, f)) for f in files
                    if f.startswith(('channel0_', 'stacks_')) and
                    not f.endswith('.idx'))
    done = subprocess.run(['babeltrace2', top], capture_output=True, text=True,
                          check=True)
    events = whole = 0
    for line in done.stdout.splitlines():
        events += ' kunwind_syscall_exit: ' not in line
        stack = STACK.search(line)
        whole += bool(stack) and stack.group(1).count('= 0x') > DEPTH
    lost = sum(map(int, re.findall(r'discarded (\d+) event', done.stderr)))
    return events, whole, lost, used


def row(out, way):
    if way.startswith('none'):
        return None
    if way != 'perf':
        return [sum(n) for n in zip(*(trace_of(out, way, t) for t in (1, 2)))]
    events, lost, used = (
        sum(n) for n in zip(*(map(int, open('%s/perf.%d' % (out, t)).read()
                                  .split()) for t in (1, 2))))
    return [events, events, lost, used]


def least(out):
    """Nanoseconds of a call in the quickest round, by way."""
    return {way: min(map(float, open('%s/%s.ns' % (out, way)))) for way, *_ in WAYS
            if os.path.exists('%s/%s.ns' % (out, way))}


def slower(cost, way, base):
    """How many times as much, in columns; empty where it isn't known."""
    if way not in cost:
        return ' ' * 18
    return '%10.0f %7s' % (cost[way],
                           '%.2f' % (cost[way] / cost[base]) if base else '')


def ratio(cost, way):
    """Of the slow-down by stacks of frame pointers, the part that is ours."""
    return cost[way] / cost['plain-omit'] / (cost['fp'] / cost['plain-fp'])


def table(out, counted, rounds, calls):
    ns, instructions = least(out), least(counted)
    print('%d system calls, an event at entry and one at exit, below %d functions; '
          'in QEMU by TCG' %
          (2 * rounds * calls, DEPTH))
    print('%-38s %10s %7s %10s %7s %9s %7s %7s %7s' %
          ('', 'instr/call', 'x base', 'ns/call', 'x base', 'events', 'stacks',
           'lost', 'B/event'))
    for way, title, base in WAYS:
        line = '%-38s %s %s' % (title, slower(instructions, way, base),
                                slower(ns, way, base))
        counts = row(out, way)
        if counts:
            events, stacks, lost, used = counts
            line += ' %9d %7d %7d %7.1f' % (events, stacks, lost,
                                            used / max(events, 1))
        print(line)
    print('x base: with stacks, over LTTng without for the same program; without, '
          'over no tracing.\nkunwind_callstack is at entry alone.')
    for cost, unit in ((instructions, 'instructions'), (ns, 'emulated time')):
        print('of that of frame pointers, by %s: callstack-user by kunwind %.2f '
              'times, kunwind_callstack %.2f' %
              (unit, ratio(cost, 'hook'), ratio(cost, 'event')))


if sys.argv[1] == 'perf':
    perf(sys.argv[2])
else:
    table(*sys.argv[2:4], *map(int, sys.argv[4:]))
