import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresConnection } from '../../../src/ledger/database/postgres/postgres-connection';
import { serverConfig } from '../../../src/ledger/database/postgres/postgres-settings';
import { releasedDatabase } from '../../database/released-database';
import { createTestApp } from '../../support/application/create-test-app';
import { createPostgresDatabase, dropPostgresDatabase, onServer } from '../../support/database/database-server';
import { ROOT } from '../../support/documents/markdown';
import { type ProgramRun, run } from '../../support/processes/shell';
import { startProgram } from '../../support/processes/started-program';
import { postgresSettings } from '../../../src/program/testing/test-api-key';
import { POSTGRES_SERVER } from '../../support/processes/where-reachable';

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
    const environment = { NODE_ENV: '', API_KEY, PORT: '0', DATABASE_URL: url };
    return run(process.execPath, [MAIN], { environment: { ...environment, ...postgresSettings(environment) } });
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

  it.each([
    ['another process that migrates', `SELECT pg_advisory_lock(7463001200)`],
    ['what uses a table', `LOCK TABLE "ledger_entries" IN ROW EXCLUSIVE MODE`],
  ])('waits for %s longer than the statements of its role may take', async (_whom, lock) => {
    const released = await releasedDatabase('0.1.0');
    const url = released.environment.DATABASE_URL;
    const somebody = await PostgresConnection.open(serverConfig(url));
    await somebody.run('BEGIN');
    await somebody.run(lock);
    const limited = new URL(url);
    limited.searchParams.set('options', '-c statement_timeout=1200');
    const starting = createTestApp({ environment: { DATABASE_URL: limited.href } });
    starting.catch(() => undefined);
    await sleep(4_000);
    await somebody.close();
    await (await starting).close();
    await released.remove();
  });

  it.each([
    ['the lock of migrations', `SELECT pg_advisory_lock(7463001200)`],
    ['the head', `SELECT 1 FROM "ledger_head" FOR UPDATE`],
  ])('says in the log how to find who holds %s, for which it waits', async (_what, lock) => {
    const url = await createDatabase();
    await (await createTestApp({ environment: { DATABASE_URL: url } })).close();
    await onServer('UPDATE "ledger_head" SET "schemaVersion" = "schemaVersion" - 1', url);
    const somebody = await PostgresConnection.open(serverConfig(url));
    await somebody.run('BEGIN');
    await somebody.run(lock);
    const [process] = await somebody.all<{ pid: number }>('SELECT pg_backend_pid() AS "pid"');
    const lines: string[] = [];
    const logStream = { write: (line: string) => lines.push(line) };
    const starting = createTestApp({ environment: { DATABASE_URL: url }, logStream });
    starting.catch(() => undefined);
    const query = (): string | undefined => /start waits .* (SELECT .*\(\d+\)\))/.exec(lines.join(''))?.[1];
    while (query() === undefined) await sleep(100);
    expect((await onServer(query() ?? '', url)).map(({ pid }) => pid)).toEqual([process?.pid]);
    await somebody.close();
    await (await starting).close();
  });

  it('ends its sessions if its lease cannot be begun', async () => {
    const url = await createDatabase();
    await (await createTestApp({ environment: { DATABASE_URL: url } })).close();
    const somebody = await PostgresConnection.open(serverConfig(url));
    await somebody.run('BEGIN');
    await somebody.run('LOCK TABLE "process_leases"');
    await expect(createTestApp({ environment: { DATABASE_URL: url } })).rejects.toThrow('statement timeout');
    await somebody.run('ROLLBACK');
    const others = `SELECT query FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
    while ((await somebody.all(others)).length > 0) await sleep(50);
    await somebody.close();
  });

  it('makes texts compare by bytes, with any locale of the database', async () => {
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
