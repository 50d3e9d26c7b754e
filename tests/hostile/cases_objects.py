# SPDX-License-Identifier: BSD-2-Clause
"""Objects that any user can make: they cost no more than their size deserves."""

import errno
import os
import re
import resource
import subprocess

import elfmake
from harness import (PATIENCE, START, case, check, check_names)

MB = 1 << 20
# Of its own time.  What is tested took minutes, and takes a part of a second.
MOST_CPU = 20
CALLS = ['wait_here', 'outer', 'main', START]


class Done:
    """What a run said, how it ended, and what it took."""

    def __init__(self, context, *arguments):
        out = os.path.join(context.tmp, 'out')
        err = os.path.join(context.tmp, 'err')
        env = dict(os.environ,
                   XDG_CACHE_HOME=os.path.join(context.tmp, 'cache'))
        with open(out, 'wb') as o, open(err, 'wb') as e:
            child = subprocess.Popen(
                [context.outwind, *map(str, arguments)], stdout=o, stderr=e,
                env=env, preexec_fn=limit_cpu)
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = self.status = os.waitstatus_to_exitcode(status)
        with open(out, encoding='utf-8', errors='replace') as o:
            self.stdout = o.read()
        with open(err, encoding='utf-8', errors='replace') as e:
            self.stderr = e.read()
        self.megabytes = usage.ru_maxrss // 1024
        self.cpu = usage.ru_utime + usage.ru_stime
        check(self.status >= 0, 'died by signal %d' % -self.status,
              self.stderr)


def limit_cpu():
    """What never ends dies by SIGXCPU."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, PATIENCE))


def functions(text):
    """The names of the frames of a text of one thread."""
    return [{'function': None if name == '??' else name} for name in re.findall(
        r'^#\d+ +0x[0-9a-f]+ (\S+)', text, re.MULTILINE)]


def run_changed(context, change, *arguments, name='changed', wants='ready'):
    """Start a copy of a known program with other sections."""
    elf = elfmake.Elf(context.program('through'))
    change(elf)
    path = os.path.join(context.tmp, name)
    elf.write(path)
    os.chmod(path, 0o755)
    while True:
        # What another test starts may have our file open for a moment.
        try:
            return context.start([path, *arguments], wants)
        except OSError as why:
            check(why.errno == errno.ETXTBSY, 'start', why)


def check_stack(context, target, *options, status=0, expected=None):
    done = Done(context, 'stack', *options, target.pid)
    check(done.status == status, 'status %d' % done.status,
          done.stderr or done.stdout)
    frames = [f['function'] for f in functions(done.stdout)]
    frames = frames[frames.index(expected[0] if expected else 'wait_here'):]
    check_names({'frames': [{'function': f} for f in frames]},
                expected or CALLS)
    return done


def endless_strings(elf):
    """Headers of symbol tables that share strings without an end."""
    strings = elf.add('.strings', b'x' * (4 * MB), elfmake.SHT_STRTAB)
    elf.hide('.symtab')
    for _ in range(60000):
        elf.add('.symbols', None, elfmake.SHT_SYMTAB, link=strings)
        elf.sections[-1].off, elf.sections[-1].size = 0, 16


@case('objects: 60,000 symbol tables share strings without an end')
def test_endless_strings(context):
    target = run_changed(context, endless_strings)
    done = Done(context, 'stack', target.pid)
    check(done.status == 0, 'status', done.stderr)
    check(done.stdout.count('\n#') >= 4, 'frames', done.stdout)
    context.note('%.2f s' % done.cpu)


def long_names(elf):
    """Symbols at one address whose names all are one long string."""
    name = b'\0' + b'_' * (4 * MB) + b'\0'
    strings = elf.add('.strings', name, elfmake.SHT_STRTAB)
    each = [elfmake.symbol(1 + i, 0, 1 << 40) for i in range(40000)]
    elf.hide('.symtab')
    elf.add('.symbols', elfmake.symbol(0, 0, 0) + b''.join(each),
            elfmake.SHT_SYMTAB, link=strings)


@case('objects: 40,000 names of 4 MB for one address')
def test_long_names(context):
    target = run_changed(context, long_names)
    done = Done(context, 'stack', target.pid)
    check(done.status == 0, 'status', done.stderr)
    longest = max(map(len, done.stdout.splitlines()))
    check(16384 < longest < 17000, 'the longest line', longest)
    check('___... + 0x' in done.stdout, 'says that it was cut')
    context.note('%.2f s' % done.cpu)
