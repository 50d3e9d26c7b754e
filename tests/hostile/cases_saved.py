# SPDX-License-Identifier: BSD-2-Clause
"""Cores and snapshots that anybody can write: small files that ask for much."""

import gzip
import os
import shutil
import struct
import subprocess
import time

import corewriter
import snapmake
from cases_objects import Done, MB, OWN
from cases_waits import start_fuse
from corewriter import R, W, X
from harness import PATIENCE, case, check, need_root

SILENT = ': what serves it did not answer in time'
CODE, STACK = 0x400000, 0x7000
SECONDS = 4  # of a CPU, for any of these files


def write(context, data, name='saved'):
    path = os.path.join(context.tmp, name)
    with open(path, 'wb') as f:
        f.write(data)
    return path


def check_cheap(context, data, *options, most=OWN, status=(0, 1, 2)):
    """It takes little time and memory, whatever it says."""
    path = write(context, data)
    done = Done(context, 'stack', *options, path)
    context.note('%d KB: %.2f s, %d MB' % (len(data) >> 10, done.cpu,
                                           done.megabytes))
    check(done.status in status, 'status %d' % done.status,
          done.stderr[-300:])
    check(done.megabytes < most, 'memory', '%d MB' % done.megabytes)
    check(done.cpu < SECONDS, 'time', '%.2f s' % done.cpu)
    return done


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


@case('saved: a snapshot whose threads share one long text')
def test_shared_texts(context):
    for field in ('name', 'why', 'wchan', 'kernel_stack'):
        snap = snapmake.Snapshot()
        text = snap.text(b'x' * 200000)
        snap.add(snapmake.THREADS, *(
            snap.thread(i, CODE, STACK, **{field: text})
            for i in range(1, 10001)))
        check_cheap(context, snap.bytes(), '--json')


def small_elf(size=4096, segments=1):
    """An ELF file of executable segments, one page each, and zeros."""
    head = (b'\x7fELF\2\1\1' + bytes(9) + struct.pack(
        '<HHIQQQIHHHHHH', 2, 62, 1, CODE, 64, 0, 0, 64, 56, segments, 64, 0,
        0))
    each = b''.join(struct.pack(
        '<IIQQQQQQ', 1, R | X, 0, CODE + i * 0x1000, 0, 0x1000, 0x1000, 1)
        for i in range(segments))
    return head + each + bytes(max(0, size - len(head) - len(each)))


@case('saved: a snapshot whose modules share one object of 1 MB')
def test_shared_object(context):
    snap = snapmake.Snapshot()
    image = small_elf(MB)
    snap.add(snapmake.OBJECTS, struct.pack('<Q', len(image)))
    snap.add(snapmake.OBJECT_BYTES, image)
    for i in range(1500):
        start = CODE + i * 0x1000
        snap.add(snapmake.THREADS, snap.thread(1 + i, start + 0x10, STACK))
        snap.add(snapmake.RANGES, snap.code(start, start + 0x1000, snap.add(
            snapmake.MODULES, snap.module(
                start, start + 0x1000, snap.text(b'/gone/%d' % i), inode=i,
                held=0))))
    check_cheap(context, snap.bytes())


@case('saved: a snapshot of 30,000 modules')
def test_many_modules(context):
    data = snapshot_of(*('/gone/%d' % i for i in range(30000))).bytes()
    done = check_cheap(context, data, most=3 * OWN)
    check(done.stderr.count('lacks /gone/') == 30000, 'lines',
          done.stderr[-500:])


@case('saved: a snapshot of 3,000,000 threads')
def test_many_threads(context):
    snap = snapmake.Snapshot()
    snap.add(snapmake.THREADS, snap.thread(1, CODE, STACK) * 3000000)
    done = check_cheap(context, snap.bytes(), '-q', most=700)
    check('--memory-limit' in done.stderr, 'it is said', done.stderr)


def with_headers(core, headers):
    """The core's file, and further headers of segments, which come first."""
    data = bytearray(core.bytes())
    phoff, nr = len(data), struct.unpack_from('<H', data, 56)[0]
    own = data[64:64 + 56 * nr]
    struct.pack_into('<Q', data, 32, phoff)
    struct.pack_into('<H', data, 56, nr + len(headers))
    return bytes(data) + b''.join(headers) + bytes(own)


