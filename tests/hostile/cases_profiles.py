# SPDX-License-Identifier: BSD-2-Clause
"""Profiles that anybody can write: what reports of them cost, and say."""

import os
import re

from cases_longnames import Counted
from cases_objects import Done, MB, OWN, check_bounded
from harness import case, check

FORMATS = ('table', 'folded', 'perf', 'svg', 'html', 'pprof', 'json',
           'speedscope', 'outwind')
LONGEST = 16384  # bytes of a string that are kept
DEEPEST = 1 << 20  # frames of a stack
LIMIT = 64  # MB
OF_JSON = 'names of frames, mappings and threads'  # what it cuts
WHOLE = 1  # the end of a stack: its outermost frame


def write_profile(context, strings, frames, stacks, name='profile.owp'):
    """Frames are strings' numbers; stacks are (end, count, frame numbers)."""
    path = os.path.join(context.tmp, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write('outwind-profile 2\nt 1 1000000000 99 0 0 0\n')
        f.writelines('s %s\n' % s for s in strings)
        f.writelines('f %d 0 0 0 0 %d 0 %x 0 0\n' % (s, 2 if kernel else 0, i)
                     for i, (s, kernel) in enumerate(frames))
        f.writelines('k 0 %d 1 %d 0 %d 0 %d%s\n' % (
            i, end, count, len(ids), ''.join(' %d' % n for n in ids))
                     for i, (end, count, ids) in enumerate(stacks))
        f.write('e\n')
    return path


def report(context, name, path, status=0):
    done = Done(context, 'report', '--memory-limit=%dM' % LIMIT, '-f', name,
                '-o', os.path.join(context.tmp, 'report'), path)
    check(done.status == status, 'status %d of %s' % (done.status, name),
          done.stderr)
    check_bounded(done, LIMIT + OWN)
    return done


@case('profiles: a name of 1 MB in each of 20000 frames')
def test_long_name(context):
    path = write_profile(context, ['x' * MB], [(1, False)] * 1000,
                         [(0, 1, [i % 1000 for i in range(20000)])])
    for name in FORMATS:
        done = report(context, name, path)
        with open(os.path.join(context.tmp, 'report'), 'rb') as f:
            longest = max(map(len, re.findall(rb'x+', f.read())), default=0)
        check(longest < LONGEST, 'name', longest)
        check(done.cpu < 8, 'seconds', (name, done.cpu))


@case('profiles: stacks of too many frames')
def test_deep(context):
    path = write_profile(context, ['x'], [(1, False)], [(0, 1, [0] * DEEPEST)])
    report(context, 'folded', path)
    path = write_profile(context, ['x'], [(1, False)],
                         [(0, 1, [0] * (DEEPEST + 1))])
    done = report(context, 'folded', path, 2)
    check('line 5 has more than %d frames' % DEEPEST in done.stderr, 'says',
          done.stderr)


@case('profiles: a picture of more frames than it has room for')
def test_deep_picture(context):
    for nr, last in ((8190, 'y'), (8191, 'y'), (8192, '[more frames]')):
        path = write_profile(context, ['x', 'y'], [(1, False), (2, False)],
                             [(WHOLE, 1, [1] + [0] * (nr - 1))])
        report(context, 'svg', path)
        with open(os.path.join(context.tmp, 'report'), encoding='utf-8') as f:
            titles = re.findall('<title>(.*?) ', f.read())
        check(titles[-1] == last.split(' ', maxsplit=1)[0], 'the innermost box',
              (nr, titles[-1]))
        check(len(titles) == min(nr, 8191) + 2, 'boxes', (nr, len(titles)))


@case('profiles: more than there is memory for')
def test_large(context):
    ids = list(range(1000))
    path = write_profile(context, ['x'], [(1, False)] * 1000,
                         [(0, 1, [i % 1000] + ids * 20) for i in range(400)])
    for options in ([path], ['-c', path, path]):
        done = Done(context, 'report', '--memory-limit=%dM' % LIMIT, '-f',
                    'html', '-o', os.devnull, *options)
        check(done.status == 2 and '/profile.owp: takes more memory than a '
              'quarter of --memory-limit: give a higher one' in done.stderr,
              'says', done.stderr)
        check_bounded(done, LIMIT + OWN)


@case('profiles: counts whose sum is beyond 64 bits')
def test_counts(context):
    path = write_profile(context, ['x', 'y'], [(1, False), (2, False)],
                         [(WHOLE, 1 << 48, [i % 2]) for i in range(70000)])
    for name in FORMATS:
        done = report(context, name, path)
        with open(os.path.join(context.tmp, 'report'), 'rb') as f:
            text = f.read()
        check(name == 'outwind' or len(text) < 64 * MB, 'size',
              (name, len(text)))
        if name == 'folded':
            check(text.split(b'\n')[:2] == [b';x 9223372036854775807',
                                            b';y 9223372036854775807'],
                  'sums', text)
        if name == 'table':
            check(text.startswith(b'9223372036854775807 samples'), 'total',
                  text)
        check(done.cpu < 8, 'seconds', (name, done.cpu))


@case('profiles: many samples of many frames, as perf prints them')
def test_perf(context):
    path = write_profile(context, ['x' * 1000], [(1, False)],
                         [(0, 5000000, [0] * 1000)])
    report(context, 'perf', path)
    with open(os.path.join(context.tmp, 'report'), encoding='utf-8') as f:
        text = f.read()
    check(text.count('cpu-clock') == 1 and ' 50505050000000 cpu-clock' in
          text.split('\n', 1)[0], 'one sample', text[:100])


@case('profiles: text of gigabytes')
def test_endless_text(context):
    path = write_profile(context, ['x' * 299], [(1, False)],
                         [(0, 1, [0] * (900000 + i)) for i in range(8)])
    for name in ('folded', 'perf'):
        done = Done(context, 'report', '-f', name, '-o', os.devnull, path)
        check(done.status == 1 and "format '%s' would take more than 1024 MiB "
              'of text: ' % name in done.stderr and
              ' stacks are left out' in done.stderr, 'says',
              (name, done.status, done.stderr))
        check(done.cpu < 30, 'seconds', (name, done.cpu))
        context.note('%s: %.1f s' % (name, done.cpu))


@case('profiles: names of gigabytes')
def test_endless_names(context):
    """Two names of 16 KB in frames without end, and in stacks that all differ."""
    names = [c * (LONGEST - 1) for c in 'xy']
    path = write_profile(context, names, [(1 + i % 2, False)
                                          for i in range(100000)], [])
    with open(path, 'r+', encoding='utf-8') as f:
        text = f.read().removesuffix('e\n')
        f.seek(0)
        f.write(text)
        for i in range(2000):
            frames = [i % 2] * 1500 + [(i >> k & 1) for k in range(11)]
            f.write('k 0 %d 1 1 0 1 0 %d %s\n' % (
                i, len(frames), ' '.join(map(str, frames))))
        f.write('e\n')
    for name, what in (('svg', 'boxes'), ('json', OF_JSON),
                       ('speedscope', 'names of frames')):
        out = os.path.join(context.tmp, 'report')
        done = Done(context, 'report', '-f', name, '-o', out, path)
        size = os.stat(out).st_size
        os.unlink(out)
        check(done.status == 1 and re.search(
            "format '%s' would take more than 1024 MiB of text: \\d+ %s are "
            'left out' % (name, what), done.stderr), 'says',
              (name, done.status, done.stderr))
        check(size < 1300 * MB, 'size', (name, size))
        check(done.cpu < 30, 'seconds', (name, done.cpu))
        context.note('%s: %.1f s, %d MB' % (name, done.cpu, size // MB))


@case('profiles: short stacks and names beside gigabytes of long ones')
def test_short_of_many(context):
    """The long ones are of a thread "!", first in any order: they took all room."""
    nr, deep = 80, 950
    frames = ['f 1 0 0 0 0 0 0 %x 0 0\n' % i for i in range(nr * deep)]
    frames += ['f %d 6 0 0 0 0 0 1 0 0\n' % i for i in (3, 4)]
    stacks = ['k 2 %d 1 1 0 1 0 %d %s\n' % (
        i + 1, deep - i, ' '.join(map(str, range(i * deep, (i + 1) * deep - i))))
              for i in range(nr)]
    path = os.path.join(context.tmp, 'profile.owp')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('outwind-profile 2\nt 1 1000000000 99 1 0 0\n')
        f.writelines('s %s\n' % s for s in (
            'n' * LONGEST, '!', 'inner', 'outer', 'vim', '/lib'))
        f.writelines(frames + stacks)
        f.write('k 5 99 99 1 0 7 0 2 %d %d\ne\n' % (nr * deep, nr * deep + 1))
    for name, last in (('folded', b'\nvim;outer;inner 7\n'),
                       ('perf', b' outer+0x0 (/lib)\n\n'),
                       ('json', b'"function":"outer"'),
                       ('speedscope', b'{"name":"outer","file":"/lib"}'),
                       ('html', b'["outer","u","/lib"]')):
        done = Counted(context.outwind, 'report', '-f', name, path, what=last)
        check(done.status == 1 and ' would take more than 1024 MiB of text: ' in
              done.stderr, 'says', (name, done.status, done.stderr))
        check(900 * MB < done.bytes < 1100 * MB, 'size', (name, done.bytes))
        check(done.count == 1, 'lost', (name, done.last[-200:]))
        context.note('%s: %.1f s, %d MB' % (name, done.cpu, done.bytes // MB))
        check(done.cpu < 30, 'seconds', (name, done.cpu))


def write_names(context, items, letter='n'):
    """Items of one name, which is string 1, of 16 KB."""
    path = os.path.join(context.tmp, 'profile.owp')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('outwind-profile 2\nt 1 1000000000 99 1 0 0\n')
        f.write('s %s\n' % (letter * LONGEST))
        f.writelines(items)
        f.write('e\n')
    return path


def report_names(context, name, items, letter='n'):
    done = Counted(context.outwind, 'report', '-f', name,
                   write_names(context, items, letter))
    context.note('%s: %.1f s, %d MB' % (name, done.cpu, done.bytes // MB))
    return done


@case('profiles: a long name of a thread in 10,000,000 samples')
def test_thread_of_samples(context):
    done = report_names(context, 'perf', ['k 1 1 1 0 0 10000000 0 0\n'])
    check(done.status == 0 and not done.stderr, 'says',
          (done.status, done.stderr))
    check(done.bytes < LONGEST + 200 and
          b' 101010100000000 cpu-clock: \n' in done.first, 'one sample',
          (done.bytes, done.first[-200:]))


@case('profiles: names of threads and mappings of gigabytes')
def test_endless_threads(context):
    nr = 150000
    cpu = ['k 1 %d 1 0 0 1 0 0\n' % i for i in range(nr)]
    waits = ['k 1 %d 1 0 1 0 9 0\n' % i for i in range(nr)]
    maps = ['m 1 1 %x000 %x000 0\n' % (i, i + 1) for i in range(nr)]
    for name, items, what in (
            ('perf', cpu, 'stacks'), ('perf', waits, 'stacks'),
            ('json', cpu, OF_JSON), ('json', maps, OF_JSON)):
        done = report_names(context, name, items)
        said = re.search("format '%s' would take more than 1024 MiB of text: "
                         r'(\d+) %s are left out' % (name, what), done.stderr)
        check(done.status == 1 and said, 'says',
              (name, done.status, done.stderr))
        left = nr - int(said[1])
        check(900 * MB < left * LONGEST * (1 + (items is maps)) <= 1024 * MB,
              'names that are there', (name, left))
        check(done.bytes < 1100 * MB, 'bytes', (name, done.bytes))
        check(done.cpu < 30, 'seconds', (name, done.cpu))


@case('profiles: names of gigabytes, once they are escaped')
def test_escaped(context):
    nr = 30000
    frames = ['f 1 0 0 0 0 0 0 %x 0 0\n' % i for i in range(nr)]
    frames += ['k 0 1 1 0 0 1 0 %d %s\n' % (nr, ' '.join(map(str, range(nr))))]
    for name in 'json', 'html', 'speedscope':
        done = report_names(context, name, frames, '<')
        check(done.status == 1 and "format '%s' would take more" % name in
              done.stderr, 'says', (name, done.status, done.stderr))
        check(900 * MB < done.bytes < 1100 * MB, 'bytes', (name, done.bytes))


@case('profiles: a long name of 200,000 threads and frames')
def test_shared_name(context):
    """Made once, not for each: it took 24 s of 400,000 threads."""
    nr = 200000
    threads = ['k 1 %d 1 0 0 1 0 0\n' % i for i in range(nr)]
    frames = ['f 1 1 0 0 0 0 0 %x 0 0\n' % i for i in range(nr)]
    stacks = ['k 0 1 %d 0 0 1 0 1000 %s\n' % (
        i, ' '.join(map(str, range(i, i + 1000)))) for i in range(0, nr, 1000)]
    for name in 'table', 'folded', 'svg', 'html', 'pprof':
        for items in threads, frames + stacks:
            path = write_names(context, items)
            done = Done(context, 'report', '-f', name, '-o', os.devnull, path)
            check(done.status == int(name == 'html' and items is not threads),
                  'status', (name, done.status, done.stderr))
            context.note('%s: %.1f s' % (name, done.cpu))
            check(done.cpu < 6, 'seconds', (name, done.cpu))


@case('profiles: 500,000 functions without a name, of a long object')
def test_unnamed(context):
    """Formats that call them by texts of their own made 150 MB of text in memory."""
    nr, most = 500000, 32 * MB
    path = os.path.join(context.tmp, 'profile.owp')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('outwind-profile 4\nt 1 1000000000 99 1 0 0\n')
        f.write('s %s\n' % ('o' * 250))
        f.writelines('f 0 1 0 0 0 4 0 %x 0 %x\n' % (i, i)
                     for i in range(1, nr + 1))
        f.writelines('k 0 1 %d 1 0 1 0 1000 %s\n' % (
            i, ' '.join(map(str, range(i, i + 1000))))
                     for i in range(0, nr, 1000))
        f.write('e\n')
    out = os.path.join(context.tmp, 'report')
    for name in 'table', 'folded', 'svg', 'pprof':
        done = Done(context, 'report', '-f', name, '-o', out, path)
        context.note('%s: %d MB' % (name, done.megabytes))
        said = re.search("format '%s' would take more than 32 MiB for the "
                         r'labels of functions without names: (\d+) are called '
                         'by their objects alone' % name, done.stderr)
        check(done.status == 1 and said, 'says',
              (name, done.status, done.stderr))
        kept = nr - int(said[1])
        check(0.9 * most < kept * 258 < most, 'labels', (name, kept))
        check_bounded(done, 300)
        if name == 'folded':
            with open(out, encoding='utf-8') as f:
                found = re.split('[; \n]', f.read())
            check(len({n for n in found if n.startswith('o')}) == kept, 'kept',
                  kept)
            check('[%s]' % ('o' * 250) in found, 'called by its object', kept)


@case('profiles: names that are called as marks of ours')
def test_marks(context):
    path = write_profile(
        context, ['x_[k]', 'y'], [(1, False), (2, True)],
        [(0, 1, [0, 1])])
    report(context, 'folded', path)
    with open(os.path.join(context.tmp, 'report'), encoding='utf-8') as f:
        check(f.read() == ';[truncated];y_[k];x_[k]\\ 1\n', 'marks', path)
