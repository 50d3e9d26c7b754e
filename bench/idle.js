// SPDX-License-Identifier: BSD-2-Clause
// An idle event loop and two more in worker threads.
const { Worker } = require('worker_threads');

const idle = 'setInterval(() => {}, 1 << 30)';
for (let i = 0; i < 2; i++)
	new Worker(idle, { eval: true });
eval(idle);
