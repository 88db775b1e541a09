import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { type Agent, AGENT } from '../agents/agent.entity';
import { IssuedKeys } from '../../http/authentication/authentication';
import { findAgents } from '../agents/find-agent';
import { RecordReader } from '../../ledger/reading/record-reader';
import { RecordHistory } from '../../ledger/record-history';
import type { Condition } from '../../ledger/record-page';
import { Turn } from '../../core/concurrency/turn';
import { PasskeyHolders } from '../passkeys/passkey-holders';
import { ApproverGroups } from './approval/approver-groups';
import { type ApprovalRequirement, type ApproverGroup, PRINCIPAL } from './approval/approval-requirement';
import { parseSubject, type SubjectPattern } from './patterns/subjects';
import type { PolicyContent } from './policy-content';
import { conditionWarnings, mistakenName, mistakenSubjects, policyWarnings } from './policy-warnings';

/** Who could approve for a group. */
interface Found {
  /** Whether an active agent matches. */
  readonly isMatched: boolean;
  readonly byMachines: boolean;
}

/** What subjects refer to. */
interface Looked {
  readonly agents: ReadonlyMap<string, Agent>;
  /** The roles that an active person has. */
  readonly roles: ReadonlySet<string>;
  readonly isAnyMachine: boolean;
  readonly isAnyPerson: boolean;
  readonly isAnyPersonWithRoles: boolean;
}

const NOBODY: Found = { isMatched: false, byMachines: false };
const ACTIVE: Condition = { column: 'status', comparison: 'equals', value: 'active' };
const PERSON: Condition = { column: 'kind', comparison: 'equals', value: 'human' };
const MACHINE: Condition = { ...PERSON, value: 'machine' };
/** Agents read at once where no index can be used. */
const CHUNK = 1_000;
const BOTH = ['execute', 'entities'] as const;
const OWN_CLAIMS =
  'Conditions on claims, while a key bound to an agent has both scopes, execute and entities: an agent could write the claims itself.';
const UNSIGNED =
  "approval.riskLevel is critical and no group is signed: whoever has taken over a reviewer's session, or drives their browser, can approve.";
/** Only a request says who that is. */
const SOME_PERSON: Found = { isMatched: true, byMachines: false };

/**
 * Warnings for policies being created: parts that match nothing, that match more than they seem to, or that need
 * approvers who do not exist.
 */
@Injectable()
export class CreationWarnings {
  constructor(
    private readonly records: RecordReader,
    private readonly history: RecordHistory,
    private readonly holders: PasskeyHolders,
    private readonly modules: ModuleRef,
  ) {}

  async of(policy: PolicyContent): Promise<string[]> {
    return (await this.ofAll([policy])).get(policy) ?? [];
  }

  /** What all of them name is looked up together, in few statements. */
  async ofAll(policies: readonly PolicyContent[]): Promise<ReadonlyMap<PolicyContent, string[]>> {
    const turn = new Turn();
    const mistaken = new Set<string>();
    const approvers = new Map<string, SubjectPattern>();
    for (const { subjects, approval } of policies) {
      if (turn.isOver) await turn.next();
      for (const name of subjects.flatMap((subject) => mistakenName(subject) ?? [])) mistaken.add(name);
      for (const subject of (approval?.approvers ?? []).flatMap((group) => group.subjects))
        if (!approvers.has(subject)) approvers.set(subject, parseSubject(subject));
    }
    const agents = new Set((await findAgents(this.history, mistaken)).keys());
    const isWriting = policies.some(hasClaim) && this.modules.get(IssuedKeys, { strict: false }).someBoundHas(BOTH);
    const looked = await this.looked([...approvers.values()]);
    const unheld = await this.unheld(policies.flatMap(({ approval }) => approval?.approvers ?? []));
    const warnings = new Map<PolicyContent, string[]>();
    for (const policy of policies) {
      if (turn.isOver) await turn.next();
      const ofApprovers = (policy.approval?.approvers ?? []).flatMap((group, index) => {
        const found = group.subjects.map((subject) =>
          subject === PRINCIPAL ? SOME_PERSON : foundBy(approvers.get(subject), looked),
        );
        return approverWarnings(group, index, found, unheld.has(group));
      });
      const ofSubjects = mistakenSubjects(policy.subjects, agents);
      warnings.set(policy, [
        ...policyWarnings(policy),
        ...ofSubjects,
        ...conditionWarnings(policy),
        ...ofApprovers,
        ...(policy.approval !== null && isUnsigned(policy.approval) ? [UNSIGNED] : []),
        ...(isWriting && hasClaim(policy) ? [OWN_CLAIMS] : []),
      ]);
    }
    return warnings;
  }

