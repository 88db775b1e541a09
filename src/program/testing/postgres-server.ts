import { randomUUID } from 'node:crypto';
import { Client } from 'pg';

interface NewDatabase {
  readonly prefix?: string;
  /** Further clauses of CREATE DATABASE. */
  readonly settings?: string;
}

/** Creates an empty database on a PostgreSQL server and returns its URL. `server` names an existing database. */
export async function createPostgresDatabase(
  server: string,
  { prefix = 'governance_test_', settings = '' }: NewDatabase = {},
): Promise<string> {
  const name = `${prefix}${randomUUID().replaceAll('-', '')}`;
  await runOnServer(server, `CREATE DATABASE ${name} TEMPLATE template0 ${settings}`);
  return Object.assign(new URL(server), { pathname: `/${name}` }).href;
}

/** Drops a database of the server, even if somebody is still connected. */
export async function dropPostgresDatabase(server: string, name: string): Promise<void> {
  await runOnServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

/** Runs a statement on a separate connection and returns the rows. */
export async function runOnServer(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
