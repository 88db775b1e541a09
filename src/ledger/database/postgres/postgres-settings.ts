import { type ClientConfig, TypeOverrides, types } from 'pg';
import { parse, toClientConfig } from 'pg-connection-string';

/** Milliseconds a connection may take to open. */
const CONNECT_TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 3_000;
/**
 * Milliseconds after which the server ends an idle session that holds the head, for example of a suspended process:
 * others are waiting. The lock timeout is longer, so that one of them gets the lock.
 */
const IDLE_TIMEOUT_MS = 2_500;
const READING_IDLE_TIMEOUT_MS = 60_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Milliseconds after which the client gives up, in case the server reports no statement timeout. */
const ANSWER_TIMEOUT_MS = 15_000;
const LEASE_TIMEOUT_MS = 2_000;
/**
 * Less than the other timeouts, so that the server ends a statement that waits for a lock before its session is
 * abandoned.
 */
const LEASE_STATEMENT_TIMEOUT_MS = 1_500;
/** A migration may wait this many milliseconds for other processes that read or write the same tables. */
const MIGRATION_LOCK_TIMEOUT_MS = 60_000;
/** Milliseconds without traffic after which the system checks whether the other end is still there. */
const KEEP_ALIVE = 10_000;

/**
 * Settings of sessions that look rows up by key. A plan is cached as long as its session; a plan made for an empty
 * table, without statistics, would use sequential scans and hash joins, which take longer with every row. The server
 * assumes a high cost for a scan that is switched off but unavoidable, and would compile the query, which alone takes
 * some 100 ms.
 */
const BY_INDEX = '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off';
/** Makes the warning visible that a standby may not have the committed transaction. */
const WARNINGS = '-c client_min_messages=warning';
const READ_ONLY = '-c default_transaction_read_only=on';

/** Returns 64-bit integers as numbers: the ledger's counts stay below 2^53. */
const numbers = new TypeOverrides();
numbers.setTypeParser(types.builtins.INT8, Number);

/** Settings from the URL alone: neither the environment nor parameters of the URL may override ours. */
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
 * Settings of the writer's sessions. A process that stops in a transaction, which holds the head row, loses its session
 * and the lock, even while the server waits for it to read an answer (`tcp_user_timeout`).
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

/** Settings of sessions that read single rows by id. */
export function pointReaderConfig(url: string): ClientConfig {
  return withOptions(readerConfig(url), BY_INDEX);
}

/**
 * Settings of sessions for reading transactions. An open transaction keeps the server from vacuuming deleted rows, so
 * the server ends that of a suspended process.
 */
export function transactionReaderConfig(url: string): ClientConfig {
  return { ...pointReaderConfig(url), idle_in_transaction_session_timeout: READING_IDLE_TIMEOUT_MS };
}

/**
 * Settings of the lease's session. It quickly notices that the server is gone, and does not wait for a standby: a
 * renewal that is lost with the server is repeated.
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
 * Lifts the timeouts that a role or a database may set for sessions that migrate: large tables take long. Older servers
 * lack some of these settings.
 */
export const LIFT_TIMEOUTS = `SELECT set_config("name", '0', false) FROM pg_settings WHERE "name" IN
  ('statement_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

function withOptions(config: ClientConfig, options: string): ClientConfig {
  return { ...config, options: [config.options, options].filter(Boolean).join(' ') };
}
