import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { Database } from '../database/database';
import { SYSTEM_CALLER } from '../ledger/caller';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import type { Condition } from '../ledger/record-page';
import { RecordReader } from '../ledger/record-reader';
import type { Execution } from './execution.entity';
import { EXECUTION } from './execution.kind';
import { noteOf } from './execution-note';

const REASON = 'The service stopped while the action ran; whether it took effect is not known.';
/** Milliseconds between looks for processes that have ended. */
const INTERVAL = 5_000;
/** Executions that are read at once. */
const PIECE = 1_000;
const RUNNING: readonly Condition[] = [{ column: 'outcome', comparison: 'equals', value: 'running' }];

/**
 * Marks what still runs in the records although the process that ran it has ended: before the first request, and, where
 * other processes write the same database, from time to time.
 */
@Injectable()
export class InterruptedExecutions implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Executions');
  private timer: NodeJS.Timeout | null = null;
  private isLooking = false;
  private isStopping = false;

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly database: Database,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.markAll();
    if (this.database.isShared) this.timer = setInterval(() => void this.look(), INTERVAL).unref();
  }

  onModuleDestroy(): void {
    this.isStopping = true;
    if (this.timer !== null) clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      await this.markAll();
    } catch (error) {
      if (!this.isStopping) this.logger.error(`Interrupted executions are not marked yet: ${String(error)}`);
    } finally {
      this.isLooking = false;
    }
  }

  private async markAll(): Promise<void> {
    const ended = await this.database.endedAmong(await this.processesThatRun());
    if (ended.length === 0 || this.isStopping) return;
    const count = await this.ledger.write(SYSTEM_CALLER, (transaction) => markInterrupted(transaction, ended));
    // Another process may have marked them first.
    if (count > 0) this.logger.warn(`${count} executions were interrupted by the end of the process that ran them.`);
  }

  private async processesThatRun(): Promise<string[]> {
    const processes = new Set<string>();
    for await (const executions of this.reader.pieces(EXECUTION, RUNNING, PIECE)) {
      executions.forEach(({ runBy }) => processes.add(runBy));
    }
    return [...processes];
  }
}

async function markInterrupted(transaction: LedgerTransaction, processes: readonly string[]): Promise<number> {
  const interrupted: Execution[] = [];
  for (const runBy of processes) {
    interrupted.push(...(await transaction.findAll(EXECUTION, { outcome: 'running', runBy })));
  }
  for (const execution of interrupted) mark(transaction, execution);
  return interrupted.length;
}

function mark(transaction: LedgerTransaction, execution: Execution): void {
  const { now } = transaction;
  const ended = { outcome: 'interrupted', failureReason: REASON, completedAt: now, runBy: '' } as const;
  const marked: Execution = { ...execution, ...ended };
  transaction.update(EXECUTION, marked, { ...noteOf(execution, 'execution.interrupted'), outcome: 'failed' });
}
