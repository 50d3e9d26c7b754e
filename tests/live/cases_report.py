# SPDX-License-Identifier: BSD-2-Clause
"""outwind report: what became of profiles, by readers of each format."""

import json
import os
import re
import shutil
import struct
import subprocess
import xml.dom.minidom

from cases_formats import check_go_top
from cases_record import need_bpf, samples_of
from harness import PATIENCE, Skip, case, check, need
from pprofreader import go_pprof, go_samples, names_of, read_pprof


def make_profile(context):
    target = context.start(['busy'])
    path = os.path.join(context.tmp, 'a.owp')
    for seconds in (1, 2, 4, 8, 16, 32, 64):
        context.run('record', '-F', '997', '-d', seconds, '-o', path,
                    target.pid, status=0)
        if samples_of(json.loads(report(context, path, 'json')[0])) >= 400:
            return path
    check(False, 'too few samples')
    return None


def report(context, path, form, *options):
    out = os.path.join(context.tmp, 'out.' + form)
    context.run('report', '-f', form, '-o', out, *options, path, status=0)
    with open(out, 'rb') as f:
        return f.read(), out


@case('report: formats, by readers of them', alone=True)
def report_formats(context):
    need_bpf(context)
    path = make_profile(context)
    whole = json.loads(report(context, path, 'json')[0])
    samples = samples_of(whole)
    folded = report(context, path, 'folded')[0].decode()
    check(sum(int(l.rsplit(' ', 1)[1]) for l in folded.splitlines()) ==
          samples, 'folded counts')
    scope = json.loads(report(context, path, 'speedscope')[0])
    check(sum(scope['profiles'][0]['weights']) == samples, 'speedscope')
    for stack in scope['profiles'][0]['samples']:
        check(max(stack) < len(scope['shared']['frames']), 'speedscope frame')
    text = report(context, path, 'perf')[0].decode()
    check(text.count(' cpu-clock: ') == samples, 'perf script samples')
    picture = xml.dom.minidom.parseString(report(context, path, 'svg')[0])
    titles = [t.firstChild.data for t in
              picture.getElementsByTagName('title')]
    check(any(t.startswith('all (%d,' % samples) for t in titles), 'svg')
    own = report(context, path, 'outwind')[0]
    with open(path, 'rb') as f:
        check(own == f.read(), 'a profile read is what was written')


def vaddr_of(path, offset):
    """What an ELF file has at an offset of its code, by its segments."""
    with open(path, 'rb') as f:
        head = f.read(64)
        check(head[:5] == b'\x7fELF\x02', 'no ELF file', path)
        at, = struct.unpack_from('<Q', head, 32)
        size, nr = struct.unpack_from('<HH', head, 54)
        for i in range(nr):
            f.seek(at + i * size)
            kind, flags, off, vaddr, _, filesz = struct.unpack(
                '<IIQQQQ', f.read(40))
            if kind == 1 and flags & 1 and off <= offset < off + filesz:
                return vaddr + offset - off
    check(False, 'no code there', (path, offset))
    return None


def kernel_build_id():
    with open('/sys/kernel/notes', 'rb') as f:
        notes = f.read()
    at = notes.index(struct.pack('<II', 20, 3) + b'GNU\0') + 12
    return notes[at:at + 20].hex()


def check_pprof_places(profile, whole):
    """Every frame that lies in a file can be found there; or the kernel's."""
    vaddrs = {}
    for f in whole['frames']:
        vaddrs.setdefault(int(f['pc'], 0), set()).add(
            int(f.get('module_offset', '0'), 0))
    seen = set()
    for place in profile['location']:
        at, m = place['address'], place['mapping']
        if not m:
            continue
        check(m['start'] <= at <= m['limit'], 'within', place)
        seen.add(m['file'])
        if m['file'] == '[kernel.kallsyms]':
            check(m['build_id'] == kernel_build_id(), 'build', m)
        elif m['file'].startswith('/'):
            # A return address may be where the code ends.
            back = at == m['limit']
            offset = at - m['start'] + m['offset'] - back
            check({vaddr_of(m['file'], offset) + back} == vaddrs[at], 'place',
                  (place, vaddrs[at]))
    return seen


@case('report: pprof, by go tool pprof', alone=True)
def report_pprof(context):
    need_bpf(context)
    need('go')
    path = make_profile(context)
    whole = json.loads(report(context, path, 'json')[0])
    samples = samples_of(whole)
    packed, out = report(context, path, 'pprof')
    profile = read_pprof(packed)
    check(sum(s['value'][0] for s in profile['sample']) == samples, 'samples')
    check(context.program('busy') in check_pprof_places(profile, whole),
          'no mapping of the program')
    check_go_top(context, out, report(context, path, 'folded')[0])
    raw, _ = go_samples(context, out)
    check(sorted((v[0], names) for v, names in raw) ==
          sorted((s['value'][0], names_of(s)) for s in profile['sample']
                 if s['location']), 'as go has it')
    top = go_pprof(context, out, '-sample_index=samples', '-peek',
                   '^varying$')
    check(re.search(r'\| +aligned', top) and re.search(r'\| +large', top),
          'who calls and who is called', top)


