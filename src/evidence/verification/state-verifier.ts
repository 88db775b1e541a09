import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { unavailable } from '../../core/errors/domain-error';
import { Database } from '../../ledger/database/database';
import { DerivedDataReader, type HeadRow, textsIn, wrongSums } from './derived-data-reader';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { counterName, listItems } from '../../ledger/records/counters';
import type { RecordCodec } from '../../ledger/records/record-codec';
import { SingleFlight } from '../../core/concurrency/single-flight';
import { sealedState } from '../../ledger/chain/hash-chain';
import { type LiveRecord, StateReader } from './state-reader';
import type { SqlValue } from '../../ledger/database/sql-connection';
import { SCHEMA_VERSION } from '../../ledger/schema/schema-version';
import { FIRST_ULID, isUlid } from '../../ledger/chain/random';

/**
 * Faults of a record, compared with the ledger.
 * - `changed`: it differs from the state that its last entry left.
 * - `added`: no entry created it, or the last one removed it.
 * - `missing`: its last entry did not remove it, but it does not exist.
 */
export const RECORD_FAULTS = ['changed', 'added', 'missing'] as const;
export type RecordFault = (typeof RECORD_FAULTS)[number];

interface InvalidRecord {
  readonly subjectType: string;
  readonly subjectId: string;
  readonly fault: RecordFault;
}

export const DERIVED_DATA = ['counter', 'sum', 'listItems', 'head', 'table'] as const;

/**
 * Names of wrong data: counters by name, sums by their key, list items by the id of their record, the head by its
 * column, tables by name.
 */
export interface InvalidDerived {
  readonly data: (typeof DERIVED_DATA)[number];
  readonly name: string;
}

/** Result of a verification of states, and its milliseconds. */
export type TimedStateVerdict = Readonly<Omit<StateFindings, 'addRecord' | 'addDerived'>> & {
  readonly duration: number;
};

/**
 * Checks every live record, and all data derived from records and entries, against the ledger. It reads chunks, each
 * from one snapshot, so that memory stays flat, other requests proceed, and concurrent writes raise no false alarm.
 */
@Injectable()
export class StateVerifier implements OnModuleDestroy {
  private readonly runs = new SingleFlight<never, TimedStateVerdict>(({ abandoned }) => this.timedRun(abandoned));

  constructor(
    private readonly states: StateReader,
    private readonly derived: DerivedDataReader,
    private readonly entries: EntryReader,
    private readonly database: Database,
  ) {}

  /** @param signal aborted when the caller leaves; a run for which nobody waits ends */
  verify(signal: AbortSignal): Promise<TimedStateVerdict> {
    return this.runs.call({ signal });
  }

  /** Ends a run at its next chunk, before the database is closed. */
  onModuleDestroy(): Promise<void> {
    return this.runs.stop(unavailable('The service is stopping.'));
  }

  private async timedRun(abandoned: AbortSignal): Promise<TimedStateVerdict> {
    const begin = performance.now();
    const findings = new StateFindings();
    await this.run(findings, (chunks) => paced(chunks, abandoned));
    return { ...findings, duration: Math.round(performance.now() - begin) };
  }

  private async run(findings: StateFindings, each: Pace): Promise<void> {
    // Rows read through a view prove nothing about the rows that others read.
    if (!(await this.tablesAreThere(findings))) return;
    let lastEffect = 0;
    for (const codec of this.states.kinds) {
      const last = await this.checkKind(codec, findings, each);
      if (codec.kind.isKeptInMemory === true) lastEffect = Math.max(lastEffect, last);
    }
    const hasUnknownKinds = await this.checkMissing(findings, each);
    for await (const ids of each(this.derived.recordsOfStrayItems())) findings.addDerived('listItems', ids);
    for await (const names of each(this.derived.wrongCounters(hasUnknownKinds))) findings.addDerived('counter', names);
    for await (const names of each(wrongSums(this.database))) findings.addDerived('sum', names);
    // Checked after the records, because the head has moved with them.
    findings.addDerived('head', wrongHeadColumns(await this.derived.head(), lastEffect));
    // A view may have taken the place of a table before that was read.
    await this.tablesAreThere(findings);
  }

  private async tablesAreThere(findings: StateFindings): Promise<boolean> {
    const replaced = await this.database.replacedTables();
    const names = replaced.map(({ name }) => name);
    findings.addDerived('table', names);
    return replaced.length === 0;
  }

  /** @returns sequence of the last entry about such a record */
  private async checkKind(codec: RecordCodec, findings: StateFindings, each: Pace): Promise<number> {
    let last = 0;
    for await (const records of each(this.states.live(codec))) {
      const there = records.filter((record) => !isToBeDeleted(record));
      for (const record of there) checkRecord(record, findings);
      findings.recordsVerified += there.length;
      last = Math.max(last, ...records.map(lastSequenceOf));
    }
    return last;
  }

  /** @returns true if there are records of unknown kinds */
  private async checkMissing(findings: StateFindings, each: Pace): Promise<boolean> {
    const { lastSequence } = await this.entries.extent();
    let hasUnknownKinds = false;
    for await (const records of each(this.states.missing(lastSequence ?? 0))) {
      for (const { subjectType, id, isOfKnownKind, wentWithOwner } of records) {
        hasUnknownKinds ||= !isOfKnownKind;
        if (isOfKnownKind && !wentWithOwner) findings.addRecord(subjectType, id, 'missing');
      }
    }
    return hasUnknownKinds;
  }
}

type Pace = <Chunk>(chunks: AsyncIterable<Chunk>) => AsyncIterable<Chunk>;

