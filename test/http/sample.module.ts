import { Body, Controller, Delete, Get, HttpCode, Module, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { Public, RateLimitBucket, Revisioned, ApiErrors } from '../../src/http/request/routes';
import { Caller } from '../../src/http/input/caller.decorator';
import { IfMatch, type Precondition } from '../../src/http/request/precondition';
import { ListQuery } from '../../src/http/lists/list.query';
import { type ListResponse, Lists } from '../../src/http/lists/lists';
import {
  AtLeastOneOf,
  DistinctStrings,
  FreeFormObject,
  IgnoredField,
  IntegerField,
  OneOf,
  OptionalText,
  RequiredText,
  ScalarField,
  TimestampField,
} from '../../src/http/validation/fields';
import { QueryOneOf, QueryText, QueryTimestamp } from '../../src/http/validation/query-fields';
import type { JsonObject } from '../../src/core/json/json-value';

export class SampleRequest {
  @RequiredText({ max: 10 })
  name!: string;

  @OptionalText({ max: 20, mayBeBlank: true, default: '' })
  description?: string;

  @FreeFormObject({ optional: true, default: {} })
  properties?: JsonObject;

  @DistinctStrings({ maxItems: 3, item: { max: 5 }, optional: true, default: [] })
  tags?: string[];

  @OneOf(['low', 'high'], { optional: true })
  level?: string;

  @IntegerField({ min: -5, max: 5, optional: true })
  priority?: number;

  @ScalarField({ maxLength: 10 })
  value!: string | number | boolean;

  @TimestampField({ optional: true })
  expiresAt?: string;
}

@AtLeastOneOf('name', 'description')
export class SampleChange {
  @OptionalText({ max: 10 })
  name?: string;

  @OptionalText({ max: 20, mayBeBlank: true })
  description?: string;

  @IgnoredField({})
  revision?: unknown;
}

export class SampleQuery extends ListQuery {
  @QueryText({ max: 10 })
  type?: string;

  @QueryOneOf(['low', 'high'], {})
  level?: string;

  @QueryTimestamp({})
  from?: string;
}

const ROWS = Array.from({ length: 5 }, (_unused, index) => ({ createdSequence: index + 1 }));

/** A module like those that others write for the service: it makes every part of the HTTP layer visible to tests. */
@Controller('samples')
class SamplesController {
  constructor(private readonly lists: Lists) {}

  @Post()
  @Revisioned()
  create(@Body() body: SampleRequest, @Caller() caller: Caller): unknown {
    return { id: 'smp_1', revision: 1, body, caller };
  }

  @Get()
  async list(@Query() query: SampleQuery): Promise<ListResponse<number> & { filters: object }> {
    const list = await this.lists.open('samples', query, { limit: 2, order: 'asc' });
    const { limit, offset, order, position, total } = list.request([]);
    const ordered = order === 'asc' ? ROWS : ROWS.toReversed();
    const start = position === null ? offset : ordered.findIndex((row) => row.createdSequence === position) + 1;
    const rows = ordered.slice(start, start + limit);
    const page = { rows, total: total ?? ROWS.length, more: start + limit < ROWS.length };
    return { ...(await list.answer(page, (row) => row.createdSequence)), filters: list.filters };
  }

  @Get('open')
  @Public()
  @RateLimitBucket('open')
  open(): unknown {
    return { open: true };
  }

  @Get('broken')
  break(): unknown {
    throw new Error('a secret detail of SELECT * FROM places');
  }

  @Get(':id')
  @Revisioned()
  find(@Param('id') id: string): unknown {
    return { id, revision: 3 };
  }

  @Put(':id')
  @Revisioned()
  @ApiErrors('NOT_FOUND')
  replace(@Body() body: SampleChange, @Query() query: SampleQuery, @IfMatch() precondition: Precondition): unknown {
    precondition.require(3);
    return { revision: 4, body, query };
  }

  @Patch(':id')
  change(@Body() body: SampleChange): unknown {
    return body;
  }

  @Delete(':id')
  @HttpCode(204)
  remove(@IfMatch() precondition: Precondition): void {
    precondition.require(3);
  }

  @Post(':id/act')
  @HttpCode(200)
  act(): unknown {
    return { acted: true };
  }
}

@Module({ controllers: [SamplesController] })
export class SampleModule {}
