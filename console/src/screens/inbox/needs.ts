import { POLICY_PARTS } from '../../../../clients/typescript/src/policy-parts.js';
import { countText, listText, showInvisible } from '../../ui/format.js';
import type { Decision, Execution, Me } from '../../api/types.js';

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/**
 * A subject of a policy in words. An agent and a role may have one name, and an agent may be called `role security`.
 */
export function subjectText(subject: string): string {
  if (subject === '*' || subject === 'agent:*' || subject === 'kind:human') return 'anybody';
  if (subject === 'kind:machine') return 'a machine';
  const [, kind, name] = /^(role|agent):([^]*)$/.exec(subject) ?? [];
  return kind === undefined ? `\u201c${showInvisible(subject)}\u201d` : `the ${kind} ${showInvisible(name ?? '')}`;
}

/** Describes the parts that keep a policy from matching, such as `its subjects and resource types do not match`. */
export function missingText(missing: readonly (keyof typeof POLICY_PARTS)[]): string {
  const parts = missing.map((part) => POLICY_PARTS[part]);
  return `its ${listText(parts, 'and')} do not match`;
}

/** Describes on whose behalf an agent acts, such as `user:maria, with the role vip`; a registered person is named. */
export function principalText(
  { subject, roles = [] }: NonNullable<Execution['onBehalfOf']>,
  nameOf: (id: string) => string,
): string {
  const subjectName = subject.startsWith('agent:') ? nameOf(subject.slice('agent:'.length)) : showInvisible(subject);
  if (roles.length === 0) return subjectName;
  return `${subjectName}, with the ${roles.length === 1 ? 'role' : 'roles'} ${showInvisible(roles.join(', '))}`;
}

/** Describes who may fill a group of approvers, including those of its escalation once that took effect. */
export function currentSubjects({ subjects, escalate }: NonNullable<Decision['approvers']>[number]): readonly string[] {
  return escalate?.at === undefined ? subjects : [...subjects, ...escalate.subjects];
}

/** Says in whose place a decision waits, such as `in ann's place`. */
export function placeText(ids: readonly string[], nameOf: (id: string) => string): string {
  return `in ${listText(
    ids.map((id) => `${nameOf(id)}'s`),
    'or',
  )} place`;
}

/** Says what a decision still needs, such as `needs 1 of the role security and 1 of the role finance`. */
export function needsText({ approvers, requiredApprovals, reviews, status }: Decision): string {
  if (status !== 'proposed') return '';
  if (approvers === null) {
    const givenApprovals = reviews.filter(({ verdict }) => verdict === 'approve').length;
    return `needs ${countText(Math.max(0, requiredApprovals - givenApprovals), 'approval')}`;
  }
  const open = approvers.filter(({ approvals, given: givenApprovals }) => givenApprovals < approvals);
  // Reviews that fit several groups count in each, so all groups may look full while an approval is missing.
  const parts = (open.length === 0 ? approvers : open).map((group) => {
    const missingApprovals = Math.max(1, group.approvals - group.given);
    return `${missingApprovals} of ${listText(currentSubjects(group).map(subjectText), 'or')}${group.signed ? ', signed' : ''}`;
  });
  return `needs ${listText(parts, 'and')}${open.length === 0 ? `, by ${peopleText(requiredApprovals)}` : ''}`;
}

/** True if all groups look full although approvals are missing, since nobody counts twice. */
export function isOnePersonInTwo({ approvers, status }: Decision): boolean {
  if (status !== 'proposed' || approvers === null) return false;
  return approvers.every(({ approvals, given: givenApprovals }) => givenApprovals >= approvals);
}

/** Returns a text such as `two different people`. */
export function peopleText(count: number): string {
  return `${NUMBERS[count] ?? count} different people`;
}

/** Why the caller cannot settle a pending decision, as far as the decision itself shows. */
export function whyNotMine({ proposedBy, reviews }: Decision, { agentId, scopes }: Me): string {
  if (agentId === null) return 'your key is not bound to a person';
  if (proposedBy === agentId) return 'you requested it';
  const review = reviews.find(({ approverId }) => approverId === agentId);
  if (review !== undefined) return review.verdict === 'approve' ? 'you approved it' : 'you rejected it';
  if (!scopes.some((scope) => scope === 'review' || scope === 'admin')) return 'deciding needs the scope review';
  // The reason may be the caller's groups, a passkey, a policy or a suspension: the decision itself does not show it.
  return 'you cannot approve it now: open it to see why';
}
