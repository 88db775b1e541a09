import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../bench/support/free-port';
import { buildCommandLine } from '../clients/command-line';
import { route, type StartedGateway, startGateway } from '../clients/gateway/stage';
import { sendJson, type StandIn, startStandIn } from '../clients/gateway/stand-in';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { randomFor } from './support/random';
import { ROUNDS, roundsTimeLimit } from './support/rounds';
import { until } from './support/watch';

const MAX_ROUND_MS = 60_000;
const WORKERS = 4;
/** Milliseconds before a kill, at most. */
const MAX_LOAD_MS = 300;

describe('kill -9 of gateways and their service', () => {
  let database: TemporaryDatabase;
  let service: StartedProgram;
  let upstream: StandIn;
  let folder: string;
  let port: number;
  let keys: { key: string; reportKey: string };
  const gateways: StartedGateway[] = [];

  beforeAll(async () => {
    await buildCommandLine();
    folder = mkdtempSync(join(tmpdir(), 'gateway-kill-'));
    database = await temporaryDatabase();
    port = await freePort();
    await startService();
    const { id: agentId } = await createAgent(service, { name: 'bot', capabilities: ['write'] });
    await createPolicy(service, { actions: ['write'] });
    const key = (await issueKey(service, { name: 'bot', scopes: ['execute'], agentId })).secret;
    keys = { key, reportKey: (await issueKey(service, { name: 'gateway', scopes: ['report'] })).secret };
    upstream = await startStandIn((_, response) => void setTimeout(() => sendJson(response, {}), 5));
    for (const index of [0, 1]) gateways[index] = await gateway(index);
  });
  afterAll(async () => {
    for (const started of gateways) await started.stop('SIGKILL');
    await upstream.close();
    await service.stop();
    await database.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startService(): Promise<void> {
    const environment = { ...database.environment, PORT: String(port), RATE_LIMIT: '1000000', TRUST_PROXY: '1' };
    service = await startProgram(join(ROOT, 'dist', 'main.js'), environment);
  }

  function gateway(index: number): Promise<StartedGateway> {
    const vendor = { url: upstream.url, idempotencyHeader: 'Execution', routes: [route('POST /:kind/:id', 'write')] };
    const settings = { name: `gateway-${index}`, file: { service: `http://127.0.0.1:${port}` } };
    return startGateway({ app: service as never, folder, ...keys }, { vendor }, settings);
  }

  it(
    `sends nothing twice or unauthorised, and reports all, in ${ROUNDS} rounds`,
    async () => {
      const random = randomFor('gateway-kill');
      for (let round = 0; round < ROUNDS; round += 1) {
        let isOver = false;
        const work = async (worker: number): Promise<void> => {
          for (let turn = 0; !isOver; turn += 1) {
            const call = gateways[worker % 2]?.call(`/vendor/a/${round}-${worker}-${turn}`, { json: {} });
            await call?.catch(() => sleep(20));
          }
        };
        const workers = Array.from({ length: WORKERS }, (_, worker) => work(worker));
        await sleep(random.below(MAX_LOAD_MS));
        const victim = random.below(3);
        if (victim === 2) {
          await service.stop('SIGKILL');
          await startService();
        } else {
          await gateways[victim]?.stop('SIGKILL');
          gateways[victim] = await gateway(victim);
        }
        isOver = true;
        await Promise.all(workers);
      }
      const ids = upstream.received.map(({ headers }) => String(headers['execution']));
      expect(ids.length).toBeGreaterThan(0);
      expect(new Set(ids).size).toBe(ids.length);
      for (const id of ids) {
        const read = async (): Promise<{ outcome?: string }> =>
          (await service.send('GET', `/api/v1/executions/${id}`)).body;
        // The execution exists, so it was authorised, and it was reported.
        await until(`${id} is reported`, async () => ['executed', 'failed'].includes(String((await read()).outcome)));
      }
    },
    roundsTimeLimit(MAX_ROUND_MS),
  );
});
