import type { SchemaObject } from '@nestjs/swagger';
import { DENIAL_REASONS, type DenialReason, type ErrorCode } from '../errors/error-codes';
import type { AnyErrorCode } from '../errors/module-error-code';

type Members = Readonly<Record<string, SchemaObject>>;

/** The members of an error besides its code, message and request id. */
interface OwnMembers {
  readonly always?: Members;
  readonly sometimes?: Members;
}

const REASONS = 'DenialReason';
const DENIED_BY_POLICY = 'policy_denied' satisfies DenialReason;

const FAULTS: SchemaObject = {
  type: 'array',
  description: 'Every fault found; missing if the request cannot be read at all.',
  items: {
    type: 'object',
    required: ['field', 'message'],
    properties: { field: { type: 'string', example: 'context.confidence' }, message: { type: 'string' } },
  },
};

const POLICY: SchemaObject = {
  type: 'object',
  description: 'The policy that decided.',
  required: ['id', 'name', 'version'],
  properties: { id: { type: 'string' }, name: { type: 'string' }, version: { type: 'string' } },
};

const OWN_MEMBERS: Partial<Record<ErrorCode, OwnMembers>> = {
  VALIDATION_ERROR: { sometimes: { details: FAULTS } },
  PERMISSION_DENIED: {
    always: {
      reason: { description: 'Why it was denied, for machines.', allOf: [{ $ref: `#/components/schemas/${REASONS}` }] },
    },
  },
  POLICY_DENIED: { always: { reason: { type: 'string', enum: [DENIED_BY_POLICY] }, policy: POLICY } },
};

/** `PermissionDeniedError` for `PERMISSION_DENIED`: plain `Error` would hide the built-in class of client languages. */
export function errorSchemaName(code: string): string {
  const words = code.replace(/_ERROR$/, '').split('_');
  return `${words.map((word) => word.charAt(0) + word.slice(1).toLowerCase()).join('')}Error`;
}

/** The schemas of the error answers for the given codes, by name. */
export function errorSchemas(codes: ReadonlySet<AnyErrorCode>): Record<string, SchemaObject> {
  const errors = [...codes].sort().map((code) => [errorSchemaName(code), errorSchema(code)] as const);
  const reasons = DENIAL_REASONS.filter((reason) => reason !== DENIED_BY_POLICY);
  return {
    ...(codes.has('PERMISSION_DENIED') && { [REASONS]: { type: 'string', enum: reasons } }),
    ...Object.fromEntries(errors),
  };
}

function errorSchema(code: AnyErrorCode): SchemaObject {
  const { always = {}, sometimes = {} } = OWN_MEMBERS[code as ErrorCode] ?? {};
  return {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', 'requestId', ...Object.keys(always)],
        properties: {
          code: { type: 'string', enum: [code] },
          message: { type: 'string', description: 'For people; the wording may change.' },
          requestId: {
            type: 'string',
            description: 'The `X-Request-Id` of the answer; of the first answer, if an `Idempotency-Key` repeats it.',
          },
          ...always,
          ...sometimes,
        },
      },
    },
  };
}
