import { Injectable, Logger } from '@nestjs/common';
import { conflict, DomainError, found } from '../../core/errors/domain-error';
import { requireActsAs } from '../agents/find-agent';
import { admitted, type Caller } from '../../ledger/caller';
import type { EntryNote, LedgerTransaction } from '../../ledger/ledger-transaction';
import { Repeated } from '../../core/lifecycle/repeated';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/lookup';
import { type Execution, EXECUTION, noteOf } from './execution.entity';
import type { ActionOutcome } from './handlers/action-runner';

/** Average milliseconds between attempts to write completions that could not be written. */
const RETRY_INTERVAL = 1_000;

interface Completion {
  readonly caller: Caller;
  readonly execution: Execution;
  readonly outcome: ActionOutcome;
}

/**
 * Records how executions ended. The action has taken place by then, so if the database cannot accept a completion, that
 * is not an error of the request: it is kept, and retried until it is written, is refused by a rule, or the service
 * stops.
 */
@Injectable()
export class ExecutionCompletions {
  private readonly logger = new Logger(ExecutionCompletions.name);
  private unwritten: Completion[] = [];
  private readonly repeated = new Repeated(
    RETRY_INTERVAL,
    () => this.retry(),
    (error) => this.logger.error(error),
  );

  constructor(private readonly ledger: LedgerService) {}

  /** Returns the execution as it is on disk: completed, or still `running` if that could not be written yet. */
  async write(completion: Completion): Promise<Execution> {
    try {
      return await this.attempt(completion);
    } catch (error) {
      const isFinal = isRefusedByRule(error);
      this.logger.error(
        { err: error, executionId: completion.execution.id },
        `A completion could not be written; ${isFinal ? 'it is abandoned' : 'it will be retried'}.`,
      );
      if (!isFinal) this.retryLater(completion);
      return completion.execution;
    }
  }

  /** What a caller that carried it out itself says. @throws NOT_FOUND; CONFLICT unless the execution is authorized. */
  report(caller: Caller, id: string, outcome: ActionOutcome): Promise<Execution> {
    return this.ledger.prefetching(byId(EXECUTION, id)).write(caller, async (transaction) => {
      const execution = found(await transaction.findVisible(EXECUTION, id), 'execution');
      requireActsAs(transaction.caller, execution.agentId);
      if (execution.erased) throw conflict('The contents of the execution were erased; no result is taken any more.');
      if (execution.outcome !== 'authorized')
        throw conflict(
          `The execution is ${execution.outcome}. A result can be reported once, for an execution that is authorized.`,
        );
      return completed(transaction, execution, outcome);
    });
  }

  /** Makes a last attempt; what cannot be written is marked as interrupted at the next start. */
  async stop(): Promise<void> {
    await this.repeated.stop();
    await this.retry();
  }

  private async attempt({ caller, execution, outcome }: Completion): Promise<Execution> {
    const written = await this.ledger
      .prefetching(byId(EXECUTION, execution.id))
      .write(admitted(caller), (transaction) => complete(transaction, execution.id, outcome));
    if (written.outcome !== outcome.outcome) {
      this.logger.error(
        { executionId: execution.id, ended: outcome.outcome },
        `Another process took this one for ended and marked the execution as ${written.outcome}; that stays on record.`,
      );
    }
    return written;
  }

  private retryLater(completion: Completion): void {
    this.unwritten.push(completion);
    if (!this.repeated.hasBegun) this.repeated.begin();
  }

  private async retry(): Promise<void> {
    const completions = this.unwritten;
    this.unwritten = [];
    await Promise.all(completions.map((completion) => this.write(completion)));
  }
}

/** For example because the execution no longer exists: retrying would not help. */
function isRefusedByRule(error: unknown): boolean {
  return error instanceof DomainError && error.code !== 'UNAVAILABLE';
}

function completed(transaction: LedgerTransaction, execution: Execution, outcome: ActionOutcome): Execution {
  const { outcome: settled, result, failureReason } = outcome;
  const ended = { outcome: settled, result, failureReason };
  return transaction.update(
    EXECUTION,
    { ...execution, ...ended, completedAt: transaction.now, runBy: '' },
    { ...noteOf(execution, 'execution.completed'), ...endOf(outcome) },
  );
}

function endOf(outcome: ActionOutcome): Pick<EntryNote, 'outcome' | 'reason'> {
  return outcome.outcome === 'executed' ? { outcome: 'success' } : { outcome: 'failed', reason: outcome.failureCode };
}

/** Does nothing if the execution is settled already: by an earlier attempt, or by another process. */
async function complete(transaction: LedgerTransaction, id: string, outcome: ActionOutcome): Promise<Execution> {
  const execution = found(await transaction.find(EXECUTION, id), 'execution');
  if (execution.outcome !== 'running') return execution;
  return completed(transaction, execution, outcome);
}
