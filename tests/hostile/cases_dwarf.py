# SPDX-License-Identifier: BSD-2-Clause
"""DWARF that any user can make: it costs no more than its size deserves."""

import os
import struct
import zlib

import elfmake
from cases_objects import (Done, LIMIT, MB, OWN, bomb, check_bounded,
                           check_says, check_stack, run_changed, zeros)
from harness import START, case, check, need_root


def uleb(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def sized(body):
    """What begins with its length, as units and line tables do."""
    return struct.pack('<I', len(body)) + body


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
    elf.add('.debug_info', sized(unit))


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


def check_work(done, name):
    """A profile has stacks of a program at work, and all are whole and named."""
    lines = [l for l in done.stdout.splitlines() if name in l]
    check(lines and all(';main;busy;work_here ' in l for l in lines),
          'stacks of ' + name, done.stdout)


def record_beside(context, change, name):
    """Record a changed program and a normal one, whose stacks are as they should be."""
    need_root()
    hostile = run_changed(context, change, 'work', name=name)
    normal = run_changed(context, lambda elf: None, 'work', name='normal')
    done = Done(context, 'record', '-i', '-d', '1', '-f', 'folded',
                '--no-kernel', '-p', '%d,%d' % (hostile.pid, normal.pid))
    check(done.status == 0, 'status %d' % done.status, done.stderr)
    check_work(done, 'normal')
    return done


@case('objects: a profile, with nested blocks in one process of it')
def test_record(context):
    done = record_beside(context, nested_blocks, 'hostile')
    check_work(done, 'hostile')


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


@case('objects: bombs in one of two recorded processes')
def test_record_bombs(context):
    def change(elf):
        bomb(elf)
        dwarf_bombs(elf)
    done = record_beside(context, change, 'hostile')
    check_bounded(done, LIMIT // 2 + 4 * OWN)
    check('/hostile: its DWARF' in done.stderr, 'says', done.stderr)


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
        elf.add('.debug_info', sized(unit))
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
        elf.add('.debug_info', sized(unit))
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
    elf.add('.debug_info', sized(unit) * 20000)


@case('objects: 20,000 units that share 400,000 abbreviations')
def test_shared_abbreviations(context):
    target = run_changed(context, shared_abbreviations)
    done = check_stack(context, target, '-i')
    check_bounded(done)
    check_says(done, '/changed: an index of its DWARF')


def empty_units(elf):
    """Units of 12 bytes, with nothing in them."""
    info = sized(struct.pack('<HIB', 4, 0, 8) + b'\0') * 1000000
    elf.hide('.debug_info', '.debug_abbrev', '.debug_aranges')
    elf.add('.debug_abbrev', bytes(16))
    elf.add('.debug_info', elfmake.compressed(zlib.compress(info), len(info)),
            flags=elfmake.SHF_COMPRESSED)


@case('objects: 1,000,000 units with nothing in them')
def test_empty_units(context):
    target = run_changed(context, empty_units)
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
    elf.add('.debug_info', sized(unit))
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
    done = record_beside(context, change, 'hostile_worker')
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


def put_lines(elf, lists, number):
    """Have a line table of these folders and files, and of so many lines."""
    head = (bytes([1, 1, 1, 0xfb, 14, 13]) +
            bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + lists)
    elf.hide('.debug_line')
    elf.add('.debug_line', sized(struct.pack('<HI', 4, len(head)) + head +
                                 bytes([20]) * number))


def joined_names(elf):
    """25,000 files in one folder, whose name has 50,000 letters."""
    put_lines(elf, b'd' * 50000 + bytes(2) +
              (b'f\0' + uleb(1) + bytes(2)) * 25000 + b'\0', 10)


def check_no_lines(context, change):
    """All has its name, but from no line table; return what the run took."""
    done = check_stack(context, run_changed(context, change), '-i', expected=[
        'wait_here', 'inlined', 'outer', 'main', START])
    check_says(done, '/changed: a line table of its DWARF')
    return done


@case('objects: 25,000 files in a folder with a long name')
def test_joined_names(context):
    check_bounded(check_no_lines(context, joined_names), OWN)


def many_lines(elf):
    """A line table of 20 million lines, of a byte each."""
    put_lines(elf, b'\0a\0\0\0\0\0', 20 * 1000 * 1000)


@case('objects: 20,000,000 lines')
def test_many_lines(context):
    check_bounded(check_no_lines(context, many_lines))


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
        return sized(struct.pack('<HIB', 4, abbreviations, 8) + dies)

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
