import type { SchemaObject } from '@nestjs/swagger';

/** Any JSON value, for the API document. */
export const ANY_JSON_SCHEMA = {
  anyOf: [
    { type: 'object', additionalProperties: true, nullable: true },
    { type: 'array', items: {} },
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
  ],
} satisfies SchemaObject;
