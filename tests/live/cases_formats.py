# SPDX-License-Identifier: BSD-2-Clause
"""outwind report: a profile of everything, by readers of each format."""

import collections
import json
import os
import random
import re
import xml.dom.minidom

from harness import case, check, need
from pprofreader import go_pprof, go_samples, go_top, read_pprof

COMPLETE, CUT, KERNEL_CUT = 1, 4, 13
CPU, OFF_CPU, FAULTS = 0, 1, 2
MAPPINGS = [
    # module, build-id, start, end, offset
    ('/usr/bin/app', 'a1' * 20, 0x555500001000, 0x555500003000, 0x1000),
    ('[vdso]', 'cd' * 20, 0x7ffff0000000, 0x7ffff0001000, 0),
    ('/tmp/perf-7.map', '', 0x7f0000000000, 0x7f0000010000, 0),
    ('[jit]', '', 0x7f1000000000, 0x7f1000010000, 0),
    ('[kernel.kallsyms]', 'ee' * 20, 0xffffffff81000000, 0xffffffff82000000,
     0),
    ('/lib/libc.so.6', 'c3' * 20, 0x7fff10026000, 0x7fff10100000, 0x26000),
    # The same of another process.
    ('/lib/libc.so.6', 'c3' * 20, 0x7ffe20026000, 0x7ffe20100000, 0x26000),
]
INLINE, KERNEL = 1, 2
# name: function, module, number of its mapping, flags, pc, offset, vaddr
FRAMES = {
    'main': ('main', '/usr/bin/app', 1, 0, 0x555500001100, 0x10, 0x1100),
    'in;ner': ('in;ner', '/usr/bin/app', 1, INLINE, 0x555500001200, 0x20,
               0x1200),
    'middle': ('middle', '/usr/bin/app', 1, INLINE, 0x555500001200, 0x20,
               0x1200),
    'outer': ('outer', '/usr/bin/app', 1, 0, 0x555500001200, 0x30, 0x1200),
    'puts@plt': ('puts@plt', '/usr/bin/app', 1, 0, 0x555500001046, 6, 0x1046),
    'gap': ('', '/usr/bin/app', 1, 0, 0x555500002800, 0, 0x2800),
    'clock': ('__vdso_clock_gettime', '[vdso]', 2, 0, 0x7ffff0000c10, 0x10,
              0xc10),
    'named jit': ('JS:*run a "b" <c>', '/tmp/perf-7.map', 3, 0,
                  0x7f0000000120, 0x20, 0x7f0000000120),
    'jit': ('', '[jit]', 4, 0, 0x7f1000000100, 0, 0x7f1000000100),
    'other jit': ('', '[jit]', 4, 0, 0x7f1000000200, 0, 0x7f1000000200),
    'unknown': ('', '[unknown]', 0, 0, 0x12345, 0, 0x12345),
    'schedule': ('schedule', '[kernel]', 5, KERNEL, 0xffffffff81100010, 0x10,
                 0xffffffff81100010),
    'module': ('', '[kernel]', 0, KERNEL, 0xffffffffc0000010, 0,
               0xffffffffc0000010),
    'read': ('read', '/lib/libc.so.6', 6, 0, 0x7fff10030000, 0, 0x30000),
    'other read': ('read', '/lib/libc.so.6', 7, 0, 0x7ffe20030000, 0,
                   0x30000),
}
LABELS = {'gap': '[app]', 'jit': '[jit]', 'other jit': '[jit]',
          'unknown': '[unknown]', 'module': '[kernel]'}
# thread, pid, end, kind, count, value, frames innermost first
STACKS = [
    ('app', 7, COMPLETE, CPU, 5, 5, ('in;ner', 'middle', 'outer', 'main')),
    ('app', 7, COMPLETE, CPU, 2, 2, ('puts@plt', 'main')),
    ('app', 7, CUT, CPU, 3, 3, ('clock', 'gap')),
    ('app', 8, COMPLETE, CPU, 4, 4, ('module', 'other read', 'main')),
    ('node', 9, COMPLETE, CPU, 6, 6, ('named jit', 'jit', 'main')),
    ('node', 9, COMPLETE, CPU, 1, 1, ('named jit', 'other jit', 'main')),
    ('node', 9, CUT, CPU, 1, 1, ('unknown',)),
    ('app', 7, COMPLETE, OFF_CPU, 2, 2500000, ('schedule', 'read', 'main')),
    ('app', 8, COMPLETE, OFF_CPU, 3, 1499600,
     ('schedule', 'other read', 'main')),
    ('app', 8, COMPLETE, FAULTS, 9, 9, ('main',)),
    ('app', 8, KERNEL_CUT, FAULTS, 1, 1, ('module', 'other read', 'main')),
]
PERIOD = 1000000000 // 250


