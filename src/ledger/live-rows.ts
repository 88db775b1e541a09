import { Gate } from '../core/concurrency/gate';
import type { LedgerPosition } from './chain/ledger-position';
import type { LedgerTransaction } from './ledger-transaction';
import type { GovernedRow, RecordKind } from './record-kind';

/** Which rows are kept in memory, the actions of the entries that change what is kept of them, and how it is kept. */
interface LiveRowsOptions<Row extends GovernedRow> {
  readonly kind: RecordKind<Row>;
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
export type FollowingRows = Omit<LiveRows<GovernedRow>, 'follow'>;

/**
 * Rows of one kind that a process keeps in memory. They change in one order: after this process's own commits, and when
 * it catches up with other processes, under the lock of each batch or in between.
 */
export class LiveRows<Row extends GovernedRow> {
  private readonly order = new Gate({
    what: 'changes of memory',
    ...{ most: 1, mostEach: 1, mostWaiting: Infinity, longest: Infinity },
  });
  /** Sequence up to which no entry has changed what is not kept yet. */
  private upTo = 0;

  constructor(private readonly options: LiveRowsOptions<Row>) {}

  /**
   * Keeps rows that a command has written, once they are on disk. If it has caught up with other processes since, it
   * has read these rows already, perhaps in a later state.
   */
  follow(transaction: LedgerTransaction, rows: readonly Row[]): void {
    const { upTo } = this;
    transaction.afterCommit(() =>
      this.order.run('', async () => {
        if (this.upTo === upTo) await this.options.keep(rows);
      }),
    );
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
