import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { send } from '../../support/application/send';
import { createPostgresDatabase, dropPostgresDatabase, onServer } from '../../support/database/database-server';

const ENABLE = 'ALTER TABLE policies ENABLE ROW LEVEL SECURITY';
const FORCE = 'ALTER TABLE policies FORCE ROW LEVEL SECURITY';
const DISABLE = 'ALTER TABLE policies NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY';

describe('Row security of a table', () => {
  let url: string;
  /** URL of a role that owns the database and is no superuser. */
  let urlOfOwner: string;
  let owner: string;
  let app: TestApp | null = null;

  beforeAll(async () => {
    url = await createPostgresDatabase();
    const name = new URL(url).pathname.slice(1);
    owner = `${name}_owner`;
    await onServer(`CREATE ROLE ${owner} LOGIN PASSWORD 'a-password-for-tests'`);
    await onServer(`ALTER DATABASE ${name} OWNER TO ${owner}`);
    urlOfOwner = Object.assign(new URL(url), { username: owner }).href;
  });
  afterEach(async () => {
    await app?.close();
    app = null;
    await onServer(DISABLE, url);
  });
  afterAll(async () => {
    await dropPostgresDatabase(url);
    await onServer(`DROP ROLE ${owner}`);
  });

  async function start(as = urlOfOwner): Promise<TestApp> {
    return (app = await createTestApp({ environment: { DATABASE_URL: as } }));
  }

  function verify(running: TestApp): Promise<object> {
    return send(running, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
  }

  it('that hides rows from the service is found by a verification of the records, and prevents the next start', async () => {
    const running = await start();
    await onServer(`${ENABLE}; ${FORCE}`, url);
    expect(await verify(running)).toMatchObject({
      status: 200,
      body: { valid: false, invalidDerived: 1, firstInvalidDerived: [{ data: 'table', name: 'policies' }] },
    });
    await running.close();
    app = null;
    await expect(start()).rejects.toThrow(/row security hides rows of policies/);
  });

  it('is none for the owner of the table unless it is forced', async () => {
    await start();
    await onServer(ENABLE, url);
    await app?.close();
    expect(await verify(await start())).toMatchObject({ status: 200, body: { valid: true } });
  });

  it('is none for a superuser', async () => {
    await (await start()).close();
    await onServer(`${ENABLE}; ${FORCE}`, url);
    expect(await verify(await start(url))).toMatchObject({ status: 200, body: { valid: true } });
  });
});
