import { listedTypeFault, parseResourcePattern, resourcePatternFault } from '../../policies/patterns/resource-pattern';
import type { ResourcePattern } from '../../policies/patterns/resource-pattern';
import { POLICY_EFFECTS } from '../../policies/evaluation/policy-effect';
import type { Bits } from './bits';
import type { PlannedPolicy } from './effect';
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
  /** Policies that are conditional in the same way have the same; null: it is not conditional. */
  readonly condition: string | null;
  /** Two random numbers that stand for the policy. */
  readonly marks: readonly [number, number];
}

/** The policies, oldest first. */
export function plannedMatches(policies: readonly PlannedPolicy[], classes: SubjectClasses): PlannedMatch[] {
  return [...policies]
    .sort((left, right) => (left.id < right.id ? -1 : 1))
    .map((rules, index) => {
      const { effect, conditions } = rules;
      const resources = resourcesOf(rules);
      const types = typesOf(rules);
      const firsts = resources.flatMap((pattern) =>
        pattern.kind === 'everything' ? [] : [pattern.path.split('/', 1)[0] ?? ''],
      );
      return {
        rules,
        index,
        isChanged: rules.isBefore !== rules.isAfter,
        rank: rules.priority * POLICY_EFFECTS.length + POLICY_EFFECTS.indexOf(effect),
        subjects: classes.meeting(rules.subjects),
        resources,
        types,
        namedTypes: new Set([...(types ?? []), ...firsts.filter((first) => types === null || types.has(first))]),
        condition: conditions.length === 0 ? null : `${effect === 'allow'} ${JSON.stringify(conditions)}`,
        marks: [randomMark(), randomMark()],
      };
    });
}

/** What is stored but would not be accepted any more matches nothing. */
function resourcesOf({ resources, effect }: PlannedPolicy): ResourcePattern[] {
  const patterns = resources
    .filter((text) => resourcePatternFault(text) === undefined)
    .map((text) => parseResourcePattern(text, effect === 'allow' ? 'spelled' : 'meant'));
  const everything = patterns.find(({ kind }) => kind === 'everything');
  return everything === undefined ? patterns : [everything];
}

function typesOf({ resourceTypes }: PlannedPolicy): ReadonlySet<string> | null {
  if (resourceTypes.length === 0) return null;
  return new Set(resourceTypes.filter((type) => listedTypeFault(type) === undefined));
}

function randomMark(): number {
  return Math.floor(Math.random() * 2 ** 32) | 0;
}
