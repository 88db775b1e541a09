import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { POSTGRES_SERVER } from './where-reachable';

const { host, port } = POSTGRES_SERVER;
const SERVER = `postgres://postgres@${host}:${port}`;
/** A language that sorts otherwise than bytes do: the service must not depend on it. */
const LANGUAGE = `LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`;

/** Makes an empty database on the server of the tests and answers its URL. */
export async function createPostgresDatabase(settings = LANGUAGE): Promise<string> {
  const name = `governance_test_${randomUUID().replaceAll('-', '')}`;
  await onServer(`CREATE DATABASE ${name} TEMPLATE template0 ${settings}`);
  return `${SERVER}/${name}`;
}

/** Drops the database, whoever is still connected. */
export async function dropPostgresDatabase(url: string): Promise<void> {
  await onServer(`DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
}

/** Runs statements on the server as its superuser, in a database of their own or in the given one. */
export async function onServer(sql: string, url = `${SERVER}/test`): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
