# SPDX-License-Identifier: BSD-2-Clause
"""Names of 16 KB in stacks of 1000 frames: text ends, whoever chose them."""

import collections
import json
import os
import re
import select
import signal
import struct
import subprocess
import tempfile
import threading
import zlib

import elfmake
from harness import (PATIENCE, case, check, need_root, wait_for_line,
                     wait_until)
from recordings import Recording

MB = 1 << 20
MOST = 1 << 30  # bytes of all names of a run, beyond which they are left out
FRAMES = 1000
THREADS = 80  # so that all names take 1.3 GB


class Counted:
    """
    A run, of whose output only parts are kept: its bytes, how often it says what, and
    what it took.  Who writes more than most is ended.
    """

    def __init__(self, *command, most=3 << 30, what=None):
        self.bytes = self.count = 0
        self.first = b''
        self.parts = collections.deque(maxlen=64)
        with tempfile.TemporaryFile() as err:
            with subprocess.Popen(list(map(str, command)), stderr=err,
                                  stdout=subprocess.PIPE) as tool:
                self.read(tool, most, what)
                _, status, used = os.wait4(tool.pid, 0)
                tool.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            self.stderr = err.read().decode(errors='replace')
        self.last = b''.join(self.parts)
        self.status = tool.returncode
        self.cpu = used.ru_utime + used.ru_stime

    def read(self, tool, most, what):
        rest = b''
        while part := os.read(tool.stdout.fileno(), MB):
            self.bytes += len(part)
            if what:
                rest += part
                self.count += rest.count(what)
                rest = rest[max(len(rest) - len(what) + 1, 0):]
            if len(self.first) < MB:
                self.first += part
            self.parts.append(part)
            if self.bytes > most:
                tool.kill()
                break


def check_limited(done, what):
    check(done.bytes < 1.3 * MOST, 'bytes', (what, done.bytes))
    said = re.fullmatch(r'(?:outwind: )?all names would take more than 1024 '
                        r'MiB of text: names of (\d+) frames are left out\n',
                        done.stderr)
    check(done.status == 1 and said, 'says',
          (what, done.status, done.stderr[-400:]))
    left = THREADS * FRAMES - int(said[1])
    check(0.9 * MOST < left * 16002 < MOST, 'names that are there',
          (what, left))


