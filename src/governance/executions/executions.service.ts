import { Injectable } from '@nestjs/common';
import { requireActsAs } from '../agents/find-agent';
import { conflict, found } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/lookup';
import { type Moment, RecordHistory } from '../../ledger/record-history';
import { completed } from './execution-completions';
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
      if (execution.erased) throw conflict('The contents of the execution were erased; no result is taken any more.');
      if (execution.outcome !== 'authorized')
        throw conflict(
          `The execution is ${execution.outcome}; a result can be reported once, and only for one that is authorized.`,
        );
      return completed(transaction, execution, outcome);
    });
  }
}
