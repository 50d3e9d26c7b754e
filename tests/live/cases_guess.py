# SPDX-License-Identifier: BSD-2-Clause
"""Callers that are guessed: what isn't one is not shown, and others are marked."""

from cases_record import need_bpf
from harness import case, check, names


def add_guess(kind, leaf):
    @case('a guess of a frame pointer that is wrong: ' + kind)
    def _(context):
        target = context.start(['guesses', kind])
        known = {leaf, 'aligned', 'calls_aligned', 'main', '_start',
                 '__libc_start_main', '__libc_start_call_main'}
        thread = context.stacks(target.pid, status=None)['threads'][0]
        got = names(thread)
        check(got[0] == leaf and not set(got) - known, 'false', thread)
        check(not thread['complete'] and
              thread['end'] == 'no unwind information for pc', 'end', thread)
        text = context.run('stack', target.pid).stdout.decode()
        for line in text.splitlines():
            check('calls_aligned' not in line or '(by frame pointer)' in line,
                  'a guess is marked', text)
        need_bpf(context)
        for engine in 'bpf', 'perf', 'ptrace':
            done = context.run('record', '--engine=' + engine, '-p', target.pid,
                               '-d', '0.3', '-F', '99', '--no-kernel', '-f',
                               'folded')
            stacks = [line.rsplit(b' ', 1)[0].decode().split(';')[1:]
                      for line in done.stdout.splitlines()]
            check(stacks, 'samples', (engine, done))
            want = ['[truncated]'] + got[::-1]
            check(all(s == want for s in stacks), engine, (stacks, want))


add_guess('record', 'leaf_with')
add_guess('realign', 'leaf')
