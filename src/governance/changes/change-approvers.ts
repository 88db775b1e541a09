import type { Configuration } from '../../core/config/configuration';
import { ConfigurationError } from '../../core/config/read-configuration';
import type { Agent } from '../agents/agent.entity';
import { areDistinctApprovers, filledGroups } from '../policies/approval/approval-input';
import { type ApproverGroup, PRINCIPAL, sumOfApprovals } from '../policies/approval/approval-requirement';
import { groupsOf } from '../policies/approval/approver-groups';

const EXPECTED =
  'CHANGE_APPROVERS: expected a JSON list of groups as in a policy, for example [{"subjects":["role:security"],"approvals":2}]';

/** Parses the groups of CHANGE_APPROVERS: any people by default. @throws ConfigurationError */
export function changeApprovers({
  changeApprovers: input,
  requiredApprovals: { high },
}: Pick<Configuration, 'changeApprovers' | 'requiredApprovals'>): ApproverGroup[] {
  if (input === null) return [{ subjects: ['kind:human'], approvals: high }];
  if (!areDistinctApprovers(input)) throw new ConfigurationError([EXPECTED]);
  if (input.some(({ subjects }) => subjects.includes(PRINCIPAL)))
    throw new ConfigurationError([`${EXPECTED}; "${PRINCIPAL}" means nobody here`]);
  const groups = filledGroups(input);
  if (sumOfApprovals(groups) >= high) return groups;
  throw new ConfigurationError([
    `CHANGE_APPROVERS: expected at least ${high} approvals together, as REQUIRED_APPROVALS says for "high"`,
  ]);
}

/**
 * Returns the groups for a change, or for the review of an emergency. A caller who is no person, such as a program,
 * needs one more approval: whoever sent the request may be one of those who approve.
 */
export function approversFor(groups: readonly ApproverGroup[], isByPerson: boolean): ApproverGroup[] {
  return groups.map((group, index) =>
    index === 0 && !isByPerson ? { ...group, approvals: group.approvals + 1 } : group,
  );
}

/** True for a person who belongs to one of the groups, suspended or not. */
export function isChangeApprover(agent: Agent, groups: readonly ApproverGroup[]): boolean {
  return agent.kind === 'human' && groupsOf(agent, groups).length > 0;
}
