# SPDX-License-Identifier: BSD-2-Clause
"""How long a target stands still, beside other tools; medians of 12.

usage: freeze.py FOLDER-OF-BENCH-PROGRAMS OUTWIND [PID:NAME ...]

"minimal" reads as much of each thread's stack as outwind does on average.
"gap" is the longest time for which the target's busy thread did not run while
the tool did, less what it is when no tool runs.  "stop" is what a tool measures
itself: from the first thread interrupted to the last one let go; of "each", for
one thread, the median.  Of a single thread that sleeps it is its CPU's wake-up that
is measured: that is told for a tool on the same CPU and for one on another, too.
"""
import contextlib
import mmap
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROUNDS = 12
THREADS = (1, 10, 100, 500, 1000)


class Heart:
    """A target with a thread that notes how long it did not run."""

    def __init__(self, program, threads):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(8))
            file.flush()
            self.shared = mmap.mmap(file.fileno(), 8)
            self.process = subprocess.Popen(
                [program, str(threads), '30', file.name],
                stdout=subprocess.PIPE)
            self.pid = self.process.pid
            self.process.stdout.readline()
            while self.gap() == 0:
                time.sleep(0.01)
        time.sleep(0.2)

    def gap(self):
        return struct.unpack('Q', self.shared[:8])[0]

    def reset(self):
        self.shared[:8] = bytes(8)

    def end(self):
        self.process.kill()
        self.process.wait()


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return done.stdout.decode(errors='replace'), done.stderr.decode(
        errors='replace')


def own_stop(kind, out, err):
    """Nanoseconds that the tool says, or None."""
    if kind == 'minimal':
        return int(out)
    if kind == 'each':
        found = re.search(r'each ([\d.]+) us median', err)
        return float(found.group(1)) * 1e3 if found else None
    found = re.search(r'stopped for ([\d.]+) ms', err)
    return float(found.group(1)) * 1e6 if found else None


def copied(outwind, pid):
    """Bytes that outwind copies of each thread's stack, on average."""
    err = run([outwind, 'stack', '-q', '--stats', str(pid)])[1]
    found = re.search(r'(\d+) threads stopped .* (\d+) KiB of stacks', err)
    return max(1, int(found.group(2))) * 1024 // int(found.group(1))


def measure(pid, peers, heart=None):
    """{peer: (median gap, median stop)} in ns, runs of peers taking turns."""
    size = str(copied(peers['outwind'][0], pid))
    gaps = {name: [] for name in peers}
    stops = {name: [] for name in peers}
    names = list(peers)
    for n in range(ROUNDS):
        # In turn, as the one before leaves a CPU asleep or awake.
        for name in names[n % len(names):] + names[:n % len(names)]:
            command = peers[name]
            time.sleep(0.02)
            if heart:
                heart.reset()
            out, err = run(command + [str(pid)] +
                           ([size] if name == 'minimal' else []))
            if heart:
                gaps[name].append(heart.gap())
            stop = own_stop(name, out, err)
            if stop is not None:
                stops[name].append(stop)
    return {name: (statistics.median(gaps[name]) if gaps[name] else None,
                   statistics.median(stops[name]) if stops[name] else None)
            for name in peers}


def us(value):
    return '%9.0f' % (value / 1e3) if value is not None else '        -'


def print_rows(title, results):
    base = results['minimal'][1]
    for name, (gap, stop) in results.items():
        ratio = '%6.2f' % (stop / base) if stop is not None else '     -'
        print('%-24s %-9s %s us %s us %s' % (title, name, us(gap), us(stop),
                                             ratio))
        title = ''


@contextlib.contextmanager
def placed(pid, of_target, of_tools):
    """The target and what is started here, each on one CPU."""
    before = [os.sched_getaffinity(p) for p in (pid, 0)]
    os.sched_setaffinity(pid, {of_target})
    os.sched_setaffinity(0, {of_tools})
    try:
        yield
    finally:
        os.sched_setaffinity(pid, before[0])
        os.sched_setaffinity(0, before[1])


def measure_placed(pid, name, peers):
    """One thread, by where it is woken."""
    cpus = sorted(os.sched_getaffinity(0))
    for text, cpu in (('same CPU', cpus[0]), ('another CPU', cpus[-1]))[:len(cpus)]:
        with placed(pid, cpus[0], cpu):
            print_rows('%s, %s' % (name, text), measure(pid, peers))


def main():
    built, outwind = sys.argv[1:3]
    stack = [outwind, 'stack', '-q', '--stats']
    peers = {'minimal': [built + '/freeze_min'],
             'outwind': stack,
             'gentle': stack + ['--gentle'],
             'each': stack + ['--one-at-a-time']}
    slow = {}
    if shutil.which('eu-stack'):
        slow['eu-stack'] = ['eu-stack', '-q', '-p']
    if shutil.which('gdb'):
        slow['gdb'] = ['gdb', '-batch', '-ex', 'thread apply all bt', '-p']
    print('\n%-24s %-9s %12s %12s %6s' % ('freeze', '', 'gap', 'stop',
                                          'ratio'))
    for threads in THREADS:
        heart = Heart(built + '/threads', threads)
        try:
            named = dict(peers, **slow) if threads <= 100 else peers
            print_rows('%d threads' % threads,
                       measure(heart.pid, named, heart))
        finally:
            heart.end()
    for target in sys.argv[3:]:
        pid, name = target.split(':', 1)
        print_rows(name, measure(int(pid), peers))
        if len(os.listdir('/proc/%s/task' % pid)) == 1:
            measure_placed(int(pid), name, peers)


main()
