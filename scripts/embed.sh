#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A file as two arrays of C, before and behind a mark: embed.sh FILE MARK NAME
set -eu

file=$1 mark=$2 name=$3

array() {
    printf 'static const unsigned char %s[] = {' "$1"
    od -An -v -tu1 | sed 's/  */,/g; s/^,//; s/$/,/'
    printf '};\n'
}

awk -v m="$mark" '
    found { next }
    i = index($0, m) { printf "%s", substr($0, 1, i - 1); found = 1; next }
    { print }' "$file" | array "${name}_head"
awk -v m="$mark" '
    found { print; next }
    i = index($0, m) { print substr($0, i + length(m)); found = 1 }' "$file" |
    array "${name}_tail"
