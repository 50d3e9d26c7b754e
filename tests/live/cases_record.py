# SPDX-License-Identifier: BSD-2-Clause
"""outwind record, against what is known and others."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys

from harness import PATIENCE, Skip, case, check, need, need_root

ENGINES = ('bpf', 'perf', 'ptrace')

# Who calls whom in programs/busy.c; libraries' own functions are not listed.
CALLERS = {
    'spin': {'plain', 'signalled'},
    'plain': {'saving'},
    'saving': {'large'},
    'large': {'varying'},
    'varying': {'aligned'},
    'aligned': {'compare'},
    'sorting': {'forever', 'handler'},
    'signalled': {'forever'},
    'forever': {'main', 'thread'},
}
OURS = set(CALLERS) | {'compare', 'handler', 'main', 'thread'}
OUTERMOST = {'_start', 'clone', 'clone3', '__clone3', '__clone'}


def need_bpf(context):
    need_root()
    done = context.run('record', '-d', '0.01', '-o', '/dev/null', os.getpid())
    if done.returncode == 2:
        raise Skip(done.stderr.decode().strip())


def record(context, *options):
    """A profile in JSON, and what was said of it."""
    path = os.path.join(context.tmp, 'profile.json')
    done = context.run('record', '-f', 'json', '-o', path, *options, status=0)
    with open(path, encoding='utf-8') as f:
        return json.load(f), done.stderr.decode()


def container(context, script, program):
    """
    A folder, and the command of a shell in a mount and a pid namespace of its
    own that has it, and a program's path, as arguments.
    """
    need('unshare')
    options = ['--pid', '--mount', '--fork', '--kill-child']
    if subprocess.run(['unshare', *options, 'true'], capture_output=True,
                      check=False).returncode:
        raise Skip('no namespaces here')
    inside = os.path.join(context.tmp, 'inside')
    os.mkdir(inside)
    return inside, [shutil.which('unshare'), *options, 'sh', '-c', script,
                    'sh', inside, context.program(program)]


def cpu_seconds(pid):
    """What it has run so far."""
    with open('/proc/%d/stat' % pid, encoding='utf-8') as f:
        fields = f.read().rsplit(') ', 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK')


def samples_of(profile):
    return sum(s['count'] for s in profile['stacks'])


def record_enough(context, least, *options):
    """
    A profile with as many samples as wanted, and what was said of it: who shares
    a slow machine with others doesn't get as many in any time that one may name.
    """
    for seconds in (1, 2, 4, 8, 16, 32, 64):
        profile, said = record(context, '-d', seconds, *options)
        if samples_of(profile) >= least:
            return profile, said
    check(False, 'too few samples', (samples_of(profile), said))
    return None


def chains(profile):
    """(functions of the program, innermost first, stack) of each one."""
    frames = profile['frames']
    for stack in profile['stacks']:
        yield [frames[i].get('function') for i in stack['frames']
               if not frames[i].get('kernel')], stack


def wrong_step(chain):
    """A caller that can't be one, or None."""
    for callee, caller in zip(chain, chain[1:]):
        if callee in CALLERS and caller not in CALLERS[callee]:
            return '%s called by %s' % (callee, caller)
        if caller in OURS - {'main', 'thread'} and callee not in OURS and \
                caller not in ('sorting', 'signalled', 'handler', 'forever',
                               'spin', 'compare'):
            return '%s calls %s' % (caller, callee)
    return None


def is_between(chain):
    """
    The kernel is just replacing the program: the stack that its registers
    belong to is gone already.
    """
    return chain in (['execve'], [])


def check_busy(profile, outermost=frozenset(OUTERMOST), most_cut=0.005):
    samples = samples_of(profile)
    cut = []
    for chain, stack in chains(profile):
        if is_between(chain):
            continue
        wrong = wrong_step(chain)
        check(not wrong, 'a wrong frame', (wrong, chain))
        if stack['end'] != 'complete':
            cut += [(chain, stack['end'])] * stack['count']
            continue
        check(chain[-1] in outermost, 'not whole', chain)
    # They say so; and there may be few of them.
    check(len(cut) <= most_cut * samples, 'cut', (len(cut), samples, cut[:3]))
    handled = [c for c, _ in chains(profile) if 'handler' in c]
    check(handled, 'no sample in a signal handler')
    for chain in handled:
        below = chain[chain.index('handler'):]
        check('signalled' in below, 'the handler hides who was interrupted',
              chain)
    # The same is left of it when the kernel restores registers.
    for chain, _ in chains(profile):
        if chain[:1] == ['__restore_rt'] and len(chain) > 1:
            check('signalled' in chain, 'who was interrupted', chain)
    return samples


