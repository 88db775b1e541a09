import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { invalidField } from '../../core/errors/domain-error';
import type { SortOrder } from '../../ledger/record-page';
import { CursorCodec, type ListCursor } from './list-cursor';
import type { ListQuery } from './list.query';
import { type Filters, OpenList } from './open-list';

/** What a list does unless the client says otherwise. */
export interface ListDefaults {
  readonly limit: number;
  readonly order: SortOrder;
}

/** Opens lists: turns a client's request into a page to read, and the page into the answer. */
@Injectable()
export class Lists {
  private readonly cursors: CursorCodec;

  /** @internal */
  constructor({ apiKey, apiKeyPrevious }: Configuration) {
    this.cursors = new CursorCodec(apiKey, apiKeyPrevious === null ? [] : [apiKeyPrevious]);
  }

  /**
   * `name` distinguishes this list's cursors from those of others. Throws VALIDATION_ERROR for another list's cursor.
   * @param leaving from `@ClientLeft()`: reading ends with the client or its key.
   */
  async open<Query extends ListQuery>(
    name: string,
    query: Query,
    defaults: ListDefaults,
    leaving?: AbortSignal,
  ): Promise<OpenList<Filters<Query>>> {
    const { limit, offset, order, cursor, ...filters } = query;
    if (cursor !== undefined) {
      const start = await this.continued(name, cursor, { offset, order, ...filters });
      const kept = start.filters as Filters<Query>;
      return new OpenList(this.cursors, {
        name,
        filters: kept,
        limit: limit ?? defaults.limit,
        offset: 0,
        ...from(start),
        leaving,
      });
    }
    return new OpenList<Filters<Query>>(this.cursors, {
      name,
      filters,
      limit: limit ?? defaults.limit,
      offset: offset ?? 0,
      order: order ?? defaults.order,
      position: null,
      total: null,
      totalOf: null,
      leaving,
    });
  }

  private async continued(name: string, cursor: string, others: object): Promise<ListCursor> {
    const start = await this.cursors.decode(cursor);
    if (start?.list !== name) {
      throw invalidField('query.cursor', 'must be the nextCursor of a page of this list, unaltered');
    }
    if (Object.values(others).some((value) => value !== undefined)) {
      throw invalidField('query.cursor', 'holds the filters and the order: only limit can be given with it');
    }
    return start;
  }
}

function from({
  order,
  position,
  total,
  totalOf,
}: ListCursor): Pick<ListCursor, 'order' | 'position' | 'total' | 'totalOf'> {
  return { order, position, total, totalOf };
}
