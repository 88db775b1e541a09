import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { invalidField } from '../../core/errors/domain-error';
import { JsonText } from '../../core/json/json-text';
import { SEAL_BYTES, Seals } from '../../core/values/seals';
import type { Condition, Page, PageRequest, SortOrder } from '../../ledger/kinds/record-page';
import type { WrittenPage } from '../../ledger/reading/written-page';
import type { ListQuery } from './list.query';

/** Defaults of a list. */
export interface ListDefaults {
  readonly limit: number;
  readonly order: SortOrder;
}

/** The members of a list's query that not every list has. */
export type Filters<Query extends ListQuery> = Omit<Query, keyof ListQuery>;

/** Rows are listed by the sequence that created them; a ledger entry calls it `sequence`. */
export type ListedRow = { readonly createdSequence: number } | { readonly sequence: number };

/** Body of every list. */
export interface ListResponse<Item> {
  readonly data: Item[];
  readonly total: number;
  readonly nextCursor?: string;
}

/** Result of a handler of a list. */
export type ListAnswer<Item> = ListResponse<Item> | JsonText;

/** Opens lists: turns a client's request into a page to read, and the page into the answer. */
@Injectable()
export class Lists {
  private readonly seals: Seals;

  /** @internal */
  constructor({ apiKey, apiKeyPrevious }: Configuration) {
    this.seals = new Seals('list cursor', apiKey, apiKeyPrevious === null ? [] : [apiKeyPrevious]);
  }

  /**
   * Opens a list for a request.
   * @param name name that distinguishes the cursors of this list
   * @param signal signal from `@ClientSignal()`: reading ends with the client or its key
   * @throws VALIDATION_ERROR for a cursor that is not from this list
   */
  async open<Query extends ListQuery>(
    name: string,
    query: Query,
    defaults: ListDefaults,
    signal?: AbortSignal,
  ): Promise<OpenList<Filters<Query>>> {
    const { limit = defaults.limit, offset, order, cursor, ...filters } = query;
    const start =
      cursor === undefined
        ? { list: name, filters, order: order ?? defaults.order, position: null, total: null, totalOf: null }
        : await this.readCursor(name, cursor, { offset, order, ...filters });
    return new OpenList(this.seals, start, { limit, offset: offset ?? 0, signal });
  }

  private async readCursor(name: string, cursor: string, others: object): Promise<ListPlace> {
    const start = await placeIn(cursor, this.seals);
    if (start?.list !== name) {
      throw invalidField('query.cursor', 'must be the nextCursor of a page of this list, unaltered');
    }
    if (Object.values(others).some((value) => value !== undefined)) {
      throw invalidField('query.cursor', 'holds the filters and the order: only limit can be given with it');
    }
    return start;
  }
}

/** One request for a page of a list. */
export class OpenList<Filtered extends object> {
  /** @internal */
  constructor(
    private readonly seals: Seals,
    private readonly start: ListPlace,
    private readonly part: Pick<PageRequest, 'limit' | 'offset' | 'signal'>,
  ) {}

  /** Filters that the client sent with this page or with the first one. */
  get filters(): Filtered {
    return this.start.filters as Filtered;
  }

  /** Returns the request for the page, of rows that meet the filters' conditions. */
  request(conditions: readonly Condition[]): PageRequest {
    const { order, position, total, totalOf } = this.start;
    return { conditions, order, position, total, totalOf, ...this.part };
  }

  async answer<Row extends ListedRow, Item>(page: Page<Row>, present: (row: Row) => Item): Promise<ListResponse<Item>> {
    const { rows, total } = page;
    const data = rows.map((row) => present(row));
    const last = rows.at(-1);
    if (last === undefined) return { data, total };
    return {
      data,
      total,
      ...(await this.nextCursorAfter(page, 'createdSequence' in last ? last.createdSequence : last.sequence)),
    };
  }

  /** @internal Answers with records that the database has written as text. */
  async answerShown<Row extends ListedRow, Item>(
    page: WrittenPage | Page<Row>,
    present: (row: Row) => Item,
  ): Promise<ListAnswer<Item>> {
    if ('rows' in page) return this.answer(page, present);
    const { text, last, total } = page;
    const members = JSON.stringify({ total, ...(last !== null && (await this.nextCursorAfter(page, last))) });
    return new JsonText(`{"data":[${text}],${members.slice(1)}`);
  }

  private async nextCursorAfter(
    { total, totalOf = null, more }: Omit<Page<never>, 'rows'>,
    position: number,
  ): Promise<Pick<ListResponse<never>, 'nextCursor'>> {
    return more ? { nextCursor: await cursorOf({ ...this.start, total, totalOf, position }, this.seals) } : {};
  }
}

/** The position at which a list continues, and the client's filters and limits. */
interface ListPlace {
  readonly list: string;
  readonly filters: object;
  readonly order: SortOrder;
  /** Total; null before a page has been read. */
  readonly total: number | null;
  /** Agent whose rows the total counts; null if it counts all rows. */
  readonly totalOf: string | null;
  /** Sequence after which the next page starts; null for the first page. */
  readonly position: number | null;
}

/** Makes a cursor. It is sealed, so that only this service can have made it and its content can be trusted. */
export async function cursorOf(place: ListPlace, seals: Seals): Promise<string> {
  const content = Buffer.from(JSON.stringify(place), 'utf8');
  return Buffer.concat([await seals.seal(content), content]).toString('base64url');
}

/** Reads a cursor; undefined if the text is not a cursor of this service. */
export async function placeIn(cursor: string, seals: Seals): Promise<ListPlace | undefined> {
  const bytes = Buffer.from(cursor, 'base64url');
  const content = bytes.subarray(SEAL_BYTES);
  if (bytes.toString('base64url') !== cursor) return undefined;
  if (!(await seals.verify(bytes.subarray(0, SEAL_BYTES), content))) return undefined;
  return JSON.parse(content.toString('utf8')) as ListPlace;
}
