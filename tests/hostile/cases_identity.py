# SPDX-License-Identifier: BSD-2-Clause
"""A build-id is no identity: a file with another one's decides nothing for it."""

import json
import os
import subprocess

from harness import case, check, need_root

CHAIN = ['spin', 'innermost', 'inner', 'middle', 'outer', 'outermost', 'main']
FALSE = ['false_' + name for name in CHAIN[:-1]] + ['main']
PROGRAMS = {'samebuild_victim': CHAIN, 'samebuild_impostor': FALSE}


def put(context, program, name):
    """A copy of a program, in place of what the name was before."""
    path = os.path.join(context.tmp, name)
    # By a program: another test's child might keep a file of ours open.
    subprocess.run(['cp', context.program(program), path + '.new'], check=True)
    os.rename(path + '.new', path)
    return path


def start_both(context, order, name):
    """Both programs, in that order, each by its name or by the same one."""
    return {program: context.start([put(context, program, name or program),
                                    'spin'])
            for program in order}


def check_recorded(context, order, name, *options):
    """Each program's samples have all of its own names."""
    targets = start_both(context, order, name)
    pids = [str(t.pid) for t in targets.values()]
    path = os.path.join(context.tmp, 'profile.json')
    context.run('record', '-d', '1', '-F', '199', '-f', 'json', '-o', path,
                *(options or ['-p', ','.join(pids)]), status=0)
    with open(path, encoding='utf-8') as f:
        profile = json.load(f)
    for program, target in targets.items():
        seen = set()
        for stack in profile['stacks']:
            if stack['pid'] == target.pid:
                frames = [profile['frames'][i] for i in stack['frames']]
                seen.add(tuple(f.get('function') for f in frames
                               if f.get('module', '').startswith(context.tmp)))
        own = PROGRAMS[program]
        check(seen and all(list(chain)[:-1] == own for chain in seen),
              'names of ' + program, seen)
        check(all(chain[-1] == '_start' for chain in seen), 'outermost', seen)
        target.kill()
        target.wait()


ORDERS = (('samebuild_victim', 'samebuild_impostor'),
          ('samebuild_impostor', 'samebuild_victim'))


@case('identity: record -p of two programs with one build-id')
def record_pids(context):
    need_root()
    for order in ORDERS:
        for name in (None, 'prog'):
            check_recorded(context, order, name)


@case('identity: record -a of two programs with one build-id')
def record_all(context):
    need_root()
    for order in ORDERS:
        for name in (None, 'prog'):
            check_recorded(context, order, name, '-a')


def program_frames(context, pid, *options):
    """The frames of the program itself, and all of the thread's."""
    thread = context.stacks(pid, *options)['threads'][0]
    check(thread['complete'], 'complete', thread)
    frames = [(f['pc'], f.get('function')) for f in thread['frames']]
    own = [name for _, name in frames if name in CHAIN + FALSE]
    return own, frames


@case('identity: tables of a program with another one\'s build-id')
def tables(context):
    for order in ORDERS:
        for name in (None, 'prog'):
            targets, paths = {}, {}
            for program in order:
                paths[program] = put(context, program, name or program)
                targets[program] = context.start([paths[program], 'wait'])
                context.run('tables', targets[program].pid, status=0)
            for program, target in targets.items():
                own, frames = program_frames(context, target.pid)
                check(own == PROGRAMS[program], 'names of ' + program, own)
                check(frames == program_frames(context, target.pid,
                                               '--no-tables')[1],
                      'other frames than without tables', frames)
                # Not because there is no table any more.
                said = context.run('tables', '/proc/%d/exe' % target.pid,
                                   status=0).stdout.decode()
                check(': made, ' in said or ': was there, ' in said, 'table',
                      said)
                check(program_frames(context, target.pid)[1] == frames,
                      'other frames after it is made again', frames)
                target.kill()
                target.wait()


@case('identity: record of a program that has written to its vDSO')
def written_vdso(context):
    need_root()
    liar = context.start(['vdso_reader', 'lie'])
    honest = context.start(['vdso_reader'])
    path = os.path.join(context.tmp, 'profile.json')
    context.run('record', '-d', '1', '-F', '199', '-f', 'json', '-o', path,
                '-p', '%d,%d' % (liar.pid, honest.pid), status=0)
    with open(path, encoding='utf-8') as f:
        profile = json.load(f)
    names = {frame.get('function') for stack in profile['stacks']
             for frame in [profile['frames'][i] for i in stack['frames']]
             if stack['pid'] == honest.pid and frame.get('module') == '[vdso]'}
    check(names and all(name and 'clock_g' in name for name in names),
          'names in the vDSO', names)
