import { applyDecorators, type Type } from '@nestjs/common';
import { ApiOkResponse, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { SetRouteMetadata } from '../request/routes';

/** One class of pages per item, for all routes that return them: `EntityPage` of `EntityResponse`. */
const pages = new WeakMap<Type, Type>();

/** Declares, and documents, that a route answers with a page of a list. */
export function ApiList(item: Type, description: string): MethodDecorator {
  return applyDecorators(SetRouteMetadata({ isList: true }), ApiPage(item, description));
}

/** Documents a page of a list, for a route that waits, and passes the gate for lists only for each reading. */
export function ApiPage(item: Type, description: string): MethodDecorator {
  const page = pages.get(item) ?? pageClass(item);
  pages.set(item, page);
  return ApiOkResponse({ description, type: page });
}

function pageClass(item: Type): Type {
  class Page {
    @ApiProperty({ type: [item] })
    readonly data!: readonly unknown[];

    @ApiProperty({
      type: 'integer',
      minimum: 0,
      example: 1,
      description: 'Number of rows of the whole list, not only of this page.',
    })
    readonly total!: number;

    @ApiPropertyOptional({
      type: String,
      description: 'Present if more rows follow: pass it as `cursor` to get the next page.',
    })
    readonly nextCursor?: string;
  }
  Object.defineProperty(Page, 'name', { value: `${item.name.replace(/Response$/, '')}Page` });
  return Page;
}
