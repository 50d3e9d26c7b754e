# SPDX-License-Identifier: BSD-2-Clause
"""Names of 16 KB in stacks of 1000 frames: text ends, whoever chose them."""

import os
import re
import subprocess
import tempfile

from harness import case, check

MB = 1 << 20
MOST = 1 << 30  # bytes of all names of a run, beyond which they are left out
FRAMES = 1000
THREADS = 80  # so that all names take 1.3 GB
ENDLESS = 3 << 30  # no run that is right writes so much


class Counted:
    """A run, of whose output only parts are kept: its bytes, and what it took."""

    def __init__(self, *command):
        self.bytes = 0
        self.first = self.last = b''
        with tempfile.TemporaryFile() as err:
            with subprocess.Popen(list(map(str, command)), stderr=err,
                                  stdout=subprocess.PIPE) as tool:
                self.read(tool)
                _, status, used = os.wait4(tool.pid, 0)
                tool.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            self.stderr = err.read().decode(errors='replace')
        self.status = tool.returncode
        self.cpu = used.ru_utime + used.ru_stime

    def read(self, tool):
        while part := os.read(tool.stdout.fileno(), MB):
            self.bytes += len(part)
            self.first = self.first or part
            self.last = (self.last + part)[-MB:]
            if self.bytes > ENDLESS:
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
