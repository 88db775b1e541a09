import type { Parsed } from '../support/application/send';
import { canonical } from '../verification/recompute-chain';

/** A member with another value. */
export interface OtherValue {
  /** The path at which the values differ, `[]` for any item of a list: `decision.reviews[].comment`. */
  readonly path: string;
  /** The value of the whole member; undefined if it is absent. */
  readonly value: unknown;
}

const MOST_SEEN = 3;
/**
 * Values of members that all records of the scenarios leave out, or have alike, and a value that is tried in any case.
 */
const SAMPLES: Readonly<Record<string, unknown>> = {
  'agent.slackId': 'U024BE7LH',
  'agent.directory': 'd4e7',
  'agent.team': 'support',
  'policy.team': 'support',
  'execution.outcome': 'running',
  'execution.erased': true,
  'decision.erased': true,
  'decision.context': { note: 'x' },
  'policy.resourceTypes': ['bill'],
};
/** Members whose own members are chosen by clients. */
const FREE_FORM = ['execution.parameters', 'execution.result', 'decision.context', 'execution.instead.parameters'];

/** The values that members have in real files, by their path. */
export class SeenValues {
  private readonly values = new Map<string, Map<string, unknown>>();

  add(path: string, value: unknown): void {
    const valuesAtPath = this.values.get(path) ?? new Map<string, unknown>();
    this.values.set(path, valuesAtPath.set(canonical(value ?? null), value));
    for (const [name, item] of membersOf(path, value)) this.add(`${path}${name}`, item);
  }

  /** Values that a member may have instead: those of other records, and changed ones. */
  others(path: string, value: unknown): OtherValue[] {
    const seen = [...(this.values.get(path) ?? [])].filter(([text]) => text !== canonical(value ?? null));
    const step = Math.max(1, Math.floor(seen.length / MOST_SEEN));
    const selection = seen.filter((_, index) => index % step === 0).slice(0, MOST_SEEN);
    const isOther = path in SAMPLES && canonical(SAMPLES[path]) !== canonical(value ?? null);
    const sample = isOther ? [SAMPLES[path]] : [];
    const whole = [...selection.map(([, other]) => other), ...changedScalar(value), ...sample];
    const inside = membersOf(path, value).flatMap(([name, item, key]) =>
      this.others(`${path}${name}`, item).map((other) => ({ ...other, value: withMember(value, key, other.value) })),
    );
    return [...whole.map((other) => ({ path, value: other })), ...inside];
  }
}

function changedScalar(value: unknown): unknown[] {
  if (typeof value === 'number') return value > 0 ? [value + 1, value - 1] : [value + 1];
  if (typeof value === 'boolean') return [!value];
  if (Array.isArray(value)) return value.length === 0 ? [] : [value.slice(0, -1)];
  if (typeof value !== 'string') return [];
  const time = Date.parse(value);
  if (!Number.isNaN(time) && value.endsWith('Z')) return [new Date(time + 1).toISOString()];
  if (/^[0-9a-f]{64}$/u.test(value)) return ['a'.repeat(64)];
  const isId = /^\w+_\w{26}$/u.test(value);
  return [isId ? `${value.slice(0, -2)}${value.endsWith('00') ? '01' : '00'}` : `${value}x`];
}

/** The part of the path, the member, and its key. */
function membersOf(path: string, value: unknown): [string, unknown, string | number][] {
  if (FREE_FORM.includes(path) || typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.map((item: unknown, index) => ['[]', item, index]);
  return Object.entries(value).map(([name, member]) => [`.${name}`, member, name]);
}

function withMember(value: unknown, key: string | number, member: unknown): unknown {
  const copy: Parsed = structuredClone(value);
  if (member === undefined) Reflect.deleteProperty(copy, key);
  else copy[key] = member;
  return copy;
}
