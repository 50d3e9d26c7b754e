# SPDX-License-Identifier: BSD-2-Clause
"""Runs inside gdb: write all threads' frames as JSON to $outwind_out."""

import json

import gdb  # pylint: disable=import-error

KINDS = {gdb.INLINE_FRAME: 'inline', gdb.TAILCALL_FRAME: 'tailcall',
         gdb.SIGTRAMP_FRAME: 'signal'}


def describe(frame):
    function = frame.function()
    return {'pc': frame.pc() & (2 ** 64 - 1), 'name': frame.name(),
            'linkage': function.linkage_name if function else None,
            'kind': KINDS.get(frame.type(), 'normal')}


def stack():
    """The frames of the selected thread, and why there are no more."""
    frames = []
    frame = gdb.newest_frame()
    why = ''
    try:
        while frame is not None and frame.is_valid():
            frames.append(describe(frame))
            why = gdb.frame_stop_reason_string(frame.unwind_stop_reason())
            frame = frame.older()
    except (gdb.error, gdb.MemoryError) as error:
        why = str(error)
    return {'frames': frames, 'why': why}


def main():
    threads = {}
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        threads[thread.ptid[1] or thread.ptid[0]] = stack()
    with open(gdb.convenience_variable('outwind_out').string(), 'w',
              encoding='utf-8') as out:
        json.dump(threads, out)


main()
