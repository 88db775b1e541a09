import { createPostgresDatabase, dropPostgresDatabase } from '../support/database/database-server';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import type { Answer } from '../support/application/send';
import { type StartedProgram, startProgram } from '../support/processes/started-program';
import { describeWhereReachable, POSTGRES_SERVER } from '../support/processes/where-reachable';
import { type Random, randomFor } from './support/random';
import { MAIN } from './support/served-database';

/** `LIMIT_ROUNDS=20` races as often. */
const ROUNDS = Number(process.env['LIMIT_ROUNDS'] ?? 3);
const REPLICAS = 3;
const REQUESTS = 1_000;
const MAX = 100;
const CLIENTS = 60;
/** Of the requests, after how many a replica is killed. */
const KILLS = [50, 120, 600];

describeWhereReachable(
  [POSTGRES_SERVER],
  'A limit that many requests race for on three replicas, which are killed',
  () => {
    let database: string;
    let replicas: StartedProgram[] = [];
    /** Two may have been started for the same place. */
    const started: StartedProgram[] = [];
    const rounds = Array.from({ length: ROUNDS }, (_, index) => index);

    beforeAll(async () => {
      database = await createPostgresDatabase();
      replicas = [await start()];
      while (replicas.length < REPLICAS) replicas.push(await start());
      await createAgent(oneOf(0), { name: 'bot', capabilities: ['pay-*'] });
    });
    afterAll(async () => {
      await Promise.all(started.map((replica) => replica.stop()));
      await dropPostgresDatabase(database);
    });

    async function start(): Promise<StartedProgram> {
      const signingKey = Buffer.alloc(32, 'limits').toString('base64');
      const program = await startProgram(MAIN, {
        DATABASE_URL: database,
        SIGNING_KEY: signingKey,
        RATE_LIMIT: '1000000',
      });
      started.push(program);
      return program;
    }

    function oneOf(number: number): StartedProgram {
      const replica = replicas[number % replicas.length];
      if (replica === undefined) throw new Error('No replica runs.');
      return replica;
    }

    /** Kills one without warning, and starts another in its place. */
    async function replaceOne(random: Random): Promise<void> {
      const index = random.below(replicas.length);
      await replicas[index]?.stop('SIGKILL');
      replicas[index] = await start();
    }

    /** Sends the request again under its key, to whichever replica, until it is answered. */
    async function answered(round: number, request: number): Promise<Answer> {
      const body = { action: `pay-${round}`, resourceType: 'bill', resourceId: 'b', parameters: { amount: 1 } };
      const headers = { 'Idempotency-Key': `${round}-${request}` };
      for (let attempt = 0; ; attempt += 1) {
        const sent = oneOf(request + attempt).send('POST', '/api/v1/agents/bot/execute', { body, headers });
        const answer = await sent.catch(() => null);
        if (answer !== null && answer.status !== 503) return answer;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }

    it.each(rounds)('allows exactly as many as fit, in round %i', async (round) => {
      const random = randomFor(`limits ${round}`);
      const limits = [{ max: MAX, of: '/amount', per: 'month', by: 'policy' }];
      const policy = await createPolicy(oneOf(0), { name: `round ${round}`, actions: [`pay-${round}`], limits });
      const allowed = new Set<string>();
      const kills: Promise<void>[] = [];
      let next = 0;
      const client = async (): Promise<void> => {
        for (let request = next++; request < REQUESTS; request = next++) {
          if (KILLS.includes(request)) kills.push(replaceOne(random));
          const { status, body } = await answered(round, request);
          if (status === 200) allowed.add(body.id);
          else expect(body.error.reason).toBe('limit_reached');
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      await Promise.all(kills);
      expect(allowed.size).toBe(MAX);
      const path = `/api/v1/executions?action=pay-${round}&outcome=authorized&limit=1`;
      expect((await oneOf(0).send('GET', path)).body.total).toBe(MAX);
      const { body } = await oneOf(1).send('GET', `/api/v1/policies/${policy.id}/usage`);
      expect(body.data).toMatchObject([{ used: String(MAX), max: String(MAX) }]);
      await chainIsValid(oneOf(2));
    });
  },
);
