import { decodedPath } from '../../policies/patterns/resource-path';
import { listedTypeFault, parseResourcePattern, resourcePatternFault } from '../../policies/patterns/resource-pattern';
import type { ResourcePattern } from '../../policies/patterns/resource-pattern';
import type { PolicyCondition } from '../../policies/conditions/condition';
import { POLICY_EFFECTS } from '../../policies/evaluation/policy-effect';
import type { Bits } from './bits';
import type { PlannedPolicy } from './effect';
import { encodedSpellings } from './encoded-spellings';
import type { SubjectClasses } from './subject-classes';

/** A policy in the form in which plans compare it. */
export interface PlannedMatch {
  readonly rules: PlannedPolicy;
  /** In the order of creation. */
  readonly index: number;
  readonly isChanged: boolean;
  /** By priority, then by strength of the effect. */
  readonly rank: number;
  readonly subjects: Bits;
  readonly resources: readonly ResourcePattern[];
  /** Null: all. */
  readonly types: ReadonlySet<string> | null;
  /** Types under which it may match more than under others. */
  readonly namedTypes: ReadonlySet<string>;
  /** Equal for policies that are conditional in the same way; null: it is not conditional. */
  readonly condition: string | null;
  /** Two random numbers that identify the policy in hashes of sets. */
  readonly marks: readonly [number, number];
  /** Whether a resource is compared as it is spelled, not by what it means. */
  readonly isSpelled: boolean;
  /** Whether it may match less than it seems to: see {@link splitByEncoding}. */
  readonly isUncertain: boolean;
}

/** The policies, oldest first. */
export function plannedMatches(policies: readonly PlannedPolicy[], classes: SubjectClasses): PlannedMatch[] {
  return [...policies]
    .sort((left, right) => (left.id < right.id ? -1 : 1))
    .map((rules, index) => {
      const { effect, conditions } = rules;
      const isSpelled = effect === 'allow';
      const resources = resourcesOf(rules);
      const types = typesOf(rules);
      const firsts = resources.flatMap((pattern) => firstsOf(pattern, isSpelled));
      return {
        rules,
        index,
        isChanged: rules.isBefore !== rules.isAfter,
        rank: rules.priority * POLICY_EFFECTS.length + POLICY_EFFECTS.indexOf(effect),
        subjects: classes.meeting(rules.subjects),
        resources,
        types,
        namedTypes: new Set([...(types ?? []), ...firsts.filter((first) => types === null || types.has(first))]),
        condition: conditions.length === 0 ? null : `${effect === 'allow'} ${conditionsKey(conditions)}`,
        marks: [randomMark(), randomMark()],
        isSpelled,
        isUncertain: false,
      };
    });
}

/**
 * An allow matches one spelling only, and a plan cannot express a percent-encoded one: the patterns of an allow that are
 * percent-encoded become a policy of their own, which is treated as if it could match every spelling.
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
    { ...split, namedTypes, marks: [randomMark(), randomMark()] },
  ];
}

/** An uncertain policy may match or not, whatever others do: as if it had a condition that no other has. */
export function supposed(policy: PlannedMatch): PlannedMatch {
  return policy.isUncertain ? { ...policy, condition: `uncertain ${policy.index} ${policy.condition}` } : policy;
}

/** Stored patterns that would no longer be accepted match nothing. */
function resourcesOf({ resources, effect }: PlannedPolicy): ResourcePattern[] {
  const patterns = resources
    .filter((text) => resourcePatternFault(text) === undefined)
    .map((text) => parseResourcePattern(text, effect === 'allow' ? 'spelled' : 'meant'));
  const everything = patterns.find(({ kind }) => kind === 'everything');
  return everything === undefined ? patterns : [everything];
}

/** The types behind which it may count. */
function firstsOf(pattern: ResourcePattern, isSpelled: boolean): string[] {
  if (pattern.kind === 'everything') return [];
  const [first = ''] = pattern.path.split('/', 1);
  return isSpelled ? [first] : [first, ...encodedSpellings(first)];
}

/** In whichever order the conditions and their members are written. */
function conditionsKey(conditions: readonly PolicyCondition[]): string {
  const keys = conditions.map(({ parameter, op, value }) => JSON.stringify([parameter, op, value]));
  return [...new Set(keys)].sort().join();
}

function typesOf({ resourceTypes }: PlannedPolicy): ReadonlySet<string> | null {
  if (resourceTypes.length === 0) return null;
  return new Set(resourceTypes.filter((type) => listedTypeFault(type) === undefined));
}

function randomMark(): number {
  return Math.floor(Math.random() * 2 ** 32) | 0;
}
