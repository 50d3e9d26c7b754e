# SPDX-License-Identifier: BSD-2-Clause
"""Objects that any user can make: they cost no more than their size deserves."""

import errno
import lzma
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import tempfile
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


def far_version(elf):
    """A symbol with 200 MB of name before its version."""
    strings = elf.add('.strings', b'\0' + b'A' * (200 * MB) + b'@x\0',
                      elfmake.SHT_STRTAB)
    elf.hide('.symtab')
    elf.add('.symbols', elfmake.symbol(0, 0, 0) + elfmake.symbol(1, 0, 1 << 40),
            elfmake.SHT_SYMTAB, link=strings)


@case('objects: a name of 200 MB before its version')
def test_far_version(context):
    target = run_changed(context, far_version)
    done = Done(context, 'stack', target.pid)
    check(done.status == 0 and 'AAA... + 0x' in done.stdout, 'names',
          (done.status, done.stderr, done.stdout[:200]))
    context.note('%d MB, %.2f s' % (done.megabytes, done.cpu))
    check_bounded(done, OWN)


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


def check_names_by_libunwind(context, target, times=1):
    done = Done(context, target.pid, times,
                tool=context.program('usernames'))
    check(done.status == 0, 'status', done.stderr)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))
    return done


def one_table_often(elf):
    """Headers of 20,000 symbol tables that all are one of 200,000 symbols."""
    strings = elf.add('.strings', b'\0here\0', elfmake.SHT_STRTAB)
    elf.hide('.symtab')
    elf.add('.symbols', elfmake.symbol(1, 1, 0) * 200000, elfmake.SHT_SYMTAB,
            link=strings)
    elf.sections += [elf.sections[-1]] * 20000


@case('objects: 20,000 symbol tables are one, by libunwind\'s interface')
def test_one_table_often(context):
    target = run_changed(context, one_table_often)
    done = check_names_by_libunwind(context, target)
    check(done.stdout.count(' here + ') >= 3, 'names', done.stdout)
    check(done.cpu < 2, 'time', done.cpu)


def long_symbols(elf):
    """A symbol table of 192 MB, which is a hole."""
    hole(elf, '.symtab', elfmake.SHT_SYMTAB, size=192 * MB,
         link=elf.sections.index(elf.section('.strtab')))


@case('objects: symbols that are a hole in memory, by libunwind\'s interface')
def test_symbols_of_memory(context):
    """To look through a mapping of them fills it; each walk looks for names."""
    need_root()
    folder = tempfile.mkdtemp(dir='/dev/shm')
    context.stack.callback(shutil.rmtree, folder)
    path = os.path.join(folder, 'changed')
    write_changed(context.program('through'), long_symbols, path, 256 * MB)
    with open(path, 'r+b') as f:  # or it is nearly all holes, and not looked at
        os.posix_fallocate(f.fileno(), 208 * MB, 40 * MB)
    os.chown(path, 65534, 65534)
    before = os.stat(path).st_blocks
    target = context.start([path])
    done = check_names_by_libunwind(context, target, 40)
    check(done.stdout.count('\n') >= 160, 'frames', done.stdout)
    check(os.stat(path).st_blocks <= before + 2048, 'blocks',
          (before, os.stat(path).st_blocks))
    check(done.megabytes < 32, 'memory', done.megabytes)
    check(done.cpu < 4, 'time', done.cpu)


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


@case('objects: 200,000 symbols that are functions by turns')
def test_flipped_symbols(context):
    """Their number is another one when they are kept than when they are counted."""
    path = os.path.join(context.tmp, 'lib.so')
    write_changed(context.program('libwaits.so'), symbols(200000), path)
    target = context.start(['flippedsymbols', path])
    for _ in range(60):
        done = context.run('stack', target.pid)
        check(b'clone' in done.stdout, 'stacks', done.stdout + done.stderr)


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


def stacks_that_take_long(done):
    return done.stdout.count('unwind information takes too long to run for pc')