def write_profile(context, kinds, version=2):
    """A profile of those kinds as outwind writes it."""
    strings = []

    def number(text):
        if text and text not in strings:
            strings.append(text)
        return strings.index(text) + 1 if text else 0

    lines = []
    if version > 1:
        for module, build, start, end, offset in MAPPINGS:
            lines.append('m %d %d %x %x %x' % (number(module), number(build),
                                               start, end, offset))
    for function, module, mapping, flags, pc, offset, vaddr in FRAMES.values():
        build = MAPPINGS[mapping - 1][1] if mapping else ''
        lines.append('f %d %d %d 0 0 %d %s%x %x %x' % (
            number(function), number(module), number(build), flags,
            '%d ' % mapping if version > 1 else '', pc, offset, vaddr))
    order = list(FRAMES)
    for comm, pid, end, kind, count, value, frames in STACKS:
        if kind in kinds:
            lines.append('k %d %d %d %d %d %d %d %d %s' % (
                number(comm), pid, pid, end, kind, count, value, len(frames),
                ' '.join(str(order.index(f)) for f in frames)))
    path = os.path.join(context.tmp, 'all.owp')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('outwind-profile %d\nt 1700000000000000000 2000000000 250 22 '
                '0 0\n' % version)
        f.write(''.join('s %s\n' % s for s in strings))
        f.write(''.join(l + '\n' for l in lines) + 'e\n')
    return path


def label(name):
    return LABELS.get(name, FRAMES[name][0])


def folded_line(comm, end, frames):
    parts = [label(f).replace(';', ':') +
             ('_[k]' if FRAMES[f][3] & KERNEL else '') for f in frames]
    if end == KERNEL_CUT:
        parts.insert(sum(FRAMES[f][3] & KERNEL > 0 for f in frames),
                     '[truncated]')
    elif end != COMPLETE:
        parts.append('[truncated]')
    return ';'.join([comm] + parts[::-1])


def weight(kind, count, value):
    return (value + 500) // 1000 if kind == OFF_CPU else count


def report(context, path, form, *options):
    out = os.path.join(context.tmp, 'out.' + form)
    context.run('report', '-f', form, '-o', out, *options, path, status=0)
    with open(out, 'rb') as f:
        return f.read(), out


@case('formats: folded, of one kind')
def formats_folded(context):
    for kinds, shown in (((CPU, OFF_CPU, FAULTS), CPU), ((OFF_CPU,), OFF_CPU),
                         ((FAULTS, OFF_CPU), OFF_CPU), ((FAULTS,), FAULTS)):
        want = collections.Counter()
        for comm, _, end, kind, count, value, frames in STACKS:
            if kind == shown:
                want[folded_line(comm, end, frames)] += weight(kind, count,
                                                               value)
        path = write_profile(context, kinds)
        lines = report(context, path, 'folded')[0].decode().splitlines()
        check(lines == sorted('%s %d' % item for item in want.items()),
              'folded', (lines, want))


@case('formats: a profile of version 1, and of a later one')
def formats_versions(context):
    now = report(context, write_profile(context, (CPU,)), 'folded')[0]
    path = write_profile(context, (CPU,), version=1)
    check(report(context, path, 'folded')[0] == now, 'version 1')
    again = report(context, path, 'outwind')[0]
    check(again.startswith(b'outwind-profile 2\n') and b'\nm ' not in again,
          'written again', again[:100])
    with open(path, 'w', encoding='ascii') as f:
        f.write('outwind-profile 5\ne\n')
    done = context.run('report', path, status=2)
    check(done.stderr.decode() == 'outwind: %s: a profile of version 5, for a '
          'later outwind\n' % path, 'message', done.stderr)
    # Its mappings are guessed by what is loaded where.
    path = write_profile(context, (CPU,), version=1)
    profile = read_pprof(report(context, path, 'pprof')[0])
    for sample in profile['sample']:
        for place in sample['location']:
            at, m = place['address'], place['mapping']
            if at == FRAMES['unknown'][4]:
                check(not m, 'where nothing is', place)
                continue
            check(m and m['start'] <= at < m['limit'], 'place', place)
            vaddrs = {f[6] for f in FRAMES.values() if f[4] == at}
            check({at - m['start'] + m['offset']} == vaddrs, 'offset', place)


