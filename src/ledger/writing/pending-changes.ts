import type { Caller } from '../caller';
import type { EntryNote, SideWrite } from '../ledger-transaction';
import type { RecordCodec } from '../records/record-codec';
import type { WriteBuffer } from './write-buffer';

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
