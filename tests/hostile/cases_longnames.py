# SPDX-License-Identifier: BSD-2-Clause
"""Names of 16 KB in stacks of 1000 frames: text ends, whoever chose them."""

import collections
import os
import re
import subprocess
import tempfile

from harness import case, check, need_root

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
        while part := os.read(tool.stdout.fileno(), MB):
            self.bytes += len(part)
            self.count += part.count(what) if what else 0
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
    check(done.bytes < 300000 * calls, 'bytes', (done.bytes, calls))
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
