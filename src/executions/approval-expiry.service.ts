import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { DueSettlement } from '../ledger/due-settlement';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import { RecordReader } from '../ledger/reading/record-reader';
import { settledApproval } from './execution-approvals';
import type { Execution } from './execution.entity';
import { EXECUTION } from './execution.kind';

/** Settles executions whose approval was not taken up in time. */
@Injectable()
export class ApprovalExpiryService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly settlement: DueSettlement<Execution>;

  constructor(ledger: LedgerService, reader: RecordReader) {
    this.settlement = new DueSettlement(ledger, reader, { kind: EXECUTION, settle }, new Logger('Executions'));
  }

  onApplicationBootstrap(): void {
    this.settlement.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.settlement.stop();
  }
}

async function settle(transaction: LedgerTransaction, execution: Execution): Promise<void> {
  settledApproval(transaction, execution);
}
