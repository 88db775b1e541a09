import { Logger } from '@nestjs/common';
import type { SqlSessions } from './database/sql-connection';
import { Repeated } from '../core/lifecycle/repeated';
import type { LedgerPosition } from './chain/ledger-position';
import { type KnownHead, readHead } from './head/known-head';
import type { Projection, Projections } from './writing/projections';
import { SingleFlight } from '../core/concurrency/single-flight';

/** Average polling interval in milliseconds: what another process has committed becomes visible within a second. */
const INTERVAL = 300;

/** Picks up what other processes have committed, periodically and on demand, without taking the batch lock. */
export class ReplicaPoll {
  private readonly logger = new Logger('Ledger');
  /** A caller that arrives while the head is read shares the next reading. */
  private readonly heads = new SingleFlight<never, LedgerPosition | undefined>(() => this.head());
  private readonly repeated = new Repeated(
    INTERVAL,
    () => this.poll(),
    (error) => this.report(error),
  );
  private hasFailed = false;

  constructor(
    private readonly connection: SqlSessions,
    private readonly projections: Projections,
    private readonly known: KnownHead,
  ) {}

  begin(): void {
    this.repeated.begin();
  }

  /** Resolves when everything committed before the call is known to this projection. */
  async now(memory: Projection): Promise<void> {
    const head = await this.heads.call(0);
    if (head !== undefined) await this.projections.refresh(this.connection, head, memory);
  }

  async stop(): Promise<void> {
    await this.repeated.stop();
    await this.heads.ended();
    await this.projections.ended();
  }

  private async head(): Promise<LedgerPosition | undefined> {
    const head = await readHead(this.connection);
    if (head !== undefined) this.known.seen(head);
    return head;
  }

  /** Does not wait for the refreshes: while one takes long, the others continue. */
  private async poll(): Promise<void> {
    const head = await this.heads.call(0);
    if (head === undefined) return;
    this.projections.refresh(this.connection, head).then(
      () => (this.hasFailed = false),
      (error: unknown) => this.report(error),
    );
  }

  /** Reports once, until a poll succeeds again. */
  private report(error: unknown): void {
    if (!this.hasFailed && !this.repeated.isStopping)
      this.logger.warn(`What other processes have committed cannot be read now: ${String(error)}`);
    this.hasFailed = true;
  }
}