@case('saved: a core of 6,000 headers of the same notes')
def test_shared_notes(context):
    core = corewriter.Core('x86_64').psinfo(16, 'program')
    for i in range(100):
        core.thread(17 + i, rip=CODE, rsp=STACK)
    core.load(STACK, bytes(64))
    notes = core.header(4, 0, 64 + 2 * 56, 0, 0, len(core.notes),
                        len(core.notes))
    done = check_cheap(context, with_headers(core, [notes] * 6000))
    check(done.stdout.count('TID ') == 100, 'threads', done.stdout[-500:])


@case('saved: a compressed core of 1,000,000 threads')
def test_threads_of_core(context):
    core = corewriter.Core('x86_64').thread(17, rip=CODE, rsp=STACK)
    core.notes *= 1000000
    done = check_cheap(context, gzip.compress(core.bytes(), 1), '-q',
                       most=700)
    check('--memory-limit' in done.stderr, 'it is said', done.stderr)


def unlisted(paths):
    """A core without segments, as gcore writes it, that lists these files."""
    core = corewriter.Core('x86_64').thread(17, rip=CODE, rsp=STACK)
    return core.files(*((CODE + i * 0x1000, CODE + (i + 1) * 0x1000, 0, path)
                        for i, path in enumerate(paths)))


@case('saved: a core that lists a file 1,000,000 times')
def test_many_files(context):
    path = write(context, small_elf(), 'f')
    data = unlisted([path] * 1000000).bytes()
    check_cheap(context, gzip.compress(data, 1), most=700)


@case('saved: a core that lists 40,000 files')
def test_many_names(context):
    shutil.copy('/bin/true', os.path.join(context.tmp, 'f'))
    check_cheap(context, unlisted(
        [context.tmp + '/./' * (i % 50) + '/' + '/' * (i // 50) + 'f'
         for i in range(40000)]).bytes(), most=4 * OWN)


def sharing(nr, size, files):
    """A core whose segments share bytes of an ELF image, as modules of files."""
    core = corewriter.Core('x86_64').psinfo(16, 'program')
    image = small_elf(size)
    starts = [CODE + i * 0x10000000 for i in range(nr)]
    for i, start in enumerate(starts):
        core.thread(17 + i, rip=start + 0x10, rsp=STACK)
    if files:
        core.files(*((s, s + 0x1000, 0, '/gone/%d' % i)
                     for i, s in enumerate(starts)))
    else:
        core.auxv(vdso=starts[0])
    core.load(STACK, image)
    at = 64 + 56 * 2 + len(core.notes)
    return with_headers(core, [core.header(1, R | X, at, s, 0, size, size)
                               for s in starts])


@case('saved: a core of 1,000 segments that share 2 MB')
def test_shared_segments(context):
    for files in (True, False):
        data = sharing(1000, 2 * MB, files)
        check_cheap(context, gzip.compress(data, 1))


@case('saved: a core of 1,000 modules at one address in a file')
def test_shared_head(context):
    core = corewriter.Core('x86_64').psinfo(16, 'program')
    core.load(CODE, small_elf(2 * MB), R)
    starts = [CODE + (1 << 32) + i * 0x1000 for i in range(1000)]
    core.files(*((s, s + 0x1000, (s - CODE) >> 12, '/gone/%d' % i)
                 for i, s in enumerate(starts)))
    for i, start in enumerate(starts):
        core.thread(17 + i, rip=start + 0x10, rsp=STACK)
        core.load(start, b'', R | X, memsz=0x1000)
    check_cheap(context, core.bytes())


@case('saved: a core whose link map names a file of 60,000 segments')
def test_links(context):
    path = write(context, small_elf(segments=60000), 'f')
    long = context.tmp + '/.' * 1900 + '/f'
    exe = write(context, corewriter.program(), 'program')
    check(os.path.samefile(path, long), 'names', long)
    links = [(i << 32, long) for i in range(1, 50)]
    core = corewriter.process(files=False, links=links)
    saved = write(context, core.bytes())
    done = Done(context, 'stack', saved, exe)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))
    check(done.megabytes < 300 and done.cpu < SECONDS, 'cost',
          (done.cpu, done.megabytes))


@case('saved: a compressed core of zeros without end')
def test_zeros(context):
    data = (snapmake.compress(corewriter.process().bytes()) +
            snapmake.compress(bytes(64 * MB)) * 500)
    done = check_cheap(context, data)
    check('no more is decompressed' in done.stderr, 'it is said', done.stderr)


