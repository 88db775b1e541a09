import type { Caller } from '../caller';
import type { EntryNote, SideWrite } from '../ledger-transaction';
import type { EncodedRow, RecordCodec } from '../records/record-codec';
import type { AnyRecordKind, GovernedRow } from '../record-kind';

/** An entry as a command makes it, before it joins the batch and is hashed. */
export interface PendingEntry {
  readonly caller: Caller;
  readonly note: EntryNote;
  /** Canonical JSON of the note's details. */
  readonly details: string;
  readonly subjectType: string;
  readonly sequence: number;
  readonly timestamp: string;
  readonly ulid: string;
  readonly subjectId: string;
  /** Canonical JSON of the subject after the entry; null when it was removed. */
  readonly state: string | null;
}

/** Rows that are removed with their owner. */
export interface OwnedRemoval {
  readonly codec: RecordCodec;
  readonly ownerId: string;
  readonly count: number;
}

/** What follows from a commit; a promise is waited for. */
export type AfterCommit = () => unknown;

/** Everything that a command which has returned adds to its batch. */
export interface PendingChanges {
  readonly rows: WriteBuffer;
  readonly entries: readonly PendingEntry[];
  readonly ownedRemovals: readonly OwnedRemoval[];
  readonly sideWrites: readonly SideWrite[];
  /** Changes of the counters, by name. */
  readonly counts: ReadonlyMap<string, number>;
  /** Applied to memory once the command is on disk. */
  readonly effects: readonly AfterCommit[];
}

/** A row that differs from what the database holds. `row` is null once it is removed. */
export interface RowChange {
  readonly codec: RecordCodec;
  readonly id: string;
  readonly row: GovernedRow | null;
  readonly encoded: EncodedRow | null;
  /** True when the database does not hold the row yet. */
  readonly isNew: boolean;
}

/** The column values a row is looked up by; columns of one of its kind's unique keys. */
export type KeyValues = Readonly<Record<string, unknown>>;

/** Rows changed but not yet written, by id and by unique key. */
export class WriteBuffer {
  private readonly changes = new Map<string, RowChange>();
  private readonly idsByKey = new Map<string, string>();

  get isEmpty(): boolean {
    return this.changes.size === 0;
  }

  get(id: string): RowChange | undefined {
    return this.changes.get(id);
  }

  findBy(kind: AnyRecordKind, key: KeyValues): RowChange | undefined {
    const id = this.idsByKey.get(keyText(kind, Object.keys(key), key));
    return id === undefined ? undefined : this.changes.get(id);
  }

  put(change: RowChange): void {
    const earlier = this.changes.get(change.id);
    const isOther = earlier !== undefined && earlier.isNew !== change.isNew;
    this.changes.set(change.id, isOther ? { ...change, isNew: earlier.isNew } : change);
    const { kind } = change.codec;
    if (change.row === null) return;
    for (const columns of kind.uniqueKeys ?? []) {
      this.idsByKey.set(keyText(kind, columns, change.row as unknown as KeyValues), change.id);
    }
  }

  get all(): Iterable<RowChange> {
    return this.changes.values();
  }

  touches(kind: AnyRecordKind): boolean {
    return [...this.changes.values()].some((change) => change.codec.kind === kind);
  }

  /** What has to be written, per kind, without rows that were created and removed again. */
  pending(): RowChange[] {
    return [...this.changes.values()].filter((change) => !(change.isNew && change.row === null));
  }

  clear(): void {
    this.changes.clear();
    this.idsByKey.clear();
  }
}

function keyText(kind: AnyRecordKind, columns: readonly string[], values: KeyValues): string {
  const sorted = [...columns].sort();
  return JSON.stringify([kind.subjectType, sorted, sorted.map((column) => values[column])]);
}

/** The row as changed; undefined if it is removed, or of another kind. */
export function changedRow(change: RowChange, kind: AnyRecordKind): GovernedRow | undefined {
  return change.codec.kind === kind ? (change.row ?? undefined) : undefined;
}
