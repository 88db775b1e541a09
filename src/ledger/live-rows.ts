import { Gate, ONE_AT_A_TIME } from '../core/concurrency/gate';
import type { LedgerPosition } from './schema/ledger-tables';
import type { UnsealedEntry } from './chain/hash-chain';
import type { RecordReader } from './reading/record-reader';
import type { GovernedRow, RecordKind } from './record-kind';

/** Most rows read at once at the start. */
const CHUNK = 1_000;

/** Which rows are kept in memory, the actions of the entries that change what is kept of them, and how it is kept. */
interface LiveRowsOptions<Row extends GovernedRow> {
  readonly kind: RecordKind<Row>;
  /** Of the rows that are read at the start. */
  readonly status: string;
  readonly actions: readonly string[];
  /**
   * Receives all rows that belong together in one call; the next call waits until they are kept. Long work may be done
   * in chunks if it takes effect at once.
   */
  readonly keep: (rows: readonly Row[]) => void | Promise<void>;
}

/** Reads the current rows about which an entry with one of the actions was written after a sequence. */
export type ReadChanged = <Row extends GovernedRow>(
  kind: RecordKind<Row>,
  actions: readonly string[],
  after: number,
) => Promise<Row[]>;

/** What follows other processes, whatever its rows are. */
export type FollowingRows = Pick<LiveRows<GovernedRow>, keyof LiveRows<GovernedRow>>;

/** What a command has written. */
interface WrittenRows {
  readonly entries: readonly Pick<UnsealedEntry, 'action' | 'subjectId'>[];
  readonly rows: { get(id: string): { readonly row: GovernedRow | null } | undefined };
}

/**
 * Rows of one kind that a process keeps in memory. They change in one order: after this process's own commits, and when
 * it catches up with other processes, under the lock of each batch or in between.
 */
export class LiveRows<Row extends GovernedRow> {
  private readonly order = new Gate({ what: 'changes of memory', ...ONE_AT_A_TIME });
  /** Sequence up to which no entry has changed what is not kept yet. */
  private upTo = 0;

  constructor(private readonly options: LiveRowsOptions<Row>) {}

  /** @param upTo sequence of the head, which was read beforehand. */
  async load(records: RecordReader, upTo: number): Promise<void> {
    const { kind, status, keep } = this.options;
    const conditions = [{ column: 'status', comparison: 'equals', value: status }] as const;
    for await (const rows of records.chunks(kind, conditions, CHUNK)) if (rows.length > 0) await keep(rows);
    this.applied(upTo);
  }

  /**
   * Keeps the rows that a command has written, once they are on disk; undefined: there are none. If it has caught up with
   * other processes since, it has read these rows already, perhaps in a later state.
   */
  effectOf({ entries, rows }: WrittenRows): (() => Promise<void>) | undefined {
    const { actions, keep } = this.options;
    const ids = new Set(entries.filter(({ action }) => actions.includes(action)).map(({ subjectId }) => subjectId));
    if (ids.size === 0) return undefined;
    const written = Array.from(ids).flatMap((id) => rows.get(id)?.row ?? []) as unknown as Row[];
    const { upTo } = this;
    return () =>
      this.order.run('', async () => {
        if (this.upTo === upTo) await keep(written);
      });
  }

  /** Whether another process may have changed rows since, according to the head. */
  isBehind({ effectSequence }: LedgerPosition): boolean {
    return effectSequence > this.upTo;
  }

  /** Whether something is being kept. */
  get isBusy(): boolean {
    return this.order.held > 0;
  }

  /** Resolves when what was given to it so far is kept. */
  get kept(): Promise<void> {
    return this.isBusy ? this.order.run('', async () => undefined) : Promise.resolve();
  }

  /** Keeps what has changed up to the head, which was read beforehand. */
  async catchUp(head: LedgerPosition, read: ReadChanged): Promise<void> {
    if (!this.isBehind(head)) return this.kept;
    const { kind, actions, keep } = this.options;
    await this.order.run('', async () => {
      // Others may have done so meanwhile.
      if (this.isBehind(head)) await keep(await read(kind, actions, this.upTo));
      this.applied(head.sequence);
    });
  }

  /** Everything up to the sequence is kept. */
  applied(sequence: number): void {
    this.upTo = Math.max(this.upTo, sequence);
  }
}
