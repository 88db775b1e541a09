import type { LedgerTransaction } from './ledger-transaction';
import type { ForeignChanges, Projection } from './writing/projections';
import type { GovernedRow, RecordKind } from './record-kind';

/** Looks one after another, where this process changed what the one before found. */
const MOST_LOOKS = 5;

/** Which rows are kept in memory, the actions of the entries that change what is kept of them, and how it is kept. */
interface LiveRowsOptions<Row extends GovernedRow> {
  readonly kind: RecordKind<Row>;
  readonly actions: readonly string[];
  /** All that belong together at once. */
  readonly keep: (rows: readonly Row[]) => void;
}

/**
 * What a process keeps of rows of one kind, in step with the chain under the lock of each batch, as every memory is. Where
 * others write the database, it also looks at what they have committed without waiting for a batch: reads go by it, too.
 */
export class LiveRows<Row extends GovernedRow> implements Projection {
  /** Rows that were kept while a look was under way: what it finds of them may be older. */
  private keptMeanwhile: Set<string> | null = null;

  constructor(private readonly options: LiveRowsOptions<Row>) {}

  /** Keeps rows that a command has written, once they are on disk. */
  follow(transaction: LedgerTransaction, ...rows: readonly Row[]): void {
    transaction.afterCommit(() => this.keep(rows));
  }

  keep(rows: readonly Row[]): void {
    for (const { id } of rows) this.keptMeanwhile?.add(id);
    this.options.keep(rows);
  }

  async catchUp(changes: ForeignChanges): Promise<void> {
    this.keep(await this.changed(changes));
  }

  /**
   * Returns false where something it found may be older than what is kept: it has to look again. It keeps all or nothing, as
   * rows of one commit belong together.
   */
  async look(changes: ForeignChanges): Promise<boolean> {
    for (let look = 0; look < MOST_LOOKS; look += 1) {
      const keptMeanwhile = new Set<string>();
      this.keptMeanwhile = keptMeanwhile;
      try {
        const rows = await this.changed(changes);
        if (rows.some(({ id }) => keptMeanwhile.has(id))) continue;
        this.options.keep(rows);
        return true;
      } finally {
        this.keptMeanwhile = null;
      }
    }
    return false;
  }

  private changed(changes: ForeignChanges): Promise<Row[]> {
    return changes.rowsAfter(this.options.kind, this.options.actions);
  }
}
