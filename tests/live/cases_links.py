# SPDX-License-Identifier: BSD-2-Clause
"""The same chain of calls, compiled, linked and mapped in many ways."""

import os
import re
import shutil
import subprocess

from harness import (START, Skip, case, check, check_names, check_target,
                     children_of, copy_program, end_process, names, need,
                     need_root)

LINKS = ['link%d' % n for n in range(12, 0, -1)]
CHAIN = ['stay'] + LINKS + ['main', START]
REMAPPED = ['stay', 'link1', 'link2', 'link3', 'main', START]

FLAVOURS = (
    'pie', 'no-pie', 'static', 'static-pie', 'O0', 'O3-lto', 'fp', 'clang',
    'lld', 'lld-no-rosegment', 'lld-separate-code', 'lld-separate-loadable',
    'lld-static', 'gold', 'noseparate-code', 'no-eh-frame-hdr', 'i386',
    'i386-no-pie', 'i386-static', 'debug-frame', 'debug-frame-gz',
    'debug-frame-gnu-gz', 'no-build-id', 'i386-stackrealign')


def add_flavour(flavour):
    @case('chain: ' + flavour)
    def _(context):
        target = context.start(['chain-' + flavour])
        check_target(context, target.pid, CHAIN)


for each in FLAVOURS:
    add_flavour(each)


def add_tables(flavour):
    @case('chain: %s by compact tables' % flavour)
    def _(context):
        target = context.start(['chain-' + flavour])
        with open('/proc/%d/maps' % target.pid, encoding='utf-8') as f:
            files = {line.split()[5] for line in f
                     if 'r-xp' in line and ' /' in line}
        for path in files:
            context.run('tables', path, status=0)
        stacks = check_target(context, target.pid, CHAIN)
        hows = {f['how'] for f in stacks['threads'][0]['frames'][1:]}
        check('table' in hows, 'no frame came from a table', hows)
        plain = context.stacks(target.pid, '--no-tables')
        for with_table, without in zip(stacks['threads'], plain['threads']):
            check([(f['pc'], f['sp']) for f in with_table['frames']] ==
                  [(f['pc'], f['sp']) for f in without['frames']],
                  'tables and CFI differ')


for each in ('pie', 'O0', 'static', 'lld', 'i386'):
    add_tables(each)


def add_musl(flavour):
    @case('chain: ' + flavour)
    def _(context):
        # musl has no CFI for its own code: the stack ends in its start-up.
        target = context.start(['chain-' + flavour])
        stacks = context.stacks(target.pid, status=1)
        check_names(stacks['threads'][0], CHAIN[:-1] + ['...'])
        check_target(context, target.pid, status=1, complete=False)


for each in ('musl', 'musl-static'):
    add_musl(each)


def symbols(path):
    """[(start, end, name)] of the functions that nm lists."""
    need('nm')
    out = subprocess.run(['nm', '-S', path], capture_output=True, text=True,
                         check=True).stdout
    fields = [line.split() for line in out.splitlines()]
    return [(int(f[0], 16), int(f[0], 16) + int(f[1], 16), f[3])
            for f in fields if len(f) == 4 and f[2] in 'tT']


def check_unnamed(context, flavour, named):
    """No names, but the addresses are those of the program with names."""
    target = context.start(['chain-' + flavour])
    thread = check_target(context, target.pid)['threads'][0]
    listed = symbols(context.program(named))
    frames = [f for f in thread['frames'] if 'chain-' in f.get('module', '')]
    found = []
    for i, frame in enumerate(frames):
        at = int(frame['module_offset'], 16) - (i > 0)
        found += [n for start, end, n in listed if start <= at < end]
    check(found == CHAIN[:-1] + ['_start'], 'functions by address', found)


@case('chain: stripped')
def _(context):
    check_unnamed(context, 'stripped', 'chain-pie')


@case('chain: no section headers')
def _(context):
    check_unnamed(context, 'no-sections', 'chain-pie')


@case('chain: object mapped in pieces')
def _(context):
    target = context.start(['chain-split', 'split'])
    with open('/proc/%d/maps' % target.pid, encoding='utf-8') as f:
        pieces = sum('chain-split' in line and 'x' in line.split()[1]
                     for line in f)
    check(pieces >= 4, 'pieces of text', pieces)
    check_target(context, target.pid, CHAIN)


@case('chain: deleted executable')
def _(context):
    copy = copy_program(context.program('chain-pie'), context.tmp)
    target = context.start([copy])
    os.unlink(copy)
    check_target(context, target.pid, CHAIN)