@case('formats: a profile that is written is what was read')
def formats_same(context):
    path = write_profile(context, (CPU, OFF_CPU, FAULTS))
    with open(path, 'rb') as f:
        check(report(context, path, 'outwind')[0].splitlines() ==
              f.read().splitlines(), 'the same')


@case('formats: functions without a name are told apart by where they begin')
def formats_nameless(context):
    path = os.path.join(context.tmp, 'a.owp')
    text = ('outwind-profile 4\nt 1 1000000000 99 4 0 0\ns app\ns /usr/lib/libx.so\n'
            's [vdso]\nf 0 2 0 0 0 4 0 7001234 34 1234\nf 0 2 0 0 0 0 0 7005678 0 5678\n'
            'f 0 3 0 0 0 4 0 9000010 10 10\nk 1 7 7 1 0 4 0 3 0 1 2\ne\n')
    with open(path, 'w', encoding='ascii') as f:
        f.write(text)
    check(report(context, path, 'folded')[0] ==
          b'app;[vdso];[libx.so];libx.so+0x1200 4\n', 'folded',
          report(context, path, 'folded')[0])
    check(report(context, path, 'outwind')[0].decode() == text, 'the same',
          report(context, path, 'outwind')[0])


@case('formats: JSON has all')
def formats_json(context):
    path = write_profile(context, (CPU, OFF_CPU, FAULTS))
    whole = json.loads(report(context, path, 'json')[0])
    check([(m['module'], m.get('build_id', ''), int(m['start'], 0),
            int(m['end'], 0), int(m['offset'], 0))
           for m in whole['mappings']] == MAPPINGS, 'mappings')
    check([(f.get('function', ''), f['module'], f.get('mapping', -1) + 1,
            f.get('inline', 0) * INLINE | f.get('kernel', 0) * KERNEL,
            int(f['pc'], 0)) for f in whole['frames']] ==
          [f[:5] for f in FRAMES.values()], 'frames', whole['frames'])
    check([(s['thread'], s['pid'], s['count'], len(s['frames']))
           for s in whole['stacks']] ==
          [(s[0], s[1], s[4], len(s[6])) for s in STACKS], 'stacks')


def check_place(place, frames):
    """A location, whose names frames are."""
    first = FRAMES[frames[0]]
    check(place['address'] == first[4], 'address', place)
    check([l['function']['name'] for l in place['line']] ==
          [label(f) for f in frames], 'lines', place)
    if not first[2]:
        check(first[1] in ('[kernel]', '[unknown]'), 'no mapping', place)
        return
    module, build, start, end, offset = MAPPINGS[first[2] - 1]
    m = place['mapping']
    check((m['file'], m['build_id'], m['start'], m['limit'], m['offset']) ==
          (module, build, start, end, offset), 'mapping', m)
    check(m['start'] <= place['address'] < m['limit'], 'within', place)
    check(m['has_functions'] == 1 and
          m['has_inline_frames'] == (module == '/usr/bin/app'), 'has', m)
    if build and module != '[kernel.kallsyms]':
        check(place['address'] - m['start'] + m['offset'] == first[6],
              'where in the file', place)


@case('formats: pprof, by a reader of its format')
def formats_pprof(context):
    path = write_profile(context, (CPU, OFF_CPU))
    profile = read_pprof(report(context, path, 'pprof')[0])
    check([(t['type'], t['unit']) for t in profile['sample_type']] ==
          [('samples', 'count'), ('cpu', 'nanoseconds'),
           ('waits', 'count'), ('off_cpu', 'nanoseconds')], 'types')
    check(profile['period_type'] == {'type': 'cpu', 'unit': 'nanoseconds'} and
          profile['period'] == PERIOD and
          profile['default_sample_type'] == 'cpu' and
          profile['time'] == 1700000000000000000 and
          profile['duration'] == 2000000000, 'what it is of', profile['period'])
    stacks = [s for s in STACKS if s[3] != FAULTS]
    check(len(profile['sample']) == len(stacks), 'samples')
    for sample, (comm, pid, _, kind, count, value, frames) in zip(
            profile['sample'], stacks):
        check(sample['value'] == ([count, count * PERIOD, 0, 0] if kind == CPU
                                  else [0, 0, count, value]), 'values', sample)
        check({l['key']: l['str'] or l['num'] for l in sample['label']} ==
              {'thread': comm, 'pid': pid}, 'labels', sample['label'])
        groups = [frames[:3]] + [[f] for f in frames[3:]] \
            if frames[0] == 'in;ner' else [[f] for f in frames]
        check(len(sample['location']) == len(groups), 'depth', sample)
        for place, group in zip(sample['location'], groups):
            check_place(place, group)
    # Nobody uses those.
    files = [m['file'] for m in profile['mapping']]
    check(files.count('/lib/libc.so.6') == 2 and len(files) == 7, 'mappings',
          files)


