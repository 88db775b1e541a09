import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { SYSTEM_CALLER } from '../ledger/caller';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import type { Execution } from './execution.entity';
import { EXECUTION } from './execution.kind';
import { noteOf } from './execution-note';

const REASON = 'The service stopped while the action ran; whether it took effect is not known.';

/** Before the first request: whatever still runs in the records was cut off by the end of the former process. */
@Injectable()
export class InterruptedExecutions implements OnApplicationBootstrap {
  private readonly logger = new Logger(InterruptedExecutions.name);

  constructor(private readonly ledger: LedgerService) {}

  async onApplicationBootstrap(): Promise<void> {
    const count = await this.ledger.write(SYSTEM_CALLER, markInterrupted);
    if (count > 0) this.logger.warn(`${count} executions were interrupted by the end of the former process.`);
  }
}

async function markInterrupted(transaction: LedgerTransaction): Promise<number> {
  const interrupted = await transaction.findAll(EXECUTION, { outcome: 'running' });
  for (const execution of interrupted) mark(transaction, execution);
  return interrupted.length;
}

function mark(transaction: LedgerTransaction, execution: Execution): void {
  const { now } = transaction;
  const marked: Execution = { ...execution, outcome: 'interrupted', failureReason: REASON, completedAt: now };
  transaction.update(EXECUTION, marked, { ...noteOf(execution, 'execution.interrupted'), outcome: 'failed' });
}
