import { type ClientConfig, TypeOverrides, types } from 'pg';
import { parse, toClientConfig } from 'pg-connection-string';

/** Milliseconds a connection may take to open. */
const CONNECT_TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 3_000;
/**
 * Milliseconds after which the server ends a session that holds the head and is idle, because its process is suspended
 * or the network is gone: others are waiting. The lock timeout is longer, so that one of them gets the lock.
 */
const IDLE_TIMEOUT_MS = 2_500;
const READING_IDLE_TIMEOUT_MS = 60_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Milliseconds after which the client gives up, in case the server does not even report a statement timeout. */
const ANSWER_TIMEOUT_MS = 15_000;
const LEASE_TIMEOUT_MS = 2_000;
/** Shorter: a statement that waits for a lock is ended by the server, and not left behind with its session. */
const LEASE_STATEMENT_TIMEOUT_MS = 1_500;
/** Other processes may be reading or writing what a migration changes. */
const MIGRATION_LOCK_TIMEOUT_MS = 60_000;
/** Milliseconds without traffic after which the system checks whether the other end is still there. */
const KEEP_ALIVE = 10_000;

/**
 * For sessions that look rows up by key. A plan is cached as long as its session; one made while the table was empty,
 * without statistics, uses sequential scans and hash joins, which take longer with every row. A scan that is switched
 * off, and used where there is no other way, counts as so expensive that the server would compile the query: that alone
 * takes some 100 ms.
 */
const BY_INDEX = '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off';
/** Needed to see the warning at COMMIT that a standby may not have the transaction. */
const WARNINGS = '-c client_min_messages=warning';
const READ_ONLY = '-c default_transaction_read_only=on';

/** Returns 64-bit integers as numbers: the ledger's counts stay below 2^53. */
const numbers = new TypeOverrides();
numbers.setTypeParser(types.builtins.INT8, Number);

/** Only the URL counts: nothing from the environment, and no parameters that would override our own. */
export function serverConfig(url: string): ClientConfig {
  const { host, port, user, password, database, ssl, options } = toClientConfig(parse(url, { useLibpqCompat: true }));
  return {
    host,
    port,
    user,
    password,
    database,
    ssl: ssl ?? false,
    options,
    types: numbers,
    application_name: 'agent-governance',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE,
  };
}

/**
 * A process that stops in the middle of a transaction, which holds the head row, loses its session and with it the
 * lock; also while the server waits for it to read an answer (`tcp_user_timeout`).
 */
export function writerConfig(url: string): ClientConfig {
  return {
    ...withOptions(serverConfig(url), `${BY_INDEX} -c tcp_user_timeout=${IDLE_TIMEOUT_MS} ${WARNINGS}`),
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
  };
}

export function readerConfig(url: string): ClientConfig {
  return {
    ...withOptions(serverConfig(url), READ_ONLY),
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
  };
}

/** For reading single rows by id. */
export function pointReaderConfig(url: string): ClientConfig {
  return withOptions(readerConfig(url), BY_INDEX);
}

/** An open transaction keeps the server from vacuuming deleted rows: that of a suspended process is ended. */
export function transactionReaderConfig(url: string): ClientConfig {
  return { ...pointReaderConfig(url), idle_in_transaction_session_timeout: READING_IDLE_TIMEOUT_MS };
}

/**
 * Quick to notice that the server is gone, and not delayed by a standby: if a renewal is lost with the server, it is
 * repeated.
 */
export function leaseConfig(url: string): ClientConfig {
  return {
    ...withOptions(serverConfig(url), '-c synchronous_commit=local'),
    connectionTimeoutMillis: LEASE_TIMEOUT_MS,
    statement_timeout: LEASE_STATEMENT_TIMEOUT_MS,
    query_timeout: LEASE_TIMEOUT_MS,
  };
}

export function migrationConfig(url: string): ClientConfig {
  return { ...serverConfig(url), lock_timeout: MIGRATION_LOCK_TIMEOUT_MS };
}

/**
 * Lifts the timeouts that a role or a database may have for sessions that migrate: a migration takes as long as the
 * tables are large. Older servers do not have all of these settings.
 */
export const LIFT_TIMEOUTS = `SELECT set_config("name", '0', false) FROM pg_settings WHERE "name" IN
  ('statement_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

function withOptions(config: ClientConfig, options: string): ClientConfig {
  return { ...config, options: [config.options, options].filter(Boolean).join(' ') };
}
