# SPDX-License-Identifier: BSD-2-Clause
"""Objects that any user can make: they cost no more than their size deserves."""

import errno
import lzma
import os
import random
import re
import resource
import struct
import subprocess
import zlib

import elfmake
from harness import (PATIENCE, START, case, check, check_names, need_root)

MB = 1 << 20
# Of its own time.  What is tested took minutes, and takes a part of a second.
MOST_CPU = 20
CALLS = ['wait_here', 'outer', 'main', START]


class Done:
    """What a run said, how it ended, and what it took."""

    def __init__(self, context, *arguments, tool=None):
        out = os.path.join(context.tmp, 'out')
        err = os.path.join(context.tmp, 'err')
        env = dict(os.environ,
                   XDG_CACHE_HOME=os.path.join(context.tmp, 'cache'))
        took = os.path.join(context.tmp, 'took')
        with open(out, 'wb') as o, open(err, 'wb') as e:
            try:
                subprocess.run(
                    [context.program('measure'), took, tool or context.outwind,
                     *map(str, arguments)], stdout=o, stderr=e, env=env,
                    preexec_fn=limit_cpu, timeout=PATIENCE, check=True)
            except subprocess.TimeoutExpired:
                check(False, 'waits for ever', arguments)
        with open(took, encoding='ascii') as f:
            kib, user, system, status = map(int, f.read().split())
        self.status = os.waitstatus_to_exitcode(status)
        with open(out, encoding='utf-8', errors='replace') as o:
            self.stdout = o.read()
        with open(err, encoding='utf-8', errors='replace') as e:
            self.stderr = e.read()
        self.megabytes = kib // 1024
        self.cpu = (user + system) / 1e6
        check(self.status >= 0, 'died by signal %d' % -self.status,
              self.stderr[-1000:])


