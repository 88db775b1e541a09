import type { SchemaObject } from '@nestjs/swagger';

/**
 * Any JSON value, for the API document. Each form says that it may be null: some generators look at only one of them.
 */
export const ANY_JSON_SCHEMA = {
  anyOf: [
    { type: 'object', additionalProperties: true, nullable: true },
    { type: 'array', items: {}, nullable: true },
    { type: 'string', nullable: true },
    { type: 'number', nullable: true },
    { type: 'boolean', nullable: true },
  ],
} satisfies SchemaObject;
