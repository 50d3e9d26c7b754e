#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Run the live tests (mk/live.mk) or those of another folder (--cases)."""

import argparse
import concurrent.futures
import glob
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

import harness

# In the order in which they run.
MODULES = ('cases_links', 'cases_guess', 'cases_shapes', 'cases_threads',
           'cases_hostile', 'cases_cli', 'cases_output', 'cases_complete',
           'cases_tbstack', 'cases_jit', 'cases_agree', 'cases_cores', 'cases_snapshots',
           'cases_freeze', 'cases_workers', 'cases_faults', 'cases_inject', 'cases_record',
           'cases_recorder', 'cases_containers', 'cases_top', 'cases_recordjit',
           'cases_offcpu', 'cases_record32', 'cases_syscalls', 'cases_strace',
           'cases_report', 'cases_formats', 'cases_outfile', 'cases_replaced',
           'cases_twin', 'cases_limits')

# Where more fail, it is what is tested that fails.
MOST_AGAIN = 3

printing = threading.Lock()


def run_case(options, number, name, function):
    """Run one test, print its line, and return what became of it."""
    begun = time.monotonic()
    detail = ''
    with harness.Context(options.outwind, options.programs) as context:
        try:
            function(context)
            result = 'ok'
        except harness.Skip as why:
            result, detail = 'skip', str(why)
        except harness.Failure as why:
            result, detail = 'not ok', str(why)
        except Exception:  # pylint: disable=broad-except
            result, detail = 'not ok', traceback.format_exc()
    seconds = time.monotonic() - begun
    with printing:
        if result == 'skip':
            print('ok %d - %s # SKIP %s' % (number, name, detail))
        else:
            print('%s %d - %s (%.1f s)' % (result, number, name, seconds))
        for line in context.notes + (detail.splitlines()
                                     if result == 'not ok' else []):
            print('#   %s' % line)
        sys.stdout.flush()
    return result


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--outwind', default='build/bin/outwind')
    parser.add_argument('--programs', default='build/live')
    parser.add_argument('--cases', metavar='DIR',
                        help='run the tests of DIR/cases_*.py instead')
    parser.add_argument('-j', '--jobs', type=int,
                        default=max(2, min(8, os.cpu_count() or 1)))
    parser.add_argument('-l', '--list', action='store_true')
    parser.add_argument('patterns', nargs='*',
                        help='run tests whose names contain one of these')
    return parser.parse_args()


def modules(folder):
    """The names of the modules that define tests."""
    if not folder:
        return MODULES
    sys.path.insert(0, folder)
    files = glob.glob(os.path.join(folder, 'cases_*.py'))
    return sorted(os.path.basename(f)[:-3] for f in files)


def place_for_files():
    """Where temporary files are, or /tmp if not everybody may get there."""
    place = at = os.path.realpath(tempfile.gettempdir())
    while at != '/' and os.stat(at).st_mode & 0o001:
        at = os.path.dirname(at)
    return place if at == '/' and len(place) < 60 else '/tmp'


def main():
    # Whoever starts this in the background, or by nohup, has it ignore what
    # tests send, and may have their files be nobody else's.
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT,
                   signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o022)
    options = parse_arguments()
    os.environ['LC_ALL'] = 'C.UTF-8'
    for name in ('COLUMNS', 'DEBUGINFOD_URLS', 'LANGUAGE', 'LINES'):
        os.environ.pop(name, None)
    for module in modules(options.cases):
        __import__(module)
    cases = [c for c in harness.CASES if not options.patterns or
             any(p in c[0] for p in options.patterns)]
    if options.list:
        print('\n'.join(c[0] for c in cases))
        return 0
    tempfile.tempdir = place_for_files()
    # Copies: the originals may be built anew meanwhile.
    with tempfile.TemporaryDirectory(prefix='outwind-live-') as tmp:
        for tool in ('tbstack', 'twindiff', 'uniprof', 'symbolize'):
            shutil.copy(os.path.join(os.path.dirname(options.outwind), tool),
                        tmp)
        options.outwind = shutil.copy(options.outwind, tmp)
        for name in ('.', *os.listdir(tmp)):
            os.chmod(os.path.join(tmp, name), 0o755)
        os.environ['XDG_CACHE_HOME'] = os.path.join(tmp, 'cache')
        return run_cases(options, cases)


def run_cases(options, cases):
    print('1..%d' % len(cases))
    # Those that want to be alone, as they measure time, come last.
    numbered = list(enumerate(cases, 1))
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {n: pool.submit(run_case, options, n, c[0], c[1])
                   for n, c in numbered if not c[2]}
        results.update((n, f.result()) for n, f in futures.items())
    results.update((n, run_case(options, n, c[0], c[1]))
                   for n, c in numbered if c[2])
    run_again(options, [(n, c) for n, c in numbered if results[n] == 'not ok'],
              results)
    counts = {r: list(results.values()).count(r)
              for r in ('ok', 'not ok', 'skip')}
    print('%d passed, %d failed, %d skipped' %
          (counts['ok'], counts['not ok'], counts['skip']))
    return 1 if counts['not ok'] else 0


def run_again(options, failed, results):
    """
    What failed has a second try, with nothing else running: the machine may have
    been what failed.  It is told: whoever reads it should look why.
    """
    if len(failed) > MOST_AGAIN:
        return
    for n, c in failed:
        results[n] = run_case(options, n, c[0], c[1])
        if results[n] == 'ok':
            print('unsteady: %s: failed at first' % c[0])


if __name__ == '__main__':
    sys.exit(main())
