# SPDX-License-Identifier: BSD-2-Clause
"""17 threads that wait in deep recursion, each about 200 C frames."""
import threading
import time


def down(n):
    # max() calls back from C; Python's own calls would share one C frame.
    if n:
        max((n - 1,), key=down)
    else:
        time.sleep(3600)


for _ in range(16):
    threading.Thread(target=down, args=(40,), daemon=True).start()
down(40)