def limit_cpu():
    """What never ends dies by SIGXCPU; what waits for ever is killed."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, PATIENCE))


def functions(text):
    """The names of the frames of a text of one thread."""
    return [{'function': None if name == '??' else name} for name in re.findall(
        r'^#\d+ +0x[0-9a-f]+ (\S+)', text, re.MULTILINE)]


def write_changed(program, change, path, size=None):
    """Write a copy of a program with other sections; size: of the sparse file."""
    elf = elfmake.Elf(program)
    change(elf)
    elf.write(path)
    os.chmod(path, 0o755)
    if size:
        os.truncate(path, size)


def run_changed(context, change, *arguments, name='changed', size=None,
                program='through'):
    """Start a copy of a known program with other sections."""
    path = os.path.join(context.tmp, name)
    write_changed(context.program(program), change, path, size)
    while True:
        # What another test starts may have our file open for a moment.
        try:
            return context.start([path, *arguments])
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


def reference(i):
    """A reference to the i-th part of a C++ name."""
    return 'S%s_' % ('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[i - 1] if i else '')


def endless_names(elf):
    """Functions whose names no demangler comes to the end of, each another one."""
    code = elf.section('.text')
    index = elf.sections.index(code)
    parts = ''.join('Fv%sE' % (2 * reference(i)) for i in range(1, 34))
    size = 16
    each = ['_Z7f%06dIFvvE%sEDp%sv' % (i, parts, reference(34))
            for i in range(code.size // size)]
    at, table = 1, elfmake.symbol(0, 0, 0)
    for i, name in enumerate(each):
        table += elfmake.symbol(at, code.vaddr + i * size, size, index)
        at += len(name) + 1
    elf.hide('.symtab')
    strings = elf.add('.strings', ('\0' + '\0'.join(each) + '\0').encode(),
                      elfmake.SHT_STRTAB)
    elf.add('.symbols', table, elfmake.SHT_SYMTAB, link=strings)


@case('objects: names that no demangler comes to the end of')
def test_endless_names(context):
    target = run_changed(context, endless_names)
    done = Done(context, 'stack', target.pid)
    check(done.status == 0, 'status', done.stderr)
    check(done.stdout.count(' _Z7f') >= 4, 'names', done.stdout)
    check(done.cpu < 2, 'time', done.cpu)
    need_root()
    worker = run_changed(context, endless_names, 'work', name='worker')
    done = Done(context, 'record', '-d', '1', '-f', 'folded', '--no-kernel',
                '-p', worker.pid)
    check(done.status == 0, 'status', done.stderr)
    check(';_Z7f' in done.stdout, 'names', done.stdout)
    context.note('%.2f s' % done.cpu)


def different_names(elf):
    """A name of 16 KB for each two bytes, all different, in 400 KB of strings."""
    field = elf.section('.field')
    index = elf.sections.index(field)
    letters = random.Random(1).choices(b'abcdefghijklmnopqrstuvwxyz',
                                       k=field.size + 16384)
    strings = elf.add('.strings', b'\0' + bytes(letters) + b'\0',
                      elfmake.SHT_STRTAB)
    each = (elfmake.symbol(1 + i, field.vaddr + i, 2, index)
            for i in range(0, field.size - 1, 2))
    elf.hide('.symtab')
    elf.add('.symbols', elfmake.symbol(0, 0, 0) + b''.join(each),
            elfmake.SHT_SYMTAB, link=strings)


@case('objects: different names of 16 KB for 100,000 frames')
def test_different_names(context):
    target = run_changed(context, different_names, '100', program='manynames')
    for command in (['stack', '-n', '0'], ['stack', '--json', '-n', '0']):
        done = Done(context, *command, target.pid)
        check(done.status == 0, 'status %d' % done.status, done.stderr)
        context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))
        check_bounded(done)
        check_says(done, '/changed: a copy of more of its names')
    # Others of the same run have theirs.
    check('"__libc_start_main"' in done.stdout, 'the first thread',
          done.stdout[:1000])


def uleb(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


ABBREVIATIONS = bytes([
    1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0,             # unit: low, high
    2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0,  # subprogram: name
    3, 0x0b, 1, 0x11, 0x01, 0x12, 0x07, 0, 0,              # lexical block
    4, 0x39, 1, 0x03, 0x08, 0, 0,                          # namespace
    5, 0x1d, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0,  # inlined
    0])


def describe(elf, dies):
    """Have .debug_info be one unit over all code, with these DIEs in it."""
    elf.hide('.debug_info', '.debug_abbrev', '.debug_aranges', '.debug_line',
             '.debug_str', '.debug_line_str', '.debug_rnglists')
    code = elf.section('.text')
    unit = (struct.pack('<HIB', 4, 0, 8) + b'\1' +
            struct.pack('<QQ', code.vaddr, code.size) + dies + b'\0')
    elf.add('.debug_abbrev', ABBREVIATIONS)
    elf.add('.debug_info', struct.pack('<I', len(unit)) + unit)


def nested_blocks(elf):
    code = elf.section('.text')
    span = struct.pack('<QQ', code.vaddr, code.size)
    describe(elf, b'\2all\0' + span + (b'\3' + span) * 100000 +
             b'\0' * 100001)


def nested_namespaces(elf):
    describe(elf, b'\4n\0' * 200000 + b'\0' * 200000)


@case('objects: 100,000 nested blocks in DWARF')
def test_nested_blocks(context):
    target = run_changed(context, nested_blocks)
    done = check_stack(context, target, '-i')
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))


@case('objects: 200,000 nested namespaces in DWARF')
def test_nested_namespaces(context):
    target = run_changed(context, nested_namespaces)
    done = check_stack(context, target, '-i')
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))


def in_namespaces(elf):
    """As rustc writes it: functions in types in namespaces."""
    code = elf.section('.text')
    span = struct.pack('<QQ', code.vaddr, code.size)
    describe(elf, b'\4a\0' + b'\4b\0' + b'\2all\0' + span +
             b'\5inner\0' + span + b'\0' * 3)


@case('objects: functions in namespaces, and what is inlined there')
def test_in_namespaces(context):
    target = run_changed(context, in_namespaces)
    check_stack(context, target, '-i', expected=[
        'inner', 'wait_here', 'inner', 'outer', 'inner', 'main', '...'])


@case('objects: a profile, with nested blocks in one process of it')
def test_record(context):
    need_root()
    hostile = run_changed(context, nested_blocks, 'work', name='hostile')
    normal = run_changed(context, lambda elf: None, 'work', name='normal')
    done = Done(context, 'record', '-i', '-d', '1', '-f', 'folded',
                '--no-kernel', '-p', '%d,%d' % (hostile.pid, normal.pid))
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    for name in 'hostile', 'normal':
        lines = [l for l in done.stdout.splitlines() if name in l]
        check(lines and all(';main;busy;work_here ' in l for l in lines),
              'stacks of ' + name, done.stdout)


# What a run may have, by default, and what outwind takes by itself.
LIMIT, OWN = 512, 64


def check_bounded(done, most=LIMIT // 2):
    check(done.megabytes < most, 'memory', '%d MB' % done.megabytes)


def check_says(done, *texts):
    lines = [l for l in done.stderr.splitlines() if 'memory-limit' in l]
    check(len(lines) == len(texts) and
          all(t in l for t, l in zip(texts, lines)), 'says', done.stderr)


def zeros(size, declared=None):
    """A compressed section of so many zeros, in a thousandth of the bytes."""
    piece = bytes(16 * MB)
    pack = zlib.compressobj(1, zlib.DEFLATED, -15)
    once = pack.compress(piece) + pack.flush(zlib.Z_FULL_FLUSH)
    check_sum = 1
    for _ in range(size // len(piece)):
        check_sum = zlib.adler32(piece, check_sum)
    return elfmake.compressed(
        b'\x78\x01' + once * (size // len(piece)) + pack.flush() +
        struct.pack('>I', check_sum), declared or size)


def bomb(elf):
    elf.add('.debug_frame', zeros(320 * MB), flags=elfmake.SHF_COMPRESSED)


@case('objects: a compressed .debug_frame of 320 MB')
def test_bomb(context):
    target = run_changed(context, bomb)
    done = check_stack(context, target)
    check_bounded(done)
    check_says(done, '/changed: its .debug_frame would take more memory')
    done = check_stack(context, target, '--memory-limit=100M')
    check_bounded(done, 100 // 4 + OWN)
    done = Done(context, 'stack', '--memory-limit=100X', target.pid)
    check(done.status == 64 and
          done.stderr.startswith('outwind: --memory-limit 100X: not a size\n'),
          'a size that is none', done.stderr)


def damaged_bomb(elf):
    """It declares more than there is: nothing is taken for what isn't there."""
    elf.add('.debug_frame', zeros(64 * MB, 400 * MB)[:20000] + bytes(400000),
            flags=elfmake.SHF_COMPRESSED)


