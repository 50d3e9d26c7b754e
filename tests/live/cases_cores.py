# SPDX-License-Identifier: BSD-2-Clause
"""Core files: the kernel's, gdb's, qemu's; x86-64, i386 and AArch64."""

import glob
import json
import os
import re
import resource
import shutil
import subprocess

import compare
import corewriter
from harness import (PATIENCE, START, Skip, case, check, check_names,
                     copy_program, names, need)

CRASH = [re.compile(r'crash(\.cold)?'), 'leads_to_crash', 'compare', '...',
         re.compile('(__)?qsort(_r)?'), 'sort', 'main', START]
CORE_MOST = 64 << 20  # bytes
AARCH64_ROOT = '/usr/aarch64-linux-gnu'


def allow_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (CORE_MOST, CORE_MOST))
    # As by default, whatever whoever starts us has chosen.
    with open('/proc/self/coredump_filter', 'w', encoding='ascii') as f:
        f.write('0x33')


def dump(context, command):
    """Run a program that dies, and find its core file."""
    subprocess.run(command, cwd=context.tmp, stdin=subprocess.DEVNULL,
                   capture_output=True, timeout=PATIENCE, check=False,
                   preexec_fn=allow_cores)
    # qemu may leave one of itself beside its guest's.
    found = (glob.glob(context.tmp + '/qemu_*.core') or
             glob.glob(context.tmp + '/core*'))
    if not found:
        raise Skip('no core file was written')
    return found[0]


def need_plain_cores():
    with open('/proc/sys/kernel/core_pattern', encoding='utf-8') as f:
        pattern = f.read().strip()
    if not pattern.startswith('core'):
        raise Skip('core_pattern is ' + pattern)
    soft, most = resource.getrlimit(resource.RLIMIT_CORE)
    if most != resource.RLIM_INFINITY and most < CORE_MOST:
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (soft, CORE_MOST))
        except (ValueError, OSError) as error:
            raise Skip('cores may have %d bytes only' % most) from error


def core_stacks(context, core, exe, status=0):
    done = context.run('stack', '--json', core, '-e', exe, status=status)
    return json.loads(done.stdout)


def check_core(context, core, exe, expected=None, **options):
    stacks = core_stacks(context, core, exe)
    thread = stacks['threads'][0]
    if expected:
        check_names(thread, expected)
    check(thread['complete'], 'complete', thread['end'])
    for report in compare.compare_core(context.outwind, core, exe, **options):
        context.note(str(report))
        check(not report.failures, 'differences',
              '\n  ' + '\n  '.join(report.failures))
    return stacks


HOWS = {
    1: ['...', 'abort'] + CRASH,
    2: [None] + CRASH,
    3: CRASH,
}


def add_kernel_core(program, how):
    @case('core: kernel, %s %d' % (program, how))
    def _(context):
        need_plain_cores()
        need('gdb', 'eu-stack')
        exe = context.program(program)
        core = dump(context, [exe, str(how)])
        expected = HOWS[how]
        if 'i386' in program:
            # No symbols of libc's own functions.
            expected = expected[:-len(CRASH)] + CRASH[:4] + [None, 'sort',
                                                             'main', START]
            if how == 1:
                expected = ['...'] + expected[2:]
        check_core(context, core, exe, expected)
        # It says itself which program it is of.
        done = context.run('stack', '--json', core, status=0)
        check(names(json.loads(done.stdout)['threads'][0]) ==
              names(core_stacks(context, core, exe)['threads'][0]),
              'without -e')


for each_program in ('crash', 'crash-i386'):
    for each_how in HOWS:
        add_kernel_core(each_program, each_how)


def add_gcore(command):
    @case('core: gcore of ' + command)
    def _(context):
        need('gcore', 'gdb', 'eu-stack')
        target = context.start(command.split())
        exe = os.readlink('/proc/%d/exe' % target.pid)
        live = context.stacks(target.pid, status=None)
        prefix = os.path.join(context.tmp, 'core')
        subprocess.run(['gcore', '-o', prefix, str(target.pid)],
                       capture_output=True, timeout=PATIENCE, check=False)
        core = '%s.%d' % (prefix, target.pid)
        check(os.path.exists(core), 'gcore wrote a core')
        stacks = check_core(context, core, exe)
        by_tid = {t['tid']: t for t in stacks['threads']}
        for thread in live['threads']:
            check(names(by_tid[thread['tid']]) == names(thread),
                  'live and core differ', (names(by_tid[thread['tid']]),
                                           names(thread)))


for each_command in ('chain-pie', 'chain-static', 'chain-i386',
                     'signals altstack', 'signals nested', 'asm',
                     'threads custom-stack', 'shapes deep 900'):
    add_gcore(each_command)