@case('chain: executable replaced by another')
def _(context):
    copy = copy_program(context.program('chain-pie'), context.tmp)
    other = shutil.copy(context.program('shapes'), context.tmp)
    target = context.start([copy])
    os.rename(other, copy)
    check_target(context, target.pid, CHAIN)


PLUGIN = ['stay', 'callback', 'plugin_inner', 'plugin_enter', 'load', 'main',
          START]


def start_loader(context, **options):
    lib = shutil.copy(context.program('plugin.so'),
                      os.path.join(context.tmp, 'lib.so'))
    return lib, context.start(['loader', lib], **options)


def add_remapped(how):
    @case('chain: code copied to memory of its own, %s' % how)
    def _(context):
        target = context.start(['remapped', how])
        with open('/proc/%d/maps' % target.pid, encoding='utf-8') as f:
            check(' 00:00 0 \n' in ''.join(
                line for line in f if 'r-xp' in line), 'nothing is copied')
        check_target(context, target.pid, REMAPPED)
        core = os.path.join(context.tmp, 'core')
        need('gcore')
        subprocess.run(['gcore', '-o', core, str(target.pid)],
                       capture_output=True, check=True)
        thread = context.stacks('%s.%d' % (core, target.pid))['threads'][0]
        check_names(thread, REMAPPED)


for each in ('all', 'inner'):
    add_remapped(each)


@case('library: loaded at run time')
def _(context):
    _, target = start_loader(context)
    check_target(context, target.pid, PLUGIN)


@case('library: replaced by another file')
def _(context):
    lib, target = start_loader(context)
    decoy = shutil.copy(context.program('decoy.so'), context.tmp)
    os.rename(decoy, lib)
    check_target(context, target.pid, PLUGIN)


@case('library: deleted')
def _(context):
    lib, target = start_loader(context)
    os.unlink(lib)
    check_target(context, target.pid, PLUGIN)


def load_marked(context):
    """A library named as one that is deleted, beside one of that other name."""
    lib = os.path.join(context.tmp, 'lib.so')
    shutil.copy(context.program('decoy.so'), lib)
    shutil.copy(context.program('plugin.so'), lib + ' (deleted)')
    return lib, context.start(['loader', lib + ' (deleted)'])


@case('library: whose own name ends in " (deleted)"')
def _(context):
    lib, target = load_marked(context)
    check_target(context, target.pid, PLUGIN)
    stacks = context.stacks(target.pid)
    objects = {f.get('module') for f in stacks['threads'][0]['frames']}
    check(lib + ' (deleted)' in objects and lib not in objects, 'its name',
          objects)
    snap = os.path.join(context.tmp, 'snap')
    context.run('snap', '-o', snap, target.pid, status=0)
    done = context.run('stack', '-m', snap, status=0)
    check(done.stdout.count(b' - %s (deleted)\n' % lib.encode()) == 2,
          'its name of a snapshot', done.stdout)


@case('library: likewise, in a mount namespace')
def _(context):
    need('unshare', 'mount')
    need_root()
    script = ('mount -t tmpfs none "$1" && cp "$2" "$1/lib.so (deleted)" || '
              'exit 77; exec "$3" "$1/lib.so (deleted)"')
    if subprocess.run(['unshare', '-m', 'true'], check=False).returncode:
        raise Skip('no mount namespaces here')
    target = context.start(['/usr/bin/unshare', '-m', 'sh', '-c', script, 'sh',
                            context.tmp, context.program('plugin.so'),
                            context.program('loader')])
    done = context.run('stack', '-m', target.pid, status=0)
    check(done.stdout.count(b'/lib.so (deleted)\n') == 2, 'its name',
          done.stdout)


@case('library: in a mount namespace, another one outside')
def _(context):
    need('unshare', 'mount')
    need_root()
    inside = os.path.join(context.tmp, 'inside')
    outside = os.path.join(context.tmp, 'outside')
    os.mkdir(inside)
    os.mkdir(outside)
    shutil.copy(context.program('plugin.so'), os.path.join(inside, 'lib.so'))
    shutil.copy(context.program('decoy.so'), os.path.join(outside, 'lib.so'))
    script = 'mount --bind "$1" "$2" || exit 77; exec "$3" "$2/lib.so"'
    if subprocess.run(['unshare', '-m', 'true'], check=False).returncode:
        raise Skip('no mount namespaces here')
    target = context.start(['/usr/bin/unshare', '-m', 'sh', '-c', script, 'sh',
                            inside, outside, context.program('loader')])
    check_target(context, target.pid, PLUGIN)


