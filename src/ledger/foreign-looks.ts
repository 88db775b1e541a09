import { Logger } from '@nestjs/common';
import type { SqlConnection } from '../database/sql-connection';
import { Repeated } from '../shared/repeated';
import { readHead } from './head/head-row';
import type { Projections } from './writing/projections';
import { SingleFlight } from '../shared/single-flight';

/** Milliseconds between looks on average: what another process has committed shows within a second. */
const INTERVAL = 300;

/** Looks at what other processes have committed, from time to time and when asked, without the lock of a batch. */
export class ForeignLooks {
  private readonly logger = new Logger('Ledger');
  /** Whoever asks while a look is under way shares the next one. */
  private readonly looks = new SingleFlight<never, void>(() => this.look());
  private readonly repeated = new Repeated(
    INTERVAL,
    () => this.now(),
    (error) => this.report(error),
  );
  private hasFailed = false;

  constructor(
    private readonly connection: SqlConnection,
    private readonly followers: Projections,
  ) {}

  begin(): void {
    this.repeated.begin();
  }

  /** Resolves when everything that had been committed at the call is known. */
  now(): Promise<void> {
    return this.looks.call(0);
  }

  async stop(): Promise<void> {
    await this.repeated.stop();
    await this.looks.ended();
  }

  private async look(): Promise<void> {
    const head = await readHead(this.connection);
    if (head !== undefined) await this.followers.look(this.connection, head);
    this.hasFailed = false;
  }

  /** Once, until it succeeds again. */
  private report(error: unknown): void {
    if (!this.hasFailed && !this.repeated.isStopping)
      this.logger.warn(`What other processes have committed cannot be read now: ${String(error)}`);
    this.hasFailed = true;
  }
}
