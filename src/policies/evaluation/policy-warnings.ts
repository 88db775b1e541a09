import type { PolicyRules } from './compiled-policy';
import { listedTypeFault, resourcePatternFault } from './resource-pattern';
import { subjectWarning } from './subject-pattern';
import { labelFault } from '../../text/label-fault';

/** What a policy lists. */
export type PolicyLists = Pick<PolicyRules, 'subjects' | 'actions' | 'resources' | 'resourceTypes'>;

/**
 * Says what in a policy matches nothing, and why. Of resources and types only what was stored by an earlier version can be
 * such: a new policy with it is refused.
 */
export function policyWarnings({ subjects, actions, resources, resourceTypes }: PolicyLists): string[] {
  return [
    ...subjects.flatMap((subject) => subjectWarning(subject) ?? []),
    ...actions.flatMap((action) => deadText(action, 'an action', labelFault(action))),
    ...resources.flatMap((resource) => deadText(resource, 'a resource', resourcePatternFault(resource))),
    ...resourceTypes.flatMap((type) => deadText(type, 'a resource type', listedTypeFault(type))),
  ];
}

function deadText(text: string, what: string, fault: string | undefined): string[] {
  return fault === undefined ? [] : [`"${text}" matches nothing: ${what} ${fault}.`];
}