def check_all_take_long(context, target, number, seconds):
    done = Done(context, 'stack', '-q', '-n', '0', target.pid)
    check(done.status == 1, 'status %d' % done.status, done.stderr)
    cut = stacks_that_take_long(done)
    check(cut == number, 'stacks that are cut', (cut, done.stdout[-500:]))
    context.note('%.2f s' % done.cpu)
    check(done.cpu < seconds, 'seconds', done.cpu)


@case('objects: CFAs of 4,000 operations for 300 stacks of 1,024 frames')
def test_slow_expressions(context):
    check_all_take_long(context, context.start(['onestack', 'slow', '300']), 300, 5)


@case('objects: 3,000 rules copied for each of 3,000,000 frames')
def test_copied_rules(context):
    target = context.start(['onestack', 'saved', '3000'])
    done = Done(context, 'stack', '-q', target.pid)
    check(done.status == 1, 'status %d' % done.status, done.stderr)
    cut = stacks_that_take_long(done)
    whole = done.stdout.count('frame limit reached')
    context.note('%.2f s, %d of 3,000 stacks are whole' % (done.cpu, whole))
    check(whole > 50 and cut > 2000, 'stacks that are cut', (cut, whole))
    check(done.cpu < 6, 'seconds', done.cpu)
    # Others of the same run are not cut.
    check_stack(context, context.start(['through']))


@case('objects: 400,000 reads from files for each of 100 stacks')
def test_far_expressions(context):
    target = context.start(['farexprs', 'many', '100', '1000', context.tmp])
    check_all_take_long(context, target, 100, 2)
    snapshot = os.path.join(context.tmp, 'snap')
    done = Done(context, 'snap', '--redact', '-o', snapshot, target.pid)
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    context.note('%.2f s to redact them' % done.cpu)
    done = Done(context, 'stack', '-q', '-n', '0', snapshot)
    now = stacks_that_take_long(done)
    check(now == 100, 'stacks of the snapshot', (now, done.stderr[-500:]))
    # Others of the same run are not cut.
    check_stack(context, context.start(['through']))


@case('objects: reads of 100,000 frames from files, redacted')
def test_frames_read_from_afar(context):
    """A walk takes 20 ms; hundreds tried which words of the stack it needs."""
    target = context.start(['farexprs', 'few', '1', '100000', context.tmp])
    done = Done(context, 'snap', '--redact', '-o',
                os.path.join(context.tmp, 'snap'), target.pid)
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    context.note('%.2f s' % done.cpu)
    check(done.cpu < 3, 'seconds', done.cpu)


@case('objects: 2,000 stacks of 1,024 frames, redacted')
def test_frames_redacted(context):
    target = context.start(['onestack', 'plain', '2000'])
    done = Done(context, 'snap', '--redact', '-o',
                os.path.join(context.tmp, 'snap'), target.pid)
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    # Words that the walks read would take 66 MB, and twice that as they grow.
    check_bounded(done, 50)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))


@case('objects: 3,000 stacks of 1,024 frames')
def test_frames(context):
    target = context.start(['onestack', 'plain', '3000'])
    for tool, *words in (None, 'stack', '-q'), (context.tbstack,):
        done = Done(context, *words, target.pid, tool=tool)
        frames = done.stdout.count('\n')
        check(frames >= 3000 * 1024, 'frames', (frames, done.stderr[-300:]))
        # Frames of all would take 72 MB, and twice that while they grow.
        check_bounded(done, 80)
        context.note('%d MB' % done.megabytes)


@case('objects: code of a file that says it is a core of 20,000,000 segments')
def test_core_code(context):
    target = context.start(['corecode', '20000000',
                            os.path.join(context.tmp, 'core')])
    done = Done(context, 'stack', target.pid)
    check(done.status == 1, 'status %d' % done.status, done.stderr)
    check_bounded(done)
    check('/core: a core file, not an object' in done.stdout, 'says',
          done.stdout)
    context.note('%.2f s, %d MB' % (done.cpu, done.megabytes))


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
