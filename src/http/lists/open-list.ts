import type { Condition, Page, PageRequest, SortOrder } from '../../ledger/record-page';
import type { CursorCodec } from './list-cursor';
import type { ListQuery } from './list.query';

/** The members of a list's query beyond those of every list. */
export type Filters<Query extends ListQuery> = Omit<Query, keyof ListQuery>;

/** Rows are listed by the sequence that created them; a ledger entry calls it `sequence`. */
export type ListedRow = { readonly createdSequence: number } | { readonly sequence: number };

/** Body of every list. */
export interface ListAnswer<Item> {
  readonly data: Item[];
  readonly total: number;
  readonly nextCursor?: string;
}

interface ListStart<Filtered> {
  readonly name: string;
  readonly filters: Filtered;
  readonly limit: number;
  readonly offset: number;
  readonly order: SortOrder;
  readonly position: number | null;
  readonly total: number | null;
  readonly totalOf: string | null;
  readonly leaving: AbortSignal | undefined;
}

/** One request for a page of a list. */
export class OpenList<Filtered extends object> {
  /** @internal */
  constructor(
    private readonly cursors: CursorCodec,
    private readonly start: ListStart<Filtered>,
  ) {}

  /** The filters that the client sent, with this page or with the first. */
  get filters(): Filtered {
    return this.start.filters;
  }

  /** The page to read, of the rows that meet the conditions of the filters. */
  request(conditions: readonly Condition[]): PageRequest {
    const { limit, offset, order, position, total, totalOf, leaving } = this.start;
    return { conditions, limit, offset, order, position, total, totalOf, leaving };
  }

  async answer<Row extends ListedRow, Item>(page: Page<Row>, present: (row: Row) => Item): Promise<ListAnswer<Item>> {
    const data = page.rows.map((row) => present(row));
    const last = page.rows.at(-1);
    if (!page.more || last === undefined) {
      return { data, total: page.total };
    }
    return { data, total: page.total, nextCursor: await this.cursorAfter(last, page) };
  }

  private cursorAfter(
    row: ListedRow,
    { total, totalOf = null }: Pick<Page<ListedRow>, 'total' | 'totalOf'>,
  ): Promise<string> {
    const { name, filters, order } = this.start;
    const position = 'createdSequence' in row ? row.createdSequence : row.sequence;
    return this.cursors.encode({
      list: name,
      filters: filters as Record<string, unknown>,
      order,
      total,
      totalOf,
      position,
    });
  }
}
