# SPDX-License-Identifier: BSD-2-Clause
"""What the live tests share: targets, runs of outwind, the list of tests."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

CASES = []
# What takes longer than this hangs, however slow the machine is.
PATIENCE = 300
# Of its own time, after which one that never rests does what it is to do.
RUN_SECONDS = 0.1
VFORK = 58  # x86-64's number

# What may stand below main() or a thread's first function.
STARTUP = {None, '__libc_start_call_main', '__libc_start_main', '_start',
           'generic_start_main.isra.0', '__libc_init_first', '_start_c',
           'libc_start_main_stage2', '__libc_start_main_impl',
           'generic_start_main'}
OUTERMOST = {'_start', 'clone', 'clone3', '__clone', '__clone3',
             'start_thread', 'runtime.goexit', 'runtime.goexit.abi0',
             '_rt0_amd64_linux',
             '_dl_start_user'}


class Skip(Exception):
    """The test can't be run here."""


class Failure(Exception):
    """The test found something wrong."""


def check(condition, text, detail=''):
    if not condition:
        raise Failure(text + (': ' + str(detail) if detail != '' else ''))


def case(name, alone=False):
    """A test: a function that takes the Context."""
    def add(function):
        CASES.append((name, function, alone))
        return function
    return add


class Context:
    """Where things are, for one test."""

    def __init__(self, outwind, programs):
        self.outwind = os.path.abspath(outwind)
        self.tbstack = os.path.join(os.path.dirname(self.outwind), 'tbstack')
        self.twindiff = os.path.join(os.path.dirname(self.outwind), 'twindiff')
        self.programs = os.path.abspath(programs)
        self.notes = []
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        self.tmp = tempfile.mkdtemp(prefix='outwind-live-')
        self.stack.callback(shutil.rmtree, self.tmp, True)
        return self

    def __exit__(self, *why):
        return self.stack.__exit__(*why)

    def note(self, text):
        self.notes.append(text)

    def program(self, name):
        path = os.path.join(self.programs, name)
        if not os.path.exists(path):
            raise Skip(name + ' could not be built')
        return path

    def start(self, command, ready='ready', **options):
        """Start a target, wait until it says that it is ready; its Popen."""
        if not os.path.isabs(command[0]):
            command = [self.program(command[0])] + command[1:]
        options.setdefault('stdout', subprocess.PIPE)
        options.setdefault('stderr', subprocess.DEVNULL)
        target = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
        self.stack.callback(end_target, target)
        target.said = ''
        if ready:
            target.said = wait_for_line(target, ready)
            settle(target.pid)
        return target

    def run(self, *arguments, status=None, env=None):
        """Run outwind; stdout, stderr and status are in the result."""
        return self.run_tool([self.outwind, *map(str, arguments)], status, env)

    def run_tool(self, command, status=None, env=None):
        """Run one of the tools, by its path, likewise."""
        full = dict(os.environ, XDG_CACHE_HOME=os.path.join(self.tmp, 'cache'))
        full.update(env or {})
        done = subprocess.run(command, capture_output=True,
                              timeout=PATIENCE, env=full, check=False)
        check(done.returncode >= 0,
              'died by signal %d' % -done.returncode, command)
        if status is not None:
            check(done.returncode == status, 'status %d, not %d' %
                  (done.returncode, status),
                  (done.stderr or done.stdout[-400:]).decode(errors='replace'))
        return done

    def stacks(self, pid, *options, status=0):
        """What outwind says of a process in JSON, as a dictionary."""
        done = self.run('stack', '--json', *options, pid, status=status)
        return json.loads(done.stdout)


def end_target(target):
    if target.poll() is None:
        target.kill()
    if target.stdout:
        target.stdout.close()
    target.wait()


def end_process(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def children_of(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid),
              encoding='utf-8') as f:
        return [int(c) for c in f.read().split()]


def wait_for_line(target, wanted):
    """Read its output up to a line that holds wanted."""
    deadline = time.monotonic() + PATIENCE
    got = b''
    os.set_blocking(target.stdout.fileno(), False)
    while wanted.encode() not in got or not got.endswith(b'\n'):
        left = deadline - time.monotonic()
        check(left > 0, 'target did not become ready', got[-300:])
        if not select.select([target.stdout], [], [], left)[0]:
            continue
        more = os.read(target.stdout.fileno(), 65536)
        check(more, 'target ended before it was ready', got[-300:])
        got += more
    return got.decode(errors='replace')


