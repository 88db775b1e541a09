import { types } from 'pg';
import { migrationConfig, readerConfig, serverConfig, writerConfig } from './postgres-settings';

const URL_WITH_ALL =
  'postgres://app%40corp:p%40ss%2Fword@db.internal:5433/records?sslmode=require&options=-c%20search_path%3Dgovernance';

describe('The settings of a session', () => {
  it('are those of the URL', () => {
    expect(serverConfig(URL_WITH_ALL)).toMatchObject({
      host: 'db.internal',
      port: 5433,
      user: 'app@corp',
      password: 'p@ss/word',
      database: 'records',
      ssl: { rejectUnauthorized: false },
      options: '-c search_path=governance',
    });
  });

  it.each([
    ['postgres://app@db/records', 'db'],
    ['postgres://app@[::1]/records', '::1'],
    ['postgres://app@%2Fvar%2Frun%2Fpostgresql/records', '/var/run/postgresql'],
  ])('of %s have the host %s and no TLS', (url, host) => {
    expect(serverConfig(url)).toMatchObject({ host, ssl: false });
  });

  it('of a reader make it read-only, whatever the URL says', () => {
    const url = 'postgres://app@db/records?options=-c%20default_transaction_read_only%3Doff';
    // If an option is repeated, the server uses the last one.
    expect(readerConfig(url).options).toBe('-c default_transaction_read_only=off -c default_transaction_read_only=on');
    expect(readerConfig('postgres://app@db/records').options).toBe('-c default_transaction_read_only=on');
  });

  it('limit every wait, in an order that lets the server answer before the client gives up', () => {
    const { lock_timeout, statement_timeout, query_timeout, connectionTimeoutMillis } = writerConfig(URL_WITH_ALL);
    expect(Number(lock_timeout)).toBeLessThan(Number(statement_timeout));
    expect(Number(statement_timeout)).toBeLessThan(Number(query_timeout));
    expect(Number(writerConfig(URL_WITH_ALL).idle_in_transaction_session_timeout)).toBeLessThan(Number(lock_timeout));
    expect(connectionTimeoutMillis).toBeGreaterThan(0);
    expect(readerConfig(URL_WITH_ALL)).toMatchObject({ statement_timeout, query_timeout });
    expect(migrationConfig(URL_WITH_ALL).lock_timeout).toBeGreaterThan(0);
  });

  it('read 64-bit integers as numbers', () => {
    const parse = serverConfig(URL_WITH_ALL).types?.getTypeParser(types.builtins.INT8, 'text') as (
      text: string,
    ) => unknown;
    expect(parse('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
  });
});
