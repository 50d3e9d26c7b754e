// SPDX-License-Identifier: BSD-2-Clause
// Compiled code of a JIT, and the interpreter's, between the runtime's frames.
'use strict';

function blockInner(cell, x) {
    // Sleeps in C++, called from JavaScript.
    Atomics.wait(cell, 0, 0, x);
    return x;
}

function blockOuter(cell, x) {
    return blockInner(cell, x) + 1;
}

function spinInner(x) {
    let sum = 0;
    for (let i = 0; i < 2000; i++)
        sum = (sum * 31 + i + x) | 0;
    return sum;
}

function spinOuter(x) {
    let sum = 0;
    for (let i = 0; i < 200; i++)
        sum = (sum + spinInner(x + i)) | 0;
    return sum;
}

const cell = new Int32Array(new SharedArrayBuffer(4));
const scene = process.argv[2];
let sum = 0;

if (scene === 'block') {
    for (let i = 0; i < 20000; i++)
        sum += blockOuter(cell, 0);
    require('fs').writeSync(1, 'ready\n');
    for (;;)
        blockOuter(cell, 1e9);
}
for (let i = 0; i < 300; i++)
    sum = (sum + spinOuter(i)) | 0;
require('fs').writeSync(1, 'ready\n');
for (;;)
    sum = (sum + spinOuter(sum)) | 0;