@case('objects: a compressed .debug_frame that declares 400 MB')
def test_damaged_bomb(context):
    target = run_changed(context, damaged_bomb)
    done = check_stack(context, target)
    check_bounded(done, OWN + 64)
    check_says(done)


def dwarf_bombs(elf):
    for name in '.debug_info', '.debug_str', '.debug_line':
        elf.hide(name)
        elf.add(name, zeros(320 * MB), flags=elfmake.SHF_COMPRESSED)


@case('objects: DWARF sections of 320 MB each')
def test_dwarf_bombs(context):
    target = run_changed(context, dwarf_bombs)
    done = check_stack(context, target, '-i')
    check_bounded(done)
    check_says(done, '/changed: its DWARF would take more memory')


def sparse(elf):
    """Little DWARF, compressed, in a file that is made long afterwards."""
    elf.replace('.debug_str', elfmake.compressed(
        zlib.compress(elf.contents('.debug_str')),
        len(elf.contents('.debug_str'))), elfmake.SHF_COMPRESSED)


@case('objects: compressed DWARF in a sparse file of 10 GB')
def test_sparse(context):
    target = run_changed(context, sparse, size=10240 * MB)
    done = check_stack(context, target, '-i', expected=[
        'wait_here', 'inlined', 'outer', 'main', START])
    check_bounded(done, OWN + 64)


