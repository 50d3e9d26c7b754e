# SPDX-License-Identifier: BSD-2-Clause
"""outwind record of a process whose code is replaced by other."""

import collections
import re

from cases_record import NO_ENTRY, chains, is_between, need_bpf, record
from cases_record import record_enough
from harness import OUTERMOST, case, check

NO_ROOM = 'tables had no room'


def check_turns(context, how):
    """Each file's code calls the function that is its own, and is called."""
    need_bpf(context)
    small = context.program('turned-small.so')
    large = context.program('turned-large.so')
    target = context.start(['replaced', small, large] + how)
    profile, said = record_enough(context, 2000, '-F', '4000', '--stats',
                                  target.pid)
    samples = {'work_small': 0, 'work_large': 0}
    cut = {}
    for chain, stack in chains(profile):
        for work in samples:
            if work not in chain:
                continue
            samples[work] += stack['count']
            below = chain[chain.index(work) + 1:]
            modules = [profile['frames'][i].get('module', '')
                       for i in stack['frames']
                       if profile['frames'][i].get('function') == 'turn']
            if stack['end'] != 'complete':
                check(below[:2] == ['turn', 'main'][:len(below)],
                      'a wrong caller', (chain, stack['end']))
                cut[stack['end']] = cut.get(stack['end'], 0) + stack['count']
            else:
                check(below[:2] == ['turn', 'main'], 'a wrong caller', chain)
            check([m.rsplit('-', 1)[-1] for m in modules] ==
                  [work.replace('work_', '') + '.so'], 'a wrong file',
                  (chain, modules))
    check(min(samples.values()) > 20, 'too few samples', samples)
    # One that says that it is cut is no wrong one, but a rare one.
    check(100 * sum(cut.values()) <= sum(samples.values()), 'cut', cut)
    context.note('%d samples by turns, cut: %s; %s' % (
        sum(samples.values()), cut, said.splitlines()[0]))


@case('record: code that is mapped over other', alone=True)
def replaced_at_once(context):
    check_turns(context, [])


@case('record: code that is mapped where other was', alone=True)
def replaced_after(context):
    check_turns(context, ['unmap'])


OURS = re.compile(r'(work_small|work_large|load|meanwhile)_(a|b)$')


def name_of(frame):
    """What the function is to reborn.c: its part, and the one it is part of."""
    function, module = frame.get('function'), frame.get('module', '')
    mine = OURS.match(function or '')
    if mine:
        return mine.groups()
    if function == 'turn':
        return function, re.split(r'[-.]', module)[-2]
    if function == 'main':
        return function, module.rsplit('-', 1)[-1]
    return None, None


def wrong_reborn(frames):
    """Which frame of it can't be its callee's caller; None if all can."""
    names = [name_of(f) for f in frames]
    programs = {of for part, of in names if part not in (None, 'turn')}
    if len(programs) > 1:
        return 'of two programs'
    for (part, _), (caller, of) in zip(names, names[1:]):
        if part in ('work_small', 'work_large'):
            if caller != 'meanwhile' and (caller, of) != ('turn', part[5:]):
                return '%s called by %s of %s' % (part, caller, of)
        elif part and caller != {'turn': 'load', 'load': 'main'}.get(part):
            return '%s called by %s' % (part, caller)
        elif not part and caller in ('work_small', 'work_large'):
            return '%s calls another' % caller
    return None


def check_reborn(profile):
    """How many samples were whole, by what they were in; how many were cut."""
    whole, cut = collections.Counter(), collections.Counter()
    for _, stack in chains(profile):
        frames = [profile['frames'][i] for i in stack['frames']]
        frames = [f for f in frames if not f.get('kernel')]
        functions = [f.get('function') for f in frames]
        # What has one frame, of no name, claims nothing: exec is under way.
        if is_between(functions) or functions == [None]:
            continue
        wrong = wrong_reborn(frames)
        check(not wrong, 'a wrong frame', (wrong, functions, stack['end']))
        if stack['end'] != 'complete':
            cut[stack['end']] += stack['count']
            continue
        check(functions[-1] in OUTERMOST, 'not whole', (functions, frames[-1]))
        for name in set(map(name_of, frames)):
            whole[name] += stack['count']
    return whole, cut


@case('record: every frame is right where code is replaced all the time')
def replaced_often(context):
    need_bpf(context)
    a, b, small, large = map(context.program, (
        'reborn-a', 'reborn-b', 'turned-small.so', 'turned-large.so'))
    target = context.start([a, b, small, large])
    whole, cut = collections.Counter(), collections.Counter()
    wanted = [('turn', 'small'), ('turn', 'large'), ('load', 'a'),
              ('load', 'b'), ('meanwhile', 'a'), ('meanwhile', 'b')]
    for _ in range(30):
        if min(whole[w] for w in wanted) >= 100:
            break
        profile, _ = record(context, '-d', '2', '-F', '4000', target.pid)
        some_whole, some_cut = check_reborn(profile)
        whole += some_whole
        cut += some_cut
        check(target.poll() is None, 'the program has ended')
    check(min(whole[w] for w in wanted) >= 100, 'too few samples', whole)
    context.note('whole: %d in main, %d in the other thread; cut: %s' % (
        whole['main', 'a'] + whole['main', 'b'],
        whole['meanwhile', 'a'] + whole['meanwhile', 'b'], dict(cut)))


def check_again(context, name):
    """While exec is under way, the registers are of a program that is gone."""
    target = context.start([name])
    called, unknown, seen = 0, 0, collections.Counter()
    for _ in range(30):
        profile, _ = record(context, '-d', '2', '-F', '9999', target.pid)
        for chain, stack in chains(profile):
            # After a loss it may not be known what the process had mapped.
            if chain == [None] and stack['end'] == NO_ROOM:
                unknown += stack['count']
                continue
            check(None not in chain, 'another program\'s code',
                  (chain, stack['end']))
            seen[tuple(chain[:3])] += stack['count']
            if chain[:1] == ['__execve']:
                check(chain[1:3] == ['become', 'main'] and
                      stack['end'] in ('complete', NO_ENTRY), 'of no program',
                      (chain, stack['end']))
                called += stack['count']
        check(target.poll() is None, 'the program has ended')
        if called >= 40:
            break
    check(called >= 40, 'too few samples at its call of execve',
          (called, seen.most_common(10)))
    context.note('%s: %d samples at its call of execve, %d unknown' %
                 (name, called, unknown))


@case('record: no frame of a program that exec is just replacing')
def replaced_by_itself(context):
    need_bpf(context)
    check_again(context, 'again-static')
    check_again(context, 'again-static-pie')
