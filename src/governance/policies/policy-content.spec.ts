import { SCHEMA_VERSION } from '../../ledger/schema/schema-version';
import type { PolicyCondition } from './conditions/condition';
import type { CreatePolicyRequest } from './dto/policy.dto';
import { contentOf, EVALUATIONS, firstDifference, type PolicyContent } from './policy-content';

const REQUIRED = { low: 1, medium: 1, high: 1, critical: 1 };
const REQUEST: CreatePolicyRequest = {
  name: 'office-hours',
  version: '1',
  effect: 'allow',
  subjects: ['*'],
  actions: ['*'],
  resources: ['*'],
};
const SPAN = { clock: 'UTC', op: 'between', value: ['08:00', '18:00'] } as const;
const EARLIER = { earlier: 'look-up', op: 'exists', value: true } as const;
const NOTHING = { parameter: '/to', op: 'eq', value: null } as const;

function contentWith(...conditions: PolicyCondition[]): PolicyContent {
  return contentOf({ ...REQUEST, conditions }, REQUIRED, null);
}

describe('The content of a policy', () => {
  const plain = contentWith(SPAN, EARLIER, NOTHING);

  it('has no member of a condition that is null, but the value', () => {
    const content = contentWith({ ...SPAN, days: null }, { ...EARLIER, resource: null }, NOTHING);
    expect(content).toEqual(plain);
    expect(content.conditions).toStrictEqual([SPAN, EARLIER, NOTHING]);
  });

  it('differs from what is stored in the first member that does, whatever the sign of a zero', () => {
    expect(firstDifference({ ...plain, priority: 0 }, { ...plain, priority: -0 })).toBeUndefined();
    expect(firstDifference(plain, contentWith(SPAN, EARLIER))).toBe('conditions');
  });
});

/** The version of the schema that came with each version of the rules. */
const SCHEMAS: Readonly<Record<number, number>> = { 4: 1_766_900_000_000 };

describe('The version of the rules of evaluation', () => {
  it('came with a version of the schema, so that processes of two versions do not write side by side', () => {
    expect(SCHEMAS[EVALUATIONS[0]]).toBeLessThanOrEqual(SCHEMA_VERSION);
  });
});