/** Yields the chunks, and serves others in between, until nobody waits for the result any more. */
async function* paced<Chunk>(chunks: AsyncIterable<Chunk>, abandoned: AbortSignal): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    abandoned.throwIfAborted();
    await nextTurn();
    yield chunk;
  }
}

/** Returns the sequence of the last entry. The chain check covers entries beyond all sequences. */
function lastSequenceOf({ fromEntries: { sequence } }: LiveRecord): number {
  return Number.isSafeInteger(sequence) ? Number(sequence) : 0;
}

/** True if the log records the removal of its owner, so that the service is about to delete it. */
function isToBeDeleted({ fromEntries }: LiveRecord): boolean {
  return Number(fromEntries.leftovers) > 0 && Number(fromEntries.ownerRemoved) > 0;
}

function checkRecord(record: LiveRecord, findings: StateFindings): void {
  // Such a record would have been removed with its owner.
  const fault = Number(record.fromEntries.ownerRemoved) > 0 ? 'added' : recordFault(record);
  if (fault !== undefined) findings.addRecord(record.codec.kind.subjectType, idOf(record), fault);
  if (!isFiledRightly(record)) findings.addDerived('listItems', [idOf(record)]);
}

const BEGINNING = new Date(0).toISOString();

/**
 * Returns columns of the head record that cannot be right: the ledger's clock, its last identifier, and the mark by
 * which processes follow each other. The chain check covers the end of the chain (sequence and hash).
 */
function wrongHeadColumns(head: HeadRow | undefined, lastEffect: number): string[] {
  if (head === undefined) return ['id'];
  const { sequence, timestamp, lastUlid, effectSequence, heads, entryId, entryTimestamp } = head;
  const lastMinted = entryId?.slice(entryId.indexOf('_') + 1) ?? FIRST_ULID;
  const isMinted = isUlid(lastUlid) && lastUlid >= lastMinted;
  // A column of SQLite accepts values of any type.
  const effect = Number.isSafeInteger(effectSequence) ? Number(effectSequence) : -1;
  const isFollowed = effect >= lastEffect && effect <= Number(sequence);
  return [
    ...(heads === 1 ? [] : ['id']),
    ...(timestamp === (entryTimestamp ?? BEGINNING) ? [] : ['timestamp']),
    ...(isMinted ? [] : ['lastUlid']),
    ...(isFollowed ? [] : ['effectSequence']),
    ...(head.schemaVersion === SCHEMA_VERSION ? [] : ['schemaVersion']),
  ];
}

/** Returns a column of a stored row; null if it is unknown. */
function columnOf({ codec, values }: LiveRecord, name: string): SqlValue {
  return values[codec.columns.findIndex((column) => column.name === name)] ?? null;
}

/** Returns the id as text, even from an altered row. */
function idOf(record: LiveRecord): string {
  return String(columnOf(record, 'id'));
}

/** Returns the fault of a record; undefined if it matches the ledger. */
function recordFault(record: LiveRecord): RecordFault | undefined {
  const { codec } = record;
  const { v, stateSalt, stateHash, subjectType, firstSequence } = record.fromEntries;
  if (stateHash === null || subjectType !== codec.kind.subjectType) return 'added';
  const isAsLeft =
    sealedState({ v, state: codec.stateOf(record.values), stateSalt }) === stateHash &&
    columnOf(record, 'createdSequence') === firstSequence;
  return isAsLeft && unhashedAgree(record) ? undefined : 'changed';
}

function unhashedAgree({ codec, values, fromEntries }: LiveRecord): boolean {
  const { unhashedAgree: agree } = codec.kind;
  if (Number(fromEntries.repeated) === 0) return false;
  if (agree === undefined) return true;
  return agree(Object.fromEntries(codec.columns.map(({ name }, index) => [name, values[index] ?? null])), fromEntries);
}

/** True if filters find the record by exactly the items of its lists. */
function isFiledRightly(record: LiveRecord): boolean {
  const { codec, items } = record;
  const { kind } = codec;
  if (kind.listColumns === undefined) return true;
  const sequence = columnOf(record, 'createdSequence');
  const lists = Object.fromEntries(kind.listColumns.map((column) => [column, textsIn(columnOf(record, column))]));
  const row = { id: idOf(record), createdSequence: Number(sequence), ...lists };
  const expected = listItems(kind, row).map(({ column, value }) => [
    counterName(kind.counter, column, value),
    sequence,
  ]);
  return sorted(expected) === sorted(items);
}

function sorted(items: readonly (readonly SqlValue[])[]): string {
  return JSON.stringify(items.map((item) => JSON.stringify(item)).sort());
}

/** Most faults that are listed by name. */
const NAMED_FAULTS = 10;

/** Counts faults and keeps the first ones. */
class StateFindings {
  recordsVerified = 0;
  invalidRecords = 0;
  readonly firstInvalidRecords: InvalidRecord[] = [];
  invalidDerived = 0;
  readonly firstInvalidDerived: InvalidDerived[] = [];

  addRecord(subjectType: string, subjectId: string, fault: RecordFault): void {
    this.invalidRecords += 1;
    if (this.invalidRecords <= NAMED_FAULTS) this.firstInvalidRecords.push({ subjectType, subjectId, fault });
  }

  addDerived(data: InvalidDerived['data'], names: readonly string[]): void {
    const room = NAMED_FAULTS - this.firstInvalidDerived.length;
    this.firstInvalidDerived.push(...names.slice(0, room).map((name) => ({ data, name })));
    this.invalidDerived += names.length;
  }
}
