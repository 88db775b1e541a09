import { Client } from 'pg';
import type { Workplace } from './workplace';

/** Returns the version of a server; undefined if no server answers at the URL. */
export async function postgresVersion(server: string): Promise<string | undefined> {
  try {
    const [row] = await onServer(server, 'SHOW server_version');
    return String(row?.['server_version']);
  } catch {
    return undefined;
  }
}

let count = 0;

/**
 * Creates an empty database, which is removed with the workplace, and returns the environment that makes a program use
 * it. The program's log gets a name of its own, because the programs of a workplace keep their checkpoints in one
 * folder, under the names of their logs.
 */
export async function postgresDatabase(
  workplace: Workplace,
  server: string,
): Promise<{ DATABASE_URL: string; CHECKPOINT_ORIGIN: string }> {
  count += 1;
  const name = `governance_bench_${process.pid}_${count}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  workplace.addLast({
    stop: async () => {
      await onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  });
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { DATABASE_URL: url.href, CHECKPOINT_ORIGIN: name };
}

async function onServer(server: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: server, connectionTimeoutMillis: 3_000 });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
