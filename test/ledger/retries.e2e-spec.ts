import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainIsValid } from '../support/factories';
import { ROOT } from '../support/markdown';
import type { Answer, Parsed } from '../support/send';
import { startProgram, type StartedProgram } from '../support/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/temporary-database';

const WITH_ACTIONS = join(ROOT, 'test', 'support', 'program-with-actions.mjs');
const CLIENTS = 8;
/** Requests answered before each kill. */
const LOADS = [1, 60, 25];

/** Every kind of POST that can be told apart by a word of its own. */
const REQUESTS: readonly ((word: string, ids: Ids) => readonly [path: string, body: object])[] = [
  (word) => ['entities', { type: word, name: 'retried' }],
  (word, { entity }) => [`entities/${entity}/claims`, { predicate: word, value: 1 }],
  (word) => ['agents', { name: word }],
  (word) => [
    'policies',
    { name: word, version: '1', effect: 'deny', subjects: ['x'], actions: ['x'], resources: ['x'] },
  ],
  (word, { agent }) => ['decisions', { type: word, title: 'retried', proposedBy: agent, riskLevel: 'low' }],
  (word) => ['agents/bot/execute', { action: 'succeed', resourceType: 'word', resourceId: word }],
  (word) => ['agents/bot/execute', { action: 'unknown', resourceType: 'word', resourceId: word }],
];

interface Ids {
  readonly entity: string;
  readonly agent: string;
}

/** A request, and its first answer that came. */
interface Exchange {
  readonly word: string;
  readonly path: string;
  readonly body: object;
  readonly answer: Answer;
}

describe('The built program, killed while clients repeat what was not answered', () => {
  let database: TemporaryDatabase;
  let program: StartedProgram;
  let ids: Ids;
  let isOver = false;
  const exchanges: Exchange[] = [];

  beforeAll(async () => {
    database = await temporaryDatabase();
    await start();
    const everything = {
      name: 'open',
      version: '1',
      effect: 'allow',
      subjects: ['*'],
      actions: ['*'],
      resources: ['*'],
    };
    await program.send('POST', '/api/v1/policies', { body: everything });
    const bot = { name: 'bot', capabilities: ['succeed', 'hang'] };
    const agent = await program.send('POST', '/api/v1/agents', { body: bot });
    const entity = await program.send('POST', '/api/v1/entities', { body: { type: 'a', name: 'b' } });
    ids = { agent: agent.body.id, entity: entity.body.id };
  }, 60_000);
  afterAll(async () => {
    await program.stop('SIGKILL');
    await database.remove();
  });

  async function start(): Promise<void> {
    program = await startProgram(WITH_ACTIONS, { ...database.environment, RATE_LIMIT: '10000000' });
  }

  function post(path: string, body: object, word: string): Promise<Answer> {
    return program.send('POST', `/api/v1/${path}`, { body, headers: { 'Idempotency-Key': word } });
  }

  /** Sends it until it is answered, however often the program dies meanwhile. */
  async function insist(path: string, body: object, word: string): Promise<Answer> {
    for (;;) {
      const answer = await post(path, body, word).catch(() => null);
      if (answer !== null && answer.status < 500) return answer;
      await sleep(20);
    }
  }

  async function client(number: number): Promise<void> {
    for (let turn = number; !isOver; turn += 1) {
      const word = `word-${number}-${turn}`;
      const [path, body] = REQUESTS[turn % REQUESTS.length]?.(word, ids) ?? ['', {}];
      exchanges.push({ word, path, body, answer: await insist(path, body, word) });
    }
  }

  /** How often a word stands in the audited history: in what the entries sealed. */
  async function effectsByWord(): Promise<Map<string, number>> {
    const effects = new Map<string, number>();
    for (let after = 0; ; after += 1000) {
      const { data } = (await program.send('GET', `/api/v1/provenance?limit=1000&after=${after}`)).body;
      for (const { sequence, action } of data as Parsed[]) {
        // The end of an execution and its interruption follow its authorisation.
        if (['execution.completed', 'execution.interrupted'].includes(action)) continue;
        const { state } = (await program.send('GET', `/api/v1/provenance/${sequence}`)).body;
        const word = /word-\d+-\d+/.exec(JSON.stringify(state))?.[0];
        if (word !== undefined) effects.set(word, (effects.get(word) ?? 0) + 1);
      }
      if (data.length < 1000) return effects;
    }
  }

  it('has done everything once, and answers it again as it did first', async () => {
    const clients = Array.from({ length: CLIENTS }, (_unused, number) => client(number));
    for (const load of LOADS) {
      const known = exchanges.length;
      while (exchanges.length < known + load) await sleep(1);
      await program.stop('SIGKILL');
      await start();
    }
    isOver = true;
    await Promise.all(clients);
    const effects = await effectsByWord();
    const wrong = exchanges
      .filter(({ word }) => effects.get(word) !== 1)
      .map(({ word, path }) => [path, word, effects.get(word)]);
    expect(wrong).toEqual([]);
    expect(effects.size).toBe(exchanges.length);
    for (const { path, body, word, answer } of exchanges) {
      const again = await post(path, body, word);
      expect([again.status, again.text]).toEqual([answer.status, answer.text]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    }
    expect(new Set(exchanges.map(({ answer }) => answer.status))).toEqual(new Set([200, 201, 403]));
    await chainIsValid(program);
  }, 120_000);

  it('answers an execution that a kill interrupted as interrupted, and does not run it again', async () => {
    const hang = { action: 'hang', resourceType: 'word', resourceId: 'interrupted' };
    const unanswered = post('agents/bot/execute', hang, 'interrupted').catch(() => 'unanswered');
    const executions = (outcome: string): Promise<Answer> =>
      program.send('GET', `/api/v1/executions?action=hang&outcome=${outcome}`);
    while ((await executions('running')).body.total === 0) await sleep(10);
    await program.stop('SIGKILL');
    expect(await unanswered).toBe('unanswered');
    await start();
    const again = await post('agents/bot/execute', hang, 'interrupted');
    expect(again).toMatchObject({ status: 200, body: { outcome: 'interrupted' } });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await executions('interrupted')).body.total).toBe(1);
    expect((await program.send('GET', '/api/v1/executions?action=hang')).body.total).toBe(1);
  }, 60_000);
});
