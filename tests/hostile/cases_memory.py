# SPDX-License-Identifier: BSD-2-Clause
"""Tools that get no memory for one thing, or for nothing any more."""

import os

from harness import case, check


def add_failing(name, command):
    @case('memory: %s fails at any allocation' % name)
    def _(t):
        target = t.start(['loadpaused', t.program('libpaused.so')])
        count = os.path.join(t.tmp, 'count')
        fill = {'outwind': t.outwind, 'tbstack': t.tbstack,
                'PID': str(target.pid), 'FILE': os.path.join(t.tmp, 'file')}
        line = [fill.get(part, part) for part in command]
        env = {'LD_PRELOAD': t.program('libnomemory.so'), 'COUNT_TO': count}
        t.run_tool(line, status=0, env=env)
        with open(count, encoding='ascii') as f:
            nr = int(f.read())
        check(nr > 30, 'allocations are counted', nr)
        failed = 0
        for which in range(nr):
            for more in ({}, {'FAIL_ALL': '1'}):
                done = t.run_tool(line, env=dict(env, FAIL_AT=str(which),
                                                 **more))
                said = done.stdout + done.stderr
                check(done.returncode in (0, 1, 2), 'status', (which, done))
                check(done.returncode == 0 or b'out of memory' in said or
                      b'annot allocate memory' in said or
                      b"can't start a thread" in said or
                      b'stack breaks here' in said or
                      b'could not be read within' in said, 'it is not said',
                      (which, more, done))
                # On a machine that has much to do, memory may take too long to read.
                # One thing that fails is one line; of all, each may be said.
                check(done.stderr.count(b'\n') <= (8 if more else 1), 'lines',
                      (which, done))
                failed += done.returncode != 0
        check(failed > nr // 2, 'hardly one failed', (failed, nr))


add_failing('stack', ['outwind', 'stack', 'PID'])
add_failing('tbstack', ['tbstack', 'PID'])
add_failing('snap', ['outwind', 'snap', '--redact', '-o', 'FILE', 'PID'])
