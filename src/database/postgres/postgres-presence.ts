import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SqlConnection } from '../sql-connection';
import { PostgresConnection } from './postgres-connection';
import { presenceConfig } from './postgres-settings';

/** Milliseconds between proofs that the session still stands. */
const BEAT = 1_000;
/** Milliseconds a process may be missing: one that lives takes a lost session's place well within them. */
const GRACE = 5_000;

/** Locks are counted by session: taking one that is held already proves the session at the price of a number. */
const TAKE_LOCK = 'SELECT pg_try_advisory_lock($1::bigint)';
const SELECT_LOCKS =
  `SELECT lpad(to_hex(classid::bigint), 8, '0') || lpad(to_hex(objid::bigint), 8, '0') AS "processId" FROM pg_locks ` +
  `WHERE locktype = 'advisory' AND objsubid = 1 AND granted ` +
  `AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Shows other processes that this one lives: by an advisory lock named after it, which the server frees when the session
 * ends. The session serves nothing else; when it is lost, another takes its place.
 */
export class PostgresPresence {
  /** 16 hexadecimal digits: the lock's name. */
  readonly processId = randomBytes(8).toString('hex');
  private readonly logger = new Logger('Database');
  private session: PostgresConnection | null = null;
  private beating: Promise<void> | null = null;
  private timer: NodeJS.Timeout | null = null;
  private isSeen = true;

  constructor(
    private readonly url: string,
    private readonly reader: SqlConnection,
  ) {}

  /** Throws when the server cannot be reached. */
  async begin(): Promise<void> {
    await this.prove();
    this.timer = setInterval(() => this.beat(), BEAT).unref();
  }

  /** Those of the processes that are missing twice, some seconds apart: one that has only lost its session is back by then. */
  async endedAmong(processIds: readonly string[]): Promise<readonly string[]> {
    const missing = await this.missingAmong(processIds);
    if (missing.length === 0) return missing;
    await sleep(GRACE, undefined, { ref: false });
    return this.missingAmong(missing);
  }

  async end(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    await this.beating;
    await this.session?.close();
  }

  private async missingAmong(processIds: readonly string[]): Promise<readonly string[]> {
    const rows = await this.reader.all<{ processId: string }>(SELECT_LOCKS);
    const living = new Set(rows.map(({ processId }) => processId)).add(this.processId);
    return processIds.filter((processId) => !living.has(processId));
  }

  private beat(): void {
    this.beating ??= this.prove()
      .then(
        () => this.onSuccess(),
        (error: unknown) => this.onFailure(error),
      )
      .finally(() => (this.beating = null));
  }

  private async prove(): Promise<void> {
    this.session ??= await PostgresConnection.open(presenceConfig(this.url));
    await this.session.run(TAKE_LOCK, [BigInt.asIntN(64, BigInt(`0x${this.processId}`)).toString()]);
  }

  private onSuccess(): void {
    if (!this.isSeen) this.logger.log('Other processes see this one again.');
    this.isSeen = true;
  }

  private async onFailure(error: unknown): Promise<void> {
    if (this.isSeen)
      this.logger.warn(`Other processes may take this one for ended until it reconnects: ${String(error)}`);
    this.isSeen = false;
    const { session } = this;
    this.session = null;
    await session?.close();
  }
}
