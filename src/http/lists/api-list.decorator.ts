import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, getSchemaPath } from '@nestjs/swagger';

export const IS_LIST = 'http:is-list';

/** Says, and documents, that a route answers with a page of a list. */
export function ApiList(item: Type, description: string): MethodDecorator {
  return applyDecorators(
    SetMetadata(IS_LIST, true),
    ApiExtraModels(item),
    ApiOkResponse({
      description,
      schema: {
        type: 'object',
        required: ['data', 'total'],
        additionalProperties: false,
        properties: {
          data: { type: 'array', items: { $ref: getSchemaPath(item) } },
          total: { type: 'integer', minimum: 0, example: 1, description: 'Rows of the whole list, beyond this page.' },
          nextCursor: { type: 'string', description: 'There when rows follow: give it as `cursor` for the next page.' },
        },
      },
    }),
  );
}
