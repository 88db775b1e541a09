import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../support/documents/markdown';
import type { Answer } from '../support/application/send';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';

const MAIN = join(ROOT, 'dist', 'main.js');
/** In full with WEBHOOKS_IN_FULL=true; a sample otherwise. */
const IN_FULL = process.env['WEBHOOKS_IN_FULL'] === 'true';
const [ENDPOINTS, EVENTS, KILLS] = IN_FULL ? [100, 10_000, 10] : [5, 200, 1];
const CLIENTS = 10;
/** Milliseconds that the slow endpoint takes to confirm. */
const SLOW = 100;
/** Deliveries that one crash may repeat: the one in progress, and the one whose confirmation was arriving. */
const REPEATED = 2;

describe('Webhooks to many endpoints, one dead and one slow, from a service that is killed', () => {
  let database: TemporaryDatabase;
  let program: StartedProgram;
  const endpoints: WebhookEndpoint[] = [];

  beforeAll(async () => {
    database = await temporaryDatabase();
    program = await start();
    for (let made = 0; made < ENDPOINTS; made += 1) {
      const endpoint = await WebhookEndpoint.start(undefined, { keepsAll: false });
      endpoints.push(endpoint);
      const body = { url: endpoint.url, actions: ['entity.*'] };
      expect((await program.send('POST', '/api/v1/webhooks', { body })).status).toBe(201);
    }
    await dead().close();
    slow().answering = (response) => setTimeout(() => response.writeHead(204).end(), SLOW);
  });
  afterAll(async () => {
    await program.stop('SIGKILL');
    await Promise.all(endpoints.slice(1).map((endpoint) => endpoint.close()));
    await database.remove();
  });

  function start(): Promise<StartedProgram> {
    const allowed = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '10000000' };
    return startProgram(MAIN, { ...database.environment, ...allowed, LOG_LEVEL: 'fatal' });
  }

  function endpoint(index: number): WebhookEndpoint {
    const match = endpoints[index];
    if (match === undefined) throw new Error(`There is no endpoint ${index}.`);
    return match;
  }
  const dead = (): WebhookEndpoint => endpoint(0);
  const slow = (): WebhookEndpoint => endpoint(1);

  /** Repeats the request until it is answered, as the service may be killed meanwhile. */
  async function create(name: string): Promise<void> {
    for (;;) {
      const body = { type: 'event', name };
      const answer = await program.send('POST', '/api/v1/entities', { body }).catch(() => null);
      if (answer?.status === 201) return;
      await sleep(50);
    }
  }

  async function written(): Promise<number[]> {
    const sequences: number[] = [];
    let query = 'action=entity.created&order=asc&limit=1000';
    for (;;) {
      const { body }: Answer = await program.send('GET', `/api/v1/audit?${query}`);
      sequences.push(...body.data.map(({ sequence }: { sequence: number }) => sequence));
      if (body.nextCursor === undefined) return sequences;
      query = `cursor=${encodeURIComponent(body.nextCursor)}&limit=1000`;
    }
  }

  it(`lose nothing and keep the order of each: ${EVENTS} events, ${KILLS} kills`, async () => {
    let left = EVENTS;
    const clients = Array.from({ length: CLIENTS }, async () => {
      for (left -= 1; left >= 0; left -= 1) await create(`event ${left}`);
    });
    for (let kills = 0; kills < KILLS; kills += 1) {
      const after = EVENTS * (1 - (kills + 1) / (KILLS + 1));
      while (left > after) await sleep(10);
      await program.stop('SIGKILL');
      program = await start();
    }
    await Promise.all(clients);
    const all = await written();
    const quick = endpoints.slice(2);
    const last = all.at(-1) ?? 0;
    while (!quick.every(({ sequences }) => sequences.at(-1) === last)) await sleep(50);
    for (const { sequences } of quick) {
      expect([...new Set(sequences)]).toEqual(all);
      expect(sequences.length - all.length).toBeLessThanOrEqual(REPEATED * KILLS);
    }
    if (IN_FULL) {
      const repeated = quick.map(({ sequences }) => sequences.length - all.length);
      process.stdout.write(`none lost; repeated after ${KILLS} kills: ${Math.max(...repeated)} at most, by endpoint\n`);
    }
    // The slow endpoint lags without delaying the others, and its deliveries have no gap.
    const behind = [...new Set(slow().sequences)];
    expect(behind).toEqual(all.slice(0, behind.length));
    expect(behind.length).toBeGreaterThan(0);
  }, 7_200_000);
});
