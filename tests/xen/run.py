#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""uniprof and outwind on a fake guest: run.py BUILD COLLAPSE.PY"""

import importlib.util
import json
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

HEAD = re.compile(
    r'#unikernel stack tracer using libxencall hypercall interface\n'
    r'#tracing domid 7 on \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+ '
    r'\([+-]\d{4}\)\n\n')
STACKS = ('0x400010\n0x400110\n0x400210\n0x400310\n1\n\n'
          '0x401010\n0x401110\n1\n\n'
          '0x402010\n1\n\n')
NAMES = ('400300 T main\n00000000400200 t outer\n401100 T _start\n'
         '402010 T exact\n0 A nothing\nffff800000000000 T far\n'
         '400000 T inner\n400100 T middle')
NAMED = ('inner+0x10\nmiddle+0x10\nouter+0x10\nmain+0x10\n1\n\n'
         'main+0xd10\n_start+0x10\n1\n\n'
         'exact+0\n1\n\n')
GUEST = 'guest_c;guest_b;guest_a;guest_start'.split(';')


def environment(**fake):
    env = {k: v for k, v in os.environ.items() if not k.startswith('FAKE_')}
    env.update({'FAKE_' + k: str(v) for k, v in fake.items()})
    return env


def call(program, *args, **fake):
    """Run a tool; return its status, output and messages."""
    done = subprocess.run([os.path.join(BUILD, program), *args], timeout=600,
                          capture_output=True, env=environment(**fake),
                          text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def uniprof(*args, **fake):
    return call('fake-uniprof', *args, **fake)


def outwind(*args, **fake):
    return call('fake-outwind', *args, **fake)


def put(name, content):
    path = os.path.join(SCRATCH, name)
    with open(path, 'w', encoding='ascii') as out:
        out.write(content)
    return path


class Pauses:
    """The pauses that are in effect, as the fake shows them in a file."""

    def __init__(self, first=0):
        self.path = os.path.join(SCRATCH, 'pauses')
        with open(self.path, 'wb') as out:
            out.write(struct.pack('i', first))
        with open(self.path, 'r+b') as file:
            self.map = mmap.mmap(file.fileno(), 4)

    def now(self):
        return struct.unpack('i', self.map[:4])[0]


def body(text):
    """What stands behind a trace's head, which must be one."""
    head = HEAD.match(text)
    assert head, text[:200]
    return text[head.end():]


def test_trace():
    code, out, err = uniprof('-', '7')
    assert (code, body(out), err) == (0, STACKS, ''), (code, out, err)


def test_number_of_traces():
    code, out, err = uniprof('--freq=20', '-', 'web', '--ti', '2', 'ignored')
    assert code == 0 and body(out) == STACKS * 40, (code, err)


def test_outfile():
    path = put('out', 'old')
    assert uniprof(path, '7') == (0, '', '')
    with open(path, encoding='ascii') as file:
        assert body(file.read()) == STACKS


def test_table():
    table = put('table', NAMES)
    code, out, err = uniprof('-s', table, '-', '7')
    assert (code, body(out), err) == (0, NAMED, ''), (code, out, err)


def test_bad_tables():
    empty, gone = put('empty', 'no table\n'), os.path.join(SCRATCH, 'gone')
    code, out, err = uniprof('-s', empty, '-', '7')
    assert code == 0 and body(out) == STACKS
    assert err == ('Symbol table file %s contained no valid entries!\n'
                   'Disabling symbol resolution.\n' % empty)
    code, out, err = uniprof('-s', gone, '-', '7')
    assert code == 0 and body(out) == STACKS
    assert err == ('failed to open symbol table file %s, will not resolve '
                   'symbols!\n' % gone)


def test_elf():
    image = os.path.join(BUILD, 'fake-uniprof')
    code, out, err = uniprof('-E', image, '-', '7', STACKS='cfi')
    lines = body(out).split('\n')
    want = GUEST + ['1', '']
    assert code == 0 and err == '', err
    assert [line.split('+')[0] for line in lines] == want * 3 + ['']
    code, raw, err = uniprof('-e', image, '-', '7', STACKS='cfi')
    assert code == 0 and re.fullmatch(r'((0x[0-9a-f]+\n){4}1\n\n){3}',
                                      body(raw)), raw


def test_symbolize_and_collapse():
    """The traces, symbolized and collapsed, are what record folds."""
    table = put('table', NAMES)
    _, trace, _ = uniprof('-T', '3', '-', '7')
    path = put('trace', trace)
    code, named, err = call('symbolize', table, path)
    assert code == 0, err
    code, folded, err = outwind('record', '--samples=3', '-F', '1000',
                                '--kallsyms', table, 'xen:7')
    assert code == 0
    folded = [line.split(';', 1)[1].replace('[truncated];', '')
              for line in folded.splitlines()]
    assert COLLAPSE.collapse(named) == ''.join(
        line + '\n' for line in sorted(folded)), (named, folded)


def expect_failure(want, text, *args, **fake):
    code, out, err = uniprof(*args, **fake)
    assert code == want and text in err, (code, out, err)
    assert out == '' or HEAD.match(out) or args[-2] != '-', out


def test_statuses():
    expect_failure(254, 'invalid domid (unparseable domid string 0, or cannot '
                   'trace dom0)', '-', '0')
    expect_failure(253, 'cannot open file /nowhere/x: No such file or '
                   'directory', '/nowhere/x', '7')
    expect_failure(252, 'Cannot connect to the hypervisor. (Is this Xen?)',
                   '-', '7', NO_XEN=1)
    expect_failure(251, 'Could not access information for domid 8. (Does '
                   'domid 8 exist?)', '-', '8')
    expect_failure(251, 'Could not access information for domid db',
                   '-', 'db')
    expect_failure(250, 'Unexpected wordsize', '-', '7', WORD=2)
    expect_failure(249, 'Cannot read elf file /nowhere/x. File unreadable or '
                   'invalid!', '-e', '/nowhere/x', '-', '7')
    for options in (['-s', 'a', '-e', 'b'], ['-E', 'a', '-e', 'b'],
                    ['-e', 'a', '-s', 'b']):
        expect_failure(255, '-s, -e, and -E are mutually exclusive.', *options,
                       '-', '7')
    for options in (['-F', '0'], ['-F', 'x'], ['-F', '10001'], ['-T', '0'],
                    ['-F', '-1']):
        expect_failure(255, 'not a number', *options, '-', '7')


def test_failed_pause():
    """Of what fails, nothing is said to be the image's, which is fine."""
    image, said = os.path.join(BUILD, 'fake-uniprof'), set()
    for number in range(1, 40):
        code, _, err = uniprof('-e', image, '-', '7', STACKS='cfi',
                               FAIL='%d:5' % number)
        assert 'Cannot read elf' not in err, (number, err)
        said.add((code, err.split(' (')[0]))
    assert (249, 'Could not pause domid 7') in said, said


def test_usage():
    code, out, err = uniprof('-')
    assert code == 255 and out.startswith('usage: ') and err == ''
    code, out, err = uniprof('--help')
    assert code == 0 and out.startswith('usage: ') and err == ''
    code, out, err = uniprof('--nothing', '-', '7')
    assert code == 255 and out == '' and '--help for usage' in err
    code, out, err = uniprof('-V')
    assert code == 0 and out.startswith('uniprof version 1.2\n')


def test_outfile_comes_first():
    """It is truncated before the hypervisor is asked."""
    path = put('out', 'old')
    assert uniprof(path, '7', NO_XEN=1)[0] == 252
    assert os.path.getsize(path) == 0


def test_down():
    code, out, err = uniprof('-', '7', DOWN=0)
    assert (code, body(out), err) == (0, STACKS[STACKS.index('\n\n') + 2:], '')
    code, out, err = outwind('stack', 'xen:7', DOWN=0)
    assert code == 1 and 'TID 0 "vCPU 0" (-)\n    no stack: the vCPU is ' \
        'down\n' in out, out


def test_end_of_domain():
    for how in ('GONE', 'SHUTDOWN'):
        pauses = Pauses()
        code, out, err = uniprof('-F', '40', '-T', '5', '-', '7',
                                 **{how: 100, 'PAUSES': pauses.path})
        assert code == 248 and body(out).startswith(STACKS), (code, err)
        assert pauses.now() in (0, 1 if how == 'GONE' else 0)
        code, out, err = outwind('record', '-F', '1000', '-d', '600', 'xen:web',
                                 **{how: 100})
        assert code == 1 and 'domain 7' in err, (code, err)
        assert 'vCPU 0;0x400310;0x400210;0x400110;0x400010 ' in out, out


def test_each_failure():
    """Whichever call fails: a status of the list, and the guest runs."""
    seen = set()
    for number in range(1, 24):
        for errno in (3, 5, 22):
            pauses = Pauses()
            code, _, err = uniprof('-F', '1000', '-', '7',
                                   FAIL='%d:%d' % (number, errno), GONE=200,
                                   PAUSES=pauses.path)
            assert code in range(248, 256), (number, code, err)
            assert pauses.now() == 0 or 'pause' in err or code == 248, \
                (number, errno, err)
            seen.add(code)
    assert {248, 249, 251} <= seen, seen


def test_stack():
    code, out, err = outwind('stack', 'xen:7',
                             os.path.join(BUILD, 'fake-outwind'),
                             STACKS='cfi')
    names = re.findall(r'^#\d+ +0x[0-9a-f]{16} (\w+)', out, re.M)
    assert (code, names, err) == (0, GUEST * 3, ''), (code, out, err)


def test_moved_kernel():
    """Found by where vector 0 leads, by a name, its version, or not at all."""
    image = os.path.join(BUILD, 'fake-outwind')
    linked = subprocess.run(['nm', image], capture_output=True, text=True,
                            check=True).stdout
    schedule = int(re.search(r'^(\w+) T schedule$', linked, re.M)[1], 16)
    table = put('kallsyms', '%x T schedule' % (schedule + 0x40000000))
    fake = {'STACKS': 'cfi', 'MOVED': '40000000'}
    untold = dict(fake, NO_GATE='1')
    for args, env in (([image], fake), ([image], dict(fake, IDT='1')),
                      ([image], dict(fake, IDT='1', MOVED='ffffffff80000000')),
                      ([image, '--kallsyms', table], untold),
                      ([image + '@40000000'], untold),
                      ([image], dict(untold, BANNER='0')),
                      ([image], dict(untold, BANNER='2')),
                      ([image], dict(untold, BANNER='1',
                                     MOVED='ffffffff80000000'))):
        code, out, _ = outwind('stack', 'xen:7', '--image', *args, **env)
        names = re.findall(r'^#\d+ +0x[0-9a-f]{16} (\w+)', out, re.M)
        assert (code, names) == (0, GUEST * 3), out
    # No kernel moves by a page: it is another one's vector.
    for env in (untold, dict(fake, MOVED='1000'), dict(untold, BANNER='3'),
                dict(untold, BANNER='0', MOVED='1000'),
                dict(fake, MOVED='1000', IDT='1')):
        code, out, err = outwind('stack', '--image', image, 'xen:7', **env)
        assert (code, out, err.count('\n')) == (2, '', 1), (code, out, err)
        assert 'give FILE@BIAS' in err, err


def test_unwinding():
    """By CFI alone there is nothing without it; a wrong place has none."""
    image = os.path.join(BUILD, 'fake-outwind')
    code, out, _ = outwind('stack', '--unwind=cfi', '--image',
                           image + '@100000000', 'xen:7', STACKS='cfi')
    assert code == 1 and out.count('stack ends here') == 3, out
    # Code of no image is no call to nowhere, whatever is on top of its stack.
    code, out, _ = outwind('stack', '--image', image + '@100000000', 'xen:7')
    assert code == 1 and out.count('stack ends here') == 3, out
    code, out, _ = outwind('stack', '--unwind=fp', '--image', image + '@0',
                           'xen:7')
    assert code == 1 and out.count('(by frame pointer)') == 4, out
    code, _, err = outwind('stack', '--image', image + '@x', 'xen:7')
    assert code == 64 and 'hexadecimal' in err
    code, _, err = outwind('stack', '--image', image, '--image', image,
                           'xen:7')
    assert code == 2 and '@BIAS' in err


def test_record_formats():
    code, out, _ = outwind('record', '-f', 'uniprof', '--samples=2', '-F',
                           '500', 'xen:7')
    assert code == 0
    assert body(out) == STACKS * 2
    code, out, _ = outwind('record', '-f', 'text', '--samples=2', '-F', '500',
                           'xen:7')
    assert code == 0
    assert len(re.findall(r'^TIME \d+\.\d{9}$', out, re.M)) == 2
    assert out.count('TID 1 "vCPU 1"') == 2
    code, out, _ = outwind('record', '-f', 'json', '--samples=3', '-F', '500',
                           'xen:7')
    decoder, values = json.JSONDecoder(), []
    while out.strip():
        value, end = decoder.raw_decode(out)
        values.append(value)
        out = out[end:].lstrip()
    assert len(values) == 3
    times = [float(v['time']) for v in values]
    assert times == sorted(times) and abs(times[0] - time.time()) < 3600
    assert [t['tid'] for t in values[2]['sample']['threads']] == [0, 1, 2]


def call_counting(program, *args, **fake):
    """Run a tool; return its status, the bytes and lines of output, and messages."""
    size = lines = 0
    with subprocess.Popen([os.path.join(BUILD, program), *args],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment(**fake)) as tool:
        while part := tool.stdout.read(1 << 20):
            size += len(part)
            lines += part.count(b'\n')
        err = tool.stderr.read().decode()
    return tool.returncode, size, lines, err


def test_long_names():
    """Of names that would take more than 1 GiB, some are left out."""
    names = ''.join('%s T %s%s\n' % (addr, addr, 16000 * 'x') for addr in (
        '400000', '400100', '400200', '400300', '401000', '401100', '402000'))
    table = put('long-table', names)
    trace = put('long-trace', 10000 * STACKS)
    said = re.compile(r'(?m)^(?:uniprof: |symbolize: |outwind: )?all names would '
                      r'take more than 1024 MiB of text: names of (\d+) frames are '
                      r'left out$')
    for status, program, *args in (
            (1, 'fake-outwind', 'record', '-f', 'uniprof', '--samples=10000',
             '-F', '10000', '--kallsyms', table, 'xen:7'),
            (1, 'fake-outwind', 'record', '-f', 'text', '--samples=10000',
             '-F', '10000', '--kallsyms', table, 'xen:7'),
            (249, 'fake-uniprof', '-F', '10000', '-s', table, '-', '7'),
            (2, 'symbolize', table, trace)):
        code, size, lines, err = call_counting(program, *args)
        assert size < 1.1 * (1 << 30), (program, args, size)
        left_out = said.search(err)
        assert code == status and left_out, (program, args, code, err)
        whole = 70000 - int(left_out[1])
        assert 0.9 * (1 << 30) < 16006 * whole < 1 << 30, (size, err)
        assert lines >= 10000 * len(STACKS.split()), lines


def test_many_stacks():
    """A guest has ever new stacks: the profile ends, and tells of them."""
    code, out, err = outwind('record', '--samples=20000', '-F', '10000',
                             '--profile-memory=1', 'xen:7', NEW=1)
    folded = re.search(r'(?m)^outwind: (\d+) samples had too many different '
                       r'stacks: in the profile without theirs '
                       r'\(--profile-memory\)$', err)
    assert code == 1 and folded and 1000 < int(folded[1]) < 19000, (code, err)
    counts = dict(line.rsplit(' ', 1) for line in out.splitlines())
    assert sum(map(int, counts.values())) == 60000, err
    # Others that are there are counted.
    assert counts['vCPU 0;0x400310;0x400210;0x400110;0x400010'] == '20000'
    assert counts['vCPU 2;[truncated];[too many different stacks]'] == \
        folded[1], [c for c in counts.items() if 'too many' in c[0]]


def test_record_output():
    path = os.path.join(SCRATCH, 'folded')
    code, out, err = outwind('record', '-F', '200', '--samples=10', '--stats',
                             '-o', path, 'xen:web')
    assert code == 0 and out == ''
    assert '10 samples, 30 stacks, 20 whole; ' in err
    assert re.search(r'paused for [\d.]+ us min, [\d.]+ median, [\d.]+ p99, '
                     r'[\d.]+ max\nhypercalls 5 min, 5 median, 5 p99, 5 max\n'
                     r'mappings 0 min, 0 median, 0 p99, 0 max\n',
                     err), err
    with open(path, encoding='ascii') as file:
        assert file.read() == (
            'vCPU 0;0x400310;0x400210;0x400110;0x400010 10\n'
            'vCPU 1;0x401110;0x401010 10\n'
            'vCPU 2;[truncated];0x402010 10\n')


def test_no_pause():
    pauses = Pauses(-5)
    code, out, _ = outwind('record', '--no-pause', '-F', '500', '--samples=5',
                           'xen:7', PAUSES=pauses.path)
    assert code == 0 and pauses.now() == -5
    assert 'vCPU 1;0x401110;0x401010 5\n' in out


def test_record_usage():
    for args in ([], ['7x'], ['xen:7', 'xen:8'], ['-F', '0', 'xen:7'],
                 ['-F', '10001', 'xen:7'], ['-d', '-1', 'xen:7'],
                 ['-d', 'nan', 'xen:7'], ['-f', 'nothing', 'xen:7'],
                 ['--unwind=x', 'xen:7']):
        code, out, err = outwind('record', *args)
        assert code == 64 and out == '' and err, (args, code, err)
    code, _, err = outwind('record', '--backend=libxc', 'xen:7')
    assert code == 2 and 'built without libxenctrl' in err
    assert outwind('record', 'xen:')[0] == 2
    code, _, err = outwind('stack', 'xen:7/1')
    assert code == 2 and 'no domain is called' in err


def test_stack_usage():
    """What doesn't fit the kind of target is refused, not ignored."""
    for option in ('--image=x', '--kallsyms=x', '--unwind=fp',
                   '--backend=libxc'):
        code, out, err = outwind('stack', option, str(os.getpid()))
        assert code == 64 and out == '' and 'no guest' in err, (option, err)
    for option in ('--proc-mem', '--stop-timeout=5', '--sysroot=/',
                   '--one-at-a-time', '--gentle', '--kernel'):
        code, out, err = outwind('stack', option, 'xen:7')
        assert code == 2 and out == '' and 'guest' in err, (option, err)


def start(number, *args, **fake):
    """A tool that samples for long; return it when it has begun."""
    pauses = Pauses(number)
    process = subprocess.Popen([os.path.join(BUILD, args[0]), *args[1:]],
                               stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True,
                               env=environment(PAUSES=pauses.path, **fake))
    end = time.monotonic() + 600
    while pauses.now() == number and time.monotonic() < end:
        pass
    return process, pauses


def test_signals():
    """At whatever moment one comes, the guest runs and all is written; or
    nothing, where it came before the first sample."""
    rng = random.Random(5)
    written = 0
    for sig in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP] * 4:
        process, pauses = start(0, 'fake-uniprof', '-F', '500', '-T', '60',
                                '-', '7', SLOW=300)
        time.sleep(0.1 * rng.random())
        process.send_signal(sig)
        out, err = process.communicate(timeout=600)
        assert pauses.now() == 0, err
        assert process.returncode in (0, -sig), err
        if process.returncode == 0 and out:
            assert re.fullmatch('(' + STACKS + ')*', body(out))
            written += 1
    assert written > 0