def check_go_top(context, out, folded):
    """As much of each function as in folded stacks."""
    flat, cum = collections.Counter(), collections.Counter()
    for line in folded.decode().splitlines():
        stack, count = line.rsplit(' ', 1)
        parts = [p[:-4] if p.endswith('_[k]') else p
                 for p in stack.split(';')[1:] if p != '[truncated]']
        if not parts:
            continue
        flat[parts[-1]] += int(count)
        for part in set(parts):
            cum[part] += int(count)
    top = {name.replace(';', ':'): n
           for name, n in go_top(context, out, 'samples').items()}
    check(top == {name: (flat[name], cum[name]) for name in cum}, 'top',
          (top, flat, cum))


@case('formats: pprof, by go tool pprof', alone=True)
def formats_go(context):
    need('go')
    path = write_profile(context, (CPU,))
    packed, out = report(context, path, 'pprof')
    samples, mappings = go_samples(context, out)
    want = [((s[4], s[4] * PERIOD), [label(f) for f in s[6]])
            for s in STACKS if s[3] == CPU]
    check(sorted(samples) == sorted(want), 'raw', (samples, want))
    for m in read_pprof(packed)['mapping']:
        check('%#x/%#x/%#x %s %s' % (m['start'], m['limit'], m['offset'],
                                     m['file'], m['build_id']) in mappings,
              'mapping', (m, mappings))
    check_go_top(context, out, report(context, path, 'folded')[0])
    # Nothing is left of it less itself.
    text = go_pprof(context, out, '-top', '-sample_index=samples',
                    '-diff_base=' + out)
    check(re.search(r'Showing nodes accounting for 0, 0%', text), 'difference',
          text)


def check_speedscope(whole):
    """As https://www.speedscope.app/file-format-schema.json wants it."""
    check(set(whole) <= {'$schema', 'shared', 'profiles', 'name',
                         'activeProfileIndex', 'exporter'} and
          whole['$schema'] ==
          'https://www.speedscope.app/file-format-schema.json', 'file')
    frames = whole['shared']['frames']
    for frame in frames:
        check(isinstance(frame['name'], str) and
              set(frame) <= {'name', 'file', 'line', 'col'}, 'frame', frame)
    check(whole['activeProfileIndex'] < len(whole['profiles']), 'active')
    for p in whole['profiles']:
        check(set(p) == {'type', 'name', 'unit', 'startValue', 'endValue',
                         'samples', 'weights'} and p['type'] == 'sampled' and
              p['unit'] in ('none', 'microseconds') and
              p['startValue'] == 0 and p['endValue'] == sum(p['weights']) and
              len(p['samples']) == len(p['weights']), 'profile', p['name'])
        for stack in p['samples']:
            check(all(0 <= i < len(frames) for i in stack), 'stack', stack)


@case('formats: speedscope, of all kinds')
def formats_speedscope(context):
    path = write_profile(context, (CPU, OFF_CPU, FAULTS))
    whole = json.loads(report(context, path, 'speedscope')[0])
    check_speedscope(whole)
    frames = whole['shared']['frames']
    check([p['name'] for p in whole['profiles']] ==
          ['cpu', 'off-cpu', 'faults'], 'kinds')
    for kind, p in enumerate(whole['profiles']):
        got = [([frames[i]['name'] for i in stack], w)
               for stack, w in zip(p['samples'], p['weights'])]
        want = [([s[0]] + [label(f) for f in s[6][::-1]],
                 weight(s[3], s[4], s[5])) for s in STACKS if s[3] == kind]
        check(got == want, 'stacks', (got, want))


