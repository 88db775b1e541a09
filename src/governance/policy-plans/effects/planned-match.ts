import { randomBytes } from 'node:crypto';
import { decodedPath, type ResourcePattern, isUrl, urlPathStart } from '../../policies/patterns/resources';
import type { JsonObject } from '../../../core/json/json-value';
import { canonicalJson } from '../../../ledger/chain/canonical-json';
import { compilePolicy, type PolicyRules } from '../../policies/evaluation/compiled-policy';
import { subjectText } from '../../policies/patterns/subjects';
import type { SubjectClasses } from './subject-classes';

/** A policy, and whether it is in force before and after the plan. */
export interface PlannedPolicy extends PolicyRules {
  readonly isBefore: boolean;
  readonly isAfter: boolean;
  /** True if it is to be created; its id only determines its order. */
  readonly isNew: boolean;
}

/** The sides of a plan on which a policy is in force. */
export type PlannedSides = Pick<PlannedPolicy, 'isBefore' | 'isAfter' | 'isNew'>;

/**
 * Copies the members that a comparison needs, because they are sent to another process. It is one literal: spreading
 * takes ten times as long.
 */
export function plannedPolicy(
  policy: Omit<PolicyRules, 'id'>,
  id: string,
  { isBefore, isAfter, isNew }: PlannedSides,
): PlannedPolicy {
  return {
    id,
    name: policy.name,
    version: policy.version,
    effect: policy.effect,
    subjects: policy.subjects,
    actions: policy.actions,
    resources: policy.resources,
    resourceTypes: policy.resourceTypes,
    priority: policy.priority,
    conditions: policy.conditions,
    limits: policy.limits,
    onBehalfOf: policy.onBehalfOf,
    approval: policy.approval,
    team: policy.team,
    isBefore,
    isAfter,
    isNew,
  };
}

/** A policy in the form in which plans compare it. */
export interface PlannedMatch {
  readonly rules: PlannedPolicy;
  /** Index in the order of creation. */
  readonly index: number;
  readonly isChanged: boolean;
  /** Rank by priority, then by strength of the effect. */
  readonly rank: number;
  /** Subjects as bits of {@link SubjectClasses}. */
  readonly subjects: bigint;
  readonly resources: readonly ResourcePattern[];
  /** Types; null for all. */
  readonly types: ReadonlySet<string> | null;
  /** Types under which it may match more than under others. */
  readonly namedTypes: ReadonlySet<string>;
  /** Equal for policies with the same conditions; null if it has none. */
  readonly condition: string | null;
  /** Random number of 64 bits that identifies the policy in hashes of sets. */
  readonly mark: bigint;
  /** True if a resource is compared as it is spelled, not by its meaning. */
  readonly isSpelled: boolean;
  /** True if it may match less than it seems to: see {@link splitByEncoding}. */
  readonly isUncertain: boolean;
}

/** Returns the policies, oldest first. */
export function plannedMatches(policies: readonly PlannedPolicy[], classes: SubjectClasses): PlannedMatch[] {
  return [...policies]
    .sort((left, right) => (left.id < right.id ? -1 : 1))
    .map((rules, index) => {
      const { rank, isAllow: isSpelled, resources, resourceTypes } = compilePolicy(rules);
      const types = resourceTypes && new Set(resourceTypes);
      const firsts = resources.flatMap((pattern) => firstsOf(pattern, isSpelled));
      return {
        rules,
        index,
        isChanged: rules.isBefore !== rules.isAfter,
        rank,
        subjects: classes.meeting(rules.subjects, rules.team),
        resources,
        types,
        namedTypes: new Set([...(types ?? []), ...firsts.filter((first) => types === null || types.has(first))]),
        condition: conditionOf(rules),
        mark: randomMark(),
        isSpelled,
        isUncertain: false,
      };
    });
}

/**
 * Splits an allow. It matches one spelling only, and a plan cannot express a percent-encoded one: its percent-encoded
 * patterns become a separate policy, which is treated as if it could match every spelling.
 */
