import { counterName, listItems } from '../../ledger/records/counter-name';
import { sha256 } from '../../ledger/chain/hash-chain';
import type { LiveRecord } from './state-reader';
import type { SqlValue } from '../../ledger/database/sql-connection';

/**
 * What is wrong with a record, compared with the ledger.
 * - `changed`: it is not as its last entry left it.
 * - `added`: no entry made it, or the last one removed it.
 * - `missing`: its last entry left it there, and it is not.
 */
export const RECORD_FAULTS = ['changed', 'added', 'missing'] as const;
export type RecordFault = (typeof RECORD_FAULTS)[number];

/** A column of a stored row; null where it is not known. */
function columnOf({ codec, values }: LiveRecord, name: string): SqlValue {
  return values[codec.columns.findIndex((column) => column.name === name)] ?? null;
}

/** As text, whatever an altered row holds. */
export function idOf(record: LiveRecord): string {
  return String(columnOf(record, 'id'));
}

/** The id of the record it belongs to, if that does not exist. */
export function lostOwnerOf(record: LiveRecord): string | null {
  const { owner } = record.codec.kind;
  return owner === undefined || record.hasOwner ? null : String(columnOf(record, owner.column));
}

/** Undefined: the record matches the ledger. */
export function recordFault(record: LiveRecord): RecordFault | undefined {
  const { codec, stateHash, subjectType, firstSequence } = record;
  if (stateHash === null || subjectType !== codec.kind.subjectType) return 'added';
  const isAsLeft =
    sha256(codec.stateOf(record.values)) === stateHash && columnOf(record, 'createdSequence') === firstSequence;
  return isAsLeft && unhashedAgree(record) ? undefined : 'changed';
}

function unhashedAgree({ codec, values, entityId }: LiveRecord): boolean {
  const { unhashedAgree: agree } = codec.kind;
  if (agree === undefined) return true;
  return agree(Object.fromEntries(codec.columns.map(({ name }, index) => [name, values[index] ?? null])), { entityId });
}

/** True if filters find the record by exactly the items of its lists. */
export function isFiledRightly(record: LiveRecord): boolean {
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

/** An altered column may hold anything. */
function textsIn(text: SqlValue): string[] {
  try {
    const list: unknown = JSON.parse(String(text));
    return Array.isArray(list) ? list.filter((item) => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

/** How many faults are listed by name. */
const NAMED_FAULTS = 10;

export interface InvalidRecord {
  readonly subjectType: string;
  readonly subjectId: string;
  readonly fault: RecordFault;
}

export const DERIVED_DATA = ['counter', 'listItems', 'head', 'table'] as const;

/** Counters by name, list items by the id of their record, the head by its column, tables by name. */
export interface InvalidDerived {
  readonly data: (typeof DERIVED_DATA)[number];
  readonly name: string;
}

/** What a verification of states found. */
export interface StateVerdict {
  readonly recordsVerified: number;
  readonly invalidRecords: number;
  readonly firstInvalidRecords: readonly InvalidRecord[];
  readonly invalidDerived: number;
  readonly firstInvalidDerived: readonly InvalidDerived[];
}

/** Counts faults and keeps the first ones. */
export class StateFindings {
  private recordsVerified = 0;
  private readonly records = new Findings<InvalidRecord>();
  private readonly derived = new Findings<InvalidDerived>();

  verified(records: number): void {
    this.recordsVerified += records;
  }

  addRecord(subjectType: string, subjectId: string, fault: RecordFault): void {
    this.records.add({ subjectType, subjectId, fault });
  }

  addDerived(data: InvalidDerived['data'], name: string): void {
    this.derived.add({ data, name });
  }

  get verdict(): StateVerdict {
    return {
      recordsVerified: this.recordsVerified,
      invalidRecords: this.records.count,
      firstInvalidRecords: this.records.first,
      invalidDerived: this.derived.count,
      firstInvalidDerived: this.derived.first,
    };
  }
}

class Findings<Fault> {
  count = 0;
  readonly first: Fault[] = [];

  add(fault: Fault): void {
    this.count += 1;
    if (this.first.length < NAMED_FAULTS) this.first.push(fault);
  }
}
