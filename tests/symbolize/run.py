#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""symbolize against real captures, nm and addr2line: run.py SYMBOLIZE DATA"""

import os
import random
import re
import subprocess
import sys
import tempfile

import collapse

TABLE = ('0000000000401000 T _start\n'
         '0000000000401080 t inner\n'
         '0000000000402000 D data\n')


def call(*args, stdin=b''):
    """Run the program; return its status, output and messages."""
    done = subprocess.run([SYMBOLIZE, *args], input=stdin, timeout=600,
                          capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def put(name, content):
    path = os.path.join(SCRATCH, name)
    with open(path, 'wb') as out:
        out.write(content.encode() if isinstance(content, str) else content)
    return path


def read(name):
    with open(os.path.join(DATA, name), 'rb') as file:
        return file.read()


def expect(table, trace, want):
    """The names of a trace by a table, and not a word on stderr."""
    got = call(put('table', table), put('trace', trace))
    want = (0, want.encode() if isinstance(want, str) else want, '')
    assert got == want, '%r is not %r' % (got, want)


def test_capture():
    path = os.path.join(DATA, 'app-test-1')
    got = call(path + '.syms', path + '-stacktrace')
    assert got == (0, read('app-test-1-stacktrace.syms'), '')
    assert collapse.collapse(got[1].decode()).encode() == \
        read('app-test-1-stackcollapse')


def test_shuffled_table():
    lines = read('app-test-1.syms').decode().splitlines(True)
    groups = {}
    for line in lines:  # of one address the last must stay the last
        groups.setdefault(line.split()[0], []).append(line)
    order = list(groups.values())
    random.Random(1).shuffle(order)
    table = ''.join(''.join(g) for g in order).rstrip('\n')
    expect(table, read('app-test-1-stacktrace'),
           read('app-test-1-stacktrace.syms'))


def test_pass_through():
    copied = '#a comment 0x401000\n\n1\n0\n12\n401000\n_start+0x4\nname\n'
    expect(TABLE, copied, copied)
    expect(TABLE, '', '')
    expect(TABLE, '0x401000\n0x401001\n0X40108F\n40108f\n 0x402000 \r\n',
           '_start\n_start+0x1\ninner+0xf\ninner+0xf\ndata\n')


def test_no_final_newline():
    expect(TABLE.rstrip('\n'), '0x402010', 'data+0x10\n')
    expect(TABLE, 'name', 'name\n')
    expect(TABLE, 'n' * 100000, 'n' * 100000 + '\n')


def test_ends_of_table():
    expect(TABLE, '0x400fff\n0xffffffffffffffff\n',
           '0x400fff\ndata+0xffffffffffbfdfff\n')
    expect(TABLE, '0x10000000000000000\n0x\n', '0x10000000000000000\n0x\n')


def test_long_names():
    name = 'n' * 100000
    expect('1000 T ' + name + '\n', '0x1001\n', name + '+0x1\n')


def test_odd_tables():
    expect('                 U puts\n1000 T first\n1000 t last\n'
           '1010 T name(int, char)\nno symbol\n1020\n1030 T\n1040 long x\n'
           '0x1050 T zerox\n12345678901234567 T wide\n',
           '0x1000\n0x1018\n0x1048\n0x1051\n',
           'last\nname(int,+0x8\nname(int,+0x38\nzerox+0x1\n')
    expect('ffffffff81000000 T _text\t[module]\r\n', '0xffffffff81000010\n',
           '_text+0x10\n')


def test_no_symbols():
    for table in ('', 'nothing\n', '\0' * 100, '0 T a\n0 T b\n0 t c\n'):
        status, out, err = call(put('table', table), put('trace', '0x10\n'))
        assert (status, out) == (0, b'0x10\n'), out
        assert re.fullmatch(r'symbolize: \S*table: no symbols; .*\n', err), err


def test_any_bytes():
    bytes_ = bytes(range(256)) * 20
    expect(TABLE, bytes_ + b'\n', bytes_ + b'\n')
    dice = random.Random(2)
    for _ in range(20):
        call(put('table', dice.randbytes(3000)), put('trace', bytes_))


def test_pipes():
    table = put('table', TABLE)
    assert call(table, '-', stdin=b'0x401081\n') == (0, b'inner+0x1\n', '')
    trace = put('trace', '0x401081\n')
    assert call('/dev/stdin', trace, stdin=TABLE.encode()) == \
        (0, b'inner+0x1\n', '')


def test_kallsyms():
    with open('/proc/kallsyms', encoding='ascii') as file:
        symbols = [l.split()[:3] for l in file if l.split()[1] in 'Tt']
    where = {}
    for addr, _, name in symbols:
        where.setdefault(int(addr, 16), set()).add(name)
    addrs = sorted(a for a in where if a)[:2000]
    if not addrs:
        return 'the kernel hides its addresses'
    status, out, _ = call('/proc/kallsyms', put(
        'trace', ''.join('%#x\n' % a for a in addrs)))
    assert status == 0
    for addr, name in zip(addrs, out.decode().split()):
        assert name in where[addr], '%#x: %s' % (addr, name)
    return None


def test_elf():
    """The middle of each function, as gdb names it."""
    nm = subprocess.run(['nm', '-S', SYMBOLIZE], stdout=subprocess.PIPE,
                        check=True, text=True).stdout
    addrs = [int(a, 16) + int(size, 16) // 2 for a, size in re.findall(
        r'^([0-9a-f]+) ([0-9a-f]+) [Tt] (?:ow_\w+|main)$', nm, re.M)]
    assert len(addrs) > 50, len(addrs)
    script = put('script', ''.join('info symbol %#x\n' % a for a in addrs))
    out = subprocess.run(['gdb', '-nx', '-batch', '-x', script, SYMBOLIZE],
                         stdout=subprocess.PIPE, check=True, text=True).stdout
    want = ''.join('%s+%#x\n' % (name, int(offset)) for name, offset in
                   re.findall(r'^(\w+) \+ (\d+) in section', out, re.M))
    assert want.count('\n') == len(addrs), out
    trace = put('trace', ''.join('%#x\n' % a for a in addrs))
    got = call(SYMBOLIZE, trace)
    assert got == (0, want.encode(), ''), got
    # Behind an object's functions there is no name.
    assert call(SYMBOLIZE, put('trace', '0xffffffff0000\n')) == \
        (0, b'0xffffffff0000\n', '')


