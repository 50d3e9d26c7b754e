# SPDX-License-Identifier: BSD-2-Clause
"""Cores and snapshots that anybody can write: small files that ask for much."""

import os
import subprocess
import time

import corewriter
import snapmake
from cases_waits import start_fuse
from corewriter import R, X
from harness import PATIENCE, case, check

SILENT = ': what serves it did not answer in time'
CODE, STACK = 0x400000, 0x7000


def write(context, data, name='saved'):
    path = os.path.join(context.tmp, name)
    with open(path, 'wb') as f:
        f.write(data)
    return path


def of_paths(*paths):
    """A core whose process has these files mapped, one thread in each."""
    core = corewriter.Core('x86_64').psinfo(16, 'program')
    each = [(CODE + i * 0x1000, CODE + (i + 1) * 0x1000, 0, path)
            for i, path in enumerate(paths)]
    for i, (start, _, _, _) in enumerate(each):
        core.thread(17 + i, rip=start + 0x10, rsp=STACK, rbp=STACK)
        core.load(start, b'', R | X, memsz=0x1000)
    return core.files(*each).load(STACK, bytes(64))


def snapshot_of(*paths):
    snap = snapmake.Snapshot()
    for i, path in enumerate(paths):
        start = CODE + i * 0x1000
        snap.add(snapmake.THREADS, snap.thread(17 + i, start + 0x10, STACK))
        snap.add(snapmake.RANGES, snap.code(start, start + 0x1000, snap.add(
            snapmake.MODULES, snap.module(start, start + 0x1000, snap.text(
                path.encode()), inode=1))))
    return snap


def unlisted(paths):
    """A core without segments, as gcore writes it, that lists these files."""
    core = corewriter.Core('x86_64').thread(17, rip=CODE, rsp=STACK)
    return core.files(*((CODE + i * 0x1000, CODE + (i + 1) * 0x1000, 0, path)
                        for i, path in enumerate(paths)))


@case('saved: files of a FUSE server that does not answer')
def test_silent(context):
    server = start_fuse(context, 'object', context.program('libwaits.so'))
    paths = [os.path.join(context.tmp, 'mount', 'file%d' % i)
             for i in range(40)]
    for name, data in (('core', of_paths(*paths)),
                       ('snapshot', snapshot_of(*paths)),
                       ('unlisted', unlisted(paths)),
                       ('links', corewriter.process(
                           files=False, links=[(0, p) for p in paths]))):
        saved = write(context, data.bytes(), name)
        exe = write(context, corewriter.program(), 'program')
        begun = time.monotonic()
        done = subprocess.run(
            ['nsenter', '-m', '-t', str(server.pid), context.outwind, 'stack',
             saved] + ([exe] if name == 'links' else []),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=PATIENCE, check=False, encoding='utf-8')
        took = time.monotonic() - begun
        context.note('%s: %.1f s' % (name, took))
        check(done.returncode in (0, 1, 2), name + ': status',
              (done.returncode, done.stderr[-300:]))
        check(took < 30, name + ': time', took)
        check(paths[0] + SILENT in done.stderr, name + ': it is said',
              done.stderr[-1000:])