@case('record: every frame is right, by BPF', alone=True)
def record_bpf(context):
    need_bpf(context)
    target = context.start(['busy'])
    profile, said = record_enough(context, 4000, '-F', '4000', '--stats',
                                  target.pid)
    context.note('%d samples' % check_busy(profile))
    check('0 missed, 0 lost' in said, 'something was missed', said)


@case('record: every frame is right, by perf events and by ptrace', alone=True)
def record_others(context):
    need_root()
    target = context.start(['busy'])
    for engine in ('perf', 'ptrace'):
        profile, _ = record_enough(context, 400, '-F', '997',
                                   '--engine=' + engine, target.pid)
        context.note('%s: %d samples' % (engine, check_busy(profile)))


# How the functions are called by which programs enter the kernel.
ENTRIES = re.compile('entry_|asm_|xen_entry_|xen_asm_|el0|ret_from_fork|error_|'
                     'swapgs_|syscall_return_|native_irq_return|'
                     'common_interrupt_return|sync_regs')
NO_ENTRY = 'frames of the kernel are missing'


@case('record: frames of the kernel that are missing are told', alone=True)
def record_entryless(context):
    """The kernel's walk ends early in BPF programs, as those that see mmap()."""
    need_bpf(context)
    target = context.start(['mapping'])
    for _ in range(20):
        profile, said = record(context, '-F', '4999', '-d', 1, '--stats',
                               target.pid)
        nr = 0
        for stack in profile['stacks']:
            frames = [profile['frames'][i] for i in stack['frames']]
            kernel = [f for f in frames if f.get('kernel')]
            if not kernel or len(kernel) == len(frames):
                continue
            is_cut = not ENTRIES.match(kernel[-1].get('function', ''))
            if stack['end'] in ('complete', NO_ENTRY):
                check((stack['end'] == NO_ENTRY) == is_cut, 'a stack',
                      (stack['end'], [f.get('function') for f in frames]))
            nr += stack['count'] if is_cut else 0
        told = re.search(r'([\d.]+) %  ' + NO_ENTRY, said)
        check(bool(told) == (nr > 0), 'told', (nr, said))
        if nr:
            context.note('%d of %d, %s %%' % (nr, samples_of(profile),
                                              told.group(1)))
            return
    raise Skip('the kernel missed none')


@case('record: why ptrace misses samples', alone=True)
def record_late(context):
    need_root()
    target = context.start(['busy'])
    done = context.run('record', '--engine=ptrace', '-F', '10000', '-d', '0.5',
                       '-f', 'json', target.pid, status=0)
    check(re.fullmatch(rb'outwind: [1-9][0-9]* samples missed: those before '
                       rb'them took longer than is between two\n',
                       done.stderr), 'message', done.stderr)


@case('record: the same frames as outwind stack', alone=True)
def record_same(context):
    need_bpf(context)
    target = context.start(['busy'])
    profile, _ = record_enough(context, 4000, '-F', '2000', target.pid)
    seen = set()
    for stack in profile['stacks']:
        pcs = [profile['frames'][i]['pc'] for i in stack['frames']
               if not profile['frames'][i].get('kernel')]
        # What is below the innermost frame: return addresses.
        seen.add(tuple(int(pc, 16) for pc in pcs[1:]))
    found = 0
    for _ in range(200):
        for thread in context.stacks(target.pid)['threads']:
            pcs = tuple(int(f['pc'], 16) for f in thread['frames'][1:])
            found += pcs in seen
    check(found > 100, 'stacks that were sampled, too', found)
    context.note('%d of 400 stacks were among %d sampled ones' %
                 (found, len(seen)))


def upto_sorting(chain):
    """What is ours of it, up to where it began: perf can't cross a signal."""
    chain = [n for n in chain if n in OURS]
    ends = [i for i, n in enumerate(chain) if n in ('sorting', 'signalled')]
    return tuple(chain[:ends[0] + 1] if ends else chain)