def hole(elf, name, kind=elfmake.SHT_PROGBITS, size=1536 * MB, **options):
    """A section of zeros, which the file has when it is made long; its number."""
    elf.hide(name)
    number = elf.add(name, None, kind, **options)
    elf.sections[number].off, elf.sections[number].size = 64 * MB, size
    return number


def symbols_of_zeros(elf):
    hole(elf, '.strtab', elfmake.SHT_STRTAB)
    hole(elf, '.symtab', elfmake.SHT_SYMTAB,
         link=hole(elf, '.strings', elfmake.SHT_STRTAB))


def frames_of_zeros(elf):
    hole(elf, '.debug_frame')


def frames_without_header(elf):
    """FDEs of .eh_frame without a table to search them by, as often as it goes."""
    at = elf.head[5]
    for i in range(elf.head[10]):
        if struct.unpack_from('<I', elf.bytes, at + i * 56)[0] == 0x6474e550:
            struct.pack_into('<I', elf.bytes, at + i * 56, 0)
    hole(elf, '.eh_frame')


def relocations_of_zeros(elf):
    """Stubs without symbols, each of which is looked for among relocations."""
    elf.hide('.symtab', '.plt')
    elf.section('.field').name = '.plt'
    hole(elf, '.relocations', elfmake.SHT_RELA, size=24 * MB,
         flags=elfmake.SHF_ALLOC)


HUGE_SIZE = 1600 * MB  # of files with holes


@case('objects: symbols of 1.5 GB that are holes')
def test_symbols_of_zeros(context):
    target = run_changed(context, symbols_of_zeros, size=HUGE_SIZE)
    done = Done(context, 'stack', target.pid)
    check(done.status == 0, 'status', done.stderr)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))
    check_bounded(done)
    check(done.stderr.endswith(
        '/changed: its .symtab would take too long to look through: '
        'left out\n') and done.stderr.count('\n') == 1, 'says', done.stderr)
    # A shorter one is looked through.
    target = run_changed(
        context, lambda elf: hole(elf, '.symtab', elfmake.SHT_SYMTAB,
                                  size=16 * MB,
                                  link=elf.sections.index(
                                      elf.section('.strtab'))),
        name='short', size=80 * MB)
    done = Done(context, 'stack', target.pid)
    check(done.status == 0 and not done.stderr, 'short', done.stderr)


@case('objects: .debug_frame of 1.5 GB that is a hole')
def test_frames_of_zeros(context):
    target = run_changed(context, frames_of_zeros, size=HUGE_SIZE)
    done = check_stack(context, target)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))
    check_bounded(done)
    check(done.stderr.endswith(
        '/changed: its .debug_frame would take too long to look through: '
        'left out\n') and done.stderr.count('\n') == 1, 'says', done.stderr)


@case('objects: .eh_frame of 1.5 GB that is a hole')
def test_frames_without_header(context):
    target = run_changed(context, frames_without_header, size=HUGE_SIZE)
    done = Done(context, 'stack', target.pid)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))
    check_bounded(done)
    done = Done(context, 'tables', os.path.join(context.tmp, 'changed'))
    check(done.status == 2, 'status %d' % done.status, done.stderr)
    check_bounded(done)
    check('its .eh_frame would take too long to look through' in done.stderr,
          'says', done.stderr)


@case('objects: a million relocations, which are a hole, for 10,000 stubs')
def test_relocations_of_zeros(context):
    target = run_changed(context, relocations_of_zeros, '80', size=HUGE_SIZE,
                         program='manynames')
    done = Done(context, 'stack', '-n', '0', target.pid)
    check(done.status == 0, 'status', done.stderr)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))
    check_bounded(done)
    check(done.stderr.endswith(
        '/changed: relocations that name stubs would take too long to look '
        'through: left out\n') and done.stderr.count('\n') == 1, 'says',
        done.stderr)


