import { Injectable } from '@nestjs/common';
import { requireActsAs } from '../agents/find-agent';
import { found } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/lookup';
import { type Moment, RecordHistory } from '../../ledger/record-history';
import { completed } from './execution-completions';
import { resultConflict } from './execution-rules';
import { type Execution, EXECUTION } from './execution.entity';
import type { ActionOutcome } from './handlers/action-runner';

/** Reads executions, and records the results of those that their callers carry out. */
@Injectable()
export class ExecutionsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly history: RecordHistory,
  ) {}

  /** @throws NOT_FOUND; VALIDATION_ERROR for a moment in the future. */
  async get(caller: Caller, id: string, asOf?: Moment): Promise<Execution> {
    return found(await this.history.find(EXECUTION, id, asOf, caller), 'execution');
  }

  /** @throws NOT_FOUND; CONFLICT unless the execution is authorized. */
  report(caller: Caller, id: string, outcome: ActionOutcome): Promise<Execution> {
    return this.ledger.prefetching(byId(EXECUTION, id)).write(caller, async (transaction) => {
      const execution = found(await transaction.findVisible(EXECUTION, id), 'execution');
      requireActsAs(transaction.caller, execution.agentId);
      const obstacle = resultConflict(execution);
      if (obstacle !== null) throw obstacle;
      return completed(transaction, execution, outcome);
    });
  }
}