def perf_stacks(context, pid):
    """What perf sees in a second, of the program's own code."""
    data = os.path.join(context.tmp, 'perf.data')
    subprocess.run(['perf', 'record', '-q', '-e', 'cpu-clock:u', '-F', '999',
                    '--call-graph', 'dwarf,8192', '-p', str(pid), '-o', data,
                    '--', 'sleep', '1'], check=True, capture_output=True,
                   timeout=PATIENCE)
    text = subprocess.run(['perf', 'script', '-i', data, '-F', 'ip,sym'],
                          check=True, capture_output=True,
                          timeout=PATIENCE).stdout.decode(errors='replace')
    stacks = [upto_sorting(line.split()[1] for line in block.splitlines()
                           if len(line.split()) == 2)
              for block in text.split('\n\n')]
    check(any(stacks), 'no stack by perf', text[:300])
    return collections.Counter(filter(None, stacks))


@case('record: as perf script tells it', alone=True)
def record_as_perf(context):
    need_bpf(context)
    need('perf')
    target = context.start(['busy'])
    theirs = collections.Counter()
    while sum(theirs.values()) < 1500:
        theirs += perf_stacks(context, target.pid)
    profile, _ = record_enough(context, 1500, '-F', '999', target.pid)
    # In the kernel they may be on the way back from a handler, too, where perf
    # sees nothing.
    mine = collections.Counter()
    for chain, stack in chains(profile):
        if len(chain) == len(stack['frames']):
            mine[upto_sorting(chain)] += stack['count']
    del mine[()]
    all_mine, all_theirs = sum(mine.values()), sum(theirs.values())
    for chain, count in theirs.items():
        share = count / all_theirs
        if share > 0.05:
            check(abs(mine[chain] / all_mine - share) < 0.3 * share + 0.02,
                  'share of a hot stack',
                  (chain, mine[chain] / all_mine, share))
    context.note('%d samples here, %d of perf' % (all_mine, all_theirs))


@case('record: a process that is named twice', alone=True)
def record_twice(context):
    need_bpf(context)
    target = context.start([sys.executable, '-c',
                            'print("ready", flush=True)\nwhile True: pass'])
    for engine in ENGINES:
        begun = cpu_seconds(target.pid)
        profile, _ = record(context, '-F', '997', '-d', '1',
                            '--engine=' + engine, '-p',
                            '%d,%d' % (target.pid, target.pid))
        most = 997 * (cpu_seconds(target.pid) - begun)
        check(0 < samples_of(profile) < 1.3 * most, engine,
              (samples_of(profile), most))


@case('record: a command, from its first instruction on', alone=True)
def record_command(context):
    need_bpf(context)
    script = 'import sys; x = 0\nfor i in range(9000000): x += i * i'
    need('python3')
    # At first stacks leave as copies: room is for two hundred of them, while
    # the tables of python are made.
    profile, said = record(context, '-F', '199', '--stats', '--',
                           shutil.which('python3'), '-c', script)
    check(', 0 missed, 0 lost' in said, 'something was missed', said)
    whole = [c for c, s in chains(profile) if s['end'] == 'complete']
    cut = [(c, s['end']) for c, s in chains(profile)
           if s['end'] != 'complete' and not is_between(c)]
    # Some code of the C runtime's own has no CFI, and no frame pointer.
    check(len(cut) * 100 <= len(whole), 'stacks that aren\'t whole',
          (len(cut), len(whole), cut[:3]))
    context.note('whole: %d, not: %d' % (len(whole), len(cut)))
    check(any('_PyEval_EvalFrameDefault' in c for c in whole),
          'no frame of the interpreter')


SLOWER = """
mount --bind "$1" /proc/sys/kernel/perf_event_max_sample_rate && shift &&
    exec "$@"
"""


@case('record: as often as the kernel takes', alone=True)
def record_slower(context):
    """It lowers the limit by itself where interrupts take long."""
    need_bpf(context)
    need('unshare')
    if subprocess.run(['unshare', '--mount', 'true'], capture_output=True,
                      check=False).returncode:
        raise Skip('no namespaces here')
    target = context.start(['busy'])
    limit = os.path.join(context.tmp, 'limit')
    path = os.path.join(context.tmp, 'profile.json')
    with open(limit, 'w', encoding='ascii') as f:
        f.write('150\n')
    for engine in ('bpf', 'perf'):
        done = context.run_tool(
            ['unshare', '--mount', 'sh', '-c', SLOWER, 'sh', limit,
             context.outwind, 'record', '-F', '4000', '-d', '0.5', '-f', 'json',
             '-o', path, '--engine=' + engine, str(target.pid)], 0)
        check(done.stderr.decode() == 'outwind: 150 samples a second: '
              'kernel.perf_event_max_sample_rate allows no more\n', 'message',
              done.stderr)
        with open(path, encoding='utf-8') as f:
            check(json.load(f)['frequency'] == 150, 'frequency', engine)


