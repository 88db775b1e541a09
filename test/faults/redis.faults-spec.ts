import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type StartedProgram, startProgram } from '../support/processes/started-program';
import { MAIN } from './support/served-database';
import { freePort } from '../../bench/support/free-port';
import { hasRedisServer, startRedis } from './support/redis-server';
import { until } from './support/watch';

const LIMIT = 30;

/** Without a redis-server these tests are skipped, and say so; with CI=true they fail. */
const [describeWithRedis, title] =
  hasRedisServer || process.env['CI'] === 'true'
    ? [describe, 'A Redis that is gone']
    : [describe.skip, 'A Redis that is gone (skipped: needs redis-server)'];

describeWithRedis(title, () => {
  let folder: string;
  let port: number;
  let redis: ChildProcess;
  let programs: StartedProgram[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-redis-'));
    port = await freePort();
    redis = await startRedis(folder, port);
    const environment = { REDIS_URL: `redis://127.0.0.1:${port}`, RATE_LIMIT: String(LIMIT), TRUST_PROXY: '1' };
    programs = await Promise.all([1, 2].map(() => startProgram(MAIN, environment)));
  });
  afterEach(async () => {
    await Promise.all(programs.map((program) => program.stop()));
    redis.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** Sends this many requests of one client to the processes in turn, and returns how many were admitted. */
  async function admitted(client: string, count: number): Promise<number> {
    let admitted = 0;
    for (let index = 0; index < count; index += 1) {
      const program = programs[index % programs.length];
      const answer = await program?.send('GET', '/api/v1/stats', { headers: { 'X-Forwarded-For': client } });
      if (answer?.status !== 200 && answer?.status !== 429) throw new Error(`A request got ${answer?.status}.`);
      if (answer.status === 200) admitted += 1;
    }
    return admitted;
  }

  const reported = (line: string): boolean => programs.every((program) => program.printed().includes(line));

  it('leaves each process with its own limit and a line in its log, and is used again when it is back', async () => {
    expect(await admitted('192.0.2.1', 3 * LIMIT)).toBe(LIMIT);
    redis.kill('SIGKILL');
    await once(redis, 'exit');
    expect(await admitted('192.0.2.2', 3 * LIMIT)).toBe(2 * LIMIT);
    expect(reported('Redis does not answer')).toBe(true);
    redis = await startRedis(folder, port);
    let clients = 0;
    await until('requests are counted together', async () => {
      clients += 1;
      return (await admitted(`198.51.100.${clients}`, 3 * LIMIT)) === LIMIT;
    });
  });
});