def browser():
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        if shutil.which(name):
            return name
    raise Skip('chromium is not here')


def page(context, out, fragment):
    """The page as a browser has it, after its script ran."""
    done = subprocess.run(
        [browser(), '--headless', '--no-sandbox', '--disable-gpu',
         '--disable-dev-shm-usage',
         '--user-data-dir=' + os.path.join(context.tmp, 'chromium'),
         '--dump-dom', 'file://%s#%s' % (out, fragment)],
        check=True, capture_output=True, timeout=PATIENCE)
    return done.stdout.decode()


def boxes(dom):
    """(text, classes, depth, top, width) of the boxes drawn."""
    found = []
    graph = dom[dom.index('id="graph"'):dom.index('id="footer"')]
    for tag, text in re.findall(r'<div( [^>]*)>([^<]*)</div>', graph):
        width = re.search(r'width: ([\d.]+)px', tag)
        top = re.search(r'top: (\d+)px', tag)
        if width and top:
            found.append((text, 'match' in tag, 'parent' in tag,
                          int(top.group(1)), float(width.group(1))))
    return found


@case('report: a flame graph in a browser', alone=True)
def report_page(context):
    need_bpf(context)
    browser()
    path = make_profile(context)
    _, out = report(context, path, 'html')
    drawn = boxes(page(context, out, ''))
    tops = {text: top for text, _, _, top, _ in drawn}
    for name in ('all', 'busy', 'forever', 'sorting'):
        check(name in tops, 'no box of ' + name, sorted(tops))
    check(tops['all'] > tops['forever'] > tops['sorting'],
          'outermost below', tops)
    drawn = boxes(page(context, out, 'icicle=1'))
    tops = {text: top for text, _, _, top, _ in drawn}
    check(tops['all'] < tops['forever'] < tops['sorting'],
          'outermost on top', tops)
    dom = page(context, out, 'search=%5Esorting%24')
    check({t for t, match, _, _, _ in boxes(dom) if match} == {'sorting'},
          'search')
    check(re.search(r'id="found">[\d.]+ % match', dom), 'share of matches')
    # Zoomed: what is above takes the whole width, what is beside is gone.
    path_to = json.dumps(['busy\0t'])
    dom = page(context, out, 'zoom=' + path_to.replace('\\', '%5C')
               .replace('"', '%22').replace(' ', '%20')
               .replace('[', '%5B').replace(']', '%5D'))
    parents = [t for t, _, parent, _, _ in boxes(dom) if parent]
    check(parents == ['all'], 'what is zoomed out of', parents)
    dom = page(context, out, 'inverted=1')
    tops = {text: top for text, _, _, top, _ in boxes(dom)}
    check(tops['spin'] > tops['plain'], 'innermost first', tops)


def write_deep(context, nr):
    """Of one thread a stack of nr frames "deep", of another one the frame "flat"."""
    path = os.path.join(context.tmp, 'deep.owp')
    with open(path, 'w', encoding='ascii') as f:
        f.write('outwind-profile 2\nt 1 1000000000 99 2 0 0\n'
                's a\ns b\ns deep\ns flat\n'
                'f 3 0 0 0 0 0 0 10 0 0\nf 4 0 0 0 0 0 0 20 0 0\n'
                'k 1 1 1 0 0 1 0 %d%s\nk 2 2 2 0 0 1 0 1 1\ne\n' %
                (nr, ' 0' * nr))
    return path


def clicked(context, out, clicks):
    """The page after that many clicks on what is left out inside of focus."""
    with open(out, encoding='utf-8') as f:
        text = f.read()
    name = out + '.clicked.html'
    with open(name, 'w', encoding='utf-8') as f:
        f.write(text.replace('</body>', """<script>
for (let i = 0; i < %d; i++)
    document.querySelector('#graph .more:not(.parent)').click();
</script></body>""" % clicks))
    return page(context, name, 'icicle=1&search=flat')


@case('report: a flame graph of a deep stack in a browser', alone=True)
def report_deep_page(context):
    rows, parents = 8192, 256
    browser()
    for nr in 1000, rows - 2, rows - 1, 100000:
        _, out = report(context, write_deep(context, nr), 'html')
        dom = clicked(context, out, 0)
        drawn = boxes(dom)
        is_cut = nr + 2 > rows
        check(len(drawn) == min(nr + 2, rows) + 2, 'boxes', (nr, len(drawn)))
        check(max(drawn, key=lambda b: b[3])[0] ==
              ('[more frames]' if is_cut else 'deep'), 'the last one', nr)
        check(('id="cut" hidden' not in dom) == is_cut, 'says so', nr)
        check([b[0] for b in drawn if b[1]] == ['flat'] and
              'id="found">50.00 % match' in dom, 'search', nr)
    # Twelve clicks on, what the others left out.
    drawn = boxes(clicked(context, out, 12))
    inside = [b for b in drawn if not b[2]]
    left = nr + 2 - 12 * (rows - 1)
    check(len(inside) == left and inside[-1][0] == 'deep', 'what is left',
          (len(inside), left))
    outside = sorted((b[3], b[0]) for b in drawn if b[2])
    check(len(outside) == parents and outside[0] == (0, 'all') and
          outside[1][1] == '[more frames]', 'zoomed out of', outside[:3])
    check(sorted(b[3] for b in drawn) ==
          list(range(0, 17 * len(drawn), 17)), 'rows', len(drawn))