  private async looked(patterns: readonly SubjectPattern[]): Promise<Looked> {
    const idsOrNames = patterns.flatMap((pattern) => (pattern.kind === 'agent' ? [pattern.idOrName] : []));
    const roles = patterns.flatMap((pattern) => (pattern.kind === 'role' ? [pattern.role] : []));
    const areAsked = (...kinds: readonly SubjectPattern['kind'][]): boolean =>
      patterns.some(({ kind }) => kinds.includes(kind));
    const areKindsAsked = areAsked('everyone', 'anyAgent', 'agentKind');
    return {
      agents: await findAgents(this.history, new Set(idsOrNames)),
      roles: await this.records.listedAmong(AGENT, 'roles', roles, { kind: 'human', status: 'active' }),
      isAnyMachine: areKindsAsked && (await this.isAny([MACHINE])),
      isAnyPerson: areKindsAsked && (await this.isAny([PERSON])),
      isAnyPersonWithRoles: areAsked('anyRole') && (await this.isAnyPersonWithRoles()),
    };
  }

  /** The signed groups that nobody with a passkey belongs to. */
  private async unheld(groups: readonly ApproverGroup[]): Promise<ReadonlySet<ApproverGroup>> {
    const asked = groups.filter(({ signed, subjects }) => signed === true && !subjects.includes(PRINCIPAL));
    const unheld = new Set(asked);
    if (asked.length === 0) return unheld;
    const members = new ApproverGroups(asked);
    for await (const ids of this.holders.all()) {
      const keys = [...ids].map((id) => [id]);
      for (const agent of await this.records.allAmong(AGENT, ['id'], keys))
        if (agent.status === 'active')
          for (const group of members.of(agent).flatMap((index) => asked[index] ?? [])) unheld.delete(group);
      if (unheld.size === 0) break;
    }
    return unheld;
  }

  private async isAny(conditions: readonly Condition[]): Promise<boolean> {
    for await (const agents of this.records.chunks(AGENT, [...conditions, ACTIVE], 1)) return agents.length > 0;
    return false;
  }

  private async isAnyPersonWithRoles(): Promise<boolean> {
    for await (const agents of this.records.chunks(AGENT, [PERSON, ACTIVE], CHUNK))
      if (agents.some(({ roles }) => roles.length > 0)) return true;
    return false;
  }
}

function hasClaim({ conditions }: PolicyContent): boolean {
  return conditions.some((condition) => 'claim' in condition);
}

function isUnsigned({ riskLevel, approvers }: ApprovalRequirement): boolean {
  return riskLevel === 'critical' && !approvers.some(({ signed }) => signed === true);
}

/** Says if currently nobody could approve for a group, or sign for it, or if a machine could. */
function approverWarnings(
  { subjects }: ApproverGroup,
  index: number,
  found: readonly Found[],
  isUnheld: boolean,
): string[] {
  const group = `approval.approvers[${index}] (${subjects.join(', ')})`;
  return [
    ...(found.some(({ isMatched }) => isMatched) ? [] : [`No active agent matches ${group}.`]),
    ...(isUnheld ? [`Nobody with a passkey matches ${group}, which is signed.`] : []),
    ...(found.some(({ byMachines }) => byMachines) ? [`Machines can approve for ${group}.`] : []),
  ];
}

function foundBy(pattern: SubjectPattern | undefined, looked: Looked): Found {
  switch (pattern?.kind) {
    case 'agent': {
      const agent = looked.agents.get(pattern.idOrName);
      return { isMatched: agent?.status === 'active', byMachines: agent?.kind === 'machine' };
    }
    case 'agentKind': {
      const byMachines = pattern.agentKind === 'machine';
      return { isMatched: byMachines ? looked.isAnyMachine : looked.isAnyPerson, byMachines };
    }
    case 'role':
      return { isMatched: looked.roles.has(pattern.role), byMachines: false };
    case 'anyRole':
      return { isMatched: looked.isAnyPersonWithRoles, byMachines: false };
    case 'everyone':
    case 'anyAgent':
      return { isMatched: looked.isAnyPerson, byMachines: false };
    case 'other':
    case undefined:
      return NOBODY;
  }
}
