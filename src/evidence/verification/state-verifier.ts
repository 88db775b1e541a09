import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { unavailable } from '../../core/errors/domain-error';
import { Database } from '../../ledger/database/database';
import { DerivedDataReader, type HeadRow } from './derived-data-reader';
import { EntryReader } from '../../ledger/reading/entry-reader';
import type { RecordCodec } from '../../ledger/records/record-codec';
import { SingleFlight } from '../../core/concurrency/single-flight';
import { type LiveRecord, type MissingRecord, StateReader } from './state-reader';
import { idOf, isFiledRightly, lostOwnerOf, recordFault, StateFindings, type StateVerdict } from './state-check';
import type { SqlValue } from '../../ledger/database/sql-connection';
import { SCHEMA_VERSION } from '../../ledger/schema/schema-version';
import { FIRST_ULID, isUlid } from '../../ledger/chain/ulid-sequence';

export interface TimedStateVerdict extends StateVerdict {
  /** Milliseconds from the beginning to the verdict. */
  readonly duration: number;
}

/**
 * Checks every live record, and what is derived from records and entries, against the ledger. It reads chunks, each
 * from one snapshot, so that memory stays flat, other requests proceed, and concurrent writes raise no false alarm.
 */
@Injectable()
export class StateVerifier implements OnModuleDestroy {
  private readonly runs = new SingleFlight<never, TimedStateVerdict>((_from, _wishes, abandoned) =>
    this.timedRun(abandoned),
  );
  private isStopping = false;
  /** Of the current run: there is one at a time. */
  private abandoned: AbortSignal | null = null;

  constructor(
    private readonly states: StateReader,
    private readonly derived: DerivedDataReader,
    private readonly entries: EntryReader,
    private readonly database: Database,
  ) {}

  /** @param leaving aborted when the caller leaves; a run that nobody waits for ends. */
  verify(leaving: AbortSignal): Promise<TimedStateVerdict> {
    return this.runs.call(0, { leaving });
  }

  /** A run ends at its next chunk, before the database is closed. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await this.runs.ended();
  }

  private async timedRun(abandoned: AbortSignal): Promise<TimedStateVerdict> {
    this.abandoned = abandoned;
    const begin = performance.now();
    return { ...(await this.run()), duration: Math.round(performance.now() - begin) };
  }

  private async run(): Promise<StateVerdict> {
    const findings = new StateFindings();
    // What is read through a view says nothing about what others read.
    if (!(await this.tablesAreThere(findings))) return findings.verdict;
    for (const codec of this.states.kinds) await this.checkKind(codec, findings);
    await this.checkMissing(findings);
    await this.checkDerived(findings);
    // A view may have taken the place of a table before that was read.
    await this.tablesAreThere(findings);
    return findings.verdict;
  }

  private async tablesAreThere(findings: StateFindings): Promise<boolean> {
    const replaced = await this.database.replacedTables();
    for (const { name } of replaced) findings.addDerived('table', name);
    return replaced.length === 0;
  }

  private async checkKind(codec: RecordCodec, findings: StateFindings): Promise<void> {
    for await (const records of this.states.live(codec)) {
      await this.nextChunk();
      const removedOwners = await this.states.removedAmong(records.flatMap((record) => lostOwnerOf(record) ?? []));
      const there = records.filter((record) => !isToBeDeleted(record, removedOwners));
      for (const record of there) checkRecord(record, removedOwners, findings);
      findings.verified(there.length);
    }
  }

  private async checkMissing(findings: StateFindings): Promise<void> {
    const { lastSequence } = await this.entries.extent();
    if (lastSequence === null) return;
    for await (const records of this.states.missing(lastSequence)) {
      await this.nextChunk();
      const removedOwners = await this.states.removedAmong(records.flatMap(({ ownerId }) => ownerId ?? []));
      for (const record of records) {
        if (!wentWithOwner(record, removedOwners)) {
          findings.addRecord(record.codec.kind.subjectType, record.id, 'missing');
        }
      }
    }
  }

  private async checkDerived(findings: StateFindings): Promise<void> {
    for await (const ids of this.derived.recordsOfStrayItems()) {
      await this.nextChunk();
      for (const id of ids) findings.addDerived('listItems', id);
    }
    for await (const names of this.derived.wrongCounters()) {
      await this.nextChunk();
      for (const name of names) findings.addDerived('counter', name);
    }
    await this.checkStrayCounters(findings);
    await this.checkHead(findings);
  }

  /**
   * Counters of a module that was removed look like forged ones. Its entries show that there was such a module.
   */
  private async checkStrayCounters(findings: StateFindings): Promise<void> {
    let isOfUnknownKinds: boolean | null = null;
    for await (const names of this.derived.strayCounters()) {
      await this.nextChunk();
      if (names.length === 0) continue;
      isOfUnknownKinds ??= await this.hasUnknownKinds();
      if (isOfUnknownKinds) return;
      for (const name of names) findings.addDerived('counter', name);
    }
  }