@case('formats: as perf script prints')
def formats_perf(context):
    path = write_profile(context, (CPU, OFF_CPU))
    text = report(context, path, 'perf')[0].decode()
    got = collections.Counter()
    for block in text.split('\n\n')[:-1]:
        head, *rest = block.split('\n')
        comm, pid, period, event = re.match(
            r'(\S+) (\d+)/\d+ +\d+\.\d{6}: +(\d+) (\S+): $', head).groups()
        frames = tuple(re.match(r'\t *([0-9a-f]+) (.*)$', l).groups()
                       for l in rest)
        got[comm, int(pid), event, int(period), frames] += 1
    want = collections.Counter()
    for comm, pid, _, kind, count, value, frames in STACKS[:9]:
        lines = []
        for name in frames:
            function, module, _, flags, pc, offset, _ = FRAMES[name]
            if flags & KERNEL:
                module = '[kernel.kallsyms]'
            lines.append(('%x' % pc, '%s (inlined)' % function
                          if flags & INLINE else '%s+0x%x (%s)' %
                          (function, offset, module) if function else
                          '[unknown] (%s)' % module))
        event = 'cpu-clock' if kind == CPU else 'off-cpu'
        want[comm, pid, event, PERIOD if kind == CPU else value,
             tuple(lines)] += count if kind == CPU else 1
    check(got == want, 'samples', (got, want))


@case('formats: a picture, and a page')
def formats_pictures(context):
    path = write_profile(context, (CPU, FAULTS))
    total = sum(s[4] for s in STACKS if s[3] == CPU)
    for options in ((), ('--icicle',), ('--inverted',)):
        picture = xml.dom.minidom.parseString(report(context, path, 'svg',
                                                     *options)[0])
        titles = [t.firstChild.data for t in
                  picture.getElementsByTagName('title')]
        check('all (%d, 100.00 %%)' % total in titles, 'all', titles)
        check(any(t.startswith('JS:*run a "b" <c> (7,') or options
                  for t in titles), 'JIT', titles)
    page = report(context, path, 'html')[0].decode()
    data = json.JSONDecoder().raw_decode(page, page.index('{"title":'))[0]
    kinds = {f[0]: f[1] for f in data['frames'] if f[1] != 't'}
    check(kinds == {label(n): 'k' if f[3] & KERNEL else
                    'i' if f[3] & INLINE else
                    'j' if f[2] in (3, 4) else 'u'
                    for n, f in FRAMES.items()
                    if any(n in s[6] for s in STACKS if s[3] != OFF_CPU)},
          'kinds of frames', kinds)
    check(sum(s[0] for s in data['stacks']) == total, 'weights')
    _, out = report(context, path, 'html', '-c', path)
    with open(out, encoding='utf-8') as f:
        page = f.read()
    data = json.JSONDecoder().raw_decode(page, page.index('{"title":'))[0]
    check(data['stacks'] == data['other'], 'compared with itself')


@case('formats: a title that is no text')
def formats_title(context):
    """Such as what a command line has, which may be cut off anywhere."""
    path = write_profile(context, (CPU,))
    title = b'\x1b[1m\xff<b>&"\\\xc3\xa4\xef\xbf\xbf\xc2\x9b\n\xe2\x82'
    want = '?[1m?<b>&"\\\xe4?????'
    for form in ('svg', 'speedscope', 'html'):
        made = report(context, path, form, '--title=' + os.fsdecode(title))[0]
        if form == 'svg':
            text = xml.dom.minidom.parseString(made).getElementsByTagName(
                'text')[0].firstChild.data
            check(text.startswith(want + ' - '), form, text)
            continue
        made = made.decode()
        at = made.index('{"title":' if form == 'html' else '{')
        whole = json.JSONDecoder().raw_decode(made, at)[0]
        check(whole['title' if form == 'html' else 'name'] == want, form,
              made[at:at + 100])


@case('formats: names of threads that look like the fields after them')
def formats_perf_names(context):
    """As FlameGraph's stackcollapse-perf.pl reads the line."""
    for comm, want in (('bash 123/123 1.', 'bash_123/123_1.'),
                       ('CPU 0/KVM', 'CPU_0/KVM'), (' x', '_x'),
                       ('a  7', 'a _7'), ('web server 8', 'web server_8'),
                       ('web server', 'web server')):
        path = os.path.join(context.tmp, 'a.owp')
        with open(path, 'w', encoding='utf-8') as f:
            f.write('outwind-profile 1\nt 0 0 99 1 0 0\ns %s\ns function\n'
                    'f 2 0 0 0 0 0 1000 0 1000\nk 1 500 501 1 0 1 1 1 0\ne\n' %
                    comm)
        head = report(context, path, 'perf')[0].decode().split('\n')[0]
        got = re.match(r'(\S.+?)\s+(\d+)/*(\d+)*\s+', head).groups()
        check(got == (want, '500', '501'), comm, head)


