import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import { SYSTEM_CALLER } from '../../ledger/caller';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/lookup';
import type { Condition, RecordRange } from '../../ledger/record-page';
import { RecordReader } from '../../ledger/reading/record-reader';
import { Repeated } from '../../core/lifecycle/repeated';
import { type Execution, EXECUTION, noteOf } from './execution.entity';

const REASON = 'The service stopped while the action ran; whether it took effect is not known.';
/** Average milliseconds between checks for processes that have ended. */
const INTERVAL = 5_000;
/** Most executions read and marked at once; fewer if they are large. */
const CHUNK = 100;
const RUNNING: readonly Condition[] = [{ column: 'outcome', comparison: 'equals', value: 'running' }];
const ALL_RUNNING: RecordRange = { conditions: RUNNING, order: 'asc', position: null, atOnce: 1_000 };

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
    const ended = await this.database.endedAmong(await this.processesThatRun());
    if (ended.length === 0 || this.repeated.isStopping) return;
    let count = 0;
    for (const runBy of ended) count += await this.markAllOf(runBy);
    // Another process may have marked them first.
    if (count > 0) this.logger.warn(`${count} executions were interrupted by the end of the process that ran them.`);
  }

  /** In chunks: all at once might not fit in memory. */
  private async markAllOf(runBy: string): Promise<number> {
    let count = 0;
    const condition: Condition = { column: 'runBy', comparison: 'equals', value: runBy };
    for await (const executions of this.reader.chunks(EXECUTION, [...RUNNING, condition], CHUNK, SYSTEM_CALLER)) {
      const marked = await Promise.all(executions.map((execution) => this.markOne(execution)));
      count += marked.filter(Boolean).length;
      if (this.repeated.isStopping) break;
    }
    return count;
  }

  private markOne(execution: Execution): Promise<boolean> {
    return this.ledger
      .prefetching(byId(EXECUTION, execution.id))
      .write(SYSTEM_CALLER, (transaction) => markInterrupted(transaction, execution));
  }

  private async processesThatRun(): Promise<string[]> {
    const processes = new Set<string>();
    for await (const executions of this.reader.columns(EXECUTION, ['runBy'], ALL_RUNNING, SYSTEM_CALLER))
      for (const { runBy } of executions) processes.add(runBy);
    return [...processes];
  }

  private report(error: unknown): void {
    if (this.repeated.isStopping) return;
    this.logger.error(`Interrupted executions are not marked yet: ${String(error)}`);
  }
}

/** False if it was marked, or has ended, before. */
async function markInterrupted(transaction: LedgerTransaction, { id, runBy }: Execution): Promise<boolean> {
  const execution = await transaction.find(EXECUTION, id);
  if (execution?.outcome !== 'running' || execution.runBy !== runBy) return false;
  mark(transaction, execution);
  return true;
}

function mark(transaction: LedgerTransaction, execution: Execution): void {
  const { now } = transaction;
  const ended = { outcome: 'interrupted', failureReason: REASON, completedAt: now, runBy: '' } as const;
  const marked: Execution = { ...execution, ...ended };
  transaction.update(EXECUTION, marked, { ...noteOf(execution, 'execution.interrupted'), outcome: 'failed' });
}
