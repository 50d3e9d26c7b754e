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
from harness import (START, Skip, case, check, check_names, names, need)

CRASH = [re.compile(r'crash(\.cold)?'), 'leads_to_crash', 'compare', '...',
         re.compile('(__)?qsort(_r)?'), 'sort', 'main', START]
AARCH64_ROOT = '/usr/aarch64-linux-gnu'


def allow_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (64 << 20, 64 << 20))


def dump(context, command):
    """Run a program that dies, and find its core file."""
    subprocess.run(command, cwd=context.tmp, stdin=subprocess.DEVNULL,
                   capture_output=True, timeout=30, check=False,
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
                       capture_output=True, timeout=60, check=False)
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
    exe = shutil.copy(context.program('crash'), context.tmp + '/program')
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


@case('core: cut off')
def _(context):
    need_plain_cores()
    exe = context.program('crash')
    core = dump(context, [exe, '1'])
    size = os.path.getsize(core)
    for part in (0.9, 0.5, 0.2, 0.05, 0.001):
        os.truncate(core, int(size * part))
        done = context.run('stack', core)
        check(done.returncode in (0, 1, 2), 'status', done.returncode)
        check(done.returncode != 2 or done.stderr.count(b'\n') == 1,
              'lines on stderr', done.stderr)


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


@case('core: qemu, crash-aarch64 that has libraries')
def _(context):
    # qemu doesn't write which files were mapped: nobody knows where libc is.
    # What is said must be true all the same, and not be called complete.
    need('qemu-aarch64')
    exe = context.program('crash-aarch64')
    core = dump(context, ['qemu-aarch64', '-L', AARCH64_ROOT, exe, '3'])
    thread = core_stacks(context, core, exe, status=1)['threads'][0]
    got = [n for n in names(thread) if n]
    check(got[:3] == ['crash', 'leads_to_crash', 'compare'] and
          got[3:] in ([], ['sort'], ['sort', 'main']), 'names', names(thread))
    check(not thread['complete'], 'complete', names(thread))
