#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How long a program that has just begun waits for its tables, and how many of its
samples are walked without them: recordfirst.py BUILD.  Needs root.  The programs
are those with the largest libraries; one that is not installed has no row.  No
table is on disk, and all files are in the page cache."""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HZ, TIMES = 199, 9
HERE = os.path.dirname(os.path.abspath(__file__))


def once(build, command, tmp):
    """(ms from a mapping to the last table that it needs, share of copies)."""
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(tmp, 'none'))
    said = subprocess.run(
        [build + '/bin/outwind', 'record', '-F', str(HZ), '--stats', '-o',
         os.path.join(tmp, 'data.owp'), '--'] + command, env=env, check=True,
        capture_output=True, text=True).stderr
    slowest = re.search(r'([\d.]+) ms at most to load', said)
    samples = re.search(r'(\d+) samples by .*?, (\d+) of them copied', said)
    return float(slowest[1]), 100 * int(samples[2]) / max(1, int(samples[1]))


def main():
    build = sys.argv[1]
    print('\n| %d Hz, %d times each | until tables are there, ms: median | '
          'worst | walked without, %% |' % (HZ, TIMES))
    print('| --- | ---: | ---: | ---: |')
    with tempfile.TemporaryDirectory() as tmp:
        for name, options in (
                ('clang++', ['-O2', '-c', HERE + '/load.cc', '-o',
                             tmp + '/cc.o']),
                ('rustc', ['-O', HERE + '/load.rs', '--out-dir', tmp])):
            if not shutil.which(name):
                continue
            once(build, [name] + options, tmp)
            rows = [once(build, [name] + options, tmp) for _ in range(TIMES)]
            times = [r[0] for r in rows]
            print('| %s | %.0f | %.0f | %.1f |' % (
                name, statistics.median(times), max(times),
                statistics.median(r[1] for r in rows)), flush=True)


main()
