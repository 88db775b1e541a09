import {
  createPostgresDatabase as createDatabase,
  dropPostgresDatabase as dropDatabase,
  runOnServer,
} from '../../../src/testing/postgres-server';
import { POSTGRES_SERVER } from '../processes/where-reachable';

const { host, port } = POSTGRES_SERVER;
/** The server of the tests asks for no password; that it is given one lets them see where it turns up. */
export const TEST_SERVER = `postgres://postgres:a-password-for-tests@${host}:${port}`;
/** All databases of one run of the tests have it. */
const PREFIX = `governance_test_${process.env['TEST_RUN'] ?? 'alone'}_`;
/** A language that sorts otherwise than bytes do: the service must not depend on it. */
const LANGUAGE = `LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`;

/** Makes an empty database on the server of the tests and answers its URL. */
export function createPostgresDatabase(settings = LANGUAGE): Promise<string> {
  return createDatabase(`${TEST_SERVER}/test`, { prefix: PREFIX, settings });
}

/** Drops the database, whoever is still connected. */
export async function dropPostgresDatabase(url: string): Promise<void> {
  await dropDatabase(`${TEST_SERVER}/test`, new URL(url).pathname.slice(1));
}

/** Drops what failed tests and killed programs of this run have left. */
export async function dropPostgresDatabases(): Promise<void> {
  const left = await onServer(`SELECT datname AS name FROM pg_database WHERE starts_with(datname, '${PREFIX}')`);
  for (const { name } of left) await dropDatabase(`${TEST_SERVER}/test`, String(name));
}

/** Runs statements on the server as its superuser, in a database of their own or in the given one. */
export function onServer(sql: string, url = `${TEST_SERVER}/test`): Promise<Record<string, unknown>[]> {
  return runOnServer(url, sql);
}