  private async checkHead(findings: StateFindings): Promise<void> {
    const head = await this.derived.head();
    let lastEffect = 0;
    for await (const sequence of this.derived.effects(head?.sequence ?? 0)) {
      await this.nextChunk();
      lastEffect = Math.max(lastEffect, sequence);
    }
    for (const column of wrongHeadColumns(head, lastEffect)) findings.addDerived('head', column);
  }

  private async hasUnknownKinds(): Promise<boolean> {
    const { lastSequence } = await this.entries.extent();
    for await (const isFound of this.states.unknownKinds(lastSequence ?? 0)) {
      if (isFound) return true;
      await this.nextChunk();
    }
    return false;
  }

  private async nextChunk(): Promise<void> {
    if (this.isStopping) throw unavailable('The service is stopping.');
    this.abandoned?.throwIfAborted();
    await nextTurn();
  }
}

/** The log says that its owner was removed, so the service is about to delete it. */
function isToBeDeleted(record: LiveRecord, removedOwners: ReadonlySet<string>): boolean {
  const lostOwner = lostOwnerOf(record);
  return record.isLeftover && lostOwner !== null && removedOwners.has(lostOwner);
}

function checkRecord(record: LiveRecord, removedOwners: ReadonlySet<string>, findings: StateFindings): void {
  const lostOwner = lostOwnerOf(record);
  // It would have been removed with its owner.
  const isLeftOver = lostOwner !== null && removedOwners.has(lostOwner);
  const fault = isLeftOver ? 'added' : recordFault(record);
  if (fault !== undefined) findings.addRecord(record.codec.kind.subjectType, idOf(record), fault);
  if (!isFiledRightly(record)) findings.addDerived('listItems', idOf(record));
}

function wentWithOwner({ ownerId }: MissingRecord, removedOwners: ReadonlySet<string>): boolean {
  return ownerId !== null && removedOwners.has(ownerId);
}

const BEGINNING = new Date(0).toISOString();

/**
 * Columns of the head record that cannot be right. The end of the chain (sequence and hash) is left to the chain check;
 * this covers the ledger's clock, its last identifier, and the mark by which processes follow each other.
 */
function wrongHeadColumns(head: HeadRow | undefined, lastEffect: number): string[] {
  if (head === undefined) return ['id'];
  const { sequence, timestamp, lastUlid, effectSequence, heads, entryId, entryTimestamp } = head;
  const lastMinted = entryId?.slice(entryId.indexOf('_') + 1) ?? FIRST_ULID;
  const isMinted = isUlid(lastUlid) && lastUlid >= lastMinted;
  const isFollowed = isInteger(effectSequence) && effectSequence >= lastEffect && effectSequence <= Number(sequence);
  return [
    ...(heads === 1 ? [] : ['id']),
    ...(timestamp === (entryTimestamp ?? BEGINNING) ? [] : ['timestamp']),
    ...(isMinted ? [] : ['lastUlid']),
    ...(isFollowed ? [] : ['effectSequence']),
    ...(head.schemaVersion === SCHEMA_VERSION ? [] : ['schemaVersion']),
  ];
}

/** A column of SQLite accepts values of any type. */
function isInteger(value: SqlValue): value is number {
  return Number.isSafeInteger(value);
}
