import { cpus, loadavg, release } from 'node:os';

/** What the figures were measured on. The load tells whether the machine had anything else to do. */
export function machine(): string {
  const [processor] = cpus();
  const load = loadavg().map((value) => value.toFixed(2));
  return [
    `Node ${process.version}, ${process.platform} ${release()}, ${cpus().length} × ${processor?.model ?? 'unknown processor'}`,
    `Load average before the start: ${load.join(' ')}`,
    'Every ratio is of one run, in which the things compared were measured in turns.',
  ].join('\n');
}
