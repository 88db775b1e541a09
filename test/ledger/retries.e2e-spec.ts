import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { effectsByWord } from '../support/requests/effects';
import {
  action,
  everyPost,
  type Ids,
  type Make,
  prepareEveryPost,
  WITHOUT_ENTRY,
} from '../support/requests/every-post';
import { chainIsValid } from '../support/application/factories';
import { lapse, leaseHolders } from '../support/database/leases';
import { ROOT } from '../support/documents/markdown';
import { isReplayed, type Answer, type Parsed } from '../support/application/send';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const WITH_ACTIONS = join(ROOT, 'test', 'support', 'processes', 'program-with-actions.mjs');
/**
 * A plan is valid only while nobody changes policies, which all the other requests do; and an erasure takes the kept
 * answers and request ids by which the others are counted. What a grant has authorised is answered anew once that is
 * revoked.
 */
const APART = ['policySets_apply', 'erasures_create', 'grants_revoke'];
const CASES = everyPost().filter(({ operation }) => !APART.includes(operation));
/** Routes that take no key, since answers with a secret are not stored. */
const WITHOUT_KEY = ['api-keys', 'webhooks'];
/** Numbers of concurrent requests that are answered before each kill. */
const ANSWER_COUNTS = [0, 8];

const HANG = action('hang', 'interrupted');

/** A request, and the first answer received. */
interface Exchange {
  readonly operation: string;
  readonly word: string;
  readonly path: string;
  readonly body: object;
  readonly answer: Answer;
}

describe('The built program, killed while clients repeat unanswered requests', () => {
  let database: TemporaryDatabase;
  let program: StartedProgram;
  let ids: Ids;
  let attempts = 0;
  /** Settles with the answer to an execution that was running at the first kill. */
  let unanswered: Promise<unknown>;
  const unrepeated = new Set<string>();
  const exchanges: Exchange[] = [];

  beforeAll(async () => {
    database = await temporaryDatabase();
    await start();
    ids = await prepareEveryPost(making('ground'));
    // This request is not repeated before its own test.
    unrepeated.add('interrupted');
    unanswered = post('agents/bot/execute', HANG, 'interrupted').catch(() => 'unanswered');
    while ((await hanging('running')).body.total === 0) await sleep(10);
    for (const [number, answerCount] of ANSWER_COUNTS.entries()) await round(number, answerCount);
  });
  afterAll(async () => {
    await program.stop('SIGKILL');
    await database.remove();
  });

  /** The previous program has ended by then. */
  async function start(): Promise<void> {
    const { DATABASE_URL } = database.environment;
    const previous = attempts === 0 ? [] : await leaseHolders(DATABASE_URL);
    program = await startProgram(WITH_ACTIONS, { ...database.environment, RATE_LIMIT: '10000000' });
    await lapse(DATABASE_URL, previous);
  }

  function post(path: string, body: object, word: string): Promise<Answer> {
    attempts += 1;
    const headers = { 'Idempotency-Key': word, 'X-Request-Id': `${word}_${attempts}` };
    return program.send('POST', `/api/v1/${path}`, { body, headers });
  }

  function hanging(outcome: string): Promise<Answer> {
    return program.send('GET', `/api/v1/executions?action=hang&outcome=${outcome}`);
  }

  /** Repeats the request until it is answered, however often the program dies. */
  async function insist(operation: string, path: string, body: object, word: string): Promise<Answer> {
    for (;;) {
      const answer = await post(path, body, word).catch(() => null);
      if (answer !== null && answer.status < 500) {
        exchanges.push({ operation, word, path, body, answer });
        return answer;
      }
      await sleep(20);
    }
  }

  /** A request that is answered with a secret takes no key, and is not repeated. */
  async function makeSecret(path: string, body: object, word: string): Promise<Parsed> {
    unrepeated.add(word);
    const answer = await program.send('POST', `/api/v1/${path}`, { body, headers: { 'X-Request-Id': `${word}_1` } });
    return answer.body;
  }

  /** Requests that create records have their own keys. */
  function making(word: string): Make {
    let made = 0;
    return async (path, body) => {
      made += 1;
      return WITHOUT_KEY.includes(path)
        ? makeSecret(path, body, `${word}.${made}`)
        : (await insist('made', path, body, `${word}.${made}`)).body;
    };
  }

  /** Sends one of each kind at once, and kills the program once some are answered. */
  async function round(number: number, answerCount: number): Promise<void> {
    const requests = await Promise.all(
      CASES.map(async ({ operation, request }, index) => {
        const word = `word-${number}-${index}`;
        return { operation, word, request: await request(making(word), word, ids) };
      }),
    );
    const earlierCount = exchanges.length;
    const sent = requests.map(({ operation, word, request: [path, body] }) => insist(operation, path, body, word));
    while (exchanges.length < earlierCount + answerCount) await sleep(1);
    await program.stop('SIGKILL');
    await start();
    await Promise.all(sent);
  }

  it('has done everything once, and repeats its first answers', async () => {
    const effects = await effectsByWord(program);
    const wrong = exchanges
      .map(({ operation, word }) => ({ operation, word, did: effects.get(word) ?? [] }))
      .filter(({ operation, did }) => did.length !== (WITHOUT_ENTRY.has(operation) ? 0 : 1));
    expect(wrong).toEqual([]);
    const words = new Set(exchanges.map(({ word }) => word));
    expect([...effects.keys()].filter((word) => !words.has(word) && !unrepeated.has(word))).toEqual([]);
    for (const { operation, path, body, word, answer } of exchanges) {
      const again = await post(path, body, word);
      if (isInterrupted(operation, answer)) {
        expect(isInterrupted(operation, again)).toBe(true);
        continue;
      }
      expect([operation, again.status, again.text]).toEqual([operation, answer.status, answer.text]);
      expect([operation, isReplayed(again)]).toEqual([operation, true]);
    }
    expect(await effectsByWord(program)).toEqual(effects);
    await chainIsValid(program);
  });

  it('has had the same effects for each kind every time', async () => {
    const effects = await effectsByWord(program);
    for (const { operation } of CASES) {
      const those = exchanges.filter((exchange) => exchange.operation === operation);
      expect([operation, those.length]).toEqual([operation, ANSWER_COUNTS.length]);
      const statuses = operation.endsWith('refused') ? [403] : [200, 201];
      const others = those.filter(
        ({ answer }) => !statuses.includes(answer.status) && !isInterrupted(operation, answer),
      );
      expect(others).toEqual([]);
      // Some executions were ended by a kill.
      const did = those.map(({ word }) => effects.get(word)?.join().replace(',execution.completed', ''));
      expect([operation, new Set(did).size]).toEqual([operation, 1]);
    }
  });

  it('returns an execution interrupted by a kill as interrupted, and does not run it again', async () => {
    expect(await unanswered).toBe('unanswered');
    const again = await post('agents/bot/execute', HANG, 'interrupted');
    expect(again).toMatchObject({ status: 200, body: { outcome: 'interrupted' } });
    expect(isReplayed(again)).toBe(true);
    expect((await hanging('interrupted')).body.total).toBe(1);
    expect((await program.send('GET', '/api/v1/executions?action=hang')).body.total).toBe(1);
  });
});

/** True if a kill came while a test event was on its way, so that its arrival is unknown. */
function isInterrupted(operation: string, { status, text }: Answer): boolean {
  return operation === 'webhooks_test' && status === 409 && text.includes('was interrupted');
}
