import type { OpenAPIObject, ReferenceObject, SchemaObject } from '@nestjs/swagger';
import * as fc from 'fast-check';
import { Reference } from './known-records';

type Schema = SchemaObject | ReferenceObject;

/** Texts that matter to some rule. */
const TELLING = [
  ...['*', '/', '..', 'a/*', 'docs/a', 'role:x', 'role:*', 'agent:*', 'agent:bot', 'user:x', 'bot', 'succeed', 'fail'],
  ...['low', 'deny', 'allow', 'active', '1.0', '-1', '0', '1e3', '0x1', 'null', '2026-11-20', '2026-11-20T00:00:00Z'],
  ...['__proto__', 'constructor', '\0', '\ud800', '\u202ea', 'e\u0301', '\u{1f600}', "' OR 1=1--", '%00', '%ff', '$ne'],
  ...['docs%2Fa', '%64ocs/a', 'docs/%2561', '50% off', 'a%3Ab'],
];
const TIMES = ['2030-01-01T00:00:00Z', '2031-06-01T12:00:00.123+02:00', '2000-01-01T00:00:00Z', '9999-01-01T00:00:00Z'];
const NUMBERS = [0, 1, -1, 0.5, 2 ** 31, 2 ** 53 - 1, -(2 ** 53) + 1, 1e300, 5e-324];
/** Texts that match each other, so that requests reach different rules; by the member that has them. */
const FITTING: Readonly<Record<string, readonly string[]>> = {
  action: ['succeed', 'fail', 'send-invoice'],
  actions: ['succeed', 'send-invoice', '*'],
  capabilities: ['succeed', 'fail', 'send-invoice', '*'],
  roles: ['x', 'billing'],
  subjects: ['role:x', 'agent:bot', 'agent:*', 'role:billing'],
  resourceId: ['docs/a', 'docs/a/b', 'x'],
  resources: ['docs/*', 'docs/a', 'x', 'invoices/*'],
  resourceTypes: ['document', 'file'],
  version: ['1.0', '1.1', '2', '3-rc.1'],
};
const MAX_TEXT_LENGTH = 2_000;

export const telling = fc.constantFrom(...TELLING);
export const anyText = fc.oneof(fc.string({ maxLength: 12 }), fc.string({ unit: 'binary', maxLength: 12 }), telling);
export const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  anyText,
  fc.constantFrom<unknown>(...NUMBERS, null, true, false, [], {}),
  fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }),
);
const freeForm = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom({}, { a: 1 }, { confidence: 0.5, 'two words': ['x', null] }) },
  {
    weight: 2,
    arbitrary: fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
  },
  { weight: 1, arbitrary: fc.dictionary(anyText, anyValue, { maxKeys: 4 }) },
);

/** Values for the schemas of a document: mostly valid ones, some at the boundaries, and some just beyond. */
export class SchemaValues {
  constructor(private readonly document: OpenAPIObject) {}

  /** `name` is that of the member or parameter, which may imply what kind of record it refers to. */
  valuesFor(schema: Schema, name = ''): fc.Arbitrary<unknown> {
    const followed = this.followed(schema);
    const choices = followed.oneOf ?? followed.anyOf;
    if (choices !== undefined) return fc.oneof(...choices.map((choice) => this.valuesFor(choice, name)));
    if (followed.enum !== undefined) return fc.constantFrom<unknown>(...(followed.enum as unknown[]));
    if (followed.type === 'object') return this.object(followed);
    if (followed.type === 'array') return this.array(followed, name);
    if (followed.type === 'integer' || followed.type === 'number') return number(followed);
    if (followed.type === 'boolean') return fc.boolean();
    return followed.type === 'string' ? text(followed, name) : anyValue;
  }

  followed(schema: Schema): SchemaObject {
    if (!('$ref' in schema)) return schema;
    return this.document.components?.schemas?.[schema.$ref.split('/').at(-1) ?? ''] as SchemaObject;
  }

  private object({ properties, required = [], additionalProperties }: SchemaObject): fc.Arbitrary<unknown> {
    if (properties === undefined) return additionalProperties === false ? fc.constant({}) : freeForm;
    const members = Object.entries(properties).map(([name, schema]) => [name, this.valuesFor(schema, name)] as const);
    return fc.record(Object.fromEntries(members), { requiredKeys: required });
  }

  private array({ items = {}, minItems = 0, maxItems = 5 }: SchemaObject, name: string): fc.Arbitrary<unknown> {
    const item = this.valuesFor(items, name);
    const few = fc.uniqueArray(item, { minLength: minItems, maxLength: Math.min(maxItems, 4), selector: fc.stringify });
    const many = fc.constantFrom(maxItems, maxItems + 1).map((length) => Array.from({ length }, (_, at) => `i${at}`));
    return fc.oneof({ weight: 20, arbitrary: few }, { weight: 1, arbitrary: many });
  }
}

/** The kind of record that a member or parameter of this name refers to; undefined if none. */
function referenced(name: string): string | undefined {
  if (/^(proposedBy|approverId|agentId)$/.test(name)) return 'agt';
  if (name === 'entityId') return 'ent';
  if (name === 'subjectId') return 'dec';
  return name === 'cursor' ? 'cursor' : undefined;
}

function text({ maxLength = 100, minLength = 0, format, example }: SchemaObject, name: string): fc.Arbitrary<unknown> {
  if (format === 'date-time') return fc.constantFrom(...TIMES);
  const kind = referenced(name);
  if (kind !== undefined) {
    const reference = fc.nat(199).map((index) => new Reference(kind, index));
    return fc.oneof({ weight: 8, arbitrary: reference }, { weight: 1, arbitrary: anyText });
  }
  const lengths = [minLength, minLength - 1, maxLength, maxLength + 1].filter((length) => length >= 0);
  const boundary = fc.tuple(fc.constantFrom(...lengths.filter((length) => length <= MAX_TEXT_LENGTH)), telling);
  const usual = fc.constantFrom(...(FITTING[name] ?? []), ...(typeof example === 'string' ? [example] : ['a']));
  return fc.oneof(
    { weight: name in FITTING ? 16 : 4, arbitrary: usual },
    { weight: 6, arbitrary: fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/) },
    { weight: 2, arbitrary: telling },
    { weight: 1, arbitrary: anyText },
    { weight: 1, arbitrary: boundary.map(([length]) => '\u00e9'.repeat(length)) },
  );
}

function number({ type, minimum = -1000, maximum = 1000 }: SchemaObject): fc.Arbitrary<unknown> {
  const isWhole = type === 'integer';
  const inside = isWhole ? fc.integer({ min: Math.max(minimum, -1000), max: Math.min(maximum, 1000) }) : fc.double();
  const finite = inside.map((value) => (Number.isFinite(value) ? value : 0));
  return fc.oneof(
    { weight: 8, arbitrary: finite },
    { weight: 1, arbitrary: fc.constantFrom(minimum, maximum) },
    { weight: 1, arbitrary: fc.constantFrom(minimum - 1, maximum + 1, 0.5, ...NUMBERS) },
  );
}
