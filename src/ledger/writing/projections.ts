import type { SqlConnection } from '../../database/sql-connection';
import type { LedgerPosition } from '../chain/ledger-position';
import type { RecordCatalog } from '../records/record-catalog';
import type { GovernedRow, RecordKind } from '../record-kind';

/** Reads what other processes have changed. */
export interface ForeignChanges {
  /** The current rows about which an entry with one of the actions was written since the last refresh. */
  rowsAfter<Row extends GovernedRow>(kind: RecordKind<Row>, actions: readonly string[]): Promise<Row[]>;
}

/** Something a process keeps in memory and changes by `afterCommit`; it has to follow other processes' commits too. */
export interface Projection {
  catchUp(changes: ForeignChanges): Promise<void>;
  /** The same without the lock, between batches. Returns false if it has to read the same changes again. */
  refresh?(changes: ForeignChanges): Promise<boolean>;
}

interface FollowedProjection {
  readonly memory: Projection;
  /** Sequence up to which its memory matches the database. */
  upTo: number;
  /** The same, according to refreshes without the lock. */
  seenUpTo: number;
}

/**
 * Keeps memory in step with the chain. The head row names the last entry that changed any memory; it is read under the
 * batch lock, so no command decides on memory that another process has already outdated.
 */
export class Projections {
  private readonly projections: FollowedProjection[] = [];

  constructor(private readonly catalog: RecordCatalog) {}

  /** @param upTo sequence of the head when the memory was read, or of an earlier one. */
  add(memory: Projection, upTo: number): void {
    this.projections.push({ memory, upTo, seenUpTo: upTo });
  }

  async catchUp(connection: SqlConnection, head: LedgerPosition): Promise<void> {
    for (const followed of this.projections) {
      if (head.effectSequence > followed.upTo) {
        await followed.memory.catchUp(this.changesAfter(followed.upTo, connection));
      }
      followed.upTo = Math.max(followed.upTo, head.sequence);
    }
  }

  /** For memory that reads are served from. @param head read beforehand. */
  async refresh(connection: SqlConnection, head: LedgerPosition): Promise<void> {
    for (const followed of this.projections) {
      if (followed.memory.refresh === undefined) continue;
      const known = Math.max(followed.upTo, followed.seenUpTo);
      const isCurrent =
        head.effectSequence <= known || (await followed.memory.refresh(this.changesAfter(known, connection)));
      if (isCurrent) followed.seenUpTo = Math.max(followed.seenUpTo, head.sequence);
    }
  }

  /** This process has applied its own changes up to here. */
  applied(sequence: number): void {
    for (const followed of this.projections) followed.upTo = Math.max(followed.upTo, sequence);
  }

  private changesAfter(sequence: number, connection: SqlConnection): ForeignChanges {
    return {
      rowsAfter: async <Row extends GovernedRow>(kind: RecordKind<Row>, actions: readonly string[]): Promise<Row[]> => {
        const codec = this.catalog.codec(kind);
        const sql = codec.selectTouchedAfter(actions.length);
        const rows = await connection.all(sql, [sequence, ...actions]);
        return rows.map((row) => codec.decode(row) as Row);
      },
    };
  }
}
