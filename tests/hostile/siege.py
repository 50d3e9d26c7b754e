#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Look at a machine on which every hostile program runs at once: make siege.

outwind records the whole machine meanwhile, and looks at every process again and
again.  Well-behaved programs run beside the hostile ones: each look at one of these
must show what gdb and eu-stack showed before the siege began.  All run in PID and
mount namespaces of their own, so that no hostile process can hang what lists the
machine's processes, and none is left.
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
from attackers import Attackers, forgotten

# They wait; what they wait in and all their callers are known.
VICTIMS = (['chain-pie'], ['chain-static'], ['chain-lld'], ['chain-stripped'],
           ['shapes', 'callback'], ['shapes', 'realign'],
           ['signals', 'nested'], ['throwing', 'destructor'])
BUSY = 'busy'       # never waits
FOLDED = '[too many different stacks]'  # the attackers have filled all memory for stacks
LONGEST_LOOK = 60   # seconds that one look may take, whatever it looks at, but for
MOST_WAIT = 1200    # those in which it waits for a CPU, and seconds in all
MOST_LOOK = 768     # MiB that one look may take
MOST_RECORDER = 768  # and the recorder
LONGEST_END = 40    # seconds from SIGTERM to the recorder's end, 28 of them for names
MOST_CUT = 1        # % of the samples of the busy victim that may be cut
MOST_SHOWN = 5      # stacks of each kind that are wrong
MINUTE = 60
NAMESPACES = ('unshare', '--pid', '--fork', '--mount', '--mount-proc',
              '--kill-child')
