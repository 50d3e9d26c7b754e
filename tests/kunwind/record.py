# SPDX-License-Identifier: BSD-2-Clause
"""
In a guest: outwind record by the module's call chains, against what is known of
the program and against the other engines.  usage: record.py BUILD

Counts of samples are waited for, as a guest may be slow; no time is looked at.
"""

import collections
import json
import os
import subprocess
import sys

# First: it tells where the others are.
from guestlib import BUILD, outwind, run_tests
import cases_record as known
from harness import check

PARAMETER = '/sys/module/kunwind/parameters/hook'
OUT = '/run/profile.json'
ENOUGH = 500  # samples, so that no hot stack is missed, which is
HOT = 33      # one in so many
DEPTH = 31    # functions of the recursion in spin.c


def hook(on):
    with open(PARAMETER, 'w', encoding='ascii') as f:
        f.write('1' if on else '0')


def run(*options):
    return outwind('record', *options)


def record(engine, *options):
    done = run('--engine=' + engine, '-f', 'json', '-o', OUT, *options)
    check(done.returncode == 0, 'exit status',
          (engine, done.returncode, done.stderr))
    with open(OUT, encoding='utf-8') as f:
        return json.load(f), done.stderr


class Busy:
    """A program whose calls are known, while it runs."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [os.path.join(BUILD, 'live', 'busy')], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        return self.process.pid

    def __exit__(self, *why):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def enough(engine, pid):
    """A profile of the process with that many samples."""
    whole = {'frames': [], 'stacks': []}
    while sum(s['count'] for s in whole['stacks']) < ENOUGH:
        profile, _ = record(engine, '-F', '97', '-d', '3', pid)
        first = len(whole['frames'])
        whole['frames'] += profile['frames']
        for stack in profile['stacks']:
            stack['frames'] = [first + i for i in stack['frames']]
            whole['stacks'].append(stack)
    return whole


def returns(profile):
    """How many samples have which return addresses, as far as they are ours."""
    found = collections.Counter()
    frames = profile['frames']
    for stack in profile['stacks']:
        mine = [frames[i] for i in stack['frames']
                if not frames[i].get('kernel')]
        found[tuple(f['pc'] for f in mine[1:]
                    if f.get('function') in known.OURS)] += stack['count']
    return found


def refuses():
    hook(False)
    done = run('--engine=kunwind', '-d', '1', os.getpid())
    said = done.stderr
    check(done.returncode == 2 and said.count('\n') == 1 and
          said.endswith('echo 1 >%s\n' % PARAMETER), 'what is to be done', said)
    hook(True)
    done = run('--engine=kunwind', '--off-cpu', '-d', '1', os.getpid())
    check(done.returncode == 2 and 'samples who runs' in done.stderr,
          'off CPU', done.stderr)


def right():
    """Each caller is one that can be, also behind signals' handlers."""
    with Busy() as pid:
        known.check_busy(enough('kunwind', pid))


def agree():
    """Stacks that one engine sees often, all do: of the same process."""
    engines = ['kunwind', 'perf']
    # A kernel that checks itself is built without.
    if os.path.exists('/sys/kernel/btf/vmlinux'):
        engines.append('bpf')
    with Busy() as pid:
        seen = {e: returns(enough(e, pid)) for e in engines}
    print('# different stacks: ' + ', '.join(
        '%d by %s' % (len(s), e) for e, s in seen.items()))
    hot = 0
    for engine, found in seen.items():
        for stack, count in found.items():
            if count * HOT < sum(found.values()):
                continue
            hot += 1
            lacking = [e for e in seen if stack not in seen[e]]
            check(not lacking, 'not seen by all', (engine, lacking, stack))
    check(hot > 0, 'hot stacks', hot)


def command():
    """A command: its tables are made while it runs."""
    profile, said = record('kunwind', '-F', '97', '--stats', '--',
                           os.path.join(BUILD, 'kunwind', 'spin'), '3')
    check(' 0 that could not be' in said, 'tables', said)
    whole = 0
    for chain, stack in known.chains(profile):
        if 'spin_inner' not in chain or stack['end'] != 'complete':
            continue
        at = chain.index('spin_inner') + 1
        check(chain[at:at + DEPTH + 1] == ['kt_chain'] * DEPTH + ['main'] and
              chain[-1] == '_start', 'the recursion', chain)
        whole += stack['count']
    check(whole > 0, 'no whole stack', said)


def everyone():
    """All processes, one of which is known."""
    with Busy():
        profile, _ = record('kunwind', '-a', '-F', '97', '-d', '4')
        check(any(s['end'] == 'complete' and 'forever' in c
                  for c, s in known.chains(profile)), 'no sample of it')


sys.exit(run_tests(refuses, right, agree, command, everyone))
