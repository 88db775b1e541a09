import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { callerRefused, conflict, DomainError, requireFound } from '../../core/errors/domain-error';
import { withoutRefusal, type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/kinds/lookup';
import { SecretRedaction } from '../secrets/secret-redaction';
import { type Execution, EXECUTION, noteOf } from './execution.entity';
import { ownExecution } from './execution-rules';
import type { ActionOutcome } from './handlers/action-runner';
import type { JsonValue } from '../../core/json/json-value';
import { Database } from '../../ledger/database/database';
import type { RecordRange } from '../../ledger/kinds/record-page';
import { RecordReader } from '../../ledger/reading/record-reader';

/** Average milliseconds between attempts to write completions that failed before. */
const RETRY_INTERVAL_MS = 1_000;

interface Completion {
  readonly caller: Caller;
  readonly execution: Execution;
  readonly outcome: ActionOutcome;
}

/** One of the outcomes that are reported together. */
export interface ListedReport {
  /** Id of the execution. */
  readonly id: string;
  readonly outcome: ActionOutcome;
}

/**
 * Records how executions ended. The action has already taken place, so an unavailable database is not an error of the
 * request: the completion is retried until it is written, a rule refuses it, or the service stops.
 */
@Injectable()
export class ExecutionCompletions {
  private readonly logger = new Logger(ExecutionCompletions.name);
  private unwritten: Completion[] = [];
  private readonly repeated = new PeriodicTask(
    RETRY_INTERVAL_MS,
    () => this.retry(),
    (error) => this.logger.error(error),
  );

  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly secrets: SecretRedaction,
  ) {}

  /** Returns the execution as it is on disk: completed, or still `running` if that could not be written yet. */
  async write(completion: Completion): Promise<Execution> {
    try {
      return await this.attempt(completion);
    } catch (error) {
      // The execution may no longer exist, for example; retrying would not help.
      const isFinal = error instanceof DomainError && error.code !== 'UNAVAILABLE';
      this.logger.error(
        { err: error, executionId: completion.execution.id },
        `A completion could not be written; ${isFinal ? 'it is abandoned' : 'it will be retried'}.`,
      );
      if (!isFinal) this.unwritten.push(completion);
      if (!isFinal && !this.repeated.hasBegun) this.repeated.begin();
      return completion.execution;
    }
  }

  /**
   * Records the outcome that a caller reports of an action that it carried out itself.
   * @throws NOT_FOUND; PERMISSION_DENIED if only the gateway may report it; CONFLICT unless the execution is authorized
   */
  async report(caller: Caller, id: string, sent: ActionOutcome): Promise<Execution> {
    const result = await this.redactedResult(id, sent, 'result');
    if (result !== sent.result) caller.idempotency?.redactMember('result', result);
    return this.recordReport(caller, id, { ...sent, result });
  }

  /**
   * Records several outcomes, each as if it were reported alone.
   * @returns why each was refused, in order; null where it was taken
   * @throws UNAVAILABLE; PERMISSION_DENIED if only the gateway may report one of them. Others may have been taken then
   */
  async reportEach(caller: Caller, reports: readonly ListedReport[]): Promise<(DomainError | null)[]> {
    const redacted: ListedReport[] = [];
    for (const [place, { id, outcome }] of reports.entries()) {
      const result = await this.redactedResult(id, outcome, `results[${place}].result`);
      redacted.push({ id, outcome: { ...outcome, result } });
    }
    const largeIds = await this.records.loadLargeIds(
      EXECUTION,
      reports.map(({ id }) => id),
    );
    const refusals = new Map<string, DomainError | null>();
    const take = async ({ id, outcome }: ListedReport): Promise<void> => {
      refusals.set(id, await this.recordReport(caller, id, outcome).then(() => null, refusalOf));
    };
    await Promise.all(redacted.filter(({ id }) => !largeIds.has(id)).map(take));
    // Each report on a large execution takes many milliseconds. Together they would hold up the writes of everybody
    // else for seconds.
    for (const report of redacted) if (largeIds.has(report.id)) await take(report);
    return reports.map(({ id }) => refusals.get(id) ?? null);
  }

  private redactedResult(id: string, { result }: ActionOutcome, field: string): Promise<JsonValue> {
    // The agent of an execution never changes, so it may be read beforehand.
    const agentOf = async (): Promise<string | null> =>
      (await this.records.find(EXECUTION, id, SYSTEM_CALLER))?.agentId ?? null;
    return this.secrets.redactReport(result, agentOf, field);
  }

  private recordReport(caller: Caller, id: string, outcome: ActionOutcome): Promise<Execution> {
    return this.ledger.withLookups(byId(EXECUTION, id)).write(caller, async (transaction) => {
      const execution = await ownExecution(transaction, id);
      // A key with the scope `report` only sees executions with `via`.
      if (execution.via !== null && !caller.effectiveScopes.has('report')) throw callerRefused('not_reporter');
      if (execution.erased) throw conflict('The contents of the execution were erased; no result is taken any more.');
      if (execution.outcome !== 'authorized')
        throw conflict(
          `The execution is ${execution.outcome}. A result can be reported once, for an execution that is authorized.`,
        );
      return withOutcome(transaction, { ...execution, reason: outcome.failureCode }, outcome);
    });
  }

  /** Makes a last attempt. The next start marks executions without a written completion as interrupted. */
  async stop(): Promise<void> {
    await this.repeated.stop();
    await this.retry();
  }

  private async attempt({ caller, execution, outcome }: Completion): Promise<Execution> {
    const written = await this.ledger
      .withLookups(byId(EXECUTION, execution.id))
      .write(withoutRefusal(caller), (transaction) => complete(transaction, execution.id, outcome));
    if (written.outcome !== outcome.outcome) {
      this.logger.error(
        { executionId: execution.id, ended: outcome.outcome },
        `Another process believed that this process had ended, and marked the execution as ${written.outcome}; that stays on record.`,
      );
    }
    return written;
  }

  private async retry(): Promise<void> {
    const completions = this.unwritten;
    this.unwritten = [];
    await Promise.all(completions.map((completion) => this.write(completion)));
  }
}