FUSE = '/sys/fs/fuse/connections'
COMPLETE = 'complete'


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
        self.connections = set()
        self.began = time.monotonic()

    def fail(self, text):
        at = int(time.monotonic() - self.began)
        self.wrong.append(text)
        print('not ok: after %d s: %s' % (at, text), flush=True)

    def keep_attacking(self):
        """
        Start each hostile program, and again if it has ended.  All are of one
        session, which Linux gives as much CPU time as the recorder's session.
        """
        for name, command in self.commands.items():
            running = self.attackers.get(name)
            if running and running.poll() is None:
                continue
            self.attackers[name] = subprocess.Popen(
                command, cwd=self.context.tmp,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, process_group=0)

    def note_connections(self):
        """Know the FUSE connections of all attackers, to abort them at the end."""
        for running in self.attackers.values():
            with contextlib.suppress(OSError):
                self.connections |= connections_of(running.pid, self.context.tmp)

    def end_attack(self):
        self.note_connections()
        for number in self.connections:
            with contextlib.suppress(OSError):
                with open(os.path.join(FUSE, number, 'abort'), 'w',
                          encoding='ascii') as f:
                    f.write('1')
        for running in self.attackers.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
        for name, running in self.attackers.items():
            try:
                running.wait(timeout=harness.PATIENCE)
            except subprocess.TimeoutExpired:
                self.fail('%s can not be ended' % name)
        self.attackers = {}

    def name_of(self, pid):
        """What a process attacks by, or its own name."""
        for name, running in self.attackers.items():
            if running.pid == pid:
                return name
        return command_of(pid)

    def look(self, pid):
        """Take the stacks of a process; None, or (its status, its stdout)."""
        out = tempfile.TemporaryFile(dir=self.context.tmp)
        begun = time.monotonic()
        tool = subprocess.Popen(
            [self.context.outwind, 'stack', '-i', '--json', str(pid)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
            start_new_session=True)
        ended = wait_for(tool)
        took = time.monotonic() - begun
        command = self.name_of(pid)
        self.looks += 1
        self.longest = max(self.longest, (took, command))
        if not ended:
            spent = cpu_seconds_of(tool.pid)
            waits = waits_of(tool.pid)
            tool.kill()
            tool.wait()
            self.fail('a look at %d (%s) took %.1f s, %.1f s of CPU time; '
                      'its threads: %s' % (pid, command, took, spent, waits))
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
        self.check_runs(pid, command)
        out.seek(0)
        return status, out.read()

    def check_runs(self, pid, command):
        """A process that was looked at is neither traced nor stopped."""
        with contextlib.suppress(OSError, AttributeError):
            if harness.tracers(pid) != '0':
                self.fail('%d (%s) is left traced' % (pid, command))
            stopped = [tid for tid, state in harness.task_states(pid).items()
                       if state in 'tT']
            if stopped:
                self.fail('%d (%s): threads %s are left stopped' %
                          (pid, command, stopped[:3]))

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
        print('minute %d: %d looks, statuses %s, %d wrong; longest %.1f s; '
              'recorder %.1f s of CPU time, %d MiB' %
              (at, self.looks, self.statuses, len(self.wrong),
               self.longest[0], *self.minutes[-1]), flush=True)
        if self.minutes[-1][1] > MOST_RECORDER:
            self.fail('the recorder takes %d MiB' % self.minutes[-1][1])


def wait_for(tool):
    """(its status, its usage), or None if it takes too long."""
    begun = noted = time.monotonic()
    took = 0
    waits = {}  # of delegates that have ended, too
    while took < LONGEST_LOOK or took < MOST_WAIT and (
            took - sum(waits.values()) < LONGEST_LOOK):
        pid, status, usage = os.wait4(tool.pid, os.WNOHANG)
        if pid:
            tool.returncode = os.waitstatus_to_exitcode(status)
            return tool.returncode, usage
        time.sleep(0.005 if took < 1 else 0.2)
        if time.monotonic() - noted > 0.5:
            note_starved(tool.pid, waits)
            noted = time.monotonic()
        took = time.monotonic() - begun
    return None


def cpu_seconds_of(pid):
    """What a process of ours has run so far."""
    with open('/proc/%d/stat' % pid, encoding='utf-8') as f:
        fields = f.read().rsplit(') ', 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK')


def threads_of(pid):
    """The folders in /proc of the threads of a process of ours and its children."""
    found = []
    with contextlib.suppress(OSError):
        for tid in os.listdir('/proc/%d/task' % pid):
            found.append('/proc/%d/task/%s/' % (pid, tid))
            with open(found[-1] + 'children', encoding='utf-8') as f:
                children = f.read().split()
            for child in children:
                found += threads_of(int(child))
    return found


def note_starved(pid, waits):
    """Note for how many seconds each thread of a process of ours has waited for a CPU."""
    for task in threads_of(pid):
        with contextlib.suppress(OSError, IndexError):
            with open(task + 'schedstat', encoding='utf-8') as f:
                waits[task] = int(f.read().split()[1]) / 1e9


def waits_of(pid):
    """What the threads of a process of ours do: their states and places in Linux."""
    waits = []
    for task in threads_of(pid):
        with contextlib.suppress(OSError):
            with open(task + 'stack', encoding='utf-8') as f:
                places = [line.split()[-1] for line in f]
            with open(task + 'stat', encoding='utf-8') as f:
                state = f.read().rsplit(') ', 1)[1][0]
            waits.append((state, places))
    return waits


def rss_of(pid):
    """The memory that a process has, in MiB."""
    with contextlib.suppress(OSError, StopIteration):
        with open('/proc/%d/status' % pid, encoding='utf-8') as f:
            return next(int(line.split()[1]) >> 10 for line in f
                        if line.startswith('VmRSS'))
    return 0


def connections_of(pid, place):
    """The numbers of the FUSE connections that a process has mounted below place."""
    with open('/proc/%d/mountinfo' % pid, encoding='utf-8') as f:
        # Who has mounted more serves no file system.
        lines = [line.split() for line in f.read(1 << 18).splitlines()[:-1]]
    return {line[2].partition(':')[2] for line in lines
            if line[4].startswith(place) and
            line[line.index('-') + 1].startswith('fuse')}


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


def sampled_functions(profile, stack):
    """The names of the frames of a sample that are not the kernel's."""
    frames = [profile['frames'][n] for n in stack['frames']]
    return [f.get('function') for f in frames if not f.get('kernel')]


def is_named(profile, stack):
    """Return true if all functions of the busy victim itself have names."""
    frames = [profile['frames'][n] for n in stack['frames']]
    return all(f.get('function') for f in frames
               if os.path.basename(f.get('module', '')) == BUSY)


def is_own(profile, stack):
    """Return true if a whole sample of the busy victim ends as its threads do."""
    return stack['end'] != COMPLETE or any(
        name in sampled_functions(profile, stack)
        for name in ('main', 'start_thread'))


def check_profile(siege, path, context):
    """
    All that was sampled of the busy victim is its own, and nearly all whole and named,
    but for what is told to be folded.
    """
    done = context.run('report', path, '-f', 'json', status=0)
    profile = json.loads(done.stdout)
    stacks = [s for s in profile['stacks'] if s['thread'] == BUSY]
    folded = [s for s in stacks if sampled_functions(profile, s) == [FOLDED]]
    stacks = [s for s in stacks if s not in folded]
    ends = {}
    for stack in stacks:
        ends[stack['end']] = ends.get(stack['end'], 0) + stack['count']
    total = sum(ends.values())
    cut = total - ends.get(COMPLETE, 0)
    print('%s: %d samples, %d of them cut; ends %s; %d folded' %
          (BUSY, total, cut, ends, sum(s['count'] for s in folded)))
    for stack in [s for s in stacks if s['end'] != COMPLETE][:MOST_SHOWN]:
        print('cut: %d of %s' %
              (stack['count'], sampled_functions(profile, stack)))
    if total == 0 or cut > total * MOST_CUT / 100:
        siege.fail('%d of %d samples of %s are cut' % (cut, total, BUSY))
    unnamed = sum(s['count'] for s in stacks if not is_named(profile, s))
    print('%d of them have functions without names' % unnamed)
    if unnamed > total * MOST_CUT / 100:
        siege.fail('%d of %d samples of %s have no names' %
                   (unnamed, total, BUSY))
    false = [s for s in stacks
             if is_named(profile, s) and not is_own(profile, s)]
    for stack in false[:MOST_SHOWN]:
        print('false: %d of %s' % (stack['count'], [
            profile['frames'][n] for n in stack['frames']]))
    if false:
        siege.fail('%d false stacks of %s' % (len(false), BUSY))


def end_recorder(siege, recorder):
    begun = time.monotonic()
    recorder.terminate()  # SIGINT may be ignored, as what started us had it
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
    # 1: some of what the attackers have is left out, which was told.
    if took > LONGEST_END or recorder.returncode not in (0, 1):
        siege.fail('the end took %.1f s, status %d' %
                   (took, recorder.returncode))


def look_around(siege, recorder, victims):
    """Look at all processes in turns until the time is over."""
    begun = time.monotonic()
    while time.monotonic() - begun < siege.options.seconds:
        siege.keep_attacking()
        pids = processes()
        random.shuffle(pids)
        for pid in pids:
            if time.monotonic() - begun > siege.options.seconds:
                break
            if pid not in (os.getpid(), recorder.pid):
                siege.look(pid)
            siege.note_minute(recorder, begun)
        for victim, expected in victims:
            siege.check_victim(victim, expected)
        siege.note_connections()


def print_minutes(minutes):
    print('| minute | recorder, % of a CPU | MiB |\n| ---: | ---: | ---: |')
    for i in range(1, len(minutes)):
        print('| %d | %.2f | %d |' % (
            i, (minutes[i][0] - minutes[i - 1][0]) / MINUTE * 100,
            minutes[i][1]))


def besiege(siege, context):
    for name in forgotten():
        siege.fail('%s is hostile, but not part of the siege' % name)
    victims = [context.start(list(v)) for v in VICTIMS]
    victims = [(v, reference(context, v)) for v in victims]
    context.start([BUSY], start_new_session=True)
    path = os.path.join(context.tmp, 'profile.owp')
    recorder = subprocess.Popen(
        [context.outwind, 'record', '-a', '-F', '99', '-o', path],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, start_new_session=True)
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
    for victim, expected in victims:
        if reference(context, victim) != expected:
            siege.fail('%s differs after the siege' % victim.args)
    print_minutes(siege.minutes)
    print('%d looks; statuses %s' % (siege.looks, siege.statuses))
    print('longest %.2f s (%s), most CPU time %.2f s (%s), largest %d MiB (%s)' %
          (siege.longest + siege.busiest + siege.largest))


def run(options):
    with harness.Context(options.outwind, options.victims) as context:
        siege = Siege(options, context)
        besiege(siege, context)
    print('%d passed, %d failed' % (siege.looks - len(siege.wrong),
                                    len(siege.wrong)))
    return 1 if siege.wrong else 0


def reap_until(child):
    """As the first process of the namespace: the exit status of child."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def run_inside(options):
    """Run the siege below a process that reaps what others leave."""
    subprocess.run(['mount', '-t', 'fusectl', 'fusectl', FUSE], check=False,
                   stderr=subprocess.DEVNULL)
    child = os.fork()
    if child == 0:
        sys.exit(run(options))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return reap_until(child)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--outwind', default='build/bin/outwind')
    parser.add_argument('--programs', default='build/hostile')
    parser.add_argument('--victims', default='build/live')
    parser.add_argument('--seconds', type=int, default=3600)
    parser.add_argument('--inside', action='store_true',
                        help='the namespaces are there already')
    options = parser.parse_args()
    options.programs = os.path.abspath(options.programs)
    if not options.inside:
        os.execvp(NAMESPACES[0], [*NAMESPACES, sys.executable, '-B',
                                  *sys.argv, '--inside'])
    return run_inside(options)


if __name__ == '__main__':
    sys.exit(main())
