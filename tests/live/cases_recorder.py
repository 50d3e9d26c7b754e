# SPDX-License-Identifier: BSD-2-Clause
"""The recorder itself: its descriptors, its files, its memory and its end."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import time

from cases_record import need_bpf, record
from harness import case, check, need, wait_until


def left_open(pid):
    """What a program that the process executes would have of its descriptors."""
    for fd in os.listdir('/proc/%d/fd' % pid):
        with contextlib.suppress(FileNotFoundError):
            with open('/proc/%d/fdinfo/%s' % (pid, fd), encoding='utf-8') as f:
                flags = int(re.search(r'flags:\s*(\d+)', f.read()).group(1), 8)
            if int(fd) > 2:
                yield (os.readlink('/proc/%d/fd/%s' % (pid, fd)),
                       not flags & os.O_CLOEXEC)


@case('record: its descriptors are closed where it executes', alone=True)
def record_descriptors(context):
    need_bpf(context)
    target = context.start(['busy'])
    for engine in ('bpf', 'perf'):
        seen = set()
        recorder = context.start(
            [context.outwind, 'record', '--engine=' + engine, '-d', '1', '-o',
             os.path.join(context.tmp, 'profile'), str(target.pid)], ready=None)
        while recorder.poll() is None:
            with contextlib.suppress(FileNotFoundError):
                seen |= set(left_open(recorder.pid))
            time.sleep(0.02)
        check(recorder.returncode == 0, 'status', recorder.returncode)
        check(('anon_inode:[perf_event]', False) in seen, 'no events', seen)
        # libbpf reads the kernel's types so, and closes them again.
        left = [name for name, is_left in seen
                if is_left and name != '/sys/kernel/btf/vmlinux']
        check(not left, 'left open', left)


@case('record: a library that is cut off meanwhile', alone=True)
def record_cut_off(context):
    need_bpf(context)
    lib = shutil.copy(context.program('plugin.so'),
                      os.path.join(context.tmp, 'lib.so'))
    target = context.start(['loader', lib])
    path = os.path.join(context.tmp, 'profile.json')
    recorder = context.start(
        [context.outwind, 'record', '--off-cpu', '-d', '2', '-o', path,
         str(target.pid)], ready=None, stderr=subprocess.PIPE)
    maps = '/proc/%d/maps' % recorder.pid
    wait_until(lambda: lib in open(maps, encoding='utf-8').read(),
               'the library is looked at')
    time.sleep(0.5)
    os.truncate(lib, 4096)
    said = recorder.stderr.read().decode()
    recorder.stderr.close()
    check(recorder.wait() == 0, 'status', (recorder.returncode, said))
    check('cut off' in said, 'it is told', said)
    with open(path, encoding='utf-8') as f:
        functions = {x.get('function') for x in json.load(f)['frames']}
    check({'stay', 'load', 'main'} <= functions, 'names of others', functions)
    check('plugin_inner' not in functions, 'and none of it', functions)


@case('record: a library whose own name ends in " (deleted)"')
def record_marked(context):
    need_bpf(context)
    lib = os.path.join(context.tmp, 'lib.so')
    shutil.copy(context.program('decoy.so'), lib)
    shutil.copy(context.program('plugin.so'), lib + ' (deleted)')
    target = context.start(['loader', lib + ' (deleted)'])
    done = context.run('record', '--off-cpu', '-d', '0.2', '-f', 'json', '-o',
                       '-', '-p', target.pid, status=0)
    check(done.stdout.count(b'"%s (deleted)"' % lib.encode()) > 0 and
          b'"%s"' % lib.encode() not in done.stdout, 'its name', done.stdout)


@case('record: memory for tables is kept to', alone=True)
def record_memory(context):
    need_bpf(context)
    need('python3')
    target = context.start(['busy'])
    path = os.path.join(context.tmp, 'x')
    done = context.run('record', '-a', '-d', '1', '--table-memory=1',
                       '--stats', '-o', path, status=0)
    said = done.stderr.decode()
    size = float(re.search(r'tables: ([\d.]+) MiB', said).group(1))
    check(size <= 1.0, 'tables take too much', said)
    check(target.poll() is None, 'the target lives')


@case('record: its end, whatever tables are in the making', alone=True)
def record_ends_early(context):
    need_bpf(context)
    need('clang')
    source = os.path.join(context.tmp, 'empty.c')
    with open(source, 'w', encoding='utf-8'):
        pass
    # Its libraries' tables take longer than most of these.
    for seconds in (0.01, 0.03, 0.1, 0.3):
        for memory in (1, 256):
            profile, said = record(
                context, '-d', seconds, '-F', '999', '--stats',
                '--table-memory=%d' % memory, '--', 'clang', '-fsyntax-only',
                source)
            size = float(re.search(r'tables: ([\d.]+) MiB', said).group(1))
            check(size <= memory, 'tables take too much', said)
            frames = profile['frames']
            check(all(i < len(frames) for s in profile['stacks']
                      for i in s['frames']), 'a stack without its frames')
