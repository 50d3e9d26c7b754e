# SPDX-License-Identifier: BSD-2-Clause
"""outwind record of a process whose code is replaced by other."""

from cases_record import chains, need_bpf, record_enough
from harness import case, check


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