def family(pid):
    """A process and all that came from it."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            for tid in os.listdir('/proc/%d/task' % each):
                with open('/proc/%d/task/%s/children' % (each, tid),
                          encoding='ascii') as f:
                    found += [int(c) for c in f.read().split()]
    return found


def in_call(pid, tid):
    """The number of the system call that a thread waits in, or None."""
    with contextlib.suppress(OSError, ValueError):
        with open('/proc/%d/task/%d/syscall' % (pid, tid),
                  encoding='ascii') as f:
            return int(f.read().split()[0])
    return None


def switches_of(pid):
    """By tid the state's letter, and how often it began to wait, or had to."""
    found = {}
    for tid in os.listdir('/proc/%d/task' % pid):
        with contextlib.suppress(OSError, AttributeError):
            with open('/proc/%d/task/%s/status' % (pid, tid), 'rb') as f:
                found[int(tid)] = re.search(
                    rb'State:\t(.)(?s:.*)voluntary_ctxt_switches:\t(\d+)\n'
                    rb'nonvoluntary_ctxt_switches:\t(\d+)',
                    f.read()).groups()
    return found


def rests(*pids):
    """
    Whether all their threads wait, at one time.  (In vfork() that is no
    interruptible sleep.)
    """
    try:
        seen = [switches_of(pid) for pid in pids]
        for pid, threads in zip(pids, seen):
            for tid, (state, _, _) in threads.items():
                if state not in b'STtZX' and (
                        state != b'D' or in_call(pid, tid) != VFORK):
                    return False
        return seen == [switches_of(pid) for pid in pids]
    except FileNotFoundError:
        return False


def time_of(pid):
    """The time that a process has run, in seconds."""
    with contextlib.suppress(OSError):
        # As clock_getcpuclockid(3) makes a clock of a process.
        return time.clock_gettime(~pid << 3 | 2)
    return 0


def settle(pid):
    """
    Wait until all of it has got from saying that it is ready to what it waits
    in; or, as it never rests, has run on for a while.
    """
    begun = {}

    def is_there():
        pids = family(pid)
        with contextlib.suppress(OSError):  # one of them has ended
            if rests(*pids):
                return True
        run = {p: time_of(p) for p in pids}
        return sum(run[p] - begun.setdefault(p, run[p])
                   for p in pids) > RUN_SECONDS

    wait_until(is_there, 'process %d comes to rest' % pid)


def wait_for_rest(*pids):
    wait_until(lambda: rests(*pids), 'at rest: %s' % (pids,))


def wait_until(condition, text):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < deadline, 'timed out: ' + text)
        time.sleep(0.01)


def task_states(pid):
    """State letter by tid."""
    states = {}
    for tid in os.listdir('/proc/%d/task' % pid):
        with contextlib.suppress(OSError):
            with open('/proc/%d/task/%s/stat' % (pid, tid), 'rb') as f:
                states[int(tid)] = f.read().rpartition(b') ')[2][:1].decode()
    return states


def tracers(pid):
    with open('/proc/%d/status' % pid, encoding='utf-8') as f:
        return re.search(r'TracerPid:\t(\d+)', f.read()).group(1)


def names(thread):
    return [frame.get('function') for frame in thread['frames']]


def match_one(name, want):
    if isinstance(want, re.Pattern):
        return name is not None and want.fullmatch(name) is not None
    return want is None or name == want


def match(got, expected):
    """
    Whether names are as expected: strings, regular expressions, None for
    anything, '...' for any number, START for the C library's beginning.
    """
    for i, want in enumerate(expected):
        if want == START:
            return (len(got) > i and got[-1] in OUTERMOST | {None} and
                    all(name in STARTUP | OUTERMOST for name in got[i:]))
        if want == '...':
            return any(match(got[k:], expected[i + 1:])
                       for k in range(i, len(got) + 1))
        if i >= len(got) or not match_one(got[i], want):
            return False
    return len(got) == len(expected)


START = '<start>'


def check_names(thread, expected):
    got = names(thread)
    check(match(got, expected), 'frames are not those expected',
          '\n  got      %s\n  expected %s\n  end      %s' %
          (got, [getattr(e, 'pattern', e) for e in expected],
           thread.get('end_detail', thread.get('end'))))


FRAME = re.compile(r'#(\d+) +(?:0x)?([0-9a-f]+) (.*)')
PLAIN = re.compile(r'(.*?)(?: \+ 0x[0-9a-f]+)?(?: <signal handler called>)?'
                   r'(?: - [/\[].*)?(?: \(by [a-z ]+\))?$')


