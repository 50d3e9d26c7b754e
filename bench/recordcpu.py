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

HZ, SECONDS = 99, 10


def run(command):
    """(CPU time of it and of what it waits for, what it says)."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = os.times()
    return (after.children_user + after.children_system - before.children_user -
            before.children_system), done.stderr


def main():
    build = sys.argv[1]
    cpus = os.cpu_count()
    ours = [build + '/bin/outwind', 'record', '-a', '-F', str(HZ), '-d',
            str(SECONDS), '--stats', '-o']
    theirs = ['perf', 'record', '-q', '-a', '-e', 'cpu-clock', '-F', str(HZ)]
    busy = [subprocess.Popen([build + '/live/busy'], stdout=subprocess.DEVNULL)
            for _ in range((cpus + 1) // 2)]  # of two threads each
    try:
        print('\n| %d Hz, %d CPUs busy, %d s | recorder, s | programs, s | '
              '%% of the CPUs | bytes |' % (HZ, cpus, SECONDS))
        print('| --- | ---: | ---: | ---: | ---: |')
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, 'data.owp')
            for name, command in (
                    ('outwind -a', ours + [path]),
                    ('outwind -a --engine=perf',
                     ours + [path, '--engine=perf']),
                    ('perf -a --call-graph dwarf',
                     theirs + ['--call-graph', 'dwarf', '-o', path, '--',
                               'sleep', str(SECONDS)]),
                    ('perf -a --call-graph fp',
                     theirs + ['--call-graph', 'fp', '-o', path, '--',
                               'sleep', str(SECONDS)])):
                taken, said = run(command)
                found = re.search(r'^programs: (\d+) ns a run.*', said, re.M)
                samples = re.search(r'(\d+) samples by', said)
                inside = int(found[1]) * int(samples[1]) / 1e9 if found else 0
                print('| %s | %.3f | %s | %.2f | %d |' % (
                    name, taken, '%.4f' % inside if found else '-',
                    100 * (taken + inside) / SECONDS / cpus,
                    os.path.getsize(path)))
    finally:
        for each in busy:
            each.kill()
            each.wait()


main()
