import type { LedgerTransaction } from './ledger-transaction';
import type { ForeignChanges, Projection } from './writing/projections';
import type { GovernedRow, RecordKind } from './record-kind';
import { OneAtATime } from '../core/concurrency/one-at-a-time';

/** Most consecutive attempts, when this process keeps changing what the previous one found. */
const MOST_ATTEMPTS = 5;

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

/**
 * Rows of one kind that a process keeps in memory, updated under the lock of each batch, like every projection. Where
 * other processes write, it also picks up their commits without waiting for a batch, since reads are served from it.
 */
export class LiveRows<Row extends GovernedRow> implements Projection {
  /** Rows kept while a refresh was under way: what it reads may be older. */
  private keptMeanwhile: Set<string> | null = null;
  private readonly keeping = new OneAtATime();
  /** How often it has caught up with other processes. */
  private caughtUp = 0;

  constructor(private readonly options: LiveRowsOptions<Row>) {}

  /**
   * Keeps rows that a command has written, once they are on disk. If it has caught up with other processes since, it
   * has read these rows already, perhaps in a later state.
   */
  follow(transaction: LedgerTransaction, rows: readonly Row[]): void {
    const { caughtUp } = this;
    transaction.afterCommit(() => (this.caughtUp === caughtUp ? this.keep(rows) : undefined));
  }

  /** Resolves when what was given to it so far is kept. */
  get kept(): Promise<unknown> {
    return this.keeping.done;
  }

  keep(rows: readonly Row[]): Promise<void> {
    for (const { id } of rows) this.keptMeanwhile?.add(id);
    return this.inTurn(rows);
  }

  async catchUp(changes: ForeignChanges): Promise<void> {
    await this.keep(await this.changed(changes));
    this.caughtUp += 1;
  }

  /**
   * Returns false if something it found may be older than what is kept: it has to be repeated. It keeps all rows or
   * none, as rows of one commit belong together.
   */
  async refresh(changes: ForeignChanges): Promise<boolean> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const keptMeanwhile = new Set<string>();
      this.keptMeanwhile = keptMeanwhile;
      try {
        const rows = await this.changed(changes);
        if (rows.some(({ id }) => keptMeanwhile.has(id))) continue;
        await this.inTurn(rows);
        return true;
      } finally {
        this.keptMeanwhile = null;
      }
    }
    return false;
  }

  private inTurn(rows: readonly Row[]): Promise<void> {
    return this.keeping.run(async () => this.options.keep(rows));
  }

  private changed(changes: ForeignChanges): Promise<Row[]> {
    return changes.rowsAfter(this.options.kind, this.options.actions);
  }
}