@case('library: in a chroot, nothing outside')
def _(context):
    need('chroot')
    need_root()
    for name in ('chain-static', 'chain-pie'):
        copy_program(context.program(name), context.tmp)
    target = context.start(['/usr/sbin/chroot', context.tmp, '/chain-static'])
    check_target(context, target.pid, CHAIN)


@case('library: in a PID namespace')
def _(context):
    need('unshare')
    need_root()
    if subprocess.run(['unshare', '-pf', 'true'], check=False).returncode:
        raise Skip('no PID namespaces here')
    outer = context.start(['/usr/bin/unshare', '-pf', '--kill-child',
                           context.program('chain-pie')])
    inner = children_of(outer.pid)[0]
    context.stack.callback(end_process, inner)
    check_target(context, inner, CHAIN)


@case('assembly: rules that compilers do not write')
def _(context):
    target = context.start(['asm'])
    check_target(context, target.pid,
                 ['stay', 'cfa_in_r12', 'cfa_by_expression', 'ra_elsewhere',
                  'two_exits', 'cfa_by_arithmetic', '_start'])


@case('assembly: a symbol without a size, before a function without a name')
def _(context):
    target = context.start(['nameless'])
    thread = context.stacks(target.pid)['threads'][0]
    check(names(thread) == [None, '_start'], 'names', names(thread))
    # It is told from others without a name by where it begins.
    folded = context.run('stack', '-f', 'folded', target.pid).stdout
    check(re.fullmatch(rb'nameless;_start;nameless\+0x[0-9a-f]+0 1\n', folded),
          'folded', folded)


@case('assembly: no CFI, and no frame pointers')
def _(context):
    target = context.start(['nocfi'])
    thread = context.stacks(target.pid, status=None)['threads'][0]
    check(names(thread) == ['inner', 'outer', '_start'] or
          not thread['complete'], 'a part is called complete', names(thread))


@case('rust: legacy names')
def _(context):
    target = context.start(['chain-rust'])
    stacks = check_target(context, target.pid)
    got = names(stacks['threads'][0])
    at = got.index('chain::stay')
    check(got[at:at + 3] == ['chain::stay',
                             '<chain::Square as chain::Shape>::visit',
                             'chain::generic'] or
          got[at + 2].startswith('chain::generic'), 'names', got)
    check('chain::main' in got and 'main' in got, 'names', got)


@case('rust: v0 names, in a thread')
def _(context):
    target = context.start(['chain-rust-v0', 'thread'])
    stacks = check_target(context, target.pid)
    worker = stacks['threads'][1]
    check(worker['name'] == 'worker', 'thread name', worker['name'])
    got = names(worker)
    at = got.index('chain::stay')
    check(got[at:at + 3] == ['chain::stay',
                             '<chain::Square as chain::Shape>::visit',
                             'chain::generic::<u8>'], 'names', got)
    check(worker['complete'], 'complete')


@case('rust: dropping on a panic')
def _(context):
    target = context.start(['chain-rust', 'panic'])
    got = names(check_target(context, target.pid)['threads'][0])
    at = got.index('chain::stay')
    check(any('drop' in (n or '') for n in got[at:]) and
          'chain::panics' in got[at:], 'names', got)


def add_go(program):
    @case('go: %s' % program)
    def _(context):
        target = context.start([program])
        stacks = context.stacks(target.pid, '--raw', '-m', status=None)
        found = [t for t in stacks['threads'] if 'main.stay' in names(t)]
        check(len(found) == 1, 'threads in main.stay', len(found))
        got = names(found[0])
        at = got.index('main.stay')
        check(got[at + 1:] == ['main.dive'] * 51 +
              ['main.(*square).visit', 'main.main', 'runtime.main',
               'runtime.goexit.abi0'], 'names', got)
        check(found[0]['complete'], 'complete', found[0]['end'])


add_go('chain-go')
add_go('chain-go-w')


@case('.debug_frame between .eh_frame, by CFI and by compact tables')
def _(context):
    target = context.start(['between'])
    for _ in range(2):
        thread = context.stacks(target.pid)['threads'][0]
        got = names(thread)
        at = got.index('between')
        check(got[at - 1:at + 2] == ['stay', 'between', 'main'], 'names', got)
        check(thread['complete'], 'complete')
        context.run('tables', target.pid, status=0)
    hows = [f['how'] for f in thread['frames']]
    check('table' in hows and 'debug_frame' in hows, 'how', hows)
