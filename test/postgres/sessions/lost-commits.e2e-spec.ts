import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid } from '../../support/application/factories';
import { send, type Answer } from '../../support/application/send';
import { COMMIT, openDatabaseGate, type TcpGate } from '../../support/application/tcp-gate';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { untilStatus } from '../support/sessions';

describe('Where the network keeps the connection of a writer open, but has lost', () => {
  let database: TemporaryDatabase;
  let gate: TcpGate;
  let app: TestApp;

  beforeEach(async () => {
    database = await temporaryDatabase();
    const opened = await openDatabaseGate(database.environment.DATABASE_URL);
    gate = opened.gate;
    const environment = { ...database.environment, DATABASE_URL: opened.url, LOG_LEVEL: 'fatal' };
    // The writer's session has not yet sent the text of COMMIT, which it sends only once.
    app = await createTestApp({ environment });
  });
  afterEach(async () => {
    await app.close();
    await gate.close();
    await database.remove();
  });

  const post = (): Promise<Answer> =>
    send(app, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'gateway' } });
  const health = (): Promise<Answer> => send(app, 'GET', '/api/v1/health');

  it.each<[what: string, whose: 'text' | 'answer', status: number, entities: number]>([
    ['its COMMIT', 'text', 503, 0],
    ['the answer to its COMMIT', 'answer', 201, 1],
  ])('%s, the write is answered, and others follow', async (_what, whose, status, entities) => {
    const lost = gate.lose(whose, COMMIT);
    const answer = post();
    await lost;
    await untilStatus(health, 503);
    expect((await answer).status).toBe(status);
    await untilStatus(health, 200);
    expect((await send(app, 'GET', '/api/v1/stats')).body.entities).toBe(entities);
    expect((await post()).status).toBe(201);
    await chainIsValid(app);
  });
});