@case('record: no such command, no such process', alone=True)
def record_nothing(context):
    need_bpf(context)
    done = context.run('record', '--', '/nonexistent/program', status=2)
    check(b'/nonexistent/program: No such file' in done.stderr, 'message',
          done.stderr)
    done = context.run('record', '999999999', status=2)
    check(b'no process 999999999' in done.stderr, 'message', done.stderr)
    # A process is what is meant: of a thread's number nothing would come.
    target = context.start(['busy'])
    thread = max(int(t) for t in os.listdir('/proc/%d/task' % target.pid))
    for tool in (('record', '-d', '0.1'), ('syscalls', '-d', '0.1'),
                 ('top', '-n', '1')):
        done = context.run(*tool, thread, status=2)
        check(done.stderr.decode() == 'outwind: %d is a thread: name its '
              'process\n' % thread, 'message', done.stderr)
    done = context.run('record', '-f', 'nothing', '1', status=64)
    check(b"no format 'nothing'" in done.stderr, 'message', done.stderr)
    done = context.run('record', '--engine=kunwind', os.getpid(), status=2)
    check(done.stderr.startswith(b'outwind: engine kunwind ') and
          done.stderr.count(b'\n') == 1, 'message', done.stderr)
    check(os.path.exists('/dev/kunwind') or
          b'/dev/kunwind: No such file' in done.stderr, 'why', done.stderr)


@case('record: where it is not permitted, it says so', alone=True)
def record_forbidden(context):
    need_root()
    need('setpriv')
    target = context.start(['busy'])
    for engine, words in (('bpf', b"BPF isn't permitted"),
                          ('ptrace', b'999999999')):
        done = context.run_tool(
            ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
             context.outwind, 'record', '-d', '0.1', '--engine=' + engine,
             str(target.pid if engine == 'bpf' else 999999999)], 2)
        if b'built without BPF' in done.stderr:
            continue
        check(words in done.stderr, 'message', done.stderr)