def test_signals_twice():
    """A second one ends the tool at once, but not the guest."""
    for _ in range(5):
        process, pauses = start(0, 'fake-outwind', 'record', '-F', '500',
                                'xen:7', SLOW=3000)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=600)
        assert pauses.now() == 0
        assert process.returncode in (0, -signal.SIGTERM)


def test_signal_while_writing():
    """Output that nobody reads for a while is not cut by a signal."""
    process = subprocess.Popen([os.path.join(BUILD, 'fake-uniprof'), '-F',
                                '10000', '-T', '60', '-', '7'],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=environment())
    # Until it waits within write(2).
    waits, end = ['0'], time.monotonic() + 600
    while waits[0] != '1' and time.monotonic() < end:
        time.sleep(0.01)
        with open('/proc/%d/syscall' % process.pid, encoding='ascii') as file:
            waits = file.read().split()
    assert waits[0] == '1', waits
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert re.fullmatch('(' + STACKS + ')*', body(out)), out[-100:]


def test_paused_by_others():
    for _ in range(5):
        process, pauses = start(1, 'fake-outwind', 'record', '-F', '500',
                                'xen:7', SLOW=300)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
        assert pauses.now() == 1
    pauses = Pauses(1)
    code, out, err = outwind('record', '--samples=3', 'xen:7',
                             PAUSES=pauses.path)
    assert pauses.now() == 1 and code == 0, err
    assert 'vCPU 1;0x401110;0x401010 3\n' in out


