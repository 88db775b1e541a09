import { onPostgres } from '../support/database/database-kind';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { EventReader } from '../support/application/event-reader';
import { createEntity, issueKey } from '../support/application/factories';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

/** In full with EVENTS_IN_FULL=true; a sample otherwise. */
const IN_FULL = process.env['EVENTS_IN_FULL'] === 'true';
const [EVENTS, AT_ONCE] = IN_FULL ? [10_000, 100] : [500, 50];
const READERS = 50;
const CALLERS = 3;
/** Milliseconds after the commit within which 99 of 100 events must arrive. */
const BEHIND = 1_000;

/** If several processes share the database, some readers are connected to another process than the writer. */
describe('Events, to many readers', () => {
  let database: TemporaryDatabase;
  const apps: TestApp[] = [];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const environment = { ...database.environment, RATE_LIMIT: '10000000' };
    for (let count = onPostgres ? 2 : 1; count > 0; count -= 1) apps.push(await createTestApp({ environment }));
  });
  afterAll(async () => {
    for (const app of apps) await app.close();
    await database.remove();
  });

  function app(index: number): TestApp {
    const instance = apps[index % apps.length];
    if (instance === undefined) throw new Error('No application was started.');
    return instance;
  }

  it(`all arrive, once and in order: ${EVENTS} to ${READERS}`, async () => {
    const keys = await Promise.all(Array.from({ length: CALLERS }, () => issueKey(app(0), { scopes: ['audit'] })));
    const readers = await Promise.all(
      Array.from({ length: READERS }, (_, index) =>
        EventReader.open(app(index), '', { 'X-API-Key': keys[index % CALLERS]?.secret ?? '' }),
      ),
    );
    expect(readers.map(({ answer }) => answer.statusCode)).toEqual(Array.from({ length: READERS }, () => 200));
    for (let made = 0; made < EVENTS; made += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, () => createEntity(app(0))));
    }
    await Promise.all(readers.map((reader) => reader.until(EVENTS)));
    const expected = Array.from({ length: EVENTS }, (_, index) => CALLERS + 1 + index);
    for (const { ids } of readers) expect(ids).toEqual(expected);
    if (IN_FULL) {
      apps.forEach((_, process) => {
        const lags = readers
          .filter((_reader, index) => index % apps.length === process)
          .flatMap(({ events }) => events.map(({ at, data }) => at - Date.parse(data.timestamp)))
          .sort((one, other) => one - other);
        const p99 = lags[Math.floor(lags.length * 0.99)] ?? 0;
        report(`p99 behind the commit, process ${process}: ${p99} ms`);
        expect(p99).toBeLessThan(BEHIND);
      });
    }
    readers.forEach((reader) => reader.close());
  });
});

function report(line: string): void {
  process.stdout.write(`${line}\n`);
}
