#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Boot Xen with guests whose calls are known, and check outwind's stacks of
them: lab.py ARCH TOOLS GUEST FP_GUEST, where TOOLS is a folder of programs for dom0,
GUEST the ELF file of the guest, and FP_GUEST the same with frame pointers."""

import argparse
import collections
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import callgraph
import linuxkernel
import loader

HERE = os.path.dirname(os.path.abspath(__file__))
GUESTS = {'amd64': ('pv', 'pvh', 'pvh-32', 'linux-pv', 'linux-pvh',
                    'grub-pv', 'grub-pvh'),
          'arm64': ('arm',)}
PREFIX = {'amd64': '', 'arm64': 'aarch64-linux-gnu-'}
NR_CPUS = 3  # that are up, of four
MACHINES_OWN = 'pv', 'pvh', 'arm'  # are measured, too
WAYS = '--backend=libxc', '--no-pause'
WAITING = 2  # the CPU that does nothing
MEASURED = {1: 1, 4: 5}  # CPUs that are up, and how many there are
STATS = re.compile(
    r'(\d+) samples, (\d+) stacks, (\d+) whole; (\d+) deadlines missed\n'
    r'paused for ([\d.]+) us min, ([\d.]+) median, ([\d.]+) p99, ([\d.]+) max\n'
    r'hypercalls (\d+) min, (\d+) median, (\d+) p99, (\d+) max\n'
    r'mappings (\d+) min, (\d+) median, (\d+) p99, (\d+) max\n$')
MEASURES = 3 # of costs, of which the least disturbed is told
ROUNDS = 4   # of comparisons with xenctx
# Seconds of a boot: two fit into the half hour that make check gives a stage.  What
# samples for longer takes longer, and there STAGE_SECONDS must be raised as well.
LIMIT, LONG_LIMIT, SHORT = 800, 7200, 2
LINUX_ROUNDS = [str(i) for i in range(1, 13)] + ['lower']
LINUX_SAMPLES = 150  # two stacks each, but in user space
LINUX_CONFIG = '''name = "%s"
type = "%s"
kernel = "/host/linux"
ramdisk = "/host/linux.cpio"
memory = 200
vcpus = 2
cpus = "1"
extra = "console=hvc0 quiet"
'''
# What samples has a processor of its own; but where costs are measured it shares
# one with what is sampled: QEMU is slow to interrupt another processor.
CONFIG = '''name = "%s"
%skernel = "/host/%s"
memory = 64
vcpus = %d
cpus = "%s"
on_crash = "preserve"
'''
# xenctx's names of the registers that a frame has.
REGISTERS = {'pv': ('rip', 'rsp'), 'pvh': ('rip', 'rsp'),
             'pvh-32': ('eip', 'esp'), 'arm': ('PC', 'SP_EL1')}


class Lab:
    """A share of dom0, and what it has after the run."""

    def __init__(self, options, share):
        self.options = options
        self.share = share
        graph = callgraph.Graph(options.guest, PREFIX[options.arch])
        self.graphs = dict.fromkeys(options.guests, graph)
        if 'pvh-32' in options.guests:
            self.graphs['pvh-32'] = callgraph.Graph(options.guest_32)
        self.passed = self.failed = 0
        self.costs = []  # rows of a table
        # libunwind's interface is that of the machine's own words.
        self.measured = [n for n in options.guests if n in MACHINES_OWN]

    def report(self, text, problems):
        """One test: problems is a list of lines, empty if all is well."""
        self.failed += bool(problems)
        self.passed += not problems
        print('%sok %d - %s %s' % ('not ' if problems else '',
                                   self.passed + self.failed,
                                   self.options.arch, text))
        for line in problems[:20]:
            print('#   ' + line)

    def read(self, *path):
        try:
            with open(os.path.join(self.share, *path), errors='replace',
                      encoding='utf-8') as file:
                return file.read()
        except OSError as why:
            return 'lab: %s' % why

    def fill(self):
        """Put all that dom0 needs into the share."""
        image = '.elf'
        shutil.copytree(self.options.tools, os.path.join(self.share, 'bin'))
        shutil.copy(os.path.join(HERE, 'dom0.sh'), self.share)
        if self.options.arch == 'arm64':
            image = '.image'
        for name, elf in (('guest', self.options.guest),
                          ('guest-fp', self.options.fp_guest)):
            to = os.path.join(self.share, name)
            shutil.copy(elf, to + '.elf')
            shutil.copy(elf + '.image', to + '.image')
        if self.options.arch == 'amd64':
            shutil.copy(os.path.join(os.environ['XENLAB_CACHE'], 'amd64',
                                     'linux'), self.share)
            linux = os.path.join(self.share, 'linux')
            linuxkernel.lower(linux, linux + '-lower', 0x2000000)
        for name in self.options.guests:
            if name.startswith('grub-'):
                loader.fill(self, name)
                continue
            kind = '' if name == 'arm' else \
                'type = "%s"\n' % name.split('-')[0]
            if name == 'pvh-32':
                shutil.copy(self.options.guest_32,
                            os.path.join(self.share, 'guest-32.elf'))
                self.write(name, CONFIG % (name, kind, 'guest-32.elf', 4, '1'))
                continue
            if name.startswith('linux-'):
                self.write(name, LINUX_CONFIG % (
                    name, name.replace('linux-', '')))
                continue
            self.write(name, CONFIG % (name, kind, 'guest' + image, 4, '1'))
            for up, there in MEASURED.items():
                self.write('%s-%d' % (name, up), CONFIG % (
                    '%s-%d' % (name, up), kind, 'guest-fp' + image, there,
                    '0'))

    def write(self, name, config):
        with open(os.path.join(self.share, name + '.cfg'), 'w',
                  encoding='ascii') as file:
            file.write(config)

    def boot(self):
        o = self.options
        done = subprocess.run(
            [os.path.join(HERE, 'xenlab.sh'), '-a', o.arch, '-s', self.share,
             '-c', '2', '-t', str(o.limit), 'sh', 'dom0.sh', 'guest.elf',
             'guest-fp.elf', str(o.hz), str(o.seconds), *o.guests],
            env=dict(os.environ, XENLAB_XEN_ARGS='dom0_vcpus_pin'),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.STDOUT, check=False)
        print('# ' + '\n# '.join(done.stdout.splitlines()))
        self.report('boots, and dom0 goes through',
                    [] if done.returncode == 0 else
                    ['status %d' % done.returncode])
        return done.returncode == 0

    def context(self, name, i, cpu):
        """xenctx's registers by their names, and its call trace."""
        text = self.read(name, '%d.ctx%d' % (i, cpu))
        regs = {n: int(v, 16) for n, v in re.findall(
            r'\b(\w+): +(?:[0-9a-f]{4}:)?([0-9a-f]{4,16})\b', text)}
        trace = [int(a, 16) for a in re.findall(r'\[<([0-9a-f]+)>\]', text)]
        return regs, trace

    def check_guest(self, name):
        """It does what its graph says, by xenctx alone."""
        problems = []
        ip = REGISTERS[name][0]
        for cpu in range(NR_CPUS):
            contexts = [self.context(name, i, cpu)[0]
                        for i in range(1, ROUNDS + 1)]
            for i, regs in enumerate(contexts, 1):
                if regs.get(ip) not in self.graphs[name].code:
                    problems.append('round %d, CPU %d: at %#x' %
                                    (i, cpu, regs.get(ip, 0)))
            if cpu != WAITING and contexts.count(contexts[0]) == ROUNDS:
                problems.append('CPU %d stands still: %s' % (cpu, contexts))
        self.report(name + ': the guest runs', problems)

    def check_paused(self, name):
        """Of a guest that stands still: registers, and it stays so."""
        problems = []
        ip, sp = REGISTERS[name]
        for i in range(1, ROUNDS + 1):
            problems += self.check_round(name, i, ip, sp)
        self.report(name + ': registers are xenctx\'s, paused stays paused',
                    problems)

    def check_round(self, name, i, ip, sp):
        try:
            threads = {t['tid']: t for t in json.loads(
                self.read(name, '%d.json' % i))['threads']}
        except (ValueError, KeyError) as why:
            return ['round %d: %s; %s' % (i, why, self.read(
                name, '%d.err' % i).strip())]
        problems, graph = [], self.graphs[name]
        for cpu in range(NR_CPUS):
            regs, _ = self.context(name, i, cpu)
            frames = threads.get(cpu, {}).get('frames')
            if not frames:
                problems.append('round %d: no stack of CPU %d' % (i, cpu))
                continue
            want = (regs.get(ip), regs.get(sp))
            got = (int(frames[0]['pc'], 16), int(frames[0]['sp'], 16))
            if got != want:
                problems.append('round %d, CPU %d: %s, xenctx: %s' %
                                (i, cpu, got, want))
            why, names = graph.check([int(f['pc'], 16) for f in frames])
            if why and not graph.is_blind(got[0]):
                problems.append('round %d, CPU %d: %s %s' %
                                (i, cpu, why, names))
        if threads.get(NR_CPUS, {}).get('frames'):
            problems.append('round %d: a CPU that is down has a stack' % i)
        if not re.search(r' [-r][-b]p[-s]', self.read(name, '%d.list' % i)):
            problems.append('round %d: no longer paused: %s' %
                            (i, self.read(name, '%d.list' % i)))
        return problems

    def check_ways(self, name):
        """All ways to ask for it say the same of a guest that stands still."""
        problems = []
        for i, way in itertools.product(range(1, ROUNDS + 1), WAYS):
            try:
                want, got = ([(t['tid'], t.get('frames'), t.get('certain'))
                              for t in json.loads(self.read(name, file))
                              ['threads']]
                             for file in ('%d.json' % i,
                                          '%d%s.json' % (i, way)))
            except (ValueError, KeyError) as why:
                problems.append('round %d, %s: %s; %s' % (
                    i, way, why, self.read(name, '%d%s.err' % (i, way))))
                continue
            if want != got or len(got) != NR_CPUS + 1:
                problems.append('round %d, %s: %s, not %s' % (
                    i, way, got, want))
        self.report('%s: %s say the same' % (name, ' and '.join(WAYS)),
                    problems)

    def check_libunwind(self, name):
        """Stacks by libunwind's interface, of the same standing guest."""
        problems, stacks, frames = [], 0, 0
        graph = self.graphs[name]
        for i in range(1, ROUNDS + 1):
            text = self.read(name, '%d.walks' % i)
            if self.read(name, '%d.walks.status' % i).strip() != '0':
                problems.append('round %d: %s' % (i, self.read(
                    name, '%d.walks.err' % i).strip()))
            for cpu, lines in enumerate(re.split(r'^vCPU \d+\n', text,
                                                 flags=re.M)[1:]):
                stack = re.findall(r'^#\d+ +0x(\w+) (\w+)\+\w+$', lines,
                                   re.M)
                why, names = graph.check([int(pc, 16) for pc, _ in stack])
                if not why and names != [n for _, n in stack]:
                    why = 'other names than'
                if why and not graph.is_blind(
                        int(stack[0][0], 16) if stack else 0):
                    problems.append('round %d, CPU %d: %s %s' % (
                        i, cpu, why, names))
                stacks += 1
                frames += len(stack)
        if stacks != ROUNDS * NR_CPUS:
            problems.append('only %d stacks' % stacks)
        self.report('%s: %d stacks by libunwind-xen, %d frames' % (
            name, stacks, frames), problems)

    def stacks(self, name):
        """Of a trace of uniprof, each a list of addresses."""
        lines = self.read(name, 'trace').split('\n')
        if not lines[0].startswith('#unikernel stack tracer using '):
            return
        stack = []
        for line in lines[3:]:
            if line in ('0', '1'):
                yield stack
                stack = []
            elif line:
                stack.append(int(line, 16))

    def check_samples(self, name):
        """Every stack of a long run against the graph."""
        counts, seen, problems = collections.Counter(), set(), []
        for stack in self.stacks(name):
            why, names = self.graphs[name].check(stack)
            if why and stack and self.graphs[name].is_blind(stack[0]):
                why = 'blind'
            counts[why.split(':')[0] if why else 'right'] += 1
            seen.update(names)
            if why and why != 'blind':
                problems.append('%s: %s' % (why, ' '.join(names)))
        total = sum(counts.values())
        if self.read(name, 'trace.status').strip() != '0':
            problems.append(self.read(name, 'trace.err').strip()[-300:])
        least = self.options.hz * self.options.seconds * NR_CPUS
        if total < least:
            problems.append('only %d of %d stacks' % (total, least))
        # Nothing is proved by samples of one place.
        for want in ('entry_event', 'abyss_a', 'deep', 'large', 'f3', 'g2'):
            if want not in seen:
                problems.append('never seen: ' + want)
        self.report('%s: %d stacks in %s s: %s; %d functions' % (
            name, total, self.read(name, 'trace.seconds').strip(),
            ', '.join('%d %s' % (n, w) for w, n in counts.most_common()),
            len(seen)), problems)

    def stats(self, *path):
        """What outwind record --stats said, as numbers, or None."""
        match = STATS.search(self.read(*path))
        return match and [float(n) for n in match.groups()]

    def judge_folded(self, graph, *path):
        """Problems of folded stacks, the CPUs that have some, and how many."""
        problems, seen, total = [], set(), 0
        for line in self.read(*path).splitlines():
            match = re.fullmatch(r'vCPU (\d+);(\[truncated\];)?(\S+) (\d+)',
                                 line)
            if not match:
                problems.append('no folded stack: ' + line)
                continue
            names = match[3].split(';')[::-1]
            why = graph.check_names(names)
            if why and not (match[2] and names[0].startswith('vector_')):
                problems.append('%s: %s' % (why, line))
            seen.add(int(match[1]))
            total += int(match[4])
        return problems, seen, total

    def check_folded(self, name):
        """What outwind record folds."""
        problems, seen, total = self.judge_folded(self.graphs[name], name,
                                                  'folded')
        stats = self.stats(name, 'record.stats')
        if seen != set(range(NR_CPUS)):
            problems.append('stacks of CPUs %s' % seen)
        if self.read(name, 'record.status').strip() != '0' or not stats:
            problems.append(self.read(name, 'record.stats'))
        elif stats[1] != total or stats[0] + stats[3] < 2 * 99:
            problems.append('%d stacks of %s' % (total, stats[:4]))
        self.report('%s: %d stacks, folded' % (name, total), problems)

    def check_costs(self, name):
        """Of warm samples: their counts are known, their times are told."""
        problems = []
        graph = callgraph.Graph(self.options.fp_guest,
                                PREFIX[self.options.arch])
        rows = {}
        for cpus, how, i in itertools.product(MEASURED, ('fp', 'cfi'),
                                              range(1, MEASURES + 1)):
            file = '%s-%d-%d' % (how, cpus, i)
            stats = self.stats(name, file + '.stats')
            if not stats:
                problems.append(self.read(name, file + '.stats').strip())
                continue
            # What else the machine does only makes pauses longer.
            rows[cpus, how] = min(stats, rows.get((cpus, how), stats),
                                  key=lambda s: s[5])
            if stats[0] != 100 or stats[1] != 100 * cpus:
                problems.append('%s: %s' % (file, stats[:4]))
            if how == 'cfi':
                problems += self.judge_folded(graph, name, file + '.folded')[0]
            if stats[8] != 2 + cpus or stats[9] != 2 + cpus or stats[13] > 1:
                problems.append('%s: hypercalls %s, mappings %s' % (
                    file, stats[8:12], stats[12:]))
        self.costs += [(name, *key, stats) for key, stats in rows.items()]
        self.report(name + ': hypercalls and mappings of a sample', problems)

    def print_costs(self):
        print('# %-4s %5s %-4s %6s | %-36s %5s | %-15s | %-15s | %s' % (
            'what', 'vCPUs', 'by', 'whole', 'pause, us: min, median, p99, max',
            'to fp', 'hypercalls', 'mappings', 'xenctx, ms'))
        fp = {}
        for name, cpus, how, s in self.costs:
            times = self.read(name, 'xenctx-%d' % cpus).split()
            fp[how] = s[5]
            print('# %-4s %5d %-4s %4d %% | %8.1f %8.1f %8.1f %8.1f  %5.2f | '
                  '%3d %3d %3d %3d | %3d %3d %3d %3d | %s' % (
                      name, cpus, how, 100 * s[2] / s[1], *s[4:8],
                      s[5] / fp['fp'], *s[8:], '%.0f' % (
                          250 * (float(times[1]) - float(times[0])))
                      if len(times) == 2 else times))

    def check_killed(self, name):
        """Signals leave a guest that runs."""
        self.report(name + ': runs on when uniprof is killed', [
            signal + ': ' + text for signal in ('INT', 'TERM', 'HUP')
            for text in [self.read(name, 'after-' + signal)]
            if not re.search(r' [-r][-b]-[-s]', text)])

    def linux_stacks(self, name):
        """(where, its frames' pcs, is it complete) of each stack that is
        known: rounds of outwind stack, and what outwind record took."""
        for i in LINUX_ROUNDS:
            for thread in json.loads(self.read(name, i + '.json'))['threads']:
                if thread.get('frames'):  # none in user space
                    yield 'round ' + i, [int(f['pc'], 16) for f in
                                           thread['frames']], \
                        thread['complete']
        profile = json.loads(self.read(name, 'profile.json'))
        for stack in profile['stacks']:
            for _ in range(stack['count']):
                yield 'record', [int(profile['frames'][i]['pc'], 16)
                                 for i in stack['frames']], \
                    stack['end'] == 'complete'

    def check_linux(self, name):
        """Every stack of a Linux kernel against what the kernel has."""
        kernel = linuxkernel.Kernel(os.path.join(self.share, 'linux'))
        problems, recorded, counts = [], 0, collections.Counter()
        if self.read(name, 'works').strip() != '0':
            problems.append('it never said that it works')
        try:
            stacks = list(self.linux_stacks(name))
        except (ValueError, KeyError) as why:
            self.report(name + ': stacks', [str(why), *(self.read(
                name, i + '.err') for i in LINUX_ROUNDS)])
            return
        for where, pcs, complete in stacks:
            why = kernel.check(pcs, complete)
            recorded += where == 'record'
            counts[why or 'right'] += 1
            if why not in (None, linuxkernel.REPLACED):
                problems.append('%s: %s: %s' % (where, why, ' '.join(
                    '%#x' % pc for pc in pcs)))
        stats = self.stats(name, 'record.stats')
        if self.read(name, 'record.status').strip() != '0' or not stats:
            problems.append(self.read(name, 'record.stats'))
        elif stats[0] != LINUX_SAMPLES or stats[1] != recorded:
            problems.append('%d recorded of %s' % (recorded, stats[:4]))
        if recorded < LINUX_SAMPLES:  # one CPU is always in the kernel
            problems.append('only %d stacks' % recorded)
        if not any(where == 'round lower' for where, _, _ in stacks):
            problems.append('none by its version')
        self.report('%s: %d stacks, %d frames: %s' % (
            name, len(stacks), sum(len(pcs) for _, pcs, _ in stacks),
            ', '.join('%d %s' % (n, w) for w, n in counts.most_common())),
            problems)
        self.check_checker(name, kernel, stacks)

    def check_checker(self, name, kernel, stacks):
        """What is broken in any way must be seen."""
        tried, seen = 0, 0
        for _, pcs, complete in stacks:
            if len(pcs) < 3 or kernel.check(pcs, complete):
                continue
            for broken in (pcs[:-1], pcs[:1] + [0] + pcs[2:],
                           pcs[:1] + [pcs[1] + 8] + pcs[2:]):
                tried += 1
                seen += kernel.check(broken, complete) is not None
        self.report('%s: %d of %d broken stacks are seen' % (
            name, seen, tried), [] if seen > 0.9 * tried > 0 else ['too few'])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('arch', choices=GUESTS)
    parser.add_argument('tools')
    parser.add_argument('guest')
    parser.add_argument('fp_guest')
    parser.add_argument('--guest-32', metavar='ELF')
    parser.add_argument('--hz', type=int, default=500)
    parser.add_argument('--seconds', type=int, default=7)
    parser.add_argument('--limit', type=int, metavar='SECONDS',
                        help='of a boot (%d; %d if --seconds is above %d)' %
                        (LIMIT, LONG_LIMIT, SHORT))
    parser.add_argument('--keep', metavar='DIR',
                        help='share this folder with dom0, and keep it')
    parser.add_argument('--guests', type=lambda s: s.split(','),
                        help='only these, of ' + ', '.join(
                            sum(map(list, GUESTS.values()), [])))
    options = parser.parse_args()
    options.guests = options.guests or GUESTS[options.arch]
    options.limit = options.limit or (
        LONG_LIMIT if options.seconds > SHORT else LIMIT)
    with tempfile.TemporaryDirectory(prefix='outwind-xen-') as share:
        if options.keep:
            shutil.rmtree(options.keep, ignore_errors=True)
            os.makedirs(options.keep)
        lab = Lab(options, os.path.abspath(options.keep or share))
        lab.fill()
        if lab.boot():
            for name in options.guests:
                if name.startswith('linux-'):
                    lab.check_linux(name)
                    continue
                if name.startswith('grub-'):
                    loader.check(lab, name)
                    continue
                lab.check_guest(name)
                lab.check_paused(name)
                lab.check_ways(name)
                if name in lab.measured:
                    lab.check_libunwind(name)
                lab.check_samples(name)
                lab.check_folded(name)
                lab.check_killed(name)
                if name in lab.measured:
                    lab.check_costs(name)
            lab.print_costs()
    print('%d passed, %d failed' % (lab.passed, lab.failed))
    return lab.failed != 0


if __name__ == '__main__':
    sys.exit(main())
