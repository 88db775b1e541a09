import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { type Decision, DECISION } from '../../governance/decisions/decision.entity';
import { EXECUTION, type Execution } from '../../governance/executions/execution.entity';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { Database } from '../../ledger/database/database';
import { forgetAnswers, KEPT_FOR } from '../../ledger/idempotency/idempotency-store';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/kinds/lookup';
import { isUnsettled } from './erased-records';
import { eraseDecisions, eraseExecution } from './erasures.service';

/** Average milliseconds between looks: at least one a minute. */
const INTERVAL_MS = 20_000;
/** Most executions and decisions of one commit. */
const AT_ONCE = 200;
/** Most executions: each may take its decision with it. */
const EXECUTIONS_AT_ONCE = AT_ONCE / 2;

/** What can still be erased. */
const NOT_ERASED = `"erased" = 'false'`;
const HAS_YOUNGER = `SELECT 1 FROM "ledger_entries" WHERE "subjectId" = ID AND "timestamp" > $1`;

/** With the decision about it; the one that refused it may be about another execution. */
const OLD_EXECUTIONS =
  `SELECT live."id", about."id" AS "other" FROM "executions" AS live LEFT JOIN "decisions" AS about ` +
  `ON about."id" = live."decisionId" AND about."executionId" = live."id" ` +
  `WHERE live.${NOT_ERASED} AND live."createdAt" <= $1 ` +
  `AND live."outcome" NOT IN ('pending_approval', 'approved', 'running') ` +
  `AND NOT EXISTS (${HAS_YOUNGER.replace('ID', 'live."id"')}) ` +
  `AND NOT EXISTS (${HAS_YOUNGER.replace('ID', 'about."id"')}) ORDER BY live."createdSequence" LIMIT ${EXECUTIONS_AT_ONCE}`;
/** Those of executions go with them. */
const OLD_DECISIONS =
  `SELECT "id", NULL AS "other" FROM "decisions" AS live WHERE ${NOT_ERASED} AND "createdAt" <= $1 ` +
  `AND "executionId" IS NULL AND "status" <> 'proposed' ` +
  `AND NOT EXISTS (${HAS_YOUNGER.replace('ID', 'live."id"')}) ORDER BY "createdSequence" LIMIT $2`;

interface OldRecord {
  readonly id: string;
  /** The decision of an execution. */
  readonly other: string | null;
}

/** Takes the contents of executions and decisions once RETAIN_CONTENT is over, oldest first. */
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

  /** All that is old enough, a chunk after another. */
  async eraseOld(): Promise<void> {
    for (let more = true; more && !this.repeated.isStopping;) more = await this.eraseChunk();
  }

  /** False when nothing more is old enough. */
  private async eraseChunk(): Promise<boolean> {
    const { retainContent } = this.configuration;
    if (retainContent === null || !this.ledger.isHealthy) return false;
    const before = new Date(Date.parse(this.ledger.now) - retainContent).toISOString();
    const executions = await this.database.points.all<OldRecord>(OLD_EXECUTIONS, [before]);
    const theirs = executions.flatMap(({ other }) => other ?? []);
    const room = AT_ONCE - executions.length - theirs.length;
    const decisions = await this.database.points.all<OldRecord>(OLD_DECISIONS, [before, room]);
    if (executions.length + decisions.length === 0) return false;
    const decisionIds = [...decisions.map(({ id }) => id), ...theirs];
    const lookups = [
      ...executions.map(({ id }) => byId(EXECUTION, id)),
      ...decisionIds.map((id) => byId(DECISION, id)),
    ];
    await this.ledger.withLookups(...lookups).write(SYSTEM_CALLER, async (transaction) => {
      const old: Execution[] = [];
      for (const { id } of executions) {
        const execution = await transaction.find(EXECUTION, id);
        if (execution?.erased === false && !isUnsettled(execution)) old.push(execution);
      }
      // The result of one was reported meanwhile: the next look leaves that out.
      if (old.some(({ completedAt }) => completedAt !== null && completedAt > before)) return;
      for (const execution of old) await eraseExecution(transaction, execution, null);
      const forgettable: Decision[] = [];
      for (const id of decisionIds) {
        const decision = await transaction.find(DECISION, id);
        if (decision?.erased === false && !isUnsettled(decision)) forgettable.push(decision);
      }
      const grants = await eraseDecisions(transaction, forgettable, null);
      // A rejection binds for a day, and the refusals that repeat its words are kept for another one. A grant may have been
      // revoked just now.
      const ids = retainContent >= 2 * KEPT_FOR ? grants : [...lookups.map(({ value }) => value), ...grants];
      if (ids.length > 0) transaction.writeWithoutEntry(forgetAnswers(this.database.dialect, ids));
    });
    return executions.length === EXECUTIONS_AT_ONCE || decisions.length === room;
  }
}