def test_errors():
    table, trace = put('table', TABLE), put('trace', '0x1\n')
    for args in ((), (table,), (table, trace, trace)):
        status, out, err = call(*args)
        assert (status, out) == (1, b'') and err.startswith(
            'Usage: %s <symbol_table> <trace_file>\n' % SYMBOLIZE), err
    status, out, err = call('--memory-limit=1x', table, trace)
    assert (status, out) == (1, b''), err
    assert err == 'symbolize: --memory-limit=1x: not a size\n', err
    assert call('--memory-limit=1M', table, trace)[0] == 0
    for args, word in (((table, '/none'), 'open /none: No such file'),
                       (('/none', trace), 'open /none: No such file'),
                       ((SCRATCH, trace), 'Is a directory'),
                       ((table, SCRATCH), 'Is a directory'),
                       ((put('bad', b'\177ELF'), trace), 'bad')):
        status, out, err = call(*args)
        assert status == 2 and out == b'' and word in err, (status, out, err)
        assert err.startswith('symbolize: ') and err.count('\n') == 1, err
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([SYMBOLIZE, table, trace], stdout=full,
                              stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2 and b'No space left' in done.stderr


def main():
    failed = 0
    tests = [(n, f) for n, f in globals().items() if n.startswith('test_')]
    for number, (name, function) in enumerate(tests, 1):
        try:
            skip = function()
            print('ok %d - %s%s' % (number, name,
                                    ' # SKIP ' + skip if skip else ''))
        except AssertionError as why:
            failed += 1
            print('not ok %d - %s: %s' % (number, name, why))
    print('%d passed, %d failed' % (len(tests) - failed, failed))
    return failed != 0


if __name__ == '__main__':
    SYMBOLIZE, DATA = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory() as SCRATCH:
        sys.exit(main())
