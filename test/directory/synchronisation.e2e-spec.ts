import { chainIsValid, issueKey } from '../support/application/factories';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { DirectoryClient } from './directory-client';
import { synchronise } from './synchronisation';

/** DIRECTORY_IN_FULL=true synchronises 10,000 people and 200 groups. */
const DIRECTORY =
  process.env['DIRECTORY_IN_FULL'] === 'true' ? { people: 10_000, groups: 200 } : { people: 30, groups: 5 };

describe('A full synchronisation', () => {
  let app: TestApp;
  let directory: DirectoryClient;

  beforeAll(async () => {
    app = await createTestApp({ environment: { DIRECTORY_ROLES: '{"group-0":["finance"]}', LOG_LEVEL: 'warn' } });
    directory = new DirectoryClient(app, (await issueKey(app, { scopes: ['directory'] })).secret);
  });
  afterAll(() => app.close());

  const ledger = async (): Promise<unknown> => {
    const groups = (await directory.send('GET', 'Groups?count=200')).body;
    const users = (await directory.send('GET', 'Users?count=200')).body;
    return [(await send(app, 'GET', '/api/v1/provenance?limit=1&order=desc')).body.data, groups, users];
  };

  it('makes all people and groups, and writes nothing the second time', async () => {
    const begin = Date.now();
    await synchronise(directory, DIRECTORY);
    const middle = Date.now();
    const after = await ledger();
    await synchronise(directory, DIRECTORY);
    if (DIRECTORY.people > 1_000)
      process.stdout.write(`first ${(middle - begin) / 1_000} s, second ${(Date.now() - middle) / 1_000} s\n`);
    expect(await ledger()).toEqual(after);
    const { total } = (await send(app, 'GET', '/api/v1/agents?role=finance&limit=1')).body;
    expect(total).toBe((2 * DIRECTORY.people) / DIRECTORY.groups);
    await chainIsValid(app);
  }, 900_000);
});