def test_unpause():
    """What SIGKILL leaves paused is to be taken back by hand."""
    process, pauses = start(0, 'fake-outwind', 'record', 'xen:7', SLOW=200000)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=600)
    assert pauses.now() == 1
    assert outwind('xen', 'unpause', 'web', PAUSES=pauses.path) == (0, '', '')
    assert pauses.now() == 0
    code, _, err = outwind('xen', 'unpause', 'xen:7', PAUSES=pauses.path)
    assert code == 2 and 'is not paused' in err and pauses.now() == 0
    assert outwind('xen', 'unpause')[0] == 64
    assert outwind('xen', 'destroy', '7')[0] == 64


def main():
    tests = [(n, t) for n, t in globals().items() if n.startswith('test_')]
    failed = 0
    for name, test in tests:
        try:
            test()
            print('ok', name)
        except AssertionError as why:
            failed += 1
            print('not ok', name, why)
    print('%d passed, %d failed' % (len(tests) - failed, failed))
    return failed != 0


# Whoever starts this in the background, or by nohup, has it ignore what tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
BUILD = os.path.abspath(sys.argv[1])
SPEC = importlib.util.spec_from_file_location('collapse', sys.argv[2])
COLLAPSE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(COLLAPSE)
with tempfile.TemporaryDirectory() as SCRATCH:
    sys.exit(main())