export function splitByEncoding(policy: PlannedMatch): PlannedMatch[] {
  if (!policy.isSpelled) return [policy];
  const plain: ResourcePattern[] = [];
  const encoded: ResourcePattern[] = [];
  for (const pattern of policy.resources) {
    if (pattern.kind === 'everything') {
      plain.push(pattern);
      continue;
    }
    const path = decodedPath(pattern.path);
    if (path === pattern.path) plain.push(pattern);
    else encoded.push({ ...pattern, path });
  }
  if (encoded.length === 0) return [policy];
  const split = { ...policy, resources: encoded, isSpelled: false, isUncertain: true };
  const namedTypes = new Set([...policy.namedTypes, ...encoded.flatMap((pattern) => firstsOf(pattern, false))]);
  return [
    { ...policy, resources: plain },
    { ...split, namedTypes, mark: randomMark() },
  ];
}

/**
 * Adds supposed conditions: an uncertain policy may match or not, independently of others, as if it had a condition of
 * its own.
 */
export function withSupposedConditions(policy: PlannedMatch): PlannedMatch {
  return policy.isUncertain ? { ...policy, condition: `uncertain ${policy.index} ${policy.condition}` } : policy;
}

/** Returns the types after which a pattern may count. */
function firstsOf(pattern: ResourcePattern, isSpelled: boolean): string[] {
  if (pattern.kind === 'everything') return [];
  const [first = ''] = pattern.path.split('/', 1);
  return isSpelled ? [first] : [first, ...encodedSpellings(first)];
}

/**
 * Returns a key of the conditions. The principal of a request varies like its parameters, so it counts as a condition.
 * No two policies share a limit.
 */
function conditionOf({ effect, conditions, limits, onBehalfOf, name }: PlannedPolicy): string | null {
  if (conditions.length === 0 && limits.length === 0 && onBehalfOf.length === 0) return null;
  const ofLimits = limits.length === 0 ? '' : ` ${canonicalJson([name, limits as unknown as JsonObject])}`;
  const principals = [...new Set(onBehalfOf.map(subjectText))].sort();
  // The order of the conditions and their members does not matter.
  const keys = conditions.map((condition) => canonicalJson(condition as unknown as JsonObject));
  const ofConditions = [...new Set(keys)].sort().join();
  return `${effect === 'allow'} ${ofConditions} ${JSON.stringify(principals)}${ofLimits}`;
}

function randomMark(): bigint {
  return randomBytes(8).readBigUInt64BE();
}

/** Matches a path with a single spelling: any other may be percent-encoded. */
const PLAIN = /^[0-9A-Za-z\-._~/]*$/;
const ENCODABLE = /[^0-9A-Za-z\-._~]/gu;

/**
 * Returns the names in plans of the percent-encoded spellings of a path, whose number is unlimited: the spelling in
 * which each character is encoded once, from some segment on. `a b/c d` has `a%20b/c%20d`, for spellings that are
 * encoded from the first segment on, and `a b/c%20d`, for those that are plain up to the second.
 */
export function encodedSpellings(path: string): string[] {
  if (PLAIN.test(path)) return [];
  const { start, segments } = divided(path);
  const encoded = segments.map(encodedSegment);
  return segments.flatMap((segment, index) =>
    segment === encoded[index] ? [] : [start + [...segments.slice(0, index), ...encoded.slice(index)].join('/')],
  );
}

/** Splits a URL into the part before its path, in which nothing is encoded, and the segments of the path. */
function divided(path: string): { start: string; segments: string[] } {
  const slash = isUrl(path) ? urlPathStart(path) : -1;
  if (isUrl(path) && slash < 0) return { start: path, segments: [] };
  return { start: path.slice(0, slash + 1), segments: path.slice(slash + 1).split('/') };
}

function encodedSegment(segment: string): string {
  return segment.replace(ENCODABLE, (character) =>
    Buffer.from(character, 'utf8').toString('hex').toUpperCase().replace(/../g, '%$&'),
  );
}
