import { Injectable } from '@nestjs/common';
import { yieldBetween } from '../../core/concurrency/time-slice';
import type { Condition } from '../../ledger/kinds/record-page';
import { RecordReader } from '../../ledger/reading/record-reader';
import { teamConditions } from '../../ledger/records/visibility';
import { AGENT } from '../agents/agent.entity';
import { normaliseAgentName } from '../agents/agent-name';
import { findAgents } from '../agents/find-agent';
import { PasskeyHolders } from '../passkeys/passkeys.service';
import { type ApproverGroup, PRINCIPAL } from './approval/approval-requirement';
import { ApproverGroups } from './approval/approver-groups';
import { ApproverShortage } from './approval/approver-shortage';
import { type PolicyAgent, type SubjectPattern, parseSubject } from './patterns/subjects';
import type { PolicyContent } from './policy-content';
import { isSeenFrom } from './team-policies';

/** Active agents that a warning may examine and name. */
export interface WarnedOf {
  /**
   * Team of all policies. Only agents of this team and people without a team are considered; null considers all agents.
   */
  readonly team: string | null;
  /** Active agents by name that the same commit creates, or puts in place of registered ones. */
  readonly declared: ReadonlyMap<string, PolicyAgent>;
}

/** Potential approvers for a subject. */
interface ApproverCandidates {
  /** True if an active agent matches. */
  readonly isMatched: boolean;
  readonly byMachines: boolean;
}

const NOBODY: ApproverCandidates = { isMatched: false, byMachines: false };
const ACTIVE: Condition = { column: 'status', comparison: 'equals', value: 'active' };
const PERSON: Condition = { column: 'kind', comparison: 'equals', value: 'human' };
const MACHINE: Condition = { ...PERSON, value: 'machine' };
/** Most subjects of a group that a warning names: warnings are held in memory with their policy. */
const MAX_WARNED_SUBJECTS = 5;
/** Number of agents that one query reads if no index can be used. */
const CHUNK_SIZE = 1_000;

/** Warns of policies whose approvals nobody, or only machines, can give. */
@Injectable()
export class ApproverWarnings {
  constructor(
    private readonly records: RecordReader,
    private readonly holders: PasskeyHolders,
  ) {}

  /** Returns the warnings, from few statements for all policies. */
  async warningsFor(
    policies: readonly PolicyContent[],
    agents: WarnedOf,
  ): Promise<ReadonlyMap<PolicyContent, string[]>> {
    const subjects = new Set<string>();
    for await (const { approval } of yieldBetween(policies))
      for (const group of approval?.approvers ?? []) for (const subject of group.subjects) subjects.add(subject);
    const candidates = await this.candidatesFor(subjects, agents);
    const unheld = await this.unheld(
      policies.flatMap(({ approval }) => approval?.approvers ?? []),
      agents,
    );
    const shortages = await this.shortages(policies, agents);
    const warnings = new Map<PolicyContent, string[]>();
    for await (const policy of yieldBetween(policies)) {
      const groups = policy.approval?.approvers ?? [];
      const ofGroups = groups.flatMap((group, index) => {
        const members = group.subjects.map((subject) => candidates.get(subject) ?? NOBODY);
        return groupWarnings(group, index, members, unheld.has(group));
      });
      // If nobody can fill a group, other warnings add nothing.
      const isNamed = groups.some(
        (group) => unheld.has(group) || !group.subjects.some((subject) => candidates.get(subject)?.isMatched === true),
      );
      warnings.set(policy, [...ofGroups, ...(isNamed ? [] : shortageWarnings(shortages.get(policy)))]);
    }
    return warnings;
  }

  /** Warns of policies whose groups cannot all be filled by different active agents. */
  private async shortages(
    policies: readonly PolicyContent[],
    { team, declared }: WarnedOf,
  ): Promise<ReadonlyMap<PolicyContent, ApproverShortage>> {
    const shortages = new Map<PolicyContent, ApproverShortage>();
    for (const policy of policies)
      if (policy.approval !== null) shortages.set(policy, new ApproverShortage(policy.approval.approvers));
    const open = new Set(shortages.values());
    const isSigned = policies.some(({ approval }) => approval?.approvers.some(({ signed }) => signed === true));
    if (open.size === 0) return shortages;
    const count = async (agents: readonly PolicyAgent[]): Promise<void> => {
      const holders = await this.holders.among(isSigned ? agents.map(({ id }) => id) : []);
      for await (const agent of yieldBetween(agents.filter((agent) => isSeenFrom(team, agent))))
        for (const shortage of open) {
          shortage.count(agent, holders.has(agent.id));
          if (shortage.isOver) open.delete(shortage);
        }
    };
    await count([...declared.values()]);
    for await (const agents of this.active([])) {
      if (open.size === 0) break;
      await count(agents.filter(({ name }) => !declared.has(name)));
    }
    return shortages;
  }

