import { Logger } from '@nestjs/common';
import { Repeated } from '../../shared/repeated';
import type { SqlRow } from '../sql-connection';
import { PostgresConnection } from './postgres-connection';
import { readerConfig } from './postgres-settings';

/** Average milliseconds between checks whether a session waits for others. */
const CHECK = 5_000;
/** Milliseconds until the log says so again. */
const AGAIN = 60_000;

const SELECT_BLOCKING = `SELECT blocking."pid", "application_name" AS "program", host("client_addr") AS "address", "state",
  to_char("state_change" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "since"
  FROM unnest(pg_blocking_pids($1)) AS blocking("pid") LEFT JOIN pg_stat_activity AS activity ON activity."pid" = blocking."pid"`;

/** Says in the log for which other sessions one waits, which it may do for ever. */
export class ReportedWaits {
  private readonly logger = new Logger('Database');
  private readonly repeated = new Repeated(
    CHECK,
    () => this.report(),
    (error) => this.logger.warn(`Whether the start waits for other sessions cannot be found out: ${String(error)}`),
  );
  private reportedAt = -Infinity;

  /** @param pid of the process at the server that belongs to the session. */
  constructor(
    private readonly url: string,
    private readonly pid: number,
  ) {}

  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.repeated.begin();
    try {
      return await work();
    } finally {
      await this.repeated.stop();
    }
  }

  private async report(): Promise<void> {
    if (performance.now() - this.reportedAt < AGAIN) return;
    const blocking = await this.blocking();
    if (blocking.length === 0) return;
    this.reportedAt = performance.now();
    this.logger.warn(
      `The start waits for another process, which migrates or writes: ${blocking.map(shown).join('; ')}. ` +
        'If that process is not at work any more, end its session: SELECT pg_terminate_backend(pid).',
    );
  }

  private async blocking(): Promise<SqlRow[]> {
    const connection = await PostgresConnection.open(readerConfig(this.url));
    try {
      return await connection.all(SELECT_BLOCKING, [this.pid]);
    } finally {
      await connection.close();
    }
  }
}

/** The server shows nothing else of what belongs to another role. */
function shown({ pid, ...details }: SqlRow): string {
  const known = Object.entries(details).filter(([, value]) => value !== null && value !== '');
  return `the session with pid ${String(pid)} (${known.map(([name, value]) => `${name} ${String(value)}`).join(', ')})`;
}
