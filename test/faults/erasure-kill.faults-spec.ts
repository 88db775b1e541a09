import { setTimeout as sleep } from 'node:timers/promises';
import { chainIsValid } from '../support/application/factories';
import type { Parsed } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import { randomFor } from './support/random';
import { ROUNDS, roundsTimeLimit } from './support/rounds';
import { MAIN } from './support/served-database';

const WORKERS = 6;
/** Entries about each entity: more than a piece of an erasure takes, together with those of others. */
const UPDATES = 30;
/** Milliseconds before a kill, at most. */
const MAX_LOAD_MS = 1_500;
const MAX_ROUND_MS = 40_000;

/** An entity as its client sees it: its content, and the progress of its erasure. */
interface Person {
  readonly id: string;
  readonly secret: string;
  isAsked: boolean;
  isAnswered: boolean;
}

describe('kill -9 during erasures under load', () => {
  let database: TemporaryDatabase;
  let program: StartedProgram;

  beforeAll(async () => {
    database = await temporaryDatabase();
    await start();
  });
  afterAll(async () => {
    await program.stop();
    await database.remove();
  });

  async function start(): Promise<void> {
    program = await startProgram(MAIN, { ...database.environment, RATE_LIMIT: '1000000', RETAIN_AT_LEAST: 'PT0S' });
  }

  /** Sends a request; null if the process ended before it answered. */
  const send = async (method: string, path: string, body: object): Promise<Parsed> => {
    const answer = await program.send(method, `/api/v1/${path}`, { body }).catch(() => null);
    if (answer === null || answer.status === 503) return null;
    expect([200, 201]).toContain(answer.status);
    return answer.body;
  };

  async function live(people: Person[], secret: string, isToBeErased: boolean): Promise<void> {
    const created = await send('POST', 'entities', { type: 'person', name: secret });
    if (created === null) return;
    const person = { id: created.id as string, secret, isAsked: false, isAnswered: false };
    people.push(person);
    for (let update = 0; update < UPDATES; update += 1)
      if ((await send('PUT', `entities/${person.id}`, { properties: { update } })) === null) return;
    if (!isToBeErased) return;
    person.isAsked = true;
    const subjects = [{ type: 'entity', id: person.id }];
    person.isAnswered = (await send('POST', 'erasures', { subjects, reason: 'Request' })) !== null;
  }

  async function allCompleted(): Promise<void> {
    for (;;) {
      const { body } = await program.send('GET', '/api/v1/erasures?limit=1000&order=desc');
      if (body.data.every(({ completedAt }: Parsed) => completedAt !== null)) return;
      await sleep(100);
    }
  }

  it(
    `everything named is gone, and nothing else is, in ${ROUNDS} rounds`,
    async () => {
      const random = randomFor('erasures');
      const people: Person[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        let isOver = false;
        const work = async (worker: number): Promise<void> => {
          for (let turn = 0; !isOver; turn += 1)
            await live(people, `secret-${round}-${worker}-${turn}.`, turn % 2 === 0);
        };
        const workers = Array.from({ length: WORKERS }, (_, worker) => work(worker));
        // However slow the machine is, some are answered in each round.
        const before = countAnswered(people);
        while (countAnswered(people) < before + 2) await sleep(5);
        await sleep(random.below(MAX_LOAD_MS));
        isOver = true;
        await program.stop('SIGKILL');
        await Promise.all(workers);
        await start();
        await allCompleted();
        const foreign = await SqliteConnection.open(database.path, 'read');
        const rows = await foreign.all<{ subjectId: string }>(
          `SELECT DISTINCT "subjectId" FROM "ledger_entries" WHERE "state" IS NOT NULL AND "subjectType" = 'entity'`,
        );
        const entities = await foreign.all<{ id: string }>('SELECT "id" FROM "entities"');
        await foreign.close();
        const [inEntries, there] = [
          new Set(rows.map(({ subjectId }) => subjectId)),
          new Set(entities.map(({ id }) => id)),
        ];
        for (const { id, isAsked, isAnswered } of people) {
          const [isInEntries, isThere] = [inEntries.has(id), there.has(id)];
          // An entity whose answer was lost is erased as a whole, or not at all.
          const isWhole = isInEntries === isThere;
          const isRight = isAnswered ? !isThere : isAsked || isThere;
          expect({ id, isAsked, isAnswered, isThere, isWhole, isRight }).toMatchObject({
            isWhole: true,
            isRight: true,
          });
        }
        await chainIsValid(program);
      }
      expect(countAnswered(people)).toBeGreaterThan(ROUNDS);
      expect(people.filter(({ isAsked }) => !isAsked).length).toBeGreaterThan(ROUNDS);
    },
    roundsTimeLimit(MAX_ROUND_MS),
  );
});

function countAnswered(people: readonly Person[]): number {
  return people.filter(({ isAnswered }) => isAnswered).length;
}
