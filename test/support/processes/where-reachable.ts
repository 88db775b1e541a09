import { spawnSync } from 'node:child_process';

/** A server that tests need and do not start themselves. */
export interface NeededServer {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

export const POSTGRES_SERVER: NeededServer = { name: 'PostgreSQL', host: '127.0.0.1', port: 5432 };
export const REDIS_SERVER: NeededServer = { name: 'Redis', host: '127.0.0.1', port: 6379 };

/** Describes tests that need servers. If one does not answer they are skipped and say so; with CI=true they fail. */
export function describeWhereReachable(servers: readonly NeededServer[], title: string, tests: () => void): void {
  const missing = servers.filter((server) => process.env['CI'] !== 'true' && !isReachable(server));
  if (missing.length === 0) {
    describe(title, tests);
    return;
  }
  const places = missing.map(({ name, host, port }) => `${name} at ${host}:${port}`).join(' and ');
  describe.skip(`${title} (skipped: needs ${places})`, tests);
}

/** Jest collects tests synchronously, so a child process waits for the answer. */
function isReachable({ host, port }: NeededServer): boolean {
  const attempt = `require('node:net').connect(${port}, '${host}').on('connect', () => process.exit(0))`;
  return spawnSync(process.execPath, ['-e', attempt], { timeout: 3_000 }).status === 0;
}
