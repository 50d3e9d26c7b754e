#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Unpack (not install) Debian's kernel KVER below LAB, and turn its vmlinuz into
# a plain ELF file that QEMU boots over PVH, which saves the guest unpacking it.
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
[ ! -e "$KROOT/.done" ] || exit 0

download "linux-image-$KVER"
rm -rf "$KROOT"
mkdir -p "$KROOT"
dpkg -x linux-image-"${KVER}"_*.deb "$KROOT"
depmod -b "$KROOT" "$KVER"

# Linux, Documentation/x86/boot.rst: setup_sects, payload_offset, payload_length
python3 - "$KROOT/boot/vmlinuz-$KVER" "$KROOT/vmlinux" <<'END'
import lzma
import struct
import subprocess
import sys

data = open(sys.argv[1], 'rb').read()
setup = (data[0x1f1] or 4) + 1
off, size = struct.unpack_from('<II', data, 0x248)
packed = data[setup * 512 + off:][:size]
if packed[:6] == b'\xfd7zXZ\0':
    plain = lzma.LZMADecompressor().decompress(packed)
elif packed[:4] == b'(\xb5/\xfd':
    # the last word is the size of what was packed
    plain = subprocess.run(['zstd', '-dc'], input=packed[:-4],
                           capture_output=True, check=True).stdout
else:
    sys.exit('payload is neither xz nor zstd: %r' % packed[:6])
if plain[:4] != b'\x7fELF':
    sys.exit('no ELF file inside')
open(sys.argv[2], 'wb').write(plain)
END
touch "$KROOT/.done"