@case('core: program was replaced')
def _(context):
    need_plain_cores()
    exe = copy_program(context.program('crash'), context.tmp + '/program')
    core = dump(context, [exe, '1'])
    shutil.copy(context.program('chain-pie'), exe + '.new')
    os.rename(exe + '.new', exe)
    # Another build-id: names of the wrong file would be lies.
    done = context.run('stack', '--json', core)
    check(done.returncode in (0, 1), 'status', done.returncode)
    got = names(json.loads(done.stdout)['threads'][0])
    check(not any(n and n.startswith('link') for n in got), 'names', got)
    context.note('status %d, %s' % (done.returncode, got))
    with_exe = core_stacks(context, core, context.program('crash'))
    check_names(with_exe['threads'][0], HOWS[1])


def pcs(thread):
    return [f['pc'] for f in thread['frames']]


def check_cut(context, core, exe, whole, full, size):
    """A core that has been cut to size tells so, and nothing wrong."""
    os.truncate(core, size)
    done = context.run('stack', '--json', core, exe)
    errors = done.stderr.decode().splitlines()
    check(len(errors) == 1, '%d: lines on stderr' % size, errors)
    if done.returncode == 2:
        check(re.search('truncated: |not a core file', errors[0]),
              '%d: message' % size, errors[0])
        return 0
    check(errors[0] == 'outwind: %s: truncated: %d bytes are missing' %
          (core, full - size), '%d: message' % size, errors[0])
    thread = json.loads(done.stdout)['threads'][0]
    mine = pcs(thread)
    check(mine == whole[:len(mine)], '%d: wrong frames' % size,
          (mine, whole))
    check(thread['complete'] == (mine == whole), '%d: complete' % size)
    check(done.returncode == (0 if mine == whole else 1),
          '%d: status' % size, done.returncode)
    return len(mine)


def add_cut(program):
    @case('core: cut off, ' + program)
    def _(context):
        need_plain_cores()
        exe = context.program(program)
        core = dump(context, [exe, '1'])
        with open(core, 'rb') as f:
            data = f.read()
        whole = pcs(core_stacks(context, core, exe)['threads'][0])
        # All of the notes, then parts of it, and around every segment's end.
        ends = corewriter.segment_ends(data)
        sizes = {int(len(data) * n / 40) for n in range(1, 40)}
        sizes |= set(range(0, 4096, 97)) | {1, 16, 52, 63, 64, 65}
        sizes |= {e + d for e in ends for d in (-8, -1, 0)}
        counts = set()
        for size in sorted(s for s in sizes if 0 < s < max(ends)):
            with open(core, 'wb') as f:
                f.write(data)
            counts.add(check_cut(context, core, exe, whole, max(ends), size))
        check({0, 1, len(whole)} <= counts, 'no cut hit a stack', counts)
        context.note('%d cuts, %s frames' % (len(sizes), sorted(counts)))


for each_program in ('crash', 'crash-i386'):
    add_cut(each_program)


COMPRESSORS = {'zstd': ['zstd', '-qc'], 'lz4': ['lz4', '-qc'],
               'xz': ['xz', '-0c'], 'gzip': ['gzip', '-1c']}


def add_compressed(name):
    @case('core: compressed by ' + name)
    def _(context):
        need_plain_cores()
        need(name)
        exe = context.program('crash')
        core = dump(context, [exe, '1'])
        packed = context.tmp + '/packed'
        with open(packed, 'wb') as f:
            subprocess.run(COMPRESSORS[name] + [core], stdout=f, check=True)
        plain = context.run('stack', '-v', core, status=0)
        done = context.run('stack', '-v', packed, status=0)
        check(done.stdout == plain.stdout, 'another output', done.stdout)
        check(done.stderr == b'', 'stderr', done.stderr)
        # Where the file goes to is to be chosen, and may not be there.
        done = context.run('stack', packed, status=2,
                           env={'TMPDIR': context.tmp + '/none'})
        check(done.stderr.count(b'\n') == 1 and
              b'make a file to decompress it in' in done.stderr, 'stderr',
              done.stderr)
        # Nothing is left where it went.
        folder = context.tmp + '/here'
        os.mkdir(folder)
        context.run('stack', packed, status=0, env={'TMPDIR': folder})
        check(os.listdir(folder) == [], 'left behind', os.listdir(folder))
        size = os.path.getsize(packed)
        os.truncate(packed, size - 1)
        done = context.run('stack', packed)
        check(done.returncode in (0, 1, 2) and
              re.search(name.encode() + b' data|not a core', done.stderr),
              'cut by one byte', (done.returncode, done.stderr))
        os.truncate(packed, 12)
        done = context.run('stack', packed, status=2)
        check(done.stderr == b'outwind: %s: damaged %s data\n' %
              (packed.encode(), name.encode()), 'cut', done.stderr)