@case('formats: more samples than can be written one by one')
def formats_many(context):
    path = write_profile(context, (CPU,))
    with open(path, 'rb') as f:
        text = f.read()
    count = 1 << 40
    with open(path, 'wb') as f:
        f.write(re.sub(rb'( 1 0) 6 6 3 ', rb'\1 %d 6 3 ' % count, text))
    text = report(context, path, 'perf')[0].decode()
    check(re.findall(r': +(\d+) cpu-clock: $', text, re.M) ==
          [str(n * PERIOD) for n in (5, 2, 3, 4, count, 1, 1)], 'periods', text)


def damage(rng, text):
    """The text with a few things wrong."""
    lines = text.splitlines(keepends=True)
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(lines))
        how = rng.randrange(5)
        if how == 0:
            del lines[i:i + rng.randint(1, 2)]
        elif how == 1:
            lines.insert(rng.randrange(len(lines) + 1), lines[i])
        elif how == 2:
            words = lines[i].split(b' ')
            words[rng.randrange(len(words))] = rng.choice(
                (b'0', b'-1', b'1', b'ffffffffffffffff', b'', b'4294967295',
                 b'18446744073709551615', b'70', b'x'))
            lines[i] = b' '.join(words)
        elif how == 3:
            at = rng.randrange(len(lines[i]))
            lines[i] = lines[i][:at] + bytes([rng.randrange(256)]) + \
                lines[i][at + 1:]
        else:
            lines[i] = lines[i][:rng.randrange(len(lines[i]))]
        if not lines:
            return b''
    return b''.join(lines)


@case('formats: damaged profiles')
def formats_damaged(context):
    path = write_profile(context, (CPU, OFF_CPU, FAULTS))
    with open(path, 'rb') as f:
        good = f.read()
    bad = os.path.join(context.tmp, 'bad.owp')
    out = os.path.join(context.tmp, 'out')
    rng = random.Random(1)
    refused = 0
    for i in range(120):
        with open(bad, 'wb') as f:
            f.write(damage(rng, good))
        form = ('pprof', 'json', 'outwind', 'speedscope', 'svg', 'html',
                'table', 'folded')[i % 8]
        done = context.run('report', '-f', form, '-o', out, bad)
        check(done.returncode in (0, 2) and
              done.stderr.count(b'\n') == done.returncode // 2, 'end',
              (done.returncode, done.stderr))
        refused += done.returncode == 2
        if done.returncode == 0 and form in ('json', 'speedscope'):
            with open(out, encoding='utf-8') as f:
                json.load(f)
        elif done.returncode == 0 and form == 'pprof':
            with open(out, 'rb') as f:
                read_pprof(f.read())
    check(0 < refused < 120, 'how many were refused', refused)


@case('formats: a table has what has no frame')
def formats_bare(context):
    path = os.path.join(context.tmp, 'bare.owp')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('outwind-profile 2\nt 1 1000000000 99 4 0 0\ns app\ns main\n'
                'f 2 0 0 0 0 0 0 10 0 0\n'
                'k 1 7 7 4 0 3 3 0\nk 1 7 7 1 0 1 1 1 0\ne\n')
    done = context.run('report', '-f', 'table', path, status=0)
    check(done.stdout.decode().splitlines() == [
        '4 samples, 2 different stacks, 1.0 s',
        '   self   total  function',
        ' 75.0 %  75.0 %  [no stack]',
        ' 25.0 %  25.0 %  main'], 'table', done.stdout)


@case('formats: text that would be shown in another order')
def formats_order(context):
    path, mark = os.path.join(context.tmp, 'a.owp'), '\u202e'
    with open(path, 'w', encoding='utf-8') as f:
        f.write('outwind-profile 2\nt 0 1 99 1 0 0\ns f%snu\ns /l%sib\n'
                's t%sid\nf 1 2 0 0 0 0 0 10 0 10\n'
                'k 3 1 1 1 0 1 1 1 0\ne\n' % (mark, mark, mark))
    for form in 'table', 'folded', 'perf', 'svg', 'html':
        text = report(context, path, form)[0].decode()
        check(mark not in text and 'f?nu' in text, form, text)
    for form in 'json', 'speedscope':
        text = json.dumps(json.loads(report(context, path, form)[0]),
                          ensure_ascii=False)
        check('f%snu' % mark in text and 'f?nu' not in text, form, text)
