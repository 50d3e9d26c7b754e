# SPDX-License-Identifier: BSD-2-Clause
"""What a siege (siege.py) is made of."""

from harness import case, check

import attackers


@case('siege: all that is hostile is part of it, or has a reason not to be')
def test_forgotten(_):
    check(not attackers.forgotten(), 'forgotten', attackers.forgotten())
