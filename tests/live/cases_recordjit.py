# SPDX-License-Identifier: BSD-2-Clause
"""outwind record: code that JITs made, by their maps for perf."""

import json
import os
import shutil
import signal
import subprocess

from cases_formats import report
from cases_jit import remove_map
from cases_record import chains, container, need_bpf
from harness import (PATIENCE, Skip, case, check, children_of, end_process,
                     family, need, time_of, wait_for_line, wait_until)


def holds(tool, folder):
    """Does a process have a folder open?"""
    want = os.stat(folder)
    for fd in os.listdir('/proc/%d/fd' % tool):
        try:
            if os.path.samestat(os.stat('/proc/%d/fd/%s' % (tool, fd)), want):
                return True
        except OSError:
            pass
    return False


def record_jit(context, command, pid_of, ms, *options):
    """A profile of programs/jitting, which runs ms in each part, as JSON."""
    path = os.path.join(context.tmp, 'jit.owp')
    tool = context.start([context.outwind, 'record', '-F', '997', '-o', path,
                          *options, '--', *command, str(ms)], ready=None)
    wait_for_line(tool, 'ready')
    pid = pid_of(tool.pid)
    context.stack.callback(remove_map, pid)
    try:
        # From now on its map is followed, whatever becomes of it.
        wait_until(lambda: holds(tool.pid, '/proc/%d/root/tmp' % pid),
                   'the code is known of')
        os.kill(pid, signal.SIGUSR1)
        check(tool.wait(timeout=PATIENCE) == 0, 'status', tool.returncode)
    finally:
        if tool.poll() is None:
            end_process(pid)
    return json.loads(report(context, path, 'json')[0]), path, pid


def parts_of(profile):
    """{caller: {(name, module) of the code that it had run}}."""
    found = {}
    for stack in profile['stacks']:
        frames = [profile['frames'][i] for i in stack['frames']]
        names = [f.get('function') for f in frames]
        if 'repeat' not in names or names.index('repeat') == 0:
            continue
        at = names.index('repeat')
        code = frames[at - 1]
        if code.get('kernel') or not code['module'].startswith(('/proc/',
                                                                '[jit]')):
            continue  # the clock's
        check(names[at + 1] in ('early', 'late', 'unnamed'), 'caller', names)
        found.setdefault(names[at + 1], set()).add(
            (code.get('function'), code['module']))
    return found


def check_jit(context, command, pid_of, *options):
    for ms in (300, 1000, 4000, 16000):
        profile, path, pid = record_jit(context, command, pid_of, ms, *options)
        found = parts_of(profile)
        if len(found) == 3:
            break
    inner = find_inner(profile)
    place = '/proc/%d/root/tmp/perf-%d.map' % (pid, inner or pid)
    check(found == {'early': {('JS:early one', place)},
                    'late': {('JS:late one', place)},
                    'unnamed': {(None, '[jit]')}}, 'names', found)
    # The profile has them also when nothing else does.
    remove_map(pid)
    folded = report(context, path, 'folded')[0].decode()
    for caller, name in (('early', 'JS:early one'), ('late', 'JS:late one'),
                         ('unnamed', '[jit]')):
        check(';%s;repeat;%s ' % (caller, name) in folded, name, folded)
    return profile


def find_inner(profile):
    """The pid in the name of the map, which the process has itself."""
    for f in profile['frames']:
        if '/root/tmp/perf-' in f['module']:
            return int(f['module'].rsplit('-', 1)[1][:-len('.map')])
    return None


@case('record JIT: names of a process that has ended', alone=True)
def record_jit_ended(context):
    need_bpf(context)
    command = [context.program('jitting')]
    for engine in ('bpf', 'perf'):
        profile = check_jit(context, command, lambda tool:
                            children_of(tool)[0], '--engine=' + engine)
        for m in profile['mappings']:
            if 'perf-' in m.get('module', ''):
                check(int(m['end'], 0) - int(m['start'], 0) == 4096 and
                      m['offset'] == '0', 'mapping', m)


IN_CONTAINER = """
set -e
mount -t tmpfs none "$1"
cp "$2" "$1/jitting"
mount --bind "$1" /tmp
exec /tmp/jitting "$3"
"""


@case('record JIT: names that only a container that is gone had', alone=True)
def record_jit_container(context):
    need_bpf(context)
    _, command = container(context, IN_CONTAINER, 'jitting')
    profile = check_jit(context, command, lambda tool: family(tool)[-1])
    check(find_inner(profile) == 1, 'its own pid', find_inner(profile))


def record_until(context, command, name, pid_of, end):
    """
    A profile of a command that runs until it is ended, once it has run for long
    enough that a function of that name is in it.
    """
    path = os.path.join(context.tmp, 'jit.owp')
    for seconds in (1, 2, 4, 8, 16, 32):
        tool = context.start([context.outwind, 'record', '-F', '499', '-o',
                              path, '--', *command], ready=None,
                             cwd=context.tmp)
        wait_for_line(tool, 'ready')
        pid = pid_of(tool.pid)
        context.stack.callback(remove_map, pid)
        begun = time_of(pid)
        try:
            wait_until(lambda: time_of(pid) - begun > seconds, 'it runs')
            os.kill(pid, end)
            check(tool.wait(timeout=PATIENCE) == 0, 'status', tool.returncode)
        finally:
            if tool.poll() is None:
                end_process(pid)
        profile = json.loads(report(context, path, 'json')[0])
        if any(name in f.get('function', '') for f in profile['frames']):
            return profile
    check(False, 'no frame of ' + name, sorted({
        f.get('function', '') for f in profile['frames']}))
    return None


@case('record JIT: node', alone=True)
def record_node(context):
    need_bpf(context)
    need('node')
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          'programs', 'jit.js')
    profile = record_until(context, [shutil.which('node'), '--perf-basic-prof',
                                     script, 'spin'], 'spinOuter',
                           lambda tool: children_of(tool)[0], signal.SIGKILL)
    for chain, stack in chains(profile):
        at = [i for i, n in enumerate(chain) if n and 'spinOuter' in n]
        if at and stack['end'] == 'complete':
            check('Builtins_JSEntry' in chain[at[-1]:] and
                  chain[-1] == '_start', 'who calls it', chain)


@case('record JIT: java, which tells names at its end', alone=True)
def record_java(context):
    need_bpf(context)
    need('java')
    context.program('Jit.class')
    options = ['-XX:+UnlockDiagnosticVMOptions', '-XX:+DumpPerfMapAtExit',
               '-XX:+PreserveFramePointer', '-Xmx64m', '-cp', context.programs]
    probe = subprocess.Popen(['java', *options, '-version'],
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    probe.wait(timeout=PATIENCE)
    remove_map(probe.pid)
    if probe.returncode:
        raise Skip('java writes no map at its end')
    record_until(context, [shutil.which('java'), *options, 'Jit'],
                 'Jit.spinOuter', lambda tool: children_of(tool)[0],
                 signal.SIGTERM)