def parse_text(text):
    """{tid: [(pc, name)]} of outwind's text."""
    stacks = {}
    for line in text.splitlines():
        if line.startswith('TID '):
            frames = stacks.setdefault(int(line.split()[1]), [])
        found = FRAME.match(line)
        if found:
            name = PLAIN.match(found.group(3)).group(1)
            frames.append((int(found.group(2), 16),
                           None if name == '??' else name))
    return stacks


def check_formats_agree(context, pid, stacks, status, options=()):
    """Text, JSON and folded tell the same of a target that is at rest."""
    text = context.run('stack', *options, pid, status=status).stdout.decode()
    parsed = parse_text(text)
    lines = context.run('stack', '-f', 'folded', *options, pid,
                        status=status).stdout.decode().splitlines()
    threads = [t for t in stacks['threads'] if 'frames' in t]
    check(len(lines) == len(threads), 'folded: number of lines', len(lines))
    for thread, line in zip(threads, lines):
        mine = [(int(f['pc'], 16), f.get('function'))
                for f in thread['frames']]
        check(parsed.get(thread['tid']) == mine, 'text and JSON differ',
              '\n  %s\n  %s' % (parsed.get(thread['tid']), mine))
        parts = line.rsplit(' ', 1)[0].split(';')
        check(parts[0] == thread['name'], 'folded: thread name', line)
        check(('[truncated]' in parts) != thread['complete'],
              'folded: [truncated]', line)
        parts = [p for p in parts[1:] if p != '[truncated]'][::-1]
        check(len(parts) == len(mine), 'folded: depth', line)
        for part, (_, name) in zip(parts, mine):
            check(name is None or part == name.replace(';', ':'),
                  'folded: name', (part, name))


def check_target(context, pid, expected=None, status=0, options=(),
                 complete=True, tid=None):
    """
    All that a test asks of a target at rest: the names of one thread (the
    first, or tid), completeness, formats that agree, no trace left behind.
    """
    before = task_states(pid)
    stacks = context.stacks(pid, *options, status=status)
    thread = next(t for t in stacks['threads']
                  if t['tid'] == (tid or stacks['threads'][0]['tid']))
    check('frames' in thread, 'no frames', thread.get('error'))
    if expected:
        check_names(thread, expected)
    check(thread['complete'] == complete, 'complete: ' + str(not complete),
          thread.get('end_detail', thread['end']))
    if complete:
        check_outermost(thread)
    check_formats_agree(context, pid, stacks, status, options)
    check_unharmed(pid, before)
    return stacks


def check_outermost(thread):
    last = thread['frames'][-1]
    check(last.get('function') in OUTERMOST | {None},
          'the last frame is no known outermost function', names(thread))


def check_unharmed(pid, before):
    """Nobody traces it, and every thread is in the state that it was in."""
    after = task_states(pid)
    check(tracers(pid) == '0', 'left traced')
    check(set(after) == set(before), 'threads came or went')
    for tid, state in after.items():
        same = state == before[tid] or {state, before[tid]} <= set('RSD')
        check(same, 'thread %d was %s and is %s' % (tid, before[tid], state))


def stop(pid):
    """SIGSTOP, and wait for every thread."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: set(task_states(pid).values()) <= set('TtZX'),
               'threads stop')


def copy_program(path, place):
    """
    A copy in a folder, or at a path, that can be executed at once.  A file that we
    wrote ourselves may still be open in what another test is about to start, and
    what is open for writing can't be executed (ETXTBSY).
    """
    if os.path.isdir(place):
        place = os.path.join(place, os.path.basename(path))
    subprocess.run(['cp', '--', path, place], check=True)
    return place


def copy_for_all(context, path):
    """A copy of a program that every user may run."""
    os.chmod(context.tmp, 0o755)
    copy = copy_program(path, context.tmp)
    os.chmod(copy, 0o755)
    return copy


def traceable(context):
    """
    The environment of a program that whoever has its user may trace, even where
    kernel.yama.ptrace_scope forbids that.
    """
    return dict(os.environ, LD_PRELOAD=copy_for_all(
        context, context.program('traceable.so')))


def need(*programs):
    for program in programs:
        path = shutil.which(program) or (program if os.path.exists(program)
                                         else None)
        if not path:
            raise Skip(program + ' is not here')


def need_root():
    if os.geteuid() != 0:
        raise Skip('needs root')
