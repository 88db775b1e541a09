import { type ClientConfig, TypeOverrides, types } from 'pg';
import { parse, toClientConfig } from 'pg-connection-string';

/** Milliseconds. */
const CONNECT_TIMEOUT = 5_000;
const LOCK_TIMEOUT = 3_000;
/**
 * Others wait while a session holds the head and says nothing: a process that stands still, or a network that is gone. The
 * lock's time is longer, so that one of them has it next.
 */
const IDLE_TIMEOUT = 2_500;
const READING_IDLE_TIMEOUT = 60_000;
const STATEMENT_TIMEOUT = 10_000;
/** For a server that does not even say that a statement took too long. */
const ANSWER_TIMEOUT = 15_000;
const LEASE_TIMEOUT = 2_000;
/** Another process may be migrating a large database. */
const MIGRATION_LOCK_TIMEOUT = 60_000;
/** After this time without a byte, the system asks whether the other end is still there. */
const KEEP_ALIVE = 10_000;

/**
 * For sessions that look rows up by their keys. A plan is kept as long as its session; one that was made while the table was
 * empty, without statistics, reads the table from end to end and joins by hashing, which takes longer with every row.
 */
const BY_INDEX = '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off';
/** At COMMIT a warning says that a standby may not have it. */
const WARNINGS = '-c client_min_messages=warning';
const READ_ONLY = '-c default_transaction_read_only=on';

/** A 64-bit integer as a number: what the ledger counts stays below 2^53. */
const numbers = new TypeOverrides();
numbers.setTypeParser(types.builtins.INT8, Number);

/** What the URL says, and nothing from the environment or from parameters that would override our own. */
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
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE,
  };
}

/**
 * Whoever stops in the middle of a transaction, which holds the head row, loses its session and with it the lock; also where
 * the server waits for it to take an answer (`tcp_user_timeout`).
 */
export function writerConfig(url: string): ClientConfig {
  return {
    ...withOptions(serverConfig(url), `${BY_INDEX} -c tcp_user_timeout=${IDLE_TIMEOUT} ${WARNINGS}`),
    statement_timeout: STATEMENT_TIMEOUT,
    lock_timeout: LOCK_TIMEOUT,
    idle_in_transaction_session_timeout: IDLE_TIMEOUT,
    query_timeout: ANSWER_TIMEOUT,
  };
}

export function readerConfig(url: string): ClientConfig {
  return {
    ...withOptions(serverConfig(url), READ_ONLY),
    statement_timeout: STATEMENT_TIMEOUT,
    query_timeout: ANSWER_TIMEOUT,
  };
}

/** For reading single rows by their ids. */
export function pointReaderConfig(url: string): ClientConfig {
  return withOptions(readerConfig(url), BY_INDEX);
}

/** A transaction keeps the server from clearing away what was deleted: that of a process that stands still is ended. */
export function transactionReaderConfig(url: string): ClientConfig {
  return { ...pointReaderConfig(url), idle_in_transaction_session_timeout: READING_IDLE_TIMEOUT };
}

/** Quick to notice that the server is gone, and not held up by a standby: a lease that is lost with the server is renewed. */
export function leaseConfig(url: string): ClientConfig {
  return {
    ...withOptions(serverConfig(url), '-c synchronous_commit=local'),
    connectionTimeoutMillis: LEASE_TIMEOUT,
    query_timeout: LEASE_TIMEOUT,
  };
}

export function migrationConfig(url: string): ClientConfig {
  return { ...serverConfig(url), lock_timeout: MIGRATION_LOCK_TIMEOUT };
}

function withOptions(config: ClientConfig, options: string): ClientConfig {
  return { ...config, options: [config.options, options].filter(Boolean).join(' ') };
}