@case('record: a stack of 131 names in 11 frames', alone=True)
def record_inlines(context):
    need_bpf(context)
    target = context.start(['inlines'])
    path = os.path.join(context.tmp, 'profile.json')
    context.run('record', '-i', '-d', '0.5', '-f', 'json', '-o', path, '-p',
                target.pid, status=0)
    with open(path, encoding='utf-8') as f:
        profile = json.load(f)
    stacks = [[profile['frames'][n]['function'] for n in s['frames']
               if not profile['frames'][n].get('kernel')]
              for s in profile['stacks']]
    check(stacks, 'stacks', profile)
    want = ['burn']
    for name in ('first', 'second', 'third', 'fourth', 'fifth', 'sixth'):
        want += ['%s_%02d' % (name, i // 5 * 10 + i % 5) for i in range(20)]
        want.append(name)
    want.append('main')
    for stack in stacks:
        check(stack[:len(want)] == want and stack[-1] == '_start', 'names',
              stack)


@case('record: by perf events where no memory may be locked', alone=True)
def record_locked(context):
    """Linux gives each CPU some to share, of which no ring may take all."""
    need_root()
    need('setpriv')
    with open('/proc/sys/kernel/perf_event_paranoid', encoding='ascii') as f:
        if int(f.read()) > 2:
            raise Skip('perf events are for root only')
    path = os.path.join(context.tmp, 'profile.json')
    os.chmod(context.tmp, 0o777)
    context.run_tool(
        ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
         'prlimit', '--memlock=0:0', context.outwind, 'record', '-f', 'json',
         '--engine=perf', '-o', path, '--', 'sh', '-c',
         'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'], 0)
    with open(path, encoding='utf-8') as f:
        profile = json.load(f)
    check(sum(s['count'] for s in profile['stacks']), 'samples', profile)


@case('record: page faults', alone=True)
def record_faults(context):
    """
    As many as the kernel charges the program with.  What a few take has room in
    any case; many may be missed before tables are there, which is told then.
    """
    need_bpf(context)
    few, many = 150, 10240
    path = os.path.join(context.tmp, 'profile.json')
    done = context.run('record', '--faults', '-f', 'json', '-o', path, '--',
                       context.program('touching'), few, many, status=0)
    of_few, of_many = map(int, done.stdout.split())
    with open(path, encoding='utf-8') as f:
        profile = json.load(f)
    counts = collections.Counter()
    for chain, stack in chains(profile):
        if set(chain) & {'few', 'many'}:
            check(chain[1:2] == ['count'] and stack['end'] == 'complete' and
                  chain[-1] in OUTERMOST, 'a stack', (chain, stack))
            counts[chain[0]] += stack['count']
    check(few <= of_few and many <= of_many, 'charged', done.stdout)
    said = (counts, profile['missed'], done.stdout)
    # The calls that ask the kernel, and the sleep, may take some, too.
    check(of_few - 4 <= counts['few'] <= of_few, 'few', said)
    check(of_many - 4 - profile['missed'] <= counts['many'] <= of_many, 'many',
          said)
    context.note('%d and %d of %d and %d, %d missed' % (
        counts['few'], counts['many'], of_few, of_many, profile['missed']))


@case('record: more copies than there is room for counts in the kernel', alone=True)
def record_copies(context):
    """Each stack ends where no code is, and is copied: a count of its own."""
    need_bpf(context)
    pages = 80000
    profile, said = record(context, '--faults', '--stats', '--',
                           context.program('nowhere'), pages)
    copied, missed, lost = map(int, re.search(
        r'(\d+) of them copied, (\d+) missed, (\d+) lost', said).groups())
    check(copied >= pages - missed and lost == 0, 'copies', said)
    check(samples_of(profile) >= pages - missed, 'counted',
          (samples_of(profile), said))
    # Its frames are told, too, up to there.
    seen = sum(s['count'] for c, s in chains(profile) if c[:1] == ['touch'])
    check(seen >= pages - missed, 'frames', (seen, said))
    context.note('%d copied, %d missed' % (copied, missed))


def again_and_again(times, *command):
    """A command that runs a program so many times, one after another."""
    return ('sh', '-c', 'for i in $(seq %d); do %s; done' % (
        times, ' '.join(map(str, command))))


@case('record: exec, which has no frames of a program', alone=True)
def record_exec(context):
    """The old ones are gone, others aren't there yet: the kernel's are all."""
    need_bpf(context)
    profile, _ = record(context, '-F', '9999', '--', *again_and_again(
        200, context.program('unwritten'), 1))
    between = 0
    for stack in profile['stacks']:
        frames = [profile['frames'][i] for i in stack['frames']]
        if any(f.get('function') == 'begin_new_exec' for f in frames) and all(
                f.get('kernel') for f in frames):
            check(stack['end'] == 'complete', 'a stack', (frames, stack))
            between += stack['count']
    check(between > 0, 'no sample during exec', len(profile['stacks']))
    context.note('%d samples' % between)


@case('record: where the stack pointer is, nothing was written yet', alone=True)
def record_unwritten(context):
    """The kernel writes there: first faults of new processes, which are copied."""
    need_bpf(context)
    times, runs = 5, 60
    profile, said = record(
        context, '--faults', '--stats', '--',
        *again_and_again(runs, context.program('unwritten'), times))
    copied = re.search(r'(\d+) of them copied', said)
    nr = 0
    for chain, stack in chains(profile):
        if 'ask' not in chain:
            continue
        check(chain[:3] == ['ask', 'repeat', 'main'] and
              stack['end'] == 'complete', 'a stack', (chain, stack))
        nr += stack['count']
    check(times * runs // 2 < nr <= times * runs, 'faults', nr)
    check(int(copied.group(1)) > runs, 'copies', said)
    context.note('%d faults, %s copied' % (nr, copied.group(1)))


STARTED = '''
"$2" -c 'while True: pass' & pid=$!
begun=$(cat /proc/sys/kernel/ns_last_pid)
"$1" record --engine=perf -d 6 -o /dev/null $pid
echo $(($(cat /proc/sys/kernel/ns_last_pid) - begun))
exit
'''


@case('record: no process for every sample of perf')
def _(context):
    done = subprocess.run(['unshare', '--pid', '--fork', '--mount-proc',
                           '--kill-child', 'sh', '-c', STARTED, 'sh',
                           context.outwind, sys.executable],
                          stdout=subprocess.PIPE, check=True, timeout=60)
    # Of 594 samples, whatever else there is to look at.
    check(int(done.stdout) < 400, 'processes', done.stdout)


def goes_on(profile, what):
    """All stacks of the thread that goes on are whole, and there are enough."""
    found = [(c, s['end'], s['count']) for c, s in chains(profile)
             if 'compute' in c and 'main' not in c]
    check(sum(n for *_, n in found) > 20, what, (found, profile['stacks'][:3]))
    wrong = [(c, end) for c, end, n in found
             if end != 'complete' or 'going_on' not in c]
    check(not wrong, what, wrong)
    cut = sum(s['count'] for c, s in chains(profile)
              if 'compute' not in c and s['end'] != 'complete')
    check(cut * 20 < samples_of(profile), what + ': cut', profile['stacks'])


@case('record: a process goes on when its first thread has ended', alone=True)
def record_headless(context):
    need_bpf(context)
    target = context.start(['headless', '0'])
    for engine in ENGINES:
        profile, _ = record(context, '-F', '199', '-d', '1',
                            '--engine=' + engine, '-p', target.pid)
        goes_on(profile, 'ended before: ' + engine)
    for engine in ('bpf', 'perf'):
        target = context.start(['headless', '700'], ready=None)
        profile, _ = record(context, '-F', '199', '-d', '3',
                            '--engine=' + engine, '-p', target.pid)
        goes_on(profile, 'ends meanwhile: ' + engine)


LOADING = """
import ctypes, time
for name in ('z', 'lzma', 'bz2', 'm', 'dl', 'crypt', 'expat', 'uuid', 'resolv'):
    try:
        ctypes.CDLL('lib%s.so.%d' % (name, {'lzma': 5, 'm': 6, 'dl': 2, 'resolv': 2,
                                            'bz2': 1}.get(name, 1)))
    except OSError:
        pass
    end = time.process_time() + 0.05
    while time.process_time() < end:
        sum(range(1000))
"""


@case('record: a program that loads libraries meanwhile', alone=True)
def record_loading(context):
    need_bpf(context)
    for engine in ('bpf', 'perf'):
        profile, _ = record(context, '-F', '499', '--engine=' + engine, '--',
                            sys.executable, '-c', LOADING)
        ends = collections.Counter()
        for stack in profile['stacks']:
            ends[stack['end']] += stack['count']
        check(ends['complete'] > 50, engine, ends)
        check(not ends['tables had no room'], engine, ends)
        context.note('%s: %s' % (engine, dict(ends)))


@case('record: rows that BPF can not execute', alone=True)
def record_rare_rows(context):
    """They are rare in most programs; in OpenSSL's, a row of each sample is one."""
    need_bpf(context)
    target = context.start(['asm-spin'])
    want = ['stay', 'cfa_in_r12', 'cfa_by_expression', 'ra_elsewhere',
            'two_exits', 'cfa_by_arithmetic', '_start']
    profile, _ = record_enough(context, 100, '-F', '199', '-p', target.pid)
    for chain, stack in chains(profile):
        check(chain == want and stack['end'] == 'complete', 'a stack',
              (chain, stack))


@case('record: assembly that has its CFA in memory', alone=True)
def record_openssl(context):
    """By BPF, and without a copy of each stack."""
    need_bpf(context)
    need('openssl')
    for engine in ('bpf', 'perf'):
        profile, said = record(context, '-F', '199', '--stats',
                               '--engine=' + engine, '--', 'openssl', 'speed',
                               '-seconds', '2', 'rsa4096')
        cut = [s for s in profile['stacks'] if s['end'] != 'complete']
        nr = sum(s['count'] for s in cut)
        check(nr * 100 <= samples_of(profile), 'cut, by ' + engine,
              (nr, samples_of(profile), cut[:1]))
        context.note('%s: %d of %d cut' % (engine, nr, samples_of(profile)))
        copied = re.search(r'(\d+) of them copied', said)
        check(not copied or int(copied.group(1)) * 5 < samples_of(profile),
              'copies', said)
