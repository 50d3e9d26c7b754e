#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What sampling the whole machine at 99 Hz takes of it while all its CPUs are busy:
recordcpu.py BUILD.  Needs root and perf.  Time of the kernel's programs is what it
counts itself (bpf_stats); perf's samples are taken in interrupts that nobody counts."""

import os
import re
import subprocess
import sys
import tempfile

HZ, SECONDS, MOMENT = 99, 10, 0.1


def run(command):
    """(CPU time of it and of what it waits for, what it says)."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = os.times()
    return (after.children_user + after.children_system - before.children_user -
            before.children_system), done.stderr


def cost(command, path):
    """Seconds of CPU time: all of the recorder's, its start and end, the kernel's
    programs; and the bytes kept."""
    start = min(run(command(MOMENT))[0] for _ in range(3))
    taken, said = run(command(SECONDS))
    found = re.search(r'^programs: (\d+) ns a run.*', said, re.M)
    samples = re.search(r'(\d+) samples by', said)
    inside = int(found[1]) * int(samples[1]) / 1e9 if found else None
    return taken, start, inside, os.path.getsize(path)


def print_row(name, taken, start, inside, size):
    room = SECONDS * os.cpu_count() / 100
    while_on = max(taken - start, 0) + (inside or 0)
    print('| %s | %.3f | %.3f | %s | %.2f | %.2f | %d |' % (
        name, start, taken, '-' if inside is None else '%.4f' % inside,
        while_on / room, (taken + (inside or 0)) / room, size))


def main():
    build = sys.argv[1]
    cpus = os.cpu_count()
    busy = [subprocess.Popen([build + '/live/busy'], stdout=subprocess.DEVNULL)
            for _ in range((cpus + 1) // 2)]  # of two threads each

    def ours(*more):
        return lambda seconds: [
            build + '/bin/outwind', 'record', '-a', '-F', str(HZ), '-d',
            str(seconds), '--stats', '-o', path, *more]

    def theirs(graph):
        return lambda seconds: [
            'perf', 'record', '-q', '-a', '-e', 'cpu-clock', '-F', str(HZ),
            '--call-graph', graph, '-o', path, '--', 'sleep', str(seconds)]

    try:
        print('\n| %d Hz, %d CPUs busy, %d s | start and end, s | recorder, s | '
              'programs, s | %% while sampling | %% of the CPUs | bytes |' %
              (HZ, cpus, SECONDS))
        print('| --- | ---: | ---: | ---: | ---: | ---: | ---: |')
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, 'data.owp')
            for name, command in (
                    ('outwind -a', ours()),
                    ('outwind -a --engine=perf', ours('--engine=perf')),
                    ('perf -a --call-graph dwarf', theirs('dwarf')),
                    ('perf -a --call-graph fp', theirs('fp'))):
                print_row(name, *cost(command, path))
    finally:
        for each in busy:
            each.kill()
            each.wait()


main()