for each_name in COMPRESSORS:
    add_compressed(each_name)


@case('core: formats that are refused')
def _(context):
    for magic, words in ((b'KDUMP   ', b'kdump-compressed'),
                         (b'DISKDUMP', b'kdump-compressed'),
                         (b'makedumpfile\0', b'kdump-compressed'),
                         (b'BZh9', b'compressed by bzip2'),
                         (b'\x7fELF', b'not a core file'),
                         (b'x', b'not a core file')):
        path = context.tmp + '/refused'
        with open(path, 'wb') as f:
            f.write(magic + b'\1' * 100)
        done = context.run('stack', path, status=2)
        check(done.stderr.count(b'\n') == 1 and words in done.stderr,
              'message', done.stderr)


@case('core: threads chosen, program given')
def _(context):
    need('gcore')
    target = context.start(['threads', 'custom-stack'])
    exe = context.program('threads')
    prefix = os.path.join(context.tmp, 'core')
    subprocess.run(['gcore', '-o', prefix, str(target.pid)],
                   capture_output=True, timeout=PATIENCE, check=False)
    core = '%s.%d' % (prefix, target.pid)

    def stacks(*options):
        done = context.run('stack', '--json', *options, status=0)
        return json.loads(done.stdout)

    every = stacks(core)
    check(len(every['threads']) == 2 and every['pid'] == target.pid,
          'threads', every)
    for thread in every['threads']:
        one = stacks('--tid', thread['tid'], core)['threads']
        check(one == [thread], 'one thread', one)
    check(stacks('-1', core)['threads'] == every['threads'][:1], '-1')
    check(stacks('--tid=%d,%d' % tuple(t['tid'] for t in every['threads']),
                 core) == every, 'both')
    # However the program is given, it is the same.
    given = stacks('-e', exe, core)
    check(stacks(core, exe) == given and given['program'] == exe, 'program')
    check(given['threads'] == every['threads'] or
          [names(t) for t in given['threads']] ==
          [names(t) for t in every['threads']], 'names')
    for arguments, status, words in (
            (('--tid=1', core), 2, b'no thread 1 in it'),
            (('--tid=x', core), 64, b'not a list of threads'),
            ((core, exe, exe), 64, b'one core file and one executable'),
            ((target.pid, exe), 64, b'only a core file')):
        done = context.run('stack', *arguments, status=status)
        check(words in done.stderr, 'message', done.stderr)


def write_core(context, core):
    path = context.tmp + '/made.core'
    with open(path, 'wb') as f:
        f.write(core.bytes())
    return path


@case('core: more segments than a header can tell')
def _(context):
    made = corewriter.process()
    for i in range(70000):
        made.load(0x10000000 + i * 0x1000, b'', 4)
    core = write_core(context, made)
    whole = json.loads(context.run('stack', '--json', core, status=0).stdout)
    expected = ['0x400184', '0x400190', '0x4001a0', '0x4001b0']
    check([f['pc'] for f in whole['threads'][0]['frames']] == expected,
          'frames', whole)
    # The number stands at the very end: it has to be found without.
    os.truncate(core, os.path.getsize(core) - 64)
    done = context.run('stack', '--json', core, status=0)
    check(json.loads(done.stdout) == whole, 'without section 0', done.stdout)


def write_program(context):
    """The file of corewriter.process()'s program, for its DT_DEBUG."""
    path = context.tmp + '/program'
    with open(path, 'wb') as f:
        f.write(corewriter.program())
    return path


@case('core: link maps that go round or lead nowhere')
def _(context):
    for arch in corewriter.ARCHES:
        for links, loop in (((), False),
                            (((0, ''), (0x500000, '/lib/none.so')), True),
                            (((0, ''), (0x500000, '/dev/zero')), False)):
            made = corewriter.process(arch, False, links, loop)
            program = [] if arch != 'x86_64' else [
                write_program(context)]
            core = write_core(context, made)
            got = json.loads(context.run('stack', '--json', core, *program,
                                         status=0).stdout)
            check([f['pc'] for f in got['threads'][0]['frames']] ==
                  ['0x400184', '0x400190', '0x4001a0', '0x4001b0'],
                  'frames', got)


def add_qemu(program, how):
    @case('core: qemu, %s %d' % (program, how))
    def _(context):
        need('qemu-aarch64', 'gdb-multiarch')
        exe = context.program(program)
        core = dump(context, ['qemu-aarch64', exe, str(how)])
        expected = {1: ['...'] + CRASH, 2: [None] + CRASH, 3: CRASH}[how]
        check_core(context, core, exe, expected, gdb='gdb-multiarch',
                   tools=('gdb',))


