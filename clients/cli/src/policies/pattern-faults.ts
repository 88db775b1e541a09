import { actionPatternFault } from '../service-rules/action-pattern.js';
import { listedTypeFault, resourcePatternFault } from '../service-rules/resources.js';
import { subjectFault } from '../service-rules/subjects.js';
import type { ConditionFault } from './condition-faults.js';

/** The rules of the service for the lists of a policy that name who, what and where. */
const RULES = {
  subjects: subjectFault,
  actions: actionPatternFault,
  resources: resourcePatternFault,
  resourceTypes: listedTypeFault,
} as const;

type PatternHolder = Readonly<
  Partial<Record<keyof typeof RULES, readonly string[] | null>> & {
    approval?: { readonly approvers?: readonly { readonly subjects: readonly string[] }[] | null } | null;
  }
>;

/** Returns the faults of patterns that the service refuses. */
export function patternFaults(policy: PatternHolder): ConditionFault[] {
  const lists = Object.entries(RULES).flatMap(([list, faultOf]) =>
    faultsIn(list, policy[list as keyof typeof RULES] ?? [], faultOf),
  );
  const approvers = policy.approval?.approvers ?? [];
  const groups = approvers.flatMap(({ subjects }, index) =>
    faultsIn(`approval.approvers[${index}].subjects`, subjects, subjectFault),
  );
  return [...lists, ...groups];
}

function faultsIn(
  list: string,
  patterns: readonly string[],
  faultOf: (pattern: string) => string | undefined,
): ConditionFault[] {
  return patterns.flatMap((pattern, index) => {
    const message = faultOf(pattern);
    return message === undefined ? [] : { at: `.${list}[${index}]`, message };
  });
}
