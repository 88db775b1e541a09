import { DatabaseFault } from '../database/database-fault';
import type { SqlSessions } from '../database/sql-connection';
import { SingleFlight } from '../../core/concurrency/single-flight';
import { Slices } from '../../core/concurrency/slices';
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
  /** Its refreshes, at its own pace: what takes one long does not hold up the others, such as revoked keys. */
  readonly refreshes: SingleFlight<never, void>;
}

/** The head as it was last read, and the connection to read changes with. */
interface Refreshing {
  readonly connection: SqlSessions;
  readonly head: LedgerPosition;
}

/**
 * Keeps memory in step with the chain. The head row names the last entry that changed any memory; it is read under the
 * batch lock, so no command decides on memory that another process has already outdated.
 */
export class Projections {
  private readonly projections: FollowedProjection[] = [];
  private refreshing: Refreshing | null = null;

  constructor(private readonly catalog: RecordCatalog) {}

  /** @param upTo sequence of the head when the memory was read, or of an earlier one. */
  add(memory: Projection, upTo: number): void {
    const refreshes = new SingleFlight<never, void>(() => this.refreshOne(followed));
    const followed: FollowedProjection = { memory, upTo, seenUpTo: upTo, refreshes };
    this.projections.push(followed);
  }

  /** @throws DatabaseFault `unavailable` where a change cannot be read: nothing can be decided until it can. */
  async catchUp(connection: SqlSessions, head: LedgerPosition): Promise<void> {
    for (const followed of this.projections) {
      if (head.effectSequence > followed.upTo) {
        try {
          await followed.memory.catchUp(this.changesAfter(followed.upTo, connection));
        } catch (error) {
          throw unreadable(error);
        }
      }
      followed.upTo = Math.max(followed.upTo, head.sequence);
    }
  }

  /**
   * For memory that reads are served from. Resolves when it reflects the chain up to the head: all of it, or one.
   * @param head read beforehand.
   */
  async refresh(connection: SqlSessions, head: LedgerPosition, only?: Projection): Promise<void> {
    this.refreshing = { connection, head };
    const wanted = this.projections.filter(({ memory }) => only === undefined || memory === only);
    await Promise.all(wanted.map(({ refreshes }) => refreshes.call(0)));
  }

  /** Resolves when no refresh is running. */
  async ended(): Promise<void> {
    await Promise.all(this.projections.map(({ refreshes }) => refreshes.ended()));
  }

  /** This process has committed changes up to here, and is applying them: they need not be read for a refresh. */
  applying(sequence: number): void {
    for (const followed of this.projections) followed.seenUpTo = Math.max(followed.seenUpTo, sequence);
  }

  /** This process has applied its own changes up to here. */
  applied(sequence: number): void {
    for (const followed of this.projections) followed.upTo = Math.max(followed.upTo, sequence);
  }

  private async refreshOne(followed: FollowedProjection): Promise<void> {
    if (this.refreshing === null || followed.memory.refresh === undefined) return;
    const { connection, head } = this.refreshing;
    const known = Math.max(followed.upTo, followed.seenUpTo);
    const isCurrent =
      head.effectSequence <= known || (await followed.memory.refresh(this.changesAfter(known, connection)));
    if (isCurrent) followed.seenUpTo = Math.max(followed.seenUpTo, head.sequence);
  }

  private changesAfter(sequence: number, connection: SqlSessions): ForeignChanges {
    return {
      rowsAfter: async <Row extends GovernedRow>(kind: RecordKind<Row>, actions: readonly string[]): Promise<Row[]> => {
        const codec = this.catalog.codec(kind);
        const sql = codec.selectTouchedAfter(actions.length);
        const slices = Slices.ofWrite();
        const rows: Row[] = [];
        for (const row of await connection.all(sql, [sequence, ...actions])) {
          if (slices.areDue) await slices.next();
          rows.push(codec.decode(row) as Row);
        }
        return rows;
      },
    };
  }
}

/** Every later command would fail as this one did, so it is not the command that is at fault. */
function unreadable(error: unknown): DatabaseFault {
  if (error instanceof DatabaseFault) return error;
  return new DatabaseFault('unavailable', 'MEMORY', `What another process has changed is unreadable: ${String(error)}`);
}
