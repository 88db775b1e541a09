import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { conflict, invalidField } from '../../core/errors/domain-error';
import { jsonLength } from '../../core/json/json-length';
import { cancelledNote } from '../../governance/decisions/decision-settlement';
import { DECISION, type Decision } from '../../governance/decisions/decision.entity';
import { CLAIM } from '../../governance/entities/claim.entity';
import { ENTITY, type GovernedEntity } from '../../governance/entities/governed-entity.entity';
import { EXECUTION, type Execution, outcomeNote, USING_ACTIONS } from '../../governance/executions/execution.entity';
import { cancelConflict, endedExecution } from '../../governance/executions/execution-rules';
import { type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { Database } from '../../ledger/database/database';
import { LedgerService } from '../../ledger/ledger.service';
import type { JsonObject } from '../../core/json/json-value';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { ErasedIds, lineOf } from './erased-ids';
import { type Grant, GRANT } from '../../governance/decisions/grants/grant.entity';
import { revokeGrant } from '../../governance/decisions/grants/grant-changes';
import { erasedDecision, erasedExecution, erasedGrant, isUnsettled, requireAge, stillOpen } from './erased-records';
import { ERASURE, type Erasure, type ErasureSubject } from './erasure.entity';
import { forgetAnswers } from '../../ledger/idempotency/idempotency-store';
import { erasureAction } from '../../ledger/chain/stored-entry';
import { emptyEntriesOf } from '../../ledger/writing/leftover-statements';

type NewErasure = Pick<Erasure, 'subjects' | 'reason'>;

/** The erasure of the subjects; `isNew` is false if it is an earlier one. */
export interface ErasureAnswer {
  readonly erasure: Erasure;
  readonly isNew: boolean;
}

/** Records that are to be erased together. */
interface ErasureTargets {
  readonly entities: Map<string, GovernedEntity | null>;
  readonly executions: Map<string, Execution>;
  readonly decisions: Map<string, Decision>;
  /** Subjects that were already erased. */
  readonly erased: ErasureSubject[];
}

/** Most subjects that are erased again in one commit: each can have some megabytes. */
const AT_ONCE = 10;
/** Most characters of the records that one request erases, unless it erases one. */
const MAX_TOGETHER = 8 * 1024 * 1024;
const COMPACT =
  'On SQLite, stop the service then and run `npm run compact`: the restored file may still hold their texts.';
const RESTORED =
  'The service was started with a database from a backup that is older than an erasure, so the erased contents were there again.';

/** Status of a subject: unknown, existing, or erased; `erasedBy` is null if RETAIN_CONTENT ended. */
type SubjectStatus = 'unknown' | 'there' | { readonly erasedBy: string | null };

/** Begins erasures: the records at once, in one commit; contents in older entries follow. */
@Injectable()
export class ErasuresService implements OnModuleInit {
  private readonly logger = new Logger('Erasures');

  constructor(
    private readonly ledger: LedgerService,
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly ids: ErasedIds,
  ) {}

  /** Erases again, before anything is served, contents that a restored backup has brought back. */
  async onModuleInit(): Promise<void> {
    const newLines = new Set((await this.ids.keepNew()).map(lineOf));
    const back = [...(await this.ids.read())].flatMap(([line, subject]) => (newLines.has(line) ? [] : subject));
    for (let start = 0; start < back.length; start += AT_ONCE) {
      const erasure = await this.eraseAgain(back.slice(start, start + AT_ONCE), RESTORED);
      if (erasure === null) continue;
      const { id, subjects } = erasure;
      this.logger.warn(
        `${subjects.length} records that a restored backup has brought back are erased again: ${id}. ${COMPACT}`,
      );
    }
  }

  /**
   * @throws VALIDATION_ERROR for an unknown subject; CONFLICT for an open one, or one that is too young; UNAVAILABLE if
   * its ids could not be stored
   */
  async erase(caller: Caller, request: NewErasure): Promise<ErasureAnswer> {
    await this.ids.requireFile();
    const answer = await this.ledger.write(caller, (transaction) => this.begin(transaction, request));
    // Added before the response, so that a restored backup cannot bring the contents back. If this fails, the erasure
    // has still begun, and is completed once the ids are stored.
    await this.ids.add(answer.erasure.subjects).catch((error: unknown) => this.logger.error(String(error)));
    return answer;
  }

  /**
   * Erases again contents that a restored backup has brought back, at any age, and cancels open records. Null, without
   * a write, if none of the subjects exist.
   */
  eraseAgain(subjects: readonly ErasureSubject[], reason: string): Promise<Erasure | null> {
    return this.ledger.write(SYSTEM_CALLER, async (transaction) => {
      const targets: ErasureTargets = { entities: new Map(), executions: new Map(), decisions: new Map(), erased: [] };
      const back: ErasureSubject[] = [];
      for (const subject of subjects) if ((await find(transaction, subject, targets)) === 'there') back.push(subject);
      if (back.length === 0) return null;
      cancelOpen(transaction, targets, reason);
      return this.take(transaction, { subjects: back, reason }, targets);
    });
  }

  private async begin(transaction: ServiceTransaction, request: NewErasure): Promise<ErasureAnswer> {
    const targets: ErasureTargets = { entities: new Map(), executions: new Map(), decisions: new Map(), erased: [] };
    const statuses: SubjectStatus[] = [];
    let characters = 0;
    for (const [index, subject] of request.subjects.entries()) {
      const status = await find(transaction, subject, targets);
      if (status === 'unknown') throw unknown(`subjects[${index}]`, subject.type);
      characters += contentLength(subject, targets);
      if (characters > MAX_TOGETHER && index > 0)
        throw conflict('These records are too large to be erased together. Erase fewer at a time.');
      statuses.push(status);
    }
    await this.refuseOpenOrYoung(transaction, targets);
    await takeAgain(transaction, targets.erased);
    const last = statuses.includes('there') ? undefined : newestOf(statuses);
    const earlier = last === undefined ? undefined : await transaction.find(ERASURE, last);
    if (earlier !== undefined) return { erasure: earlier, isNew: false };
    return { erasure: await this.take(transaction, request, targets), isNew: true };
  }

  private async take(
    transaction: ServiceTransaction,
    { subjects, reason }: NewErasure,
    targets: ErasureTargets,
  ): Promise<Erasure> {
    const unfinished = { completedAt: null, entries: null, records: null, unsalted: null };
    const record = { id: transaction.newId(ERASURE), subjects, reason, createdAt: transaction.now, ...unfinished };
    const erasure = transaction.insert(ERASURE, record, { action: 'erasure.begun' });
    const grants = await takeAll(transaction, targets, erasure.id);
    const ids = [...targets.entities.keys(), ...targets.executions.keys(), ...targets.decisions.keys(), ...grants];
    // Responses to the record's own writes are older than RETAIN_AT_LEAST and gone, but a later refusal may repeat a
    // reviewer's comment.
    transaction.writeWithoutEntry(forgetAnswers(this.database.dialect, ids));
    return erasure;
  }

  private async refuseOpenOrYoung(transaction: ServiceTransaction, targets: ErasureTargets): Promise<void> {
    for (const { id, outcome } of targets.executions.values())
      if (isUnsettled({ outcome })) throw stillOpen(`The execution ${id}`, outcome);
    for (const { id, status } of targets.decisions.values())
      if (isUnsettled({ status })) throw stillOpen(`The decision ${id}`, status);
    const { retainAtLeast } = this.configuration;
    const kinds = [
      ['entity', ENTITY, targets.entities],
      ['execution', EXECUTION, targets.executions],
      ['decision', DECISION, targets.decisions],
    ] as const;
    for (const [name, kind, records] of kinds) {
      for (const id of records.keys()) {
        const lastChange = await transaction.lastEntryAt(kind, id);
        if (lastChange !== undefined) requireAge(`The ${name} ${id}`, lastChange, retainAtLeast, transaction.now);
      }
    }
  }
}

/** Adds the subject, and the records that are erased with it, to `targets`. Returns the status of the subject. */
async function find(
  transaction: ServiceTransaction,
  { type, id }: ErasureSubject,
  targets: ErasureTargets,
): Promise<SubjectStatus> {
  if (type === 'entity') return findEntity(transaction, id, targets);
  const { execution, decision } = await pairOf(transaction, type, id);
  if (execution === undefined && decision === undefined) return 'unknown';
  if (execution?.erased === true) targets.erased.push({ type: 'execution', id: execution.id });
  if (decision?.erased === true) targets.erased.push({ type: 'decision', id: decision.id });
  if (execution?.erased === false) targets.executions.set(execution.id, execution);
  if (decision?.erased === false) targets.decisions.set(decision.id, decision);
  if (execution?.erased === false || decision?.erased === false) return 'there';
  return erasedBy(await transaction.detailsOf(type === 'execution' ? EXECUTION : DECISION, id, [erasureAction(type)]));
}

async function findEntity(
  transaction: ServiceTransaction,
  id: string,
  targets: ErasureTargets,
): Promise<SubjectStatus> {
  const entity = await transaction.find(ENTITY, id);
  const erased = await transaction.detailsOf(ENTITY, id, [erasureAction('entity')]);
  if (erased !== undefined) targets.erased.push({ type: 'entity', id });
  if (erased !== undefined && entity === undefined) return erasedBy(erased);
  if (entity === undefined && (await transaction.lastEntryAt(ENTITY, id)) === undefined) return 'unknown';
  targets.entities.set(id, entity ?? null);
  return 'there';
}

/** Returns the characters of the records that an erasure found for a subject. */
function contentLength({ id }: ErasureSubject, { entities, executions, decisions }: ErasureTargets): number {
  const execution = executions.get(id) ?? executions.get(decisions.get(id)?.executionId ?? '');
  const decision = decisions.get(id) ?? decisions.get(execution?.decisionId ?? '');
  return jsonLength(entities.get(id), execution, decision);
}

/** Empties the entries about erased subjects again, because somebody may have put their contents back. */
async function takeAgain(transaction: ServiceTransaction, erased: readonly ErasureSubject[]): Promise<void> {
  const decisions = erased.flatMap(({ type, id }) => (type === 'decision' ? id : []));
  const grants = await grantsOf(transaction, decisions);
  for (const { type, id } of erased) transaction.writeWithoutEntry(emptyEntriesOf(type, id));
  for (const { id } of grants) transaction.writeWithoutEntry(emptyEntriesOf(GRANT.subjectType, id));
}

/** Returns the newest id, because ids sort by creation. */
function newestOf(statuses: readonly SubjectStatus[]): string | undefined {
  const ids = statuses.flatMap((status) => (typeof status === 'object' ? (status.erasedBy ?? []) : []));
  return ids.sort().at(-1);
}

/** Returns an execution and the decision about it. The decision that refused an execution may be about another one. */
async function pairOf(
  transaction: ServiceTransaction,
  type: 'execution' | 'decision',
  id: string,
): Promise<{ readonly execution: Execution | undefined; readonly decision: Decision | undefined }> {
  if (type === 'execution') {
    const execution = await transaction.find(EXECUTION, id);
    const decisionId = execution?.decisionId ?? null;
    const decision = decisionId === null ? undefined : await transaction.find(DECISION, decisionId);
    return { execution, decision: decision?.executionId === id ? decision : undefined };
  }
  const decision = await transaction.find(DECISION, id);
  const executionId = decision?.executionId ?? null;
  return { decision, execution: executionId === null ? undefined : await transaction.find(EXECUTION, executionId) };
}

/**
 * Cancels open records, decisions first, as everywhere: records that wait in a backup were settled after the backup was
 * made. The start of the service ends running executions.
 */
function cancelOpen(transaction: ServiceTransaction, targets: ErasureTargets, reason: string): void {
  const { now } = transaction;
  for (const decision of targets.decisions.values()) {
    if (!isUnsettled(decision)) continue;
    const ended = { ...decision, status: 'cancelled', updatedAt: now, resolvedAt: now } as const;
    const note = { ...cancelledNote(decision, reason), bySystem: true } as const;
    targets.decisions.set(decision.id, transaction.update(DECISION, ended, note));
  }
  for (const execution of targets.executions.values()) {
    if (cancelConflict(execution) !== null) continue;
    const ended = endedExecution(execution, 'cancelled', now);
    const note = { ...outcomeNote(ended, 'cancelled', reason), bySystem: true } as const;
    targets.executions.set(execution.id, transaction.update(EXECUTION, ended, note));
  }
}

/** Erases the records themselves, each with an entry. @returns ids of the grants that are erased with them */
async function takeAll(
  transaction: ServiceTransaction,
  targets: ErasureTargets,
  erasureId: string | null,
): Promise<string[]> {
  const details = { erasureId };
  for (const [id, entity] of targets.entities) {
    if (entity !== null) {
      const claims = await transaction.removeWithOwner(CLAIM, id);
      transaction.remove(ENTITY, entity, { action: 'entity.deleted', entityId: id, details: { claims } });
    }
    transaction.eraseRemoved(ENTITY, id, { entityId: id, details });
  }
  for (const execution of targets.executions.values()) await eraseExecution(transaction, execution, erasureId);
  return eraseDecisions(transaction, [...targets.decisions.values()], erasureId);
}

/** Erases an execution. Its uses of limits stay taken. */
export async function eraseExecution(
  transaction: ServiceTransaction,
  execution: Execution,
  erasureId: string | null,
): Promise<void> {
  const { id, agentId, entityId } = execution;
  const { used = null } = (await transaction.detailsOf(EXECUTION, id, USING_ACTIONS)) ?? {};
  const details = { erasureId, ...(used !== null && { used }) };
  transaction.erase(EXECUTION, erasedExecution(execution), { agentId, entityId, details });
}

/** Erases decisions, each with its grant, if any, which ends. @returns ids of these grants */
export async function eraseDecisions(
  transaction: ServiceTransaction,
  decisions: readonly Decision[],
  erasureId: string | null,
): Promise<string[]> {
  const details = { erasureId };
  const grants = await grantsOf(
    transaction,
    decisions.map(({ id }) => id),
  );
  for (const grant of grants) {
    const { agentId } = grant;
    const ended = grant.status === 'active' ? revokeGrant(transaction, grant, null) : grant;
    transaction.erase(GRANT, erasedGrant(ended), { agentId, details });
  }
  for (const decision of decisions) {
    transaction.erase(DECISION, erasedDecision(decision), { agentId: decision.proposedBy, details });
  }
  return grants.map(({ id }) => id);
}

function grantsOf(transaction: ServiceTransaction, decisionIds: readonly string[]): Promise<Grant[]> {
  return transaction.findAmong(
    GRANT,
    ['decisionId'],
    decisionIds.map((id) => [id]),
  );
}

function erasedBy(details: JsonObject | null | undefined): SubjectStatus {
  const id = details?.['erasureId'];
  return { erasedBy: typeof id === 'string' ? id : null };
}

function unknown(path: string, type: string): Error {
  return invalidField(path, `must name an existing ${type}: the ledger has no entry about it`);
}
