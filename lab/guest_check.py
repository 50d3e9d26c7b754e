# SPDX-License-Identifier: BSD-2-Clause
"""guest_check.py OUTWIND DIR: see guest-check.sh."""

import json
import os
import re
import subprocess
import sys

# How a kernel's stack begins, outermost last.
BEGINNINGS = {'secondary_startup_64', 'entry_SYSCALL_64', 'ret_from_fork',
              'secondary_startup_64_no_verify'}


def outwind_stacks(outwind, core, vmlinux):
    done = subprocess.run([outwind, 'stack', '--json', core, vmlinux],
                          stdout=subprocess.PIPE, check=False)
    return done.returncode, {t['tid']: t
                             for t in json.loads(done.stdout)['threads']}


def kernel_offset(core):
    with open(core, 'rb') as f:
        found = re.search(rb'\nKERNELOFFSET=([0-9a-f]+)\n', f.read(1 << 20))
    return int(found.group(1), 16) if found else 0


def gdb_stacks(core, vmlinux):
    """Addresses by thread; gdb gives an inlined function no address."""
    script = (
        'import gdb\n'
        'for t in gdb.selected_inferior().threads():\n'
        '    t.switch()\n'
        '    f = gdb.newest_frame()\n'
        '    while f:\n'
        '        if f.type() != gdb.INLINE_FRAME:\n'
        '            print("PC", t.ptid[1], hex(f.pc()))\n'
        '        try:\n'
        '            f = f.older()\n'
        '        except gdb.error:\n'
        '            break\n')
    path = core + '.py'
    with open(path, 'w', encoding='utf-8') as f:
        f.write(script)
    text = subprocess.run(
        ['gdb', '-batch', '-nx', '-ex', 'set confirm off', '-ex',
         'symbol-file %s -o %#x' % (vmlinux, kernel_offset(core)), '-ex',
         'core ' + core, '-x', path], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False).stdout
    os.unlink(path)
    stacks = {}
    for tid, pc in re.findall(r'^PC (\d+) (0x[0-9a-f]+)$', text, re.M):
        stacks.setdefault(int(tid), []).append(int(pc, 16))
    return stacks


def main():
    outwind, folder = sys.argv[1:]
    vmlinux = os.path.join(folder, 'vmlinux')
    bad = 0
    for name in ('guest', 'guest-paging', 'guest-bare', 'guest-irq'):
        core = os.path.join(folder, name + '.core')
        status, mine = outwind_stacks(outwind, core, vmlinux)
        # Only where addresses are virtual can gdb read memory.
        theirs = gdb_stacks(core, vmlinux) if name == 'guest-paging' else {}
        problems = [] if status == 0 else ['status %d' % status]
        for tid, thread in mine.items():
            frames = thread.get('frames', [])
            if not frames or not thread['complete'] or \
                    frames[-1]['function'] not in BEGINNINGS:
                problems.append('CPU %d is not complete' % tid)
            got = [int(f['pc'], 16) for f in frames]
            # gdb goes on past the beginning, to address 0, and does not get
            # over an interrupt's stack.
            want = [pc for pc in theirs.get(tid, got) if pc]
            if got[:len(want)] != want:
                problems.append('CPU %d: %s, gdb: %s' %
                                (tid, [hex(p) for p in got],
                                 [hex(p) for p in want]))
        if name == 'guest-irq' and not any(
                f['function'].startswith('asm_sysvec_')
                for t in mine.values() for f in t.get('frames', [])):
            problems.append('no interrupt was crossed')
        print('%s: %s, %d frames, %d of them by gdb, too' % (
            name, 'ok' if not problems else '; '.join(problems),
            sum(len(t.get('frames', [])) for t in mine.values()),
            sum(map(len, theirs.values()))))
        bad += bool(problems)
    sys.exit(bad != 0)


if __name__ == '__main__':
    main()
