// Loaded before `gov mcp` (NODE_OPTIONS): timers of the milliseconds that SHORT_WAITS names, "30000,15000", end after 50.
const named = new Set((process.env.SHORT_WAITS ?? '').split(',').map(Number));
for (const set of ['setTimeout', 'setInterval']) {
  const own = globalThis[set];
  globalThis[set] = (run, time, ...rest) => own(run, named.has(time) ? 50 : time, ...rest);
}
