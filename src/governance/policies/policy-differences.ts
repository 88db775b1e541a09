import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import type { PolicyContent } from './policy-content';

/** A difference between two versions of a policy. A missing value is null. */
interface PolicyDifference {
  /** A JSON Pointer (RFC 6901) into the policy. */
  readonly at: string;
  readonly from: JsonValue;
  readonly to: JsonValue;
}

/** Most differences; if there are more, whole members are compared. */
const MAX_DIFFERENCES = 100;
const MEMBERS = [
  ...(['description', 'effect', 'subjects', 'actions', 'resources', 'resourceTypes'] as const),
  ...(['conditions', 'limits', 'onBehalfOf', 'priority', 'approval'] as const),
] satisfies readonly (keyof PolicyContent)[];

/** Returns the differences of a version from the one that it replaces, in the smallest parts. */
export function policyDifferences(from: PolicyContent, to: PolicyContent): PolicyDifference[] {
  const parts = MEMBERS.flatMap((member) => differencesIn(`/${member}`, valueIn(from, member), valueIn(to, member)));
  if (parts.length <= MAX_DIFFERENCES) return parts;
  return MEMBERS.flatMap((member) => differenceOf(`/${member}`, valueIn(from, member), valueIn(to, member)));
}

function valueIn(policy: PolicyContent, member: (typeof MEMBERS)[number]): JsonValue {
  return (policy[member] ?? null) as JsonValue;
}

/** Compares two values. Lists of texts are sets, which are shown whole; other lists are compared item by item. */
function differencesIn(at: string, from: JsonValue, to: JsonValue): PolicyDifference[] {
  const [left, right] = [membersOf(from), membersOf(to)];
  if (left === null || right === null || Array.isArray(from) !== Array.isArray(to)) return differenceOf(at, from, to);
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((name) =>
    differencesIn(`${at}/${name}`, left[name] ?? null, right[name] ?? null),
  );
}

function differenceOf(at: string, from: JsonValue, to: JsonValue): PolicyDifference[] {
  return isDeepStrictEqual(from, to) ? [] : [{ at, from, to }];
}

/** Returns the members; null for a value that is compared whole. */
function membersOf(value: JsonValue): JsonObject | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value) && value.some((item) => typeof item !== 'object')) return null;
  return { ...value } as JsonObject;
}
