#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Look at a machine on which every hostile program runs at once: make siege.

outwind records the whole machine meanwhile, and looks at every process again and
again.  Well-behaved programs run beside the hostile ones: each look at one of these
must show what gdb and eu-stack showed before the siege began.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'live')]

# pylint: disable=wrong-import-position
import compare
import harness
from attackers import Attackers

# They wait; what they wait in and all their callers are known.
VICTIMS = (['chain-pie'], ['chain-static'], ['chain-lld'], ['chain-stripped'],
           ['shapes', 'callback'], ['shapes', 'realign'],
           ['signals', 'nested'], ['throwing', 'destructor'])
BUSY = 'busy'       # never waits
LONGEST_LOOK = 60   # seconds that one look may take, whatever it looks at
MOST_LOOK = 768     # MiB that one look may take
MOST_RECORDER = 768  # and the recorder
LONGEST_END = 10    # seconds from SIGINT to the recorder's end
MINUTE = 60


class Siege:
    """What runs, what was seen, and what was wrong."""

    def __init__(self, options, context):
        self.options = options
        self.context = context
        self.commands = Attackers(options.programs, context.tmp).commands
        self.attackers = {}
        self.wrong = []
        self.looks = 0
        self.statuses = {}
        self.longest = (0.0, '')
        self.busiest = (0.0, '')
        self.largest = (0, '')
        self.minutes = []
        self.began = time.monotonic()

    def fail(self, text):
        at = int(time.monotonic() - self.began)
        self.wrong.append(text)
        print('not ok: after %d s: %s' % (at, text), flush=True)

    def keep_attacking(self):
        """Start each hostile program, and again if it has ended."""
        for name, command in self.commands.items():
            running = self.attackers.get(name)
            if running and running.poll() is None:
                continue
            self.attackers[name] = subprocess.Popen(
                command, cwd=self.context.tmp,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True)

    def end_attack(self):
        for running in self.attackers.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()

    def look(self, pid):
        """Take the stacks of a process; None, or (its status, its stdout)."""
        out = tempfile.TemporaryFile(dir=self.context.tmp)
        begun = time.monotonic()
        tool = subprocess.Popen(
            [self.context.outwind, 'stack', '-i', '--json', str(pid)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        ended = wait_for(tool, LONGEST_LOOK)
        took = time.monotonic() - begun
        command = command_of(pid)
        self.looks += 1
        self.longest = max(self.longest, (took, command))
        if not ended:
            tool.kill()
            os.waitpid(tool.pid, 0)
            self.fail('a look at %d (%s) took over %d s' %
                      (pid, command, LONGEST_LOOK))
            return None
        status, usage = ended
        self.busiest = max(self.busiest,
                           (usage.ru_utime + usage.ru_stime, command))
        self.largest = max(self.largest, (usage.ru_maxrss // 1024, command))
        if usage.ru_maxrss > MOST_LOOK << 10:
            self.fail('a look at %d (%s) took %d MiB' %
                      (pid, command, usage.ru_maxrss >> 10))
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status not in (0, 1, 2):
            self.fail('a look at %d (%s) ended with status %d' %
                      (pid, command, status))
        out.seek(0)
        return status, out.read()

    def check_victim(self, victim, expected):
        before = harness.task_states(victim.pid)
        seen = self.look(victim.pid)
        if not seen:
            return
        if seen[0] != 0 or functions(seen[1]) != expected:
            self.fail('%s: status %d, %s, not %s' %
                      (victim.args, seen[0], functions(seen[1]), expected))
        try:
            harness.check_unharmed(victim.pid, before)
        except harness.Failure as why:
            self.fail('%s: %s' % (victim.args, why))

    def check_attackers(self):
        """Nobody is left traced; the hostile programs trace nobody themselves."""
        for running in self.attackers.values():
            with contextlib.suppress(OSError, AttributeError):
                if harness.tracers(running.pid) != '0':
                    self.fail('%s is left traced' % running.args)

    def note_minute(self, recorder, begun):
        """Keep the recorder's CPU time and memory, once a minute."""
        at = int((time.monotonic() - begun) / MINUTE)
        if at < len(self.minutes):
            return
        if recorder.poll() is not None:
            self.fail('the recorder ended with status %d' %
                      recorder.returncode)
            return
        self.minutes.append((harness.time_of(recorder.pid),
                             rss_of(recorder.pid)))
        if self.minutes[-1][1] > MOST_RECORDER:
            self.fail('the recorder takes %d MiB' % self.minutes[-1][1])


def wait_for(tool, seconds):
    """(its status, its usage), or None if it hasn't ended by then."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(tool.pid, os.WNOHANG)
        if pid:
            tool.returncode = os.waitstatus_to_exitcode(status)
            return tool.returncode, usage
        time.sleep(0.005)
    return None


def rss_of(pid):
    """The memory that a process has, in MiB."""
    with contextlib.suppress(OSError, StopIteration):
        with open('/proc/%d/status' % pid, encoding='utf-8') as f:
            return next(int(line.split()[1]) >> 10 for line in f
                        if line.startswith('VmRSS'))
    return 0


def command_of(pid):
    with contextlib.suppress(OSError):
        with open('/proc/%d/comm' % pid, encoding='utf-8',
                  errors='replace') as f:
            return f.read().strip()
    return 'gone'


def functions(text):
    """By thread the names of its frames, or why it has none."""
    try:
        return [harness.names(t) if 'frames' in t else t.get('error')
                for t in json.loads(text)['threads']]
    except ValueError:
        return text[:200]


def processes():
    return [int(name) for name in os.listdir('/proc') if name.isdigit()]


def reference(context, victim):
    """The frames of a victim, which gdb and eu-stack see, too."""
    for report in compare.compare_process(context.outwind, victim.pid,
                                          ('gdb', 'eu-stack')):
        harness.check(not report.failures, 'differs before the siege',
                      report.failures)
    done = context.run('stack', '-i', '--json', victim.pid, status=0)
    return functions(done.stdout)


def check_profile(siege, path, context):
    """All that was sampled of the busy victim is complete and its own."""
    done = context.run('report', path, '-f', 'folded', status=0)
    lines = [line for line in done.stdout.decode(errors='replace').split('\n')
             if line.startswith(BUSY + ';')]
    total = sum(int(line.rpartition(' ')[2]) for line in lines)
    cuts = [line for line in lines if '[truncated' in line]
    cut = sum(int(line.rpartition(' ')[2]) for line in cuts)
    print('%s: %d samples, %d of them cut' % (BUSY, total, cut))
    if total == 0 or cut > total / 100:
        siege.fail('%d of %d samples of %s are cut, as %s' %
                   (cut, total, BUSY, cuts[:3]))
    odd = [line for line in lines if '[truncated' not in line and
           not any(name in line for name in ('main', 'start_thread', 'clone'))]
    if odd:
        siege.fail('false stacks of %s: %s' % (BUSY, odd[:3]))


def end_recorder(siege, recorder):
    begun = time.monotonic()
    recorder.send_signal(signal.SIGINT)
    try:
        _, said = recorder.communicate(timeout=harness.PATIENCE)
    except subprocess.TimeoutExpired:
        recorder.kill()
        recorder.wait()
        siege.fail('the recorder did not end')
        return
    took = time.monotonic() - begun
    print(said.decode(errors='replace').rstrip())
    print('The recorder ended within %.1f s, status %d.' %
          (took, recorder.returncode))
    if took > LONGEST_END or recorder.returncode:
        siege.fail('the end took %.1f s, status %d' %
                   (took, recorder.returncode))


def look_around(siege, recorder, victims):
    """Look at all processes in turns until the time is over."""
    begun = time.monotonic()
    while time.monotonic() - begun < siege.options.seconds:
        siege.keep_attacking()
        for pid in random.sample(processes(), len(processes())):
            if time.monotonic() - begun > siege.options.seconds:
                break
            if pid not in (os.getpid(), recorder.pid):
                siege.look(pid)
            siege.note_minute(recorder, begun)
        for victim, expected in victims:
            siege.check_victim(victim, expected)
        siege.check_attackers()


def print_minutes(minutes):
    print('| minute | recorder, % of a CPU | MiB |\n| ---: | ---: | ---: |')
    for i in range(1, len(minutes)):
        print('| %d | %.2f | %d |' % (
            i, (minutes[i][0] - minutes[i - 1][0]) / MINUTE * 100,
            minutes[i][1]))


def besiege(siege, context):
    victims = [context.start(list(v)) for v in VICTIMS]
    victims = [(v, reference(context, v)) for v in victims]
    context.start([BUSY])
    path = os.path.join(context.tmp, 'profile.owp')
    recorder = subprocess.Popen(
        [context.outwind, 'record', '-a', '-F', '99', '-o', path],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE)
    try:
        look_around(siege, recorder, victims)
        siege.end_attack()
        end_recorder(siege, recorder)
    finally:
        siege.end_attack()
        if recorder.poll() is None:
            recorder.kill()
            recorder.wait()
    check_profile(siege, path, context)
    print_minutes(siege.minutes)
    print('%d looks; statuses %s' % (siege.looks, siege.statuses))
    print('longest %.2f s (%s), most CPU time %.2f s (%s), largest %d MiB (%s)' %
          (siege.longest + siege.busiest + siege.largest))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--outwind', default='build/bin/outwind')
    parser.add_argument('--programs', default='build/hostile')
    parser.add_argument('--victims', default='build/live')
    parser.add_argument('--seconds', type=int, default=3600)
    options = parser.parse_args()
    options.programs = os.path.abspath(options.programs)
    with harness.Context(options.outwind, options.victims) as context:
        siege = Siege(options, context)
        besiege(siege, context)
    print('%d passed, %d failed' % (siege.looks - len(siege.wrong),
                                    len(siege.wrong)))
    return 1 if siege.wrong else 0


if __name__ == '__main__':
    sys.exit(main())
