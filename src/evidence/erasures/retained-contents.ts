import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { type Decision, DECISION } from '../../governance/decisions/decision.entity';
import { EXECUTION, type Execution } from '../../governance/executions/execution.entity';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { Database } from '../../ledger/database/database';
import { quoteName } from '../../ledger/database/dialect';
import { forgetAnswers, KEPT_FOR } from '../../ledger/idempotency/idempotency-store';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/kinds/lookup';
import type { AnyRecordKind } from '../../ledger/kinds/record-kind';
import { columnsOf } from '../../ledger/records/record-codec';
import { sizeSql, untilDeleted } from '../../ledger/records/statements';
import { isUnsettled } from './erased-records';
import { eraseDecisions, eraseExecution } from './erasures.service';

/** Average milliseconds between checks; short enough for at least one check per minute. */
const INTERVAL_MS = 20_000;
/** Most executions and decisions of one commit; few if they are large. */
const MAX_RECORDS = 200;
/** Most executions, each of which may be erased with its decision. */
const MAX_EXECUTIONS = MAX_RECORDS / 2;

/** Condition for contents that can still be erased. */
const NOT_ERASED = `"erased" = 'false'`;
const HAS_YOUNGER = `SELECT 1 FROM "ledger_entries" WHERE "subjectId" = ID AND "timestamp" > $1`;

/** Selects executions, with the decision about each. The decision that refused one may be about another execution. */
const OLD_EXECUTIONS = untilDeleted(
  `SELECT live."id" AS "key", live."createdSequence" AS "order", ${bytesOf('live', EXECUTION)} + ${bytesOf('about', DECISION)} AS "bytes", ` +
    `about."id" AS "decisionId" FROM "executions" AS live LEFT JOIN "decisions" AS about ` +
    `ON about."id" = live."decisionId" AND about."executionId" = live."id" ` +
    `WHERE live.${NOT_ERASED} AND live."createdAt" <= $1 ` +
    `AND live."outcome" NOT IN ('pending_approval', 'approved', 'running') ` +
    `AND NOT EXISTS (${HAS_YOUNGER.replace('ID', 'live."id"')}) ` +
    `AND NOT EXISTS (${HAS_YOUNGER.replace('ID', 'about."id"')}) ORDER BY live."createdSequence" LIMIT ${MAX_EXECUTIONS}`,
  ['key', 'decisionId'],
);
/** Selects decisions that are not about an execution; the others are erased with their executions. */
const OLD_DECISIONS = untilDeleted(
  `SELECT "id" AS "key", "createdSequence" AS "order", ${bytesOf('live', DECISION)} AS "bytes" FROM "decisions" AS live WHERE ${NOT_ERASED} AND "createdAt" <= $1 ` +
    `AND "executionId" IS NULL AND "status" <> 'proposed' ` +
    `AND NOT EXISTS (${HAS_YOUNGER.replace('ID', 'live."id"')}) ORDER BY "createdSequence" LIMIT $2`,
  ['key'],
);

/** An execution that is old enough; `decisionId` names the decision about it, if any. */
interface OldExecution {
  readonly key: string;
  readonly decisionId: string | null;
}

/** Erases the contents of executions and decisions once RETAIN_CONTENT is over, oldest first. */
@Injectable()
export class RetainedContents implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Erasures');
  private readonly repeated = new PeriodicTask(
    INTERVAL_MS,
    () => this.eraseOld(),
    (error) => this.logger.error(`Contents whose time is over are not erased yet: ${String(error)}`),
  );

  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
    private readonly configuration: Configuration,
  ) {}

  onApplicationBootstrap(): void {
    if (this.configuration.retainContent !== null) this.repeated.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.repeated.stop();
  }

  /** Erases everything that is old enough, chunk after chunk. */
  async eraseOld(): Promise<void> {
    for (let more = true; more && !this.repeated.isStopping;) more = await this.eraseChunk();
  }

  /** Erases a chunk; returns false if nothing is old enough. */
  private async eraseChunk(): Promise<boolean> {
    const { retainContent } = this.configuration;
    if (retainContent === null || !this.ledger.isHealthy) return false;
    const before = new Date(Date.parse(this.ledger.now) - retainContent).toISOString();
    const executions = await this.database.points.all<OldExecution>(OLD_EXECUTIONS, [before]);
    const attachedDecisionIds = executions.flatMap(({ decisionId }) => decisionId ?? []);
    const remaining = MAX_RECORDS - executions.length - attachedDecisionIds.length;
    const decisions = await this.database.points.all<{ key: string }>(OLD_DECISIONS, [before, remaining]);
    if (executions.length + decisions.length === 0) return false;
    const decisionIds = [...decisions.map(({ key }) => key), ...attachedDecisionIds];
    const lookups = [
      ...executions.map(({ key }) => byId(EXECUTION, key)),
      ...decisionIds.map((id) => byId(DECISION, id)),
    ];
    return this.ledger.withLookups(...lookups).write(SYSTEM_CALLER, async (transaction) => {
      const old: Execution[] = [];
      for (const { key } of executions) {
        const execution = await transaction.find(EXECUTION, key);
        if (execution?.erased === false && !isUnsettled(execution)) old.push(execution);
      }
      // The result of an execution was reported meanwhile; the next check excludes it.
      if (old.some(({ completedAt }) => completedAt !== null && completedAt > before)) return false;
      for (const execution of old) await eraseExecution(transaction, execution, null);
      const forgettable: Decision[] = [];
      for (const id of decisionIds) {
        const decision = await transaction.find(DECISION, id);
        if (decision?.erased === false && !isUnsettled(decision)) forgettable.push(decision);
      }
      const grants = await eraseDecisions(transaction, forgettable, null);
      // A rejection binds for a day, and the refusals that repeat its comment are stored for another one. A grant may
      // have been revoked just now.
      const ids = retainContent >= 2 * KEPT_FOR ? grants : [...lookups.map(({ value }) => value), ...grants];
      if (ids.length > 0) transaction.writeWithoutEntry(forgetAnswers(this.database.dialect, ids));
      return old.length + forgettable.length > 0;
    });
  }
}

/** SQL for the bytes of free-form content of a record; 0 if there is none under this alias. */
function bytesOf(alias: string, { table }: AnyRecordKind): string {
  const long = columnsOf(table).filter(({ type }) => type === 'json');
  return `(${sizeSql(long.map(({ name }) => `${alias}.${quoteName(name)}`))})`;
}
