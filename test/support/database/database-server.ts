import { randomUUID } from 'node:crypto';
import {
  createPostgresDatabase as createDatabase,
  dropPostgresDatabase as dropDatabase,
  runOnServer,
} from '../../../src/program/testing/postgres-server';
import { POSTGRES_SERVER } from '../processes/where-reachable';

const { host, port } = POSTGRES_SERVER;
/** The test server requires no password. One is given nevertheless, so that tests notice where it appears. */
export const TEST_SERVER = `postgres://postgres:a-password-for-tests@${host}:${port}`;
/** Prefix of all databases of one test run. */
const PREFIX = `governance_test_${process.env['TEST_RUN'] ?? 'alone'}_`;
/** A locale that does not sort by bytes: the service must not depend on it. */
const LANGUAGE = `LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`;

/** Creates an empty database on the test server and returns its URL. */
export function createPostgresDatabase(settings = LANGUAGE): Promise<string> {
  return createDatabase(`${TEST_SERVER}/test`, { prefix: PREFIX, settings });
}

/** Copies a database to which nobody is connected, and returns the URL of the copy. */
export async function copyPostgresDatabase(url: string): Promise<string> {
  const name = `${PREFIX}${randomUUID().replaceAll('-', '')}`;
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${new URL(url).pathname.slice(1)}`);
  return `${TEST_SERVER}/${name}`;
}

/** Drops the database, ending all connections. */
export async function dropPostgresDatabase(url: string): Promise<void> {
  await dropDatabase(`${TEST_SERVER}/test`, new URL(url).pathname.slice(1));
}

/** Drops the databases that failed tests and killed programs of this run have left. */
export async function dropPostgresDatabases(): Promise<void> {
  const left = await onServer(`SELECT datname AS name FROM pg_database WHERE starts_with(datname, '${PREFIX}')`);
  for (const { name } of left) await dropDatabase(`${TEST_SERVER}/test`, String(name));
}

/** Runs statements on the server as superuser, in the given database or in that of the server. */
export function onServer(sql: string, url = `${TEST_SERVER}/test`): Promise<Record<string, unknown>[]> {
  return runOnServer(url, sql);
}