for each_how in HOWS:
    add_qemu('crash-aarch64-static', each_how)
    add_qemu('crash-aarch64-pac', each_how)
    add_qemu('crash-aarch64-bti-pac', each_how)


def qemu_dynamic(context, how):
    need('qemu-aarch64')
    exe = context.program('crash-aarch64')
    return exe, dump(context, ['qemu-aarch64', '-L', AARCH64_ROOT, exe,
                               str(how)])


def add_qemu_dynamic(how):
    # qemu doesn't write which files were mapped: the link map tells.
    @case('core: qemu, crash-aarch64 that has libraries, %d' % how)
    def _(context):
        exe, core = qemu_dynamic(context, how)
        done = context.run('stack', '--json', '--sysroot=' + AARCH64_ROOT,
                           core, exe, status=0)
        thread = json.loads(done.stdout)['threads'][0]
        expected = {
            1: [None, 'raise', 'abort'],
            2: [None],
            3: [],
        }[how] + ['crash', 'leads_to_crash', 'compare', None, 'qsort_r',
                  'sort', 'main', None, '__libc_start_main', '_start']
        check_names(thread, expected)
        check(thread['complete'], 'complete', thread['end'])
        modules = {f.get('module') for f in thread['frames']}
        # The address 2 calls is in no module.
        check(modules - {None} == {exe, '/lib/libc.so.6'}, 'modules', modules)
        check(not any(f['how'] == 'frame pointer' for f in thread['frames']),
              'how', thread)


for each_how in HOWS:
    add_qemu_dynamic(each_how)


@case('core: qemu, crash-aarch64 whose libraries are not there')
def _(context):
    # What is said must be true all the same, and not be called complete.
    exe, core = qemu_dynamic(context, 3)
    thread = core_stacks(context, core, exe, status=1)['threads'][0]
    got = [n for n in names(thread) if n]
    check(got[:3] == ['crash', 'leads_to_crash', 'compare'] and
          got[3:] in ([], ['sort'], ['sort', 'main']), 'names', names(thread))
    check(not thread['complete'], 'complete', names(thread))


def guest_stack(context, status=0, **how):
    core = write_core(context, corewriter.guest(**how))
    done = context.run('stack', '--json', core, context.program('kernel'),
                       status=status)
    return json.loads(done.stdout)['threads'][0] if status < 2 else done.stderr


@case('core: a machine')
def _(context):
    for levels in (4, 5):
        for info in (True, False):
            for offset in (0, 0x1f000000):
                thread = guest_stack(context, levels=levels, info=info,
                                     offset=offset)
                base = corewriter.KERNEL + offset
                check(pcs(thread) == ['%#x' % (base + n) for n in
                                      (0x184, 0x198, 0x1a8)], 'addresses',
                      pcs(thread))
                check(names(thread) == ['inner', 'asm_exc_divide_error',
                                        'outer'], 'names', names(thread))
                check(thread['name'] == 'CPU 0' and thread['complete'],
                      'thread', thread)
    thread = guest_stack(context, status=1, user=True)
    check('frames' not in thread and
          'in user mode at 0x401000' in thread['error'], 'error', thread)
    guest_stack(context, build_id='0a1b2c3d')
    error = guest_stack(context, status=2, build_id='0a1b2c3e')
    check(b'another build than the one that was running' in error and
          error.count(b'\n') == 1, 'another kernel', error)
    # Without a file the dump tells which is looked for.
    core = write_core(context, corewriter.guest())
    done = context.run('stack', core, status=2)
    check(b'/usr/lib/debug/boot/vmlinux-6.1.0: no such file' in done.stderr,
          'no file', done.stderr)
    done = context.run('stack', core, context.program('chain-i386'), status=2)
    check(b'for another machine' in done.stderr, 'i386', done.stderr)


@case('core: a machine, AArch64')
def _(context):
    exe = context.program('kernel-aarch64')
    for bits, offset, signature in ((48, 0, 0), (48, 0x1f000000, 0),
                                    (48, 0, 0x66 << 48), (39, 0, 0),
                                    (39, 0x200000, 0x5e6f << 40)):
        made = corewriter.guest_aarch64(bits, offset, signature)
        core = write_core(context, made)
        thread = json.loads(context.run('stack', '--json', core, exe,
                                        status=0).stdout)['threads'][0]
        base = int(thread['frames'][0]['pc'], 16) - 0x184
        check(pcs(thread) == ['%#x' % (base + n) for n in
                              (0x184, 0x198, 0x1a8)], 'addresses',
              pcs(thread))
        check(base & 0xfffff == 0 and base >> bits == (1 << 64 - bits) - 1,
              'where', hex(base))
        check(names(thread) == ['inner', 'asm_exc_divide_error', 'outer'],
              'names', names(thread))
        check(thread['complete'], 'complete', thread['end'])
