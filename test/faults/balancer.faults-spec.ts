import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgresDatabase, dropPostgresDatabase } from '../support/database/database-server';
import { type Answer, send } from '../support/application/send';
import { type StartedProgram, startProgram } from '../support/processes/started-program';
import { describeWhereReachable, POSTGRES_SERVER } from '../support/processes/where-reachable';
import { type Balancer, hasNginx, startBalancer, stopBalancer } from './support/balancer';
import { freePort } from '../../bench/support/free-port';
import { hasRedisServer, startRedis } from './support/redis-server';
import { MAIN } from './support/served-database';
import { until } from './support/watch';

const CLIENTS = 8;
const MEBIBYTE = 1_048_576;
const ENTITY = { type: 'service', name: 'gateway' };

/** Tests cannot rely on these programs, so they are skipped if one is missing, and say so. */
const title = 'Two replicas behind the nginx of compose.yaml';
if (!hasNginx || !hasRedisServer) describe.skip(`${title} (skipped: needs nginx and redis-server)`, tests);
else describeWhereReachable([POSTGRES_SERVER], title, tests);

function tests(): void {
  let folder: string;
  let database: string;
  let redis: ChildProcess;
  let replicas: StartedProgram[] = [];
  let balancer: Balancer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-balancer-'));
    database = await createPostgresDatabase();
  });
  afterAll(async () => {
    await dropPostgresDatabase(database);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts a replica with the settings of compose.yaml. */
  async function start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    const port = await freePort();
    redis = await startRedis(folder, port);
    const settings = {
      NODE_ENV: 'production',
      SIGNING_KEY: Buffer.alloc(32, 'balancer').toString('base64'),
      DATABASE_URL: database,
      REDIS_URL: `redis://127.0.0.1:${port}`,
      TRUST_PROXY: '1',
      ...environment,
    };
    replicas = await Promise.all([1, 2].map(() => startProgram(MAIN, settings)));
    balancer = await startBalancer(
      folder,
      replicas.map(({ url }) => url),
    );
  }
  afterEach(async () => {
    await stopBalancer(balancer);
    await Promise.all(replicas.map((replica) => replica.stop()));
    redis.kill('SIGKILL');
    await once(redis, 'exit');
  });

  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    send(balancer, 'POST', '/api/v1/entities', { body, headers });

  async function entities(): Promise<number> {
    return (await send(balancer, 'GET', '/api/v1/entities?limit=1')).body.total;
  }

  it('count a client together and by its own address, with any address that it claims', async () => {
    await start({ RATE_LIMIT: '20' });
    const statuses: number[] = [];
    for (let sent = 0; sent < 30; sent += 1) {
      const headers = { 'X-Forwarded-For': `192.0.2.${sent}` };
      statuses.push((await send(balancer, 'GET', '/api/v1/stats', { headers })).status);
    }
    expect(statuses).toEqual([...Array<number>(20).fill(200), ...Array<number>(10).fill(429)]);
  });

  it('accept bodies up to the limit and refuse larger ones themselves, and their errors are passed on unchanged', async () => {
    await start({ RATE_LIMIT: '1000000' });
    const rest = JSON.stringify({ ...ENTITY, properties: { text: '' } }).length;
    const ofLength = (length: number): object => ({ ...ENTITY, properties: { text: 'x'.repeat(length - rest) } });
    for (let sent = 0; sent < 4; sent += 1) {
      expect((await post(ofLength(MEBIBYTE))).status).toBe(201);
      expect((await post(ofLength(MEBIBYTE + 1))).body.error.code).toBe('PAYLOAD_TOO_LARGE');
      const large = await post(ofLength(20 * MEBIBYTE), { 'X-API-Key': 'wrong' });
      expect([large.status, large.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
      expect((await send(balancer, 'GET', '/nowhere')).body.error.code).toBe('NOT_FOUND');
    }
  });

  it('continue when one is killed, and a request that is repeated under its key takes effect once', async () => {
    await start({ RATE_LIMIT: '1000000' });
    const before = await entities();
    let written = 0;
    let isOver = false;
    const failed: number[] = [];
    const client = async (_unused: unknown, number: number): Promise<void> => {
      for (let made = 0; !isOver; made += 1) {
        const headers = { 'Idempotency-Key': `${number}-${made}` };
        let answer = await post(ENTITY, headers);
        while (answer.status >= 500) {
          failed.push(answer.status);
          answer = await post(ENTITY, headers);
        }
        expect(answer.status).toBe(201);
        written += 1;
      }
    };
    const clients = Promise.all(Array.from({ length: CLIENTS }, client));
    await until('both replicas write', () => written > 200);
    await replicas.pop()?.stop('SIGKILL');
    const atTheKill = written;
    await until('writes go on', () => written > atTheKill + 200);
    isOver = true;
    await clients;
    expect(await entities()).toBe(before + written);
    // Only answers of requests in progress there are lost; other requests go to the replica that is alive.
    expect(failed.length).toBeLessThanOrEqual(CLIENTS);
    const verified = await send(balancer, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(verified.body.valid).toBe(true);
  });
}