def debug_link(elf):
    elf.hide('.symtab', '.note.gnu.build-id', '.gnu_debuglink')
    for name in '.debug_info', '.debug_abbrev':
        elf.hide(name)
    at = elf.head[5]
    for i in range(elf.head[10]):
        if struct.unpack_from('<I', elf.bytes, at + i * 56)[0] == 4:
            struct.pack_into('<I', elf.bytes, at + i * 56, 0)
    elf.add('.gnu_debuglink', b'changed.debug\0\0\0' + bytes(4))


@case('objects: a linked debug file of 10 GB')
def test_debug_link(context):
    target = run_changed(context, debug_link)
    path = os.path.join(context.tmp, 'changed.debug')
    elf = elfmake.Elf(context.program('through'))
    debug_link(elf)
    elf.add('.symtab', bytes(24), elfmake.SHT_SYMTAB, link=1)
    elf.write(path)
    os.truncate(path, 10240 * MB)
    done = Done(context, 'stack', target.pid)
    check(done.status == 0, 'status', done.stderr)
    check_bounded(done)
    check_says(done, '/changed.debug: the CRC of this debug file')


def symbols(number):
    """So many, all of use, over a label that only an index can place."""
    def change(elf):
        code = elf.section('.text')
        index = elf.sections.index(code)
        strings = elf.add('.strings', b'\0f\0', elfmake.SHT_STRTAB)
        each = b''.join(elfmake.symbol(1, code.vaddr + i % code.size, 1, index,
                                       0x12) for i in range(code.size))
        label = elfmake.symbol(1, code.vaddr, 0, index, 0x10)
        elf.hide('.symtab')
        elf.add('.symbols', elfmake.symbol(0, 0, 0) + label +
                each * (number // code.size), elfmake.SHT_SYMTAB,
                link=strings)
    return change


@case('objects: 4,000,000 symbols')
def test_symbols(context):
    target = run_changed(context, symbols(4000000))
    done = Done(context, 'stack', '--memory-limit=200M', target.pid)
    check(done.status == 0, 'status', done.stderr)
    check_says(done, '/changed: an index of its symbols')
    # The file's own pages count, too.
    check_bounded(done, 4000000 * 24 // MB + 200 // 4 + OWN)


def minidebug(elf):
    pack = lzma.LZMACompressor(preset=0)
    data = b''.join(pack.compress(bytes(64 * MB)) for _ in range(3))
    elf.hide('.symtab')
    elf.add('.gnu_debugdata', data + pack.flush())


@case('objects: a .gnu_debugdata of 192 MB')
def test_minidebug(context):
    target = run_changed(context, minidebug)
    done = Done(context, 'stack', target.pid)
    check(done.status == 0, 'status', done.stderr)
    check_bounded(done)
    check_says(done, '/changed: its .gnu_debugdata')


@case('objects: bombs in one of two recorded processes')
def test_record_bombs(context):
    need_root()
    def change(elf):
        bomb(elf)
        dwarf_bombs(elf)
    hostile = run_changed(context, change, 'work', name='hostile')
    normal = run_changed(context, lambda elf: None, 'work', name='normal')
    done = Done(context, 'record', '-i', '-d', '1', '-f', 'folded',
                '--no-kernel', '-p', '%d,%d' % (hostile.pid, normal.pid))
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    check_bounded(done, LIMIT // 2 + 4 * OWN)
    check('/hostile: its DWARF' in done.stderr, 'says', done.stderr)
    lines = [l for l in done.stdout.splitlines() if 'normal' in l]
    check(lines and all(';main;busy;work_here ' in l for l in lines),
          'stacks of the normal one', done.stdout)


def split(path):
    """A skeleton unit (DWARF 5, 3.1.2) whose functions are in a file there."""
    def change(elf):
        code = elf.section('.text')
        elf.hide('.debug_info', '.debug_abbrev', '.debug_aranges')
        elf.add('.debug_abbrev', bytes([
            1, 0x4a, 0, 0x76, 0x08, 0x1b, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0,
            0]))
        unit = (struct.pack('<HBBIQ', 5, 4, 8, 0, 1) + b'\1' +
                os.path.basename(path).encode() + b'\0' +
                os.path.dirname(path).encode() + b'\0' +
                struct.pack('<QQ', code.vaddr, code.size))
        elf.add('.debug_info', struct.pack('<I', len(unit)) + unit)
    return change


@case('objects: split DWARF in a FIFO')
def test_split(context):
    need_root()
    path = os.path.join(context.tmp, 'fifo.dwo')
    os.mkfifo(path)
    for number, user in enumerate((65534, 0)):
        os.chown(path, user, user)
        target = run_changed(context, split(path), name='split%d' % number)
        done = check_stack(context, target, '-i')
        check(done.stderr.startswith(
            'outwind: %s/split%d: split DWARF in a file that others' %
            (context.tmp, number)) and done.stderr.count('\n') == 1,
            'says', done.stderr)


@case('objects: split DWARF in a file of /proc')
def test_split_proc(context):
    need_root()
    target = run_changed(context, split('/proc/kmsg'))
    done = check_stack(context, target, '-i')
    check(': split DWARF in a file that others' in done.stderr, 'says',
          done.stderr)


def alt_link(path):
    """A function whose name is in a file there that dwz(1) is said to have made."""
    def change(elf):
        code = elf.section('.text')
        span = struct.pack('<QQ', code.vaddr, code.size)
        elf.hide('.debug_info', '.debug_abbrev', '.debug_aranges')
        elf.add('.debug_abbrev', bytes([
            1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0,              # unit
            2, 0x2e, 1, 0x03, 0xa1, 0x3e, 0x11, 0x01, 0x12, 0x07, 0, 0,
            3, 0x1d, 0, 0x31, 0xa0, 0x3e, 0x11, 0x01, 0x12, 0x07, 0, 0,
            0]))
        unit = (struct.pack('<HIB', 4, 0, 8) + b'\1' + span +
                b'\2' + bytes(4) + span + b'\3' + bytes(4) + span + b'\0\0')
        elf.add('.debug_info', struct.pack('<I', len(unit)) + unit)
        elf.add('.gnu_debugaltlink', path.encode() + b'\0' + b'\x5a' * 20)
    return change


@case('objects: a FIFO that common DWARF is said to be in')
def test_alt_link(context):
    path = os.path.join(context.tmp, 'fifo')
    os.mkfifo(path)
    target = run_changed(context, alt_link(path))
    done = Done(context, 'stack', '-i', target.pid)
    check(done.status == 0, 'status', done.stderr)
    check('wait_here' in done.stdout and 'outer' in done.stdout, 'names',
          done.stdout)


def shared_abbreviations(elf):
    """Units whose DIE has the last one of a long table, each."""
    code = elf.section('.text')
    elf.hide('.debug_info', '.debug_abbrev', '.debug_aranges')
    table = b''.join(uleb(i) + b'\x2e\0\0\0' for i in range(2, 400000))
    elf.add('.debug_abbrev', table + ABBREVIATIONS)
    unit = struct.pack('<HIB', 4, 0, 8) + b'\1' + struct.pack(
        '<QQ', code.vaddr, code.size)
    elf.add('.debug_info', (struct.pack('<I', len(unit)) + unit) * 20000)


@case('objects: 20,000 units that share 400,000 abbreviations')
def test_shared_abbreviations(context):
    target = run_changed(context, shared_abbreviations)
    done = check_stack(context, target, '-i')
    check_bounded(done)
    check_says(done, '/changed: an index of its DWARF')


PRESENT = bytes([0x3f, 0x19])  # DW_AT_external by DW_FORM_flag_present: no bytes


def describe_by(elf, abbreviations, dies, *sections):
    """Have .debug_info be a unit over all code and a function, with DIEs in it."""
    code = elf.section('.text')
    span = struct.pack('<QQ', code.vaddr, code.size)
    elf.hide('.debug_info', '.debug_abbrev', '.debug_aranges', '.debug_ranges')
    elf.add('.debug_abbrev', bytes([
        1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0,               # unit
        2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0]) +  # subprogram
        abbreviations + b'\0')
    unit = (struct.pack('<HIB', 4, 0, 8) + b'\1' + span + b'\2all\0' + span +
            dies(span))
    elf.add('.debug_info', struct.pack('<I', len(unit)) + unit)
    for name, data in sections:
        elf.add(name, data)


def many_attributes(elf):
    """Blocks with 20,000 attributes each, which take no bytes."""
    describe_by(elf, bytes([3, 0x0b, 0]) + PRESENT * 20000 + bytes(2),
                lambda span: b'\3' * 20000 + bytes(2))


def many_attributes_inside(elf):
    """The same in a block, to the end of which there is no short way."""
    describe_by(elf, bytes([3, 0x0b, 0]) + PRESENT * 20000 +
                bytes([0, 0, 4, 0x0b, 1, 0, 0]),
                lambda span: b'\4' + b'\3' * 20000 + bytes(3))


def many_attributes_inlined(elf):
    """Inlined functions that cover the code, with 250,000 attributes each."""
    describe_by(elf, bytes([3, 0x1d, 1]) + PRESENT * 250000 +
                bytes([0x11, 0x01, 0x12, 0x07, 0, 0]),
                lambda span: (b'\3' + span) * 60 + bytes(62))


def shared_ranges(elf):
    """Blocks that share a list of 30,000 ranges, none of which covers the code."""
    describe_by(elf, bytes([3, 0x0b, 0, 0x55, 0x17, 0, 0]),
                lambda span: (b'\3' + bytes(4)) * 60000 + bytes(2),
                ('.debug_ranges', struct.pack('<QQ', 1, 2) * 30000 + bytes(16)))


def check_steps(context, change, is_told):
    """Its DWARF takes little time, and another program has its inlined functions."""
    target = run_changed(context, change, name='hostile')
    done = Done(context, 'stack', '-i', target.pid)
    check(done.status == 0, 'status', done.stderr)
    check(done.cpu < 5, 'time', done.cpu)
    check('wait_here' in done.stdout and 'outer' in done.stdout, 'names',
          done.stdout[-1000:])
    check(is_told == (': the rest of its DWARF, which takes too long' in
                      done.stderr), 'says', done.stderr)
    context.note('%.2f s' % done.cpu)
    need_root()
    worker = run_changed(context, change, 'work', name='hostile_worker')
    normal = run_changed(context, lambda elf: None, 'work', name='normal')
    done = Done(context, 'record', '-i', '-d', '1', '-f', 'folded',
                '--no-kernel', '-p', '%d,%d' % (worker.pid, normal.pid))
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    lines = [l for l in done.stdout.splitlines() if 'normal' in l]
    check(lines and all(';main;busy;work_here ' in l for l in lines),
          'stacks of the normal one', done.stdout)
    context.note('record: %.2f s' % done.cpu)


@case('objects: 20,000 DIEs of 20,000 attributes')
def test_many_attributes(context):
    check_steps(context, many_attributes, False)


@case('objects: 20,000 DIEs of 20,000 attributes in a block')
def test_many_attributes_inside(context):
    check_steps(context, many_attributes_inside, False)


@case('objects: inlined functions of 250,000 attributes')
def test_many_attributes_inlined(context):
    check_steps(context, many_attributes_inlined, True)


@case('objects: 60,000 blocks that share 30,000 ranges')
def test_shared_ranges(context):
    check_steps(context, shared_ranges, True)


def joined_names(elf):
    """25,000 files in one folder, whose name has 50,000 letters."""
    lists = (b'd' * 50000 + bytes(2) + (b'f\0' + uleb(1) + bytes(2)) * 25000 +
             b'\0')
    head = (bytes([1, 1, 1, 0xfb, 14, 13]) +
            bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + lists)
    body = struct.pack('<HI', 4, len(head)) + head + bytes([20]) * 10
    elf.hide('.debug_line')
    elf.add('.debug_line', struct.pack('<I', len(body)) + body)


@case('objects: 25,000 files in a folder with a long name')
def test_joined_names(context):
    target = run_changed(context, joined_names)
    done = check_stack(context, target, '-i', expected=[
        'wait_here', 'inlined', 'outer', 'main', START])
    check_bounded(done, OWN)
    check_says(done, '/changed: a line table of its DWARF')


def many_lines(elf):
    """A line table of 20 million lines, of a byte each."""
    program = bytes([20]) * (20 * 1000 * 1000)
    head = (bytes([1, 1, 1, 0xfb, 14, 13]) +
            bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b'\0a\0\0\0\0\0')
    body = struct.pack('<HI', 4, len(head)) + head + program
    elf.hide('.debug_line')
    elf.add('.debug_line', struct.pack('<I', len(body)) + body)


@case('objects: 20,000,000 lines')
def test_many_lines(context):
    target = run_changed(context, many_lines)
    done = check_stack(context, target, '-i', expected=[
        'wait_here', 'inlined', 'outer', 'main', START])
    check_bounded(done)
    check_says(done, '/changed: a line table of its DWARF')


def far_origins(elf):
    """Inlined functions whose names are in units with long tables, each."""
    code = elf.section('.text')
    span = struct.pack('<QQ', code.vaddr, code.size)
    count, table = 60, b''.join(uleb(i) + b'\x2e\0\0\0'
                                for i in range(10, 400000))
    near = bytes([
        1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0,              # unit
        2, 0x2e, 1, 0x11, 0x01, 0x12, 0x07, 0, 0,              # subprogram
        3, 0x1d, 1, 0x31, 0x10, 0x11, 0x01, 0x12, 0x07, 0, 0,  # inlined
        0])
    far = bytes([4, 0x11, 1, 0, 0]) + table + bytes([
        5, 0x2e, 0, 0x03, 0x08, 0, 0, 0])

    def unit(abbreviations, dies):
        body = struct.pack('<HIB', 4, abbreviations, 8) + dies
        return struct.pack('<I', len(body)) + body

    far_unit = unit(len(near), b'\4\5f\0\0')
    size = len(unit(0, b'\1' + span + b'\2' + span + (
        b'\3' + bytes(4) + span) * count + bytes(count + 2)))
    inlined = b''.join(
        b'\3' + struct.pack('<I', size + i * len(far_unit) + 12) + span
        for i in range(count))
    elf.hide('.debug_info', '.debug_abbrev', '.debug_aranges')
    elf.add('.debug_abbrev', near + far)
    elf.add('.debug_info', unit(0, b'\1' + span + b'\2' + span + inlined +
                                bytes(count + 2)) + far_unit * count)


@case('objects: names in 60 units that share 400,000 abbreviations')
def test_far_origins(context):
    target = run_changed(context, far_origins)
    done = Done(context, 'stack', '-i', target.pid)
    check(done.status == 0, 'status', done.stderr)
    check('wait_here' in done.stdout and 'outer' in done.stdout, 'names',
          done.stdout[-1000:])
    check_bounded(done)
    check_says(done, '/changed: a unit of its DWARF')


@case('objects: an FDE of 500 KB for the code of 20 stacks')
def test_large_fde(context):
    target = context.start(['largefde', '20'])
    done = Done(context, 'stack', '-n', '0', target.pid)
    check(done.status == 1, 'status %d' % done.status, done.stderr)
    cut = done.stdout.count('unwind information takes too long to run for pc')
    check(cut == 20, 'stacks that are cut', (cut, done.stdout[-500:]))
    check(' main + ' in done.stdout, 'the first thread', done.stdout[-500:])
    context.note('%.2f s' % done.cpu)
    # Others of the same run are not cut.
    other = context.start(['through'])
    check_stack(context, other)
