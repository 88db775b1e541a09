import { join } from 'node:path';
import { createTestApp } from '../support/application/create-test-app';
import { createPostgresDatabase, dropPostgresDatabase, onServer } from '../support/database/database-server';
import { ROOT } from '../support/documents/markdown';
import { type ProgramRun, run } from '../support/processes/shell';
import { startProgram } from '../support/processes/started-program';
import { POSTGRES_SERVER } from '../support/processes/where-reachable';

const MAIN = join(ROOT, 'dist', 'main.js');
const API_KEY = 'the-key-of-these-tests-0123456789';

describe('A start on PostgreSQL', () => {
  const databases: string[] = [];

  afterAll(() => Promise.all(databases.map(dropPostgresDatabase)));

  async function createDatabase(settings?: string): Promise<string> {
    const url = await createPostgresDatabase(settings);
    databases.push(url);
    return url;
  }

  function refuse(url: string): Promise<ProgramRun> {
    return run(process.execPath, [MAIN], { environment: { NODE_ENV: '', API_KEY, PORT: '0', DATABASE_URL: url } });
  }

  it('is refused if commits are acknowledged before they are on disk', async () => {
    const url = await createDatabase();
    const name = new URL(url).pathname.slice(1);
    await onServer(`ALTER DATABASE ${name} SET synchronous_commit = off`);
    expect(await refuse(url)).toEqual({
      exitCode: 1,
      output: '',
      errors:
        'The service could not start: The PostgreSQL server runs with synchronous_commit=off, ' +
        'which loses acknowledged writes. Turn it on.\n',
    });
    expect(await onServer('SELECT * FROM pg_tables WHERE schemaname = current_schema()', url)).toEqual([]);
  });

  it('is refused if not every text can be stored', async () => {
    const url = await createDatabase(`ENCODING 'LATIN1' LOCALE 'C'`);
    await expect(createTestApp({ environment: { DATABASE_URL: url } })).rejects.toThrow(/must have the encoding UTF8/);
  });

  it.each([
    ['nobody listens', '127.0.0.1:1', /127\.0\.0\.1:1\/governance: connect ECONNREFUSED/],
    ['the host has no address', 'nowhere.invalid:5432', /nowhere\.invalid:5432\/governance: getaddrinfo/],
    [
      'there is no such database',
      `${POSTGRES_SERVER.host}:${POSTGRES_SERVER.port}`,
      /database "governance" does not exist/,
    ],
  ])('ends with exit code 1 and one line without the password where %s', async (_where, place, message) => {
    const { exitCode, output, errors } = await refuse(`postgres://postgres:hunter2@${place}/governance`);
    expect([exitCode, output]).toEqual([1, '']);
    expect(errors).toMatch(/^The service could not start: No connection to the PostgreSQL database .+\n$/);
    expect(errors).toMatch(message);
    expect(errors).not.toContain('hunter2');
  });

  it('reports where the records are, without the password', async () => {
    const url = new URL(await createDatabase());
    url.password = 'hunter2';
    const program = await startProgram(MAIN, { DATABASE_URL: url.href });
    expect(program.printed()).toMatch(/^ *Database +postgres:\/\/127\.0\.0\.1:5432\/governance_test_\w+$/m);
    await program.send('POST', '/api/v1/entities', { body: { type: 'a', name: 'b' } });
    expect(await program.stop()).toBe(0);
    expect(program.printed()).not.toContain('hunter2');
  });

  it('makes texts compare by bytes, whatever the locale of the database', async () => {
    const url = await createDatabase();
    const app = await createTestApp({ environment: { DATABASE_URL: url } });
    await app.close();
    const columns = await onServer(
      `SELECT table_name, column_name, collation_name FROM information_schema.columns
       WHERE table_schema = current_schema() AND data_type = 'text'`,
      url,
    );
    expect(columns.length).toBeGreaterThan(50);
    expect(columns.filter(({ collation_name }) => collation_name !== 'C')).toEqual([]);
  });
});
