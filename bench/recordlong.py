#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What recording all processes takes while short ones come and go all the time:
recordlong.py BUILD [SECONDS [A_SECOND]].  An hour of 200 a second is meant; a line
for each minute, then the first one beside the last one.  Needs root."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

TICK = os.sysconf('SC_CLK_TCK')


def measure(pid):
    """(CPU seconds, bytes of its own memory, bytes of all of it) of a process."""
    with open('/proc/%d/stat' % pid, encoding='utf-8') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    with open('/proc/%d/status' % pid, encoding='utf-8') as f:
        status = f.read()
    own, whole = (1024 * int(re.search(name + r':\s*(\d+)', status)[1])
                  for name in ('RssAnon', 'VmRSS'))
    return (int(fields[11]) + int(fields[12])) / TICK, own, whole


def row(name, cpu, own, whole):
    print('| %s | %.2f | %.1f | %.1f |' % (name, cpu, own / 1e6, whole / 1e6),
          flush=True)
    return cpu, own, whole


def watch(pid, lives, seconds):
    """A row for each minute, or for a fifth of less."""
    step = min(60, seconds / 5)
    rows, begun = [], time.monotonic()
    before = measure(pid)
    while lives.poll() is None:
        time.sleep(max(0, begun + (len(rows) + 1) * step - time.monotonic()))
        if lives.poll() is not None:
            break
        now = measure(pid)
        rows.append(row('%.0f' % ((len(rows) + 1) * step),
                        100 * (now[0] - before[0]) / step, *now[1:]))
        before = now
    return rows


def main():
    build = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3600
    rate = sys.argv[3] if len(sys.argv) > 3 else '200'
    with tempfile.TemporaryDirectory() as tmp:
        recorder = subprocess.Popen(
            [build + '/bin/outwind', 'record', '-a', '--stats', '-o',
             tmp + '/profile.folded'], stderr=subprocess.PIPE)
        time.sleep(3)
        begun = measure(recorder.pid)[0]
        lives = subprocess.Popen([build + '/bench/shortlives', rate,
                                  str(seconds)], stdout=subprocess.PIPE)
        print('| second | % of a CPU | MB of its own | MB, with files |\n'
              '| ---: | ---: | ---: | ---: |', flush=True)
        rows = watch(recorder.pid, lives, seconds)
        nr = int(lives.stdout.read())
        taken = measure(recorder.pid)[0] - begun
        ending = time.monotonic()
        recorder.send_signal(signal.SIGTERM)
        said = recorder.stderr.read().decode()
        recorder.wait()
        print('%d processes, %.4f ms of CPU time each; ended in %.2f s' %
              (nr, 1000 * taken / nr, time.monotonic() - ending))
    if len(rows) > 1:
        print('first, last: %.2f %%, %.2f %% of a CPU; %.1f, %.1f MB' %
              (rows[0][0], rows[-1][0], rows[0][2] / 1e6, rows[-1][2] / 1e6))
    print(said, end='')


if __name__ == '__main__':
    main()