  /** Finds the potential approvers of each subject. */
  private async candidatesFor(
    subjects: ReadonlySet<string>,
    agents: WarnedOf,
  ): Promise<ReadonlyMap<string, ApproverCandidates>> {
    const patterns = Array.from(subjects, parseSubject);
    const idsOrNames = patterns.flatMap((pattern) => (pattern.kind === 'agent' ? [pattern.idOrName] : []));
    const registered = await agentsNamed(this.records, new Set(idsOrNames), agents);
    const rolesInUse = await this.rolesInUse(
      new Set(patterns.flatMap((pattern) => (pattern.kind === 'role' ? pattern.role : []))),
      agents,
    );
    const isMatched = async (pattern: SubjectPattern): Promise<boolean> => {
      switch (pattern.kind) {
        case 'agent':
          return registered.get(pattern.idOrName)?.status === 'active';
        case 'agentKind':
          return this.isAny(agents, pattern.agentKind);
        case 'role':
          return rolesInUse.has(pattern.role);
        case 'anyRole':
          return this.isAny(agents, 'human', ({ roles }) => roles.length > 0);
        case 'everyone':
        case 'anyAgent':
          return this.isAny(agents, 'human');
        case 'other':
          return false;
      }
    };
    const candidates = new Map<string, ApproverCandidates>();
    for await (const subject of yieldBetween(subjects)) {
      const pattern = parseSubject(subject);
      const isMachine = pattern.kind === 'agent' && registered.get(pattern.idOrName)?.kind === 'machine';
      // Only a request determines the principal, which is some person.
      if (subject === PRINCIPAL) candidates.set(subject, { isMatched: true, byMachines: false });
      else
        candidates.set(subject, {
          isMatched: await isMatched(pattern),
          byMachines: isMachine || subject === 'kind:machine',
        });
    }
    return candidates;
  }

  /** Returns the roles that some active person has. */
  private async rolesInUse(roles: ReadonlySet<string>, { declared }: WarnedOf): Promise<ReadonlySet<string>> {
    const inUse = new Set<string>();
    if (roles.size === 0) return inUse;
    const add = (people: readonly PolicyAgent[]): void => {
      for (const role of people.flatMap((person) => person.roles)) if (roles.has(role)) inUse.add(role);
    };
    add([...declared.values()].filter(({ kind }) => kind === 'human'));
    for await (const people of this.active([PERSON])) {
      if (inUse.size === roles.size) break;
      add(people.filter(({ name }) => !declared.has(name)));
    }
    return inUse;
  }

  /** Returns the signed groups without a member who has a passkey. */
  private async unheld(groups: readonly ApproverGroup[], { declared }: WarnedOf): Promise<ReadonlySet<ApproverGroup>> {
    const signedGroups = groups.filter(({ signed, subjects }) => signed === true && !subjects.includes(PRINCIPAL));
    const unheld = new Set(signedGroups);
    if (signedGroups.length === 0) return unheld;
    const members = new ApproverGroups(signedGroups);
    for await (const ids of this.holders.all()) {
      const keys = [...ids].map((id) => [id]);
      for (const agent of await this.records.allAmong(AGENT, ['id'], keys)) {
        if (agent.status !== 'active') continue;
        const matched = members.groupsFor(declared.get(agent.name) ?? agent);
        for (const group of matched.flatMap((index) => signedGroups[index] ?? [])) unheld.delete(group);
      }
      if (unheld.size === 0) break;
    }
    return unheld;
  }

  /** True if there is an active agent of the kind that meets the condition; machines of other teams do not count. */
  private async isAny(
    { team, declared }: WarnedOf,
    kind: PolicyAgent['kind'],
    isMeant: (agent: PolicyAgent) => boolean = () => true,
  ): Promise<boolean> {
    for (const agent of declared.values())
      if (agent.kind === kind && isSeenFrom(team, agent) && isMeant(agent)) return true;
    const conditions = kind === 'human' ? [PERSON] : [MACHINE, ...(team === null ? [] : teamConditions(AGENT, team))];
    for await (const agents of this.active(conditions))
      if (agents.some((agent) => !declared.has(agent.name) && isMeant(agent))) return true;
    return false;
  }

  private active(conditions: readonly Condition[]): AsyncGenerator<readonly PolicyAgent[]> {
    const range = { conditions: [...conditions, ACTIVE], order: 'asc', position: null, atOnce: CHUNK_SIZE } as const;
    return this.records.columns(AGENT, ['name', 'kind', 'roles', 'team'], range);
  }
}

/**
 * Returns the agents that these texts name and a warning may name: as the commit creates them, or else as registered.
 */
export async function agentsNamed(
  records: RecordReader,
  idsOrNames: ReadonlySet<string>,
  { team, declared }: WarnedOf,
): Promise<ReadonlyMap<string, Pick<PolicyAgent, 'kind' | 'team'> & { readonly status: string }>> {
  const registered = await findAgents(records, idsOrNames);
  const agents = [...idsOrNames].flatMap((idOrName) => {
    const declaredAgent = declared.get(registered.get(idOrName)?.name ?? normaliseAgentName(idOrName));
    const agent = declaredAgent === undefined ? registered.get(idOrName) : { ...declaredAgent, status: 'active' };
    return agent === undefined || !isSeenFrom(team, agent) ? [] : [[idOrName, agent] as const];
  });
  return new Map(agents);
}

function shortageWarnings(shortage: ApproverShortage | undefined): string[] {
  if (shortage === undefined || shortage.isOver) return [];
  const { needed, possible } = shortage;
  return [
    `approval.approvers need ${needed} approvals, each of another reviewer, and the active agents that match can give ${possible} of them: ` +
      'no request can be approved.',
  ];
}

/** Warns if currently nobody could approve for a group, or sign for it, or if a machine could. */
function groupWarnings(
  { subjects }: ApproverGroup,
  index: number,
  candidates: readonly ApproverCandidates[],
  isUnheld: boolean,
): string[] {
  const more = subjects.length - MAX_WARNED_SUBJECTS;
  const names = subjects.slice(0, MAX_WARNED_SUBJECTS).join(', ') + (more > 0 ? ` and ${more} more` : '');
  const group = `approval.approvers[${index}] (${names})`;
  return [
    ...(candidates.some(({ isMatched }) => isMatched) ? [] : [`No active agent matches ${group}.`]),
    ...(isUnheld ? [`Nobody with a passkey matches ${group}, which is signed.`] : []),
    ...(candidates.some(({ byMachines }) => byMachines) ? [`Machines can approve for ${group}.`] : []),
  ];
}