@case('names: of 16 KB, in a process of many threads')
def test_stack(context):
    pid = context.start(['longnames', 'wait', str(THREADS)]).pid
    saved = os.path.join(context.tmp, 'snapshot')
    context.run('snap', '-o', saved, pid, status=0)
    formats = ((), ('-f', 'json'), ('-f', 'folded'), ('-f', 'gdb'),
               ('-f', 'eu'))
    for options in formats:
        for target in (pid, saved) if options == () else (pid,):
            done = Counted(context.outwind, 'stack', *options, target)
            check_limited(done, (options, target))
            context.note('%s: %d MB, %.1f s' % (
                ' '.join(options) or 'text', done.bytes // MB, done.cpu))
    done = Counted(context.outwind, 'stack', '-m', pid)
    check_limited(done, 'modules')
    # The stacks are there, and names that are short.
    end = done.last.decode()[-1500:].split('\n')
    check(re.match(r'#\d+ +0x\w+ \?\? - /\S+/longnames$', end[-20]),
          'by object and address', end)
    check('clone3 + ' in end[-2] or 'start_thread + ' in end[-3],
          'short names', end)
    done = Counted(context.outwind, 'stack', '-f', 'tbstack', pid)
    check(done.status == 0 and not done.stderr and
          done.bytes < THREADS * (FRAMES + 10) * 600, 'tbstack',
          (done.status, done.stderr[-400:], done.bytes))


@case('names: of 16 KB are whole where there are few')
def test_few(context):
    pid = context.start(['longnames', 'wait', '2']).pid
    done = context.run('stack', pid, status=0)
    check(len(re.findall(rb' f_a{16000}', done.stdout)) > 2 * FRAMES - 10,
          'names', len(done.stdout))


@case('names: of 16 KB, in samples of a user beside those of another one')
def test_users(context):
    """Stacks of the first user alone are left out, and it is told whose they are."""
    need_root()
    context.start(['longnames', 'vary'], user=65534)
    other = context.start(['bystander'], user=1000)
    done = Counted(context.outwind, 'record', '-a', '-F', '999', '-d', '2',
                   '-f', 'perf', what=b'bystander')
    said = re.search(r"(?m)^outwind: format 'perf' would take more than 1024 MiB "
                     r'of text: (\d+) stacks are left out \((\d+) of user '
                     r'65534\); other formats ', done.stderr)
    check(done.status == 1 and said and said[1] == said[2], 'says',
          (done.status, done.stderr))
    check(done.bytes < 1.1 * MOST, 'bytes', done.bytes)
    check(done.count > 10, 'samples of process %d' % other.pid, done.count)
    context.note('%s stacks, %d MB, %.1f s' % (said[1], done.bytes // MB,
                                               done.cpu))


def long_rows(path):
    """A file of 80 KB, of whose .debug_frame each byte is a row of 150 letters."""
    elf = elfmake.Elf('/bin/true')

    def entry(body):
        body += bytes(-(len(body) + 4) % 8)
        return struct.pack('<I', len(body)) + body

    frames = entry(struct.pack('<I4B', 0xffffffff, 4, 0, 8, 0) +
                   b'\x01\x78\x10\x0c\x07\x08' +
                   bytes(b for r in range(16) for b in (0x80 | r, 1)))
    frames += 1000 * entry(struct.pack('<IQQ', 0, 0x1000, 60010) +
                           60000 * b'\x41')
    elf.add('.debug_frame', elfmake.compressed(zlib.compress(frames),
                                               len(frames)), flags=0x800)
    elf.write(path)


@case('rows: of a small file, 10 GB of them')
def test_rows(context):
    path = os.path.join(context.tmp, 'rows')
    long_rows(path)
    check(os.path.getsize(path) < 300000, 'size', os.path.getsize(path))
    done = Counted(context.outwind, 'rows', path)
    context.note('%d MB, %.1f s' % (done.bytes // MB, done.cpu))
    check(done.status == 1 and done.stderr ==
          'outwind: %s: rows take more than 1024 MiB of text: others are left '
          'out\n' % path, 'says', (done.status, done.stderr))
    check(MOST <= done.bytes < MOST + MB, 'bytes', done.bytes)


CUT = (r'(?m)^outwind: names are cut in (\d+) system calls: one has 4 KiB at most, '
       r'and those of a stack 128 KiB$')


@case('names: of 16 KB, below each of many calls')
def test_calls(context):
    need_root()
    pid = context.start(['longnames', 'call'], user=65534).pid
    done = Counted(context.outwind, 'syscalls', '-k', '-d', '1', '-o',
                   '/dev/stdout', pid, most=16 << 30, what=b'\n[')
    calls = done.count + 1
    context.note('-k: %d calls, %d MB, %.1f s' % (
        calls, done.bytes // MB, done.cpu))
    said = re.search(CUT, done.stderr)
    check(done.status == 1 and said, 'says', (done.status, done.stderr))
    check(done.bytes < 300000 * calls and done.bytes < MOST, 'bytes',
          (done.bytes, calls))
    check(done.cpu < 5 + 0.002 * calls, 'seconds', (done.cpu, calls))
    first, second = done.first.split(b'\n[')[1:3]
    lines = first.decode().split('\n')
    check(len(lines) > FRAMES and sum('f_' + 16000 * 'a' in line
                                      for line in lines) == 8,
          'whole names', [line[:90] for line in lines[:12]])
    check(re.match(r' > f_a{62}\.\.\.\+0x\w+ \(/\S+/longnames\)$', lines[500]),
          'cut names', lines[500][:200])
    for line in first, second:
        check(len(line.split(b'\n')[0]) < 4096 + 200, 'line', len(line))


@case('names: of 16 KB, in counts of calls')
def test_counts(context):
    need_root()
    pid = context.start(['longnames', 'call'], user=65534).pid
    done = Counted(context.outwind, 'syscalls', '-ck', '-d', '1', '-o',
                   '/dev/stdout', pid)
    table = re.findall(r'(?m)^ *[\d.]+ +[\d.]+ +[\d.]+ +(\d+) +\d+  (\w+)',
                       done.last.decode())
    context.note('-ck: %s, %.1f s' % (table, done.cpu))
    calls = sum(int(calls) for calls, _ in table if _ != 'total')
    check(done.status == 1 and re.search(CUT, done.stderr), 'says',
          (done.status, done.stderr))
    check(calls > 100 and len(table) < 6, 'counts', table)
    check(done.bytes < 300000 * len(table), 'bytes', done.bytes)
    check(done.cpu < 4 + 0.0005 * calls, 'seconds', (done.cpu, calls))


class Calls(threading.Thread):
    """
    Reads what is written of calls: of each thread how many there are, and the bytes of
    the shortest one.  Who writes more than most is ended.
    """

    def __init__(self, tool, most=2 << 30):
        super().__init__(daemon=True)
        self.tool, self.most = tool, most
        self.bytes = 0
        self.rest = b''
        self.count = collections.Counter()
        self.shortest = {}

    def run(self):
        while part := os.read(self.tool.stdout.fileno(), MB):
            self.bytes += len(part)
            calls = (self.rest + part).split(b'\n[')
            self.rest = calls.pop()
            for call in calls:
                self.take(call)
            if self.bytes > self.most:
                self.tool.kill()
                break
        self.take(self.rest)

    def take(self, call):
        if said := re.match(rb'\[?(\d+)\] getppid\(', call):
            tid = int(said[1])
            self.count[tid] += 1
            self.shortest[tid] = min(self.shortest.get(tid, MOST), len(call))


def let_call(*targets):
    for target in targets:
        target.send_signal(signal.SIGUSR1)
        wait_for_line(target, 'done')


def trace_rush(context, calls, is_read):
    """
    Trace a process of so many calls, and two others of 20, which is_read meanwhile, or
    only at the end; return what was read and said.
    """
    need_root()
    targets = [context.start(['longnames', 'rush', str(count)], user=user)
               for count, user in ((calls, 65534), (20, 65534), (20, 0))]
    with tempfile.TemporaryFile() as err:
        tool = context.start([context.outwind, 'syscalls', '-k', '-e',
                              'getppid', '-o', '/dev/stdout',
                              *(str(t.pid) for t in targets)],
                             ready=None, stderr=err)
        read = Calls(tool)
        rounds = 1
        let_call(targets[2])
        while not select.select([tool.stdout], [], [], 0.2)[0]:
            let_call(targets[2])
            rounds += 1
            check(tool.poll() is None, 'it begins')
        if is_read:
            read.start()
        let_call(*targets)
        if is_read:
            wait_until(lambda: read.count[targets[0].pid] == calls or
                       not read.is_alive(), 'its calls are read')
        for target in targets:
            target.kill()
            target.wait()
        if not is_read:
            read.start()
        read.join(PATIENCE)
        check(not read.is_alive(), 'end')
        tool.wait(timeout=PATIENCE)
        err.seek(0)
        said = err.read().decode(errors='replace')
    counts = [read.count[t.pid] for t in targets]
    context.note('%s calls, %d MB' % (counts, read.bytes // MB))
    check(read.bytes <= read.most, 'bytes', (read.bytes, counts))
    check(tool.returncode == 1, 'status', (tool.returncode, said))
    # The others have all of their calls, and whole stacks.
    check(counts[1] == 20 and 20 < counts[2] <= 20 * (rounds + 1), 'others',
          (counts, rounds))
    for target in targets[1:]:
        check(read.shortest[target.pid] > 100000, 'whole stacks',
              read.shortest)
    check(read.shortest[targets[0].pid] < 2048, 'brief', read.shortest)
    return read, counts[0], said


@case('names: of 16 KB, in more calls than may be whole')
def test_brief(context):
    read, count, said = trace_rush(context, 20000, True)
    cut = re.search(r'(?m)^outwind: long stacks and texts would take more than '
                    r'1024 MiB, or than a part of it that others leave over: '
                    r'(\d+) system calls of 1 processes are cut to 2 KiB$', said)
    check(count == 20000, 'calls', (count, said))
    check(cut and 0 < int(cut[1]) < count, 'says', said)
    check(0.6 * MOST < read.bytes < 0.9 * MOST + 2048 * count, 'bytes',
          read.bytes)


@case('names: of 16 KB, in many calls that wait at the end')
def test_waiting(context):
    read, count, said = trace_rush(context, 150000, False)
    out = re.search(r'(?m)^outwind: what waited at the end would take more than '
                    r'256 MiB: (\d+) system calls of 1 processes are left out$',
                    said)
    check(out and count + int(out[1]) == 150000, 'says', (count, said))
    check(count > 1000 and read.bytes < 512 * MB, 'bytes', read.bytes)


FUNCTIONS = 272  # of a file of longfiles


def run_files(context, number, first, user):
    """A command line that runs so many files."""
    return ('setpriv --reuid %d --regid %d --clear-groups %s %d %d; ' % (
        user, user, context.program('longfiles'), number, first))


@case('names: of one user, without end, leave others theirs')
def test_files(context):
    need_root()
    # The first ones are named after 10 seconds.
    recording = Recording(
        context, '--off-cpu', '-f', 'json', '-F', 499, '--memory-limit=64M',
        whom=('--', 'sh', '-c', run_files(context, 80, 0, 65534) +
              'sleep 11; ' + run_files(context, 1, 600, 65533) +
              run_files(context, 1, 601, 0)))
    said = recording.end(send=False)
    with open(recording.path, encoding='utf-8') as f:
        names = {frame.get('function') or '' for frame in json.load(f)['frames']}
    for user, begin in ((65533, 'XC'), (0, 'XD')):
        there = sum(name.startswith(begin) for name in names)
        check(there == FUNCTIONS, 'names of user %d' % user, there)
    taken = sum(len(name) for name in names if name[:1] in 'ABCD')
    context.note('%.1f MB of 16' % (taken / MB))
    # Half of what names may take, and once more, as names are forgotten for a refused one.
    check(4 * MB < taken < 16.4 * MB, 'names of the first user', taken)
    check(said == 'outwind: processes of user 65534: a copy of more of their '
          'names would take more memory than it may (--memory-limit): left out'
          '\n', 'says', said)
