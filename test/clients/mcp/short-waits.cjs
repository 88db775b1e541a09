// Loaded before `gov mcp` (NODE_OPTIONS): timers of the milliseconds that SHORT_WAITS names, "30000,15000", end after SHORT_WAIT_MS, or 50.
const { syncBuiltinESMExports } = require('node:module');
const promises = require('node:timers/promises');

const named = new Set((process.env.SHORT_WAITS ?? '').split(',').map(Number));
const short = Number(process.env.SHORT_WAIT_MS ?? 50);
const shortened = (time) => (named.has(time) ? short : time);

for (const set of ['setTimeout', 'setInterval']) {
  const own = globalThis[set];
  globalThis[set] = (run, time, ...rest) => own(run, shortened(time), ...rest);
}
const { setTimeout: ownSleep } = promises;
promises.setTimeout = (time, ...rest) => ownSleep(shortened(time), ...rest);
syncBuiltinESMExports();
const ownTimeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (time) => ownTimeout(shortened(time));
