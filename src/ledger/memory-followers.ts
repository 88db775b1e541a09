import type { SqlConnection } from '../database/sql-connection';
import type { LedgerPosition } from './ledger-position';
import type { RecordCatalog } from './record-catalog';
import type { GovernedRow, RecordKind } from './record-kind';

/** Reads what other processes have changed. */
export interface ForeignChanges {
  /** The rows, as they stand now, about which an entry of one of the actions was written since the last look. */
  rowsAfter<Row extends GovernedRow>(kind: RecordKind<Row>, actions: readonly string[]): Promise<Row[]>;
}

/** Something a process keeps in memory and changes by `afterCommit`; it has to follow the other processes' commits too. */
export interface MemoryFollower {
  catchUp(changes: ForeignChanges): Promise<void>;
}

interface Follower {
  readonly memory: MemoryFollower;
  /** Sequence up to which its memory is that of the database. */
  upTo: number;
}

/**
 * Keeps what is in memory in step with the chain. The head row tells the last entry that changed any memory; it is read
 * under the lock of the batch, so no command decides by what another process has changed already.
 */
export class MemoryFollowers {
  private readonly followers: Follower[] = [];

  constructor(private readonly catalog: RecordCatalog) {}

  /** @param upTo sequence of the head when the memory was read, or of an earlier one. */
  add(memory: MemoryFollower, upTo: number): void {
    this.followers.push({ memory, upTo });
  }

  async catchUp(connection: SqlConnection, head: LedgerPosition): Promise<void> {
    for (const follower of this.followers) {
      if (head.effectSequence > follower.upTo) {
        await follower.memory.catchUp(this.changesAfter(follower.upTo, connection));
      }
      follower.upTo = Math.max(follower.upTo, head.sequence);
    }
  }

  /** This process has applied its own changes up to here. */
  applied(sequence: number): void {
    for (const follower of this.followers) follower.upTo = Math.max(follower.upTo, sequence);
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
