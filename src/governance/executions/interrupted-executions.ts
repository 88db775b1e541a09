import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import { SYSTEM_CALLER } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/lookup';
import type { RecordRange } from '../../ledger/record-page';
import { RecordReader } from '../../ledger/reading/record-reader';
import { Repeated } from '../../core/lifecycle/repeated';
import { type Execution, EXECUTION, noteOf } from './execution.entity';

const REASON = 'The service stopped while the action ran; whether it took effect is not known.';
/** Average milliseconds between checks for processes that have ended. */
const INTERVAL = 5_000;
/** Those that run, some at a time. */
const RUNNING: RecordRange = {
  conditions: [{ column: 'outcome', comparison: 'equals', value: 'running' }],
  order: 'asc',
  position: null,
  atOnce: 100,
};

/**
 * Marks executions as interrupted if the process that ran them has ended: before the first request, and, if other
 * processes write the same database, periodically.
 */
@Injectable()
export class InterruptedExecutions implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Executions');
  private readonly repeated = new Repeated(
    INTERVAL,
    () => this.markAll(),
    (error) => this.report(error),
  );

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly database: Database,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.markAll();
    if (this.database.isShared) this.repeated.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.repeated.stop();
  }

  private async markAll(): Promise<void> {
    let count = 0;
    for await (const running of this.reader.columns(EXECUTION, ['runBy'], RUNNING, SYSTEM_CALLER)) {
      const ended = await this.database.endedAmong([...new Set(running.map(({ runBy }) => runBy))]);
      if (this.repeated.isStopping) break;
      const interrupted = running.filter(({ runBy }) => ended.includes(runBy));
      const marked = await Promise.all(interrupted.map((execution) => this.markOne(execution)));
      count += marked.filter(Boolean).length;
    }
    // Another process may have marked them first.
    if (count > 0) this.logger.warn(`${count} executions were interrupted by the end of the process that ran them.`);
  }

  /** False if it was marked, or has ended, before. */
  private markOne({ id, runBy }: Pick<Execution, 'id' | 'runBy'>): Promise<boolean> {
    return this.ledger.prefetching(byId(EXECUTION, id)).write(SYSTEM_CALLER, async (transaction) => {
      const execution = await transaction.find(EXECUTION, id);
      if (execution?.outcome !== 'running' || execution.runBy !== runBy) return false;
      const ended = { outcome: 'interrupted', failureReason: REASON, completedAt: transaction.now, runBy: '' } as const;
      const note = { ...noteOf(execution, 'execution.interrupted'), outcome: 'failed' } as const;
      transaction.update(EXECUTION, { ...execution, ...ended }, note);
      return true;
    });
  }

  private report(error: unknown): void {
    if (this.repeated.isStopping) return;
    this.logger.error(`Interrupted executions are not marked yet: ${String(error)}`);
  }
}
