import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { DueSettlement } from '../ledger/due-settlement';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import { RecordReader } from '../ledger/reading/record-reader';
import { isExpired } from './decision-rules';
import { expireDecision } from './decision-settlement';
import type { Decision } from './decision.entity';
import { DECISION } from './decision.kind';

/** Settles decisions whose time is over. */
@Injectable()
export class DecisionExpiryService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly settlement: DueSettlement<Decision>;

  constructor(ledger: LedgerService, reader: RecordReader) {
    this.settlement = new DueSettlement(ledger, reader, { kind: DECISION, settle }, new Logger('Decisions'));
  }

  onApplicationBootstrap(): void {
    this.settlement.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.settlement.stop();
  }
}

async function settle(transaction: LedgerTransaction, decision: Decision): Promise<void> {
  // A review may have come first.
  if (isExpired(decision, transaction.now)) await expireDecision(transaction, decision);
}
