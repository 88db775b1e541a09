import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { effectsByWord } from '../../support/requests/effects';
import {
  action,
  everyPost,
  type Ids,
  type Make,
  prepareEveryPost,
  WITHOUT_ENTRY,
} from '../../support/requests/every-post';
import { chainIsValid } from '../../support/application/factories';
import { lapse } from '../../support/database/leases';
import { ROOT } from '../../support/documents/markdown';
import { isReplayed, type Answer, type Parsed } from '../../support/application/send';
import { startProgram, type StartedProgram } from '../../support/processes/started-program';
import { onServer } from '../../support/database/database-server';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

const MAIN = join(ROOT, 'dist', 'main.js');
const WITH_ACTIONS = join(ROOT, 'test', 'support', 'processes', 'program-with-actions.mjs');
/** Concurrent requests under one key to each replica. */
const AT_ONCE = 4;

describe('One idempotency key at two replicas', () => {
  let database: TemporaryDatabase;
  let replicas: StartedProgram[];
  let ids: Ids;
  let attempts = 0;
  const started: StartedProgram[] = [];

  beforeAll(async () => {
    database = await temporaryDatabase();
    replicas = await Promise.all([start(WITH_ACTIONS), start(WITH_ACTIONS)]);
    ids = await prepareEveryPost(make);
  });
  afterAll(async () => {
    await Promise.all(started.map((program) => program.stop('SIGKILL')));
    await database.remove();
  });

  async function start(main: string): Promise<StartedProgram> {
    const program = await startProgram(main, {
      ...database.environment,
      ...{ RATE_LIMIT: '1000000', RETAIN_AT_LEAST: 'PT0S' },
    });
    started.push(program);
    return program;
  }

  function replica(index: number): StartedProgram {
    const program = replicas[index % replicas.length];
    if (program === undefined) throw new Error('No replica was started.');
    return program;
  }

  const make: Make = async (path, body) => {
    const answer = await replica(0).send('POST', `/api/v1/${path}`, { body });
    if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };

  function post(program: StartedProgram, path: string, body: object, word: string): Promise<Answer> {
    attempts += 1;
    const headers = { 'Idempotency-Key': word, 'X-Request-Id': `${word}_${attempts}` };
    return program.send('POST', `/api/v1/${path}`, { body, headers });
  }

  function execute(program: StartedProgram, body: object, word: string): Promise<Answer> {
    return post(program, 'agents/bot/execute', body, word);
  }

  const responseText = ({ status, text, headers }: Answer): string =>
    JSON.stringify([status, text, headers.get('location'), headers.get('etag')]);

  /** Waits for the only execution on the resource, and returns it. */
  async function executionOn(program: StartedProgram, resourceId: string): Promise<Parsed> {
    for (;;) {
      const { body } = await program.send('GET', `/api/v1/executions?limit=1000&action=wait`);
      const matches = body.data.filter((execution: Parsed) => execution.resourceId === resourceId);
      expect(matches.length).toBeLessThan(2);
      if (matches.length === 1) return matches[0];
      await sleep(10);
    }
  }

  /** Makes replica 0 run the handler until `end` is called, and the repetition wait at another replica. */
  async function repeatedElsewhere(first: StartedProgram, other: StartedProgram, word: string) {
    const file = join(database.folder, word);
    const body = action('wait', word, { file });
    const original = execute(first, body, word).catch(() => null);
    await executionOn(first, word);
    let isAnswered = false;
    const repetition = execute(other, body, word).finally(() => (isAnswered = true));
    for (let looks = 0; looks < 40; looks += 1) {
      expect(await executionOn(other, word)).toMatchObject({ outcome: 'running' });
    }
    expect(isAnswered).toBe(false);
    return { original, repetition, body, end: () => writeFileSync(file, '') };
  }

  it.each(everyPost())('has one effect, and one answer to all: $operation', async ({ operation, request }) => {
    for (let round = 0; round < 3; round += 1) {
      const word = `both-${everyPost().findIndex((it) => it.operation === operation)}-${round}`;
      const [path, body] = await request(make, word, ids);
      const both = Array.from({ length: 2 * AT_ONCE }, (_unused, index) => post(replica(index), path, body, word));
      const answers = await Promise.all(both);
      expect(new Set(answers.map(responseText)).size).toBe(1);
      expect(answers.filter((answer) => !isReplayed(answer))).toHaveLength(1);
      expect(answers[0]?.status).toEqual(operation.endsWith('refused') ? 403 : expect.any(Number));
      const effects = (await effectsByWord(replica(round))).get(word) ?? [];
      expect(effects).toHaveLength(WITHOUT_ENTRY.has(operation) ? 0 : 1);
    }
  });

  it('waits for a handler that the other replica runs, although it has none itself, and returns the outcome', async () => {
    const plain = await start(MAIN);
    const { original, repetition, end } = await repeatedElsewhere(replica(0), plain, 'elsewhere');
    end();
    const [first, second] = [await original, await repetition];
    expect(first?.body).toMatchObject({ outcome: 'executed', result: { ranIn: replica(0).process.pid } });
    expect(first && responseText(first)).toBe(responseText(second));
    expect(isReplayed(second)).toBe(true);
    expect((await effectsByWord(plain)).get('elsewhere')).toEqual(['execution.authorized,execution.completed']);
  });

  it('is answered as interrupted if the replica that runs the handler is killed, and is not run again', async () => {
    const victim = await start(WITH_ACTIONS);
    const { original, repetition, body, end } = await repeatedElsewhere(victim, replica(1), 'killed');
    await victim.stop('SIGKILL');
    expect(await original).toBe(null);
    const { DATABASE_URL } = database.environment;
    const [left] = await onServer(`SELECT "runBy" FROM "executions" WHERE "outcome" = 'running'`, DATABASE_URL);
    await lapse(DATABASE_URL, [String(left?.['runBy'])]);
    const answer = await repetition;
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'interrupted', result: null } });
    expect(isReplayed(answer)).toBe(true);
    end();
    for (const program of replicas)
      expect(responseText(await execute(program, body, 'killed'))).toBe(responseText(answer));
    expect((await effectsByWord(replica(0))).get('killed')).toEqual(['execution.authorized']);
    await chainIsValid(replica(0));
  });
});
