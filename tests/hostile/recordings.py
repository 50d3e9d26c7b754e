# SPDX-License-Identifier: BSD-2-Clause
"""Recordings of a machine on which something hostile runs, and of a bystander there."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
import tty

from harness import check, copy_program, wait_until

# What a recorder tells a terminal of how far it is, and takes back at its end.
PROGRESS = re.compile(r'\r\d+ s, (\d+) samples, \d+ stacks  |\r\033\[K')


class Recording:
    """
    A recorder of all processes, or of those that whom tells; by is a command that
    runs it.
    """

    def __init__(self, context, *options, whom=('-a',), by=()):
        self.path = os.path.join(context.tmp, 'profile')
        self.cpu = 0  # seconds of its own that its end took
        self.text = ''
        reading, writing = os.openpty()
        tty.setraw(writing)
        self.child = subprocess.Popen(
            [*by, context.outwind, 'record', '-o', self.path,
             *map(str, options), *whom], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=writing)
        os.close(writing)
        self.reader = threading.Thread(target=self.read, args=(reading,))
        self.reader.start()
        context.stack.callback(self.kill)

    def read(self, fd):
        """Keep what it says until it ends."""
        with open(fd, 'rb', buffering=0) as f:
            with contextlib.suppress(OSError):
                while some := f.read(65536):
                    self.text += some.decode(errors='replace')

    def kill(self):
        if self.child.returncode is None:
            self.child.kill()
            self.child.wait()
        self.reader.join()

    def wait_for_start(self):
        """Wait until it samples, which it does once it has looked at all there is."""
        wait_until(lambda: PROGRESS.search(self.text) or
                   not self.reader.is_alive(), 'it samples')

    def memory(self):
        """The most that it has had which is its own, in bytes."""
        with open('/proc/%d/status' % self.child.pid, encoding='ascii') as f:
            return 1024 * int(re.search(r'RssAnon:\s*(\d+)', f.read())[1])

    def end(self, send=True):
        """End it, if it is to be sent a signal; what it said."""
        self.cpu = end_child(self.child, signal.SIGTERM if send else 0)
        self.reader.join()
        said = PROGRESS.sub('', self.text)
        # Less than all that was asked for is told of.
        check(self.child.returncode == 0 or
              self.child.returncode == 1 and 'outwind: ' in said, 'status',
              (self.child.returncode, said))
        return said

    def stacks(self, pid):
        """Of a process: (function names from the innermost on, end, count)."""
        with open(self.path, encoding='utf-8') as f:
            profile = json.load(f)
        frames = profile['frames']
        return [([frames[i].get('function') for i in stack['frames']
                  if not frames[i].get('kernel')], stack['end'],
                 stack['count'])
                for stack in profile['stacks'] if stack['pid'] == pid]


def resident(pid):
    """The memory that a process has now, in bytes."""
    with open('/proc/%d/status' % pid, encoding='ascii') as f:
        return 1024 * int(re.search(r'VmRSS:\s*(\d+)', f.read())[1])


def cpu_seconds(pid):
    with open('/proc/%d/stat' % pid, encoding='utf-8') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def end_child(child, number):
    """Send a child a signal, wait for its end; the seconds that it works for that."""
    before = cpu_seconds(child.pid)
    os.kill(child.pid, number)
    wait_until(lambda: os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG |
                                 os.WNOWAIT), 'it ends')
    took = cpu_seconds(child.pid) - before
    child.wait()
    return took


def start_bystander(context):
    """A program that no process has run before, and that never rests."""
    path = os.path.join(context.tmp, 'bystander%d' % time.monotonic_ns())
    copy_program(context.program('bystander'), path)
    return context.start([path])


def check_bystander(recording, pid):
    """Its stacks are whole, by its names, but for those of its beginning."""
    stacks = recording.stacks(pid)
    calls = ['inner', 'middle', 'outer', 'main']
    whole = sum(count for names, end, count in stacks
                if names[:4] == calls and end == 'complete')
    check(whole and whole >= 0.75 * sum(count for _, _, count in stacks),
          'stacks of the bystander', stacks)


def let_run(pid, seconds=0.3):
    begun = cpu_seconds(pid)
    wait_until(lambda: cpu_seconds(pid) >= begun + seconds, 'it runs')


def record_bystander(context, engine):
    """Return a recording, a bystander that began in it, and what it said."""
    recording = Recording(context, '--engine=' + engine, '-f', 'json',
                          '-F', 499)
    recording.wait_for_start()
    bystander = start_bystander(context)
    let_run(bystander.pid)
    return recording, bystander, recording.end()