/** Returns an error if it refuses the report itself. @throws any other error */
function refusalOf(error: unknown): DomainError {
  if (error instanceof DomainError && (error.code === 'NOT_FOUND' || error.code === 'CONFLICT')) return error;
  throw error;
}

function withOutcome(transaction: LedgerTransaction, execution: Execution, outcome: ActionOutcome): Execution {
  const { failureCode: reason, ...ended } = outcome;
  const note = { outcome: ended.outcome === 'executed' ? 'success' : 'failed', reason } as const;
  return transaction.update(
    EXECUTION,
    { ...execution, ...ended, completedAt: transaction.now, runBy: '' },
    { ...noteOf(execution, 'execution.completed'), ...note },
  );
}

/** Completes an execution. Does nothing if it is settled already, by an earlier attempt or another process. */
async function complete(transaction: LedgerTransaction, id: string, outcome: ActionOutcome): Promise<Execution> {
  const execution = requireFound(await transaction.find(EXECUTION, id), 'execution');
  if (execution.outcome !== 'running') return execution;
  return withOutcome(transaction, execution, outcome);
}

const REASON = 'The service stopped while the action ran; whether it took effect is not known.';
/** Average milliseconds between checks for processes that have ended. */
const INTERVAL_MS = 5_000;
/** Range of running executions. */
const RUNNING: RecordRange = {
  conditions: [{ column: 'outcome', comparison: 'equals', value: 'running' }],
  order: 'asc',
  position: null,
  atOnce: 100,
};

/**
 * Marks executions as interrupted if their process has ended: before the first request, and, if other processes write
 * the same database, periodically.
 */
@Injectable()
export class InterruptedExecutions implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Executions');
  private readonly repeated = new PeriodicTask(
    INTERVAL_MS,
    () => this.markAll(),
    (error) => {
      if (!this.repeated.isStopping) this.logger.error(`Interrupted executions are not marked yet: ${String(error)}`);
    },
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
      const ended = await this.database.findEndedProcesses([...new Set(running.map(({ runBy }) => runBy))]);
      if (this.repeated.isStopping) break;
      const interrupted = running.filter(({ runBy }) => ended.includes(runBy));
      const marked = await Promise.all(interrupted.map((execution) => this.markOne(execution)));
      count += marked.filter(Boolean).length;
    }
    // Another process may have marked executions first.
    if (count > 0) this.logger.warn(`${count} executions were interrupted by the end of the process that ran them.`);
  }

  /** Returns false if the execution was already marked, or has ended. */
  private markOne({ id, runBy }: Pick<Execution, 'id' | 'runBy'>): Promise<boolean> {
    return this.ledger.withLookups(byId(EXECUTION, id)).write(SYSTEM_CALLER, async (transaction) => {
      const execution = await transaction.find(EXECUTION, id);
      if (execution?.outcome !== 'running' || execution.runBy !== runBy) return false;
      const ended = { outcome: 'interrupted', failureReason: REASON, completedAt: transaction.now, runBy: '' } as const;
      const note = { ...noteOf(execution, 'execution.interrupted'), outcome: 'failed' } as const;
      transaction.update(EXECUTION, { ...execution, ...ended }, note);
      return true;
    });
  }
}