TB = 1 << 40
MOST_DESC = (1 << 32) - 4  # bytes that a note says it has


def with_hole(context, note, hole):
    """
    A core of threads 17 and 18, and between their notes the beginning of one, or of
    nothing, and a hole of the file of so many bytes.
    """
    first = corewriter.Core('x86_64').psinfo(16, 'program')
    first.thread(17, rip=CODE, rsp=STACK).load(STACK, bytes(64))
    second = corewriter.Core('x86_64').thread(18, rip=CODE, rsp=STACK)
    head, last = bytes(first.notes) + note, second.notes
    size = len(head) + hole + len(last)
    with open(os.path.join(context.tmp, 'core'), 'wb') as f:
        f.write(struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\2\1\1', 4, 62, 1, 0,
                            64, 0, 0, 64, 56, 1, 64, 0, 0))
        f.write(first.header(corewriter.PT_NOTE, 0, 120, 0, 0, size, size))
        f.write(head)
        f.seek(hole, os.SEEK_CUR)
        f.write(last)
    check(os.stat(f.name).st_blocks < 64, 'blocks', os.stat(f.name).st_blocks)
    return f.name


def note_head(name, kind, size, start=b''):
    """A note up to where its hole begins."""
    return struct.pack('<III', len(name) + 1, size, kind) + name.encode() + bytes(
        4 - len(name) % 4) + start


def check_hole(context, path, threads, said=None, status=1):
    done = Done(context, 'stack', path)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))
    check(done.status == status, 'status %d' % done.status, done.stderr)
    tids = [int(line.split()[1]) for line in done.stdout.splitlines()
            if line.startswith('TID ')]
    check(tids == threads, 'threads', done.stdout)
    lines = [l for l in done.stderr.splitlines() if l.endswith('left out')]
    check(lines == (['outwind: %s: %s: left out' % (path, said)] if said else
                    []), 'says', done.stderr)
    check(done.cpu < SECONDS, 'time', '%.2f s' % done.cpu)
    check(done.megabytes < 2 * OWN, 'memory', '%d MB' % done.megabytes)


@case('saved: a core of 20,000,000 segments, in a hole')
def test_segments(context):
    nr, notes = 20000000, corewriter.Core('x86_64').thread(
        17, rip=CODE, rsp=STACK)
    size = len(notes.notes)
    with open(os.path.join(context.tmp, 'core'), 'wb') as f:
        f.write(struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\2\1\1', 4, 62, 1, 0,
                            4096, 64, 0, 64, 56, 0xffff, 64, 1, 0))
        f.write(struct.pack('<IIQQQQIIQQ', *[0] * 7, nr, 0, 0) + notes.notes)
        f.seek(4096)
        f.write(notes.header(corewriter.PT_NOTE, 0, 128, 0, 0, size, size))
        f.truncate(4096 + 56 * nr)
    check_hole(context, f.name, [17], 'segments after the first 1048576')


@case('saved: a core of 1 TB of empty notes, in a hole')
def test_empty_notes(context):
    check_hole(context, with_hole(context, b'', TB), [17],
               'notes after the first 4194304')


@case('saved: a core of 1 TB of large notes, in a hole')
def test_large_notes(context):
    note = note_head('LINUX', 1000, MOST_DESC)
    check_hole(context, with_hole(context, note, TB), [17],
               'notes after the first 4096 MiB')


@case('saved: an auxiliary vector of 3 GB, in a hole')
def test_large_auxv(context):
    size = 3 << 30
    note = note_head('CORE', corewriter.NT_AUXV, size)
    check_hole(context, with_hole(context, note, size), [17, 18])


@case('saved: a VMCOREINFO of 3 GB, in a hole')
def test_large_vmcoreinfo(context):
    size = 3 << 30
    note = note_head('VMCOREINFO', 0, size)
    check_hole(context, with_hole(context, note, size), [],
               'VMCOREINFO after its first 1024 KiB', 2)


@case('saved: a snapshot of 1 TB, in a hole')
def test_long_snapshot(context):
    path = write(context, snapshot_of('/gone').bytes())
    os.truncate(path, TB)
    done = Done(context, 'stack', path)
    check(done.status == 2 and '/saved: the snapshot is damaged' in done.stderr,
          'says', (done.status, done.stderr))
    check(done.cpu < SECONDS and done.megabytes < OWN, 'cost',
          (done.cpu, done.megabytes))
