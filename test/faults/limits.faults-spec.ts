import { createPostgresDatabase, dropPostgresDatabase, onServer } from '../support/database/database-server';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import type { Answer } from '../support/application/send';
import { type StartedProgram, startProgram } from '../support/processes/started-program';
import { describeWhereReachable, POSTGRES_SERVER } from '../support/processes/where-reachable';
import { type Random, randomFor } from './support/random';
import { ROUNDS as ROUNDS_OF_ALL } from './support/rounds';
import { MAIN } from './support/served-database';

const ROUNDS = Math.ceil(ROUNDS_OF_ALL / 4);
const REPLICAS = 3;
const REQUESTS = 400;
const MAX = 100;
const CLIENTS = 60;
const EXECUTE = '/api/v1/agents/bot/execute';
const BILL = { resourceType: 'bill', resourceId: 'b', parameters: { amount: 1 } };
/** Numbers of requests after which a replica is killed. */
const KILLS = [50, 120, 230];
/** The number of the request before which the time moves; as many more as there are clients race with the move. */
const WINDOW_END = 200;
const HOUR = 3_600_000;
/** The server's clock, for this database alone; `moved_clock` says how far it is ahead. */
const MOVABLE_CLOCK =
  'CREATE TABLE public.moved_clock AS SELECT 0::bigint AS ahead; ' +
  'CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS ' +
  `'SELECT pg_catalog.clock_timestamp() + (SELECT ahead FROM public.moved_clock) * interval ''1 millisecond'''`;

describeWhereReachable(
  [POSTGRES_SERVER],
  'A limit, or a grant, that many requests race for on three replicas, which are killed',
  () => {
    let database: string;
    let replicas: StartedProgram[] = [];
    /** Two may have been started for the same place. */
    const started: StartedProgram[] = [];
    const rounds = Array.from({ length: ROUNDS }, (_, index) => index);

    beforeAll(async () => {
      database = await createPostgresDatabase();
      await onServer(MOVABLE_CLOCK, database);
      const name = new URL(database).pathname.slice(1);
      await onServer(`ALTER DATABASE ${name} SET search_path = public, pg_catalog`);
      replicas = [await start()];
      while (replicas.length < REPLICAS) replicas.push(await start());
      await createAgent(oneOf(0), { name: 'bot', capabilities: ['pay-*', 'refund-*'] });
      await createAgent(oneOf(0), { name: 'ann', kind: 'human' });
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
        MAX_CLOCK_STEP: String(1_000 * HOUR),
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

    /** Repeats the request under its key, at one replica after the other, until one answers. */
    async function sendUntilAnswered(action: string, request: number): Promise<Answer> {
      const body = { ...BILL, action };
      const headers = { 'Idempotency-Key': `${action}-${request}` };
      for (let attempt = 0; ; attempt += 1) {
        const sent = oneOf(request + attempt).send('POST', EXECUTE, { body, headers });
        const answer = await sent.catch(() => null);
        if (answer !== null && answer.status !== 503) return answer;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }

    /** Counts the requests that are allowed while replicas are killed. */
    async function race(
      action: string,
      expectRefused: (answer: Answer) => void,
      before: (request: number) => Promise<unknown> = () => Promise.resolve(),
    ): Promise<number> {
      const random = randomFor(action);
      const allowed = new Set<string>();
      const kills: Promise<void>[] = [];
      let next = 0;
      const client = async (): Promise<void> => {
        for (let request = next++; request < REQUESTS; request = next++) {
          if (KILLS.includes(request)) kills.push(replaceOne(random));
          await before(request);
          const answer = await sendUntilAnswered(action, request);
          if (answer.status === 200) allowed.add(answer.body.id);
          else expectRefused(answer);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      await Promise.all(kills);
      return allowed.size;
    }

    it.each(rounds)('allows exactly as many as fit, in round %i', async (round) => {
      const limits = [{ max: MAX, of: '/amount', per: 'month', by: 'policy' }];
      const policy = await createPolicy(oneOf(0), { name: `round ${round}`, actions: [`pay-${round}`], limits });
      const allowed = await race(`pay-${round}`, ({ body }) => expect(body.error.reason).toBe('limit_reached'));
      expect(allowed).toBe(MAX);
      const path = `/api/v1/executions?action=pay-${round}&outcome=authorized&limit=1`;
      expect((await oneOf(0).send('GET', path)).body.total).toBe(MAX);
      const { body } = await oneOf(1).send('GET', `/api/v1/policies/${policy.id}/usage`);
      expect(body.data).toMatchObject([{ used: String(MAX), max: String(MAX) }]);
      await chainIsValid(oneOf(2));
    });

    it.each(rounds)(
      'allows as many in each of two windows between which the time moves, in round %i',
      async (round) => {
        const action = `pay-hourly-${round}`;
        const limits = [{ max: MAX, of: '/amount', per: 'hour', by: 'agent' }];
        await createPolicy(oneOf(0), { name: action, actions: [action], limits });
        const move = (distance: string): Promise<unknown> =>
          onServer(`UPDATE public.moved_clock SET ahead = ahead + ${distance}`, database);
        // Half past, so that only one hour ends meanwhile.
        const now = '(extract(epoch FROM public.clock_timestamp()) * 1000)::bigint';
        await move(`(${1.5 * HOUR} - ${now} % ${HOUR})::bigint % ${HOUR}`);
        let windowEnd: Promise<unknown> = Promise.resolve();
        const allowed = await race(
          action,
          ({ body }) => expect(body.error.reason).toBe('limit_reached'),
          async (request) => {
            if (request === WINDOW_END) windowEnd = move(String(HOUR));
            // At least MAX requests are left for the second window, however slow the move is.
            if (request === WINDOW_END || request >= WINDOW_END + CLIENTS) await windowEnd;
          },
        );
        expect(allowed).toBe(2 * MAX);
        const { body } = await oneOf(1).send('GET', `/api/v1/audit?action=execution.authorized&limit=${2 * MAX}`);
        const windows = new Map<string, number>();
        for (const { details } of body.data as Answer['body'][]) {
          const [{ window }] = details.used;
          windows.set(window, (windows.get(window) ?? 0) + 1);
        }
        expect([...windows.values()]).toEqual([MAX, MAX]);
        await chainIsValid(oneOf(2));
      },
    );

    it.each(rounds)('serves a grant exactly as often as was given, in round %i', async (round) => {
      const action = `refund-${round}`;
      const approval = { approvers: [{ subjects: ['agent:ann'] }], grant: { for: 'PT1H', uses: MAX } };
      await createPolicy(oneOf(0), { name: action, effect: 'require_approval', actions: [action], approval });
      const { body: execution } = await oneOf(0).send('POST', EXECUTE, { body: { ...BILL, action } });
      const review = { approverId: 'ann', grant: { for: 'PT1H' } };
      await oneOf(0).send('POST', `/api/v1/decisions/${execution.decisionId}/approve`, { body: review });
      await oneOf(0).send('POST', `/api/v1/executions/${execution.id}/resume`);
      const served = await race(action, ({ status, body }) =>
        expect([status, body.outcome]).toEqual([202, 'pending_approval']),
      );
      expect(served).toBe(MAX);
      const { body } = await oneOf(1).send('GET', `/api/v1/grants?decisionId=${execution.decisionId}`);
      expect(body.data).toMatchObject([{ uses: MAX, used: MAX, status: 'used_up' }]);
      const path = `/api/v1/executions?grantId=${body.data[0].id}&limit=1`;
      expect((await oneOf(0).send('GET', path)).body.total).toBe(MAX);
      await chainIsValid(oneOf(2));
    });
  },
);
