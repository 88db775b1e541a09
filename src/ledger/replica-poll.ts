import { Logger } from '@nestjs/common';
import type { SqlConnection } from '../database/sql-connection';
import { Repeated } from '../shared/repeated';
import { readHead } from './head/head-row';
import type { Projections } from './writing/projections';
import { SingleFlight } from '../shared/single-flight';

/** Average polling interval in milliseconds: what another process has committed becomes visible within a second. */
const INTERVAL = 300;

/** Picks up what other processes have committed, periodically and on demand, without taking the batch lock. */
export class ReplicaPoll {
  private readonly logger = new Logger('Ledger');
  /** A caller that arrives during a poll shares the next one. */
  private readonly polls = new SingleFlight<never, void>(() => this.poll());
  private readonly repeated = new Repeated(
    INTERVAL,
    () => this.now(),
    (error) => this.report(error),
  );
  private hasFailed = false;

  constructor(
    private readonly connection: SqlConnection,
    private readonly projections: Projections,
  ) {}

  begin(): void {
    this.repeated.begin();
  }

  /** Resolves when everything committed before the call is known. */
  now(): Promise<void> {
    return this.polls.call(0);
  }

  async stop(): Promise<void> {
    await this.repeated.stop();
    await this.polls.ended();
  }

  private async poll(): Promise<void> {
    const head = await readHead(this.connection);
    if (head !== undefined) await this.projections.refresh(this.connection, head);
    this.hasFailed = false;
  }

  /** Reports once, until a poll succeeds again. */
  private report(error: unknown): void {
    if (!this.hasFailed && !this.repeated.isStopping)
      this.logger.warn(`What other processes have committed cannot be read now: ${String(error)}`);
    this.hasFailed = true;
  }
}