def write_wide(context, nr, depth):
    """So many different stacks of one weight, and a heavier one that comes last."""
    path = os.path.join(context.tmp, 'wide.owp')
    with open(path, 'w', encoding='ascii') as f:
        f.write('outwind-profile 2\nt 1 1000000000 99 2 0 0\ns a\ns deep\n'
                's last\n' + ''.join('s w%d\n' % i for i in range(nr)) +
                'f 2 0 0 0 0 0 0 10 0 0\nf 3 0 0 0 0 0 0 20 0 0\n')
        f.writelines('f %d 0 0 0 0 0 0 %d 0 0\n' % (i + 4, 30 + i)
                     for i in range(nr))
        f.writelines('k 1 1 1 0 0 1 0 %d%s %d\n' % (depth + 1, ' 0' * depth,
                                                   i + 2) for i in range(nr))
        f.write('k 1 1 1 0 0 %d 0 2 1 1\ne\n' % nr)
    return path


@case('report: a flame graph of more frames than there is room for', alone=True)
def report_wide_page(context):
    """The heaviest stacks are there, and how much of the others lacks frames."""
    browser()
    for nr, depth, share in (1000, 900, None), (2000, 900, r'22\.2[78]'):
        _, out = report(context, write_wide(context, nr, depth), 'html')
        dom = page(context, out, 'search=last')
        check(('id="full" hidden' in dom) == (share is None), 'says so', nr)
        check('id="found">50.00 % match' in dom, 'the heaviest', nr)
        if share:
            check(re.search('stacks of %s %% end early: there is room for '
                            '1,000,000 frames' % share, dom), 'how much',
                  re.findall('id="full">[^<]*', dom))


@case('report: what changed between two profiles', alone=True)
def report_difference(context):
    need_bpf(context)
    browser()
    path = make_profile(context)
    _, out = report(context, path, 'html', '-c', path)
    dom = page(context, out, '')
    check('before 100.00 %' in dom, 'nothing to compare with')
    colours = set(re.findall(r'background: ([^;]+);',
                             dom[dom.index('id="graph"'):]))
    check(len(colours) == 1, 'no change has one colour', colours)


@case('report: files that are none', alone=True)
def report_malformed(context):
    need_bpf(context)
    path = make_profile(context)
    with open(path, 'rb') as f:
        good = f.read()
    bad = os.path.join(context.tmp, 'bad.owp')
    lines = good.splitlines(keepends=True)
    frame = next(i for i, l in enumerate(lines) if l.startswith(b'f '))
    stack = next(i for i, l in enumerate(lines) if l.startswith(b'k '))
    for what in (b'', b'x', good[:-1], good[:len(good) // 2],
                 good.replace(b'\nf ', b'\nf 99999999 ', 1),
                 good.replace(b'\nm ', b'\nm 99999999 ', 1),
                 good.replace(b'\nm ', b'\nx ', 1),
                 b''.join(lines[:frame] + [b'm 0 0 20 10 0\n', b'e\n']),
                 b''.join(lines[:frame] + [b'k 0 0 0 0 0 1 1 1 5\n', b'e\n']),
                 b''.join(lines[:stack] + [b'k 0 0 0 99 0 1 1 0\n', b'e\n']),
                 b''.join(lines[:stack] + [b'k 0 0 0 0 0 1 1 70000 1\n'])):
        with open(bad, 'wb') as f:
            f.write(what)
        done = context.run('report', bad, status=2)
        check(done.stderr.startswith(b'outwind: ' + bad.encode()), 'message',
              done.stderr)
        check(done.stderr.count(b'\n') == 1, 'one line', done.stderr)


@case('report: a stack as deep as one of a guest may be')
def report_deep(context):
    path, nr = os.path.join(context.tmp, 'deep.owp'), 1000001
    with open(path, 'w', encoding='ascii') as f:
        f.write('outwind-profile 2\nt 0 1 99 1 0 0\ns f\n'
                'f 1 0 0 0 0 0 0 10 0 10\n'
                'k 1 1 1 0 0 1 1 %d%s\ne\n' % (nr, ' 0' * nr))
    folded = report(context, path, 'folded')[0]
    check(folded == b'f;[truncated];' + b'f;' * (nr - 1) + b'f 1\n',
          'the stack', (len(folded), folded[:80]))
