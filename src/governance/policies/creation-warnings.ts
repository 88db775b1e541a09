import { type PolicyCondition, isOnParameter } from './conditions/condition';
import { isReference } from './conditions/operand';
import { prefixWarning } from './conditions/prefix-warning';
import { listedTypeFault, resourcePatternFault } from './patterns/resources';
import { type SubjectPattern, deadWarning, parseSubject, subjectWarning } from './patterns/subjects';
import { splitSubject } from './patterns/principals';
import { normaliseAgentName } from '../agents/agent-name';
import { labelFault } from '../../core/values/label-fault';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { Injectable } from '@nestjs/common';
import { type Agent, AGENT } from '../agents/agent.entity';
import { IssuedKeys } from '../../http/authentication/authentication';
import { findAgents } from '../agents/find-agent';
import { teamConditions } from '../../ledger/records/visibility';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Condition } from '../../ledger/kinds/record-page';
import { PasskeyHolders } from '../passkeys/passkeys.service';
import { type ApproverGroup, PRINCIPAL } from './approval/approval-requirement';
import { SecretRedaction } from '../secrets/secret-redaction';
import { secretWarnings } from './secret-warnings';
import { ApproverGroups } from './approval/approver-groups';
import { ApproverShortage } from './approval/approver-shortage';
import type { PolicyContent } from './policy-content';
import { subjectOf, type AgentSubject, type PolicyAgent } from './patterns/subjects';
import { isSeenFrom } from './team-policies';
import { MAX_CAPABILITIES, unknownNames } from './unknown-names';

/** Who could approve for a group. */
interface ApproverCandidates {
  /** Whether an active agent matches. */
  readonly isMatched: boolean;
  readonly byMachines: boolean;
}

const NOBODY: ApproverCandidates = { isMatched: false, byMachines: false };
const ACTIVE: Condition = { column: 'status', comparison: 'equals', value: 'active' };
const PERSON: Condition = { column: 'kind', comparison: 'equals', value: 'human' };
const MACHINE: Condition = { ...PERSON, value: 'machine' };
/** Agents read at once where no index can be used. */
const CHUNK = 1_000;
const MAX_NAME_WARNINGS = 20;
/** If more agents are registered, a created policy is not compared with their names. */
const MAX_NAMED_AGENTS = 10_000;
const BOTH = ['execute', 'entities'] as const;
const OWN_CLAIMS =
  'Conditions on claims, while a key bound to an agent has both scopes, execute and entities: an agent could write the claims itself.';
const UNSIGNED =
  "approval.riskLevel is critical and no group is signed: whoever has taken over a reviewer's session, or drives their browser, can approve.";

/**
 * Warnings for policies being created: parts that match nothing, that match more than they seem to, or that need
 * approvers who do not exist.
 */
@Injectable()
export class CreationWarnings {
  constructor(
    private readonly records: RecordReader,
    private readonly holders: PasskeyHolders,
    private readonly keys: IssuedKeys,
    private readonly secrets: SecretRedaction,
  ) {}

  /**
   * Looked up together, in few statements.
   * @param team of all policies: its machines and people count; null: everybody.
   * @param declared active agents as the same commit makes them, new or in place of those of the same names.
   */
  async warningsFor(
    policies: readonly PolicyContent[],
    team: string | null,
    declared: readonly PolicyAgent[] = [],
  ): Promise<ReadonlyMap<PolicyContent, string[]>> {
    const mistaken = new Set<string>();
    const approvers = new Set<string>();
    for await (const { subjects, approval } of yieldBetween(policies)) {
      for (const name of subjects.flatMap((subject) => mistakenName(subject) ?? [])) mistaken.add(name);
      for (const { subjects: groupSubjects } of approval?.approvers ?? [])
        for (const subject of groupSubjects) approvers.add(subject);
    }
    const agents = new Set((await this.namedAgents(mistaken, team, declared)).keys());
    const isWriting = policies.some(hasClaim) && (await this.keys.someBoundHas(BOTH));
    const candidates = await this.candidatesFor(approvers, team, declared);
    const unheld = await this.unheld(policies.flatMap(({ approval }) => approval?.approvers ?? []));
    const shortages = await this.shortages(policies, team, declared);
    const warnings = new Map<PolicyContent, string[]>();
    for await (const policy of yieldBetween(policies)) {
      const isCritical = policy.approval?.riskLevel === 'critical';
      const groups = policy.approval?.approvers ?? [];
      const ofApprovers = groups.flatMap((group, index) => {
        const members = group.subjects.map((subject) => candidates.get(subject) ?? NOBODY);
        return approverWarnings(group, index, members, unheld.has(group));
      });
      // Where nobody can fill a group, that says it all.
      const isNamed = groups.some(
        (group) => unheld.has(group) || !group.subjects.some((subject) => candidates.get(subject)?.isMatched === true),
      );
      const ofSubjects = mistakenSubjects(policy.subjects, agents);
      warnings.set(policy, [
        ...policyWarnings(policy),
        ...ofSubjects,
        ...conditionWarnings(policy),
        ...secretWarnings(policy, (path) => this.secrets.covers(path)),
        ...ofApprovers,
        ...(isNamed ? [] : shortageWarnings(shortages.get(policy))),
        ...(isCritical && !groups.some(({ signed }) => signed === true) ? [UNSIGNED] : []),
        ...(isWriting && hasClaim(policy) ? [OWN_CLAIMS] : []),
      ]);
    }
    return warnings;
  }

  /**
   * Of names, roles and actions that nothing has, in a policy that is created.
   * @param inForce the policies that are in force, of which one may be replaced.
   */
  async nameWarnings(policy: PolicyContent, inForce: readonly PolicyContent[]): Promise<string[]> {
    const agents: AgentSubject[] = [];
    const capabilities = new Set<string>();
    const conditions = policy.team === null ? [] : teamConditions(AGENT, policy.team);
    const range = { conditions, order: 'asc', position: null, atOnce: CHUNK } as const;
    const columns = ['name', 'kind', 'roles', 'team', 'capabilities'] as const;
    for await (const chunk of this.records.columns(AGENT, columns, range)) {
      if (agents.length + chunk.length > MAX_NAMED_AGENTS) return [];
      for (const agent of chunk) {
        agents.push(subjectOf(agent));
        for (const capability of agent.capabilities) capabilities.add(capability);
      }
    }
    const others = inForce.flatMap((other) =>
      other.name === policy.name || !isSeenFrom(policy.team, other)
        ? []
        : { ...namesIn(other), isBefore: true, isAfter: true },
    );
    const registered = { agents, capabilities: capabilities.size > MAX_CAPABILITIES ? null : capabilities };
    const all = [...others, { ...namesIn(policy), isBefore: false, isAfter: true }];
    return unknownNames(all, registered)
      .slice(0, MAX_NAME_WARNINGS)
      .map(({ sentence }) => sentence);
  }

  /** Those whose groups cannot all be filled by different active agents. */
  private async shortages(
    policies: readonly PolicyContent[],
    team: string | null,
    declared: readonly PolicyAgent[],
  ): Promise<ReadonlyMap<PolicyContent, ApproverShortage>> {
    const shortages = new Map<PolicyContent, ApproverShortage>();
    for (const policy of policies)
      if (policy.approval !== null) shortages.set(policy, new ApproverShortage(policy.approval.approvers));
    const open = new Set(shortages.values());
    const isSigned = policies.some(({ approval }) => approval?.approvers.some(({ signed }) => signed === true));
    const range = { conditions: [ACTIVE], order: 'asc', position: null, atOnce: CHUNK } as const;
    if (open.size === 0) return shortages;
    const count = async (agents: readonly PolicyAgent[]): Promise<void> => {
      const holders = await this.holders.among(isSigned ? agents.map(({ id }) => id) : []);
      for await (const agent of yieldBetween(agents.filter((one) => isSeenFrom(team, one))))
        for (const shortage of open) {
          shortage.count(agent, holders.has(agent.id));
          if (shortage.isOver) open.delete(shortage);
        }
    };
    const replaced = new Set(declared.map(({ name }) => name));
    await count(declared);
    for await (const agents of this.records.columns(AGENT, ['name', 'kind', 'roles', 'team'], range)) {
      if (open.size === 0) break;
      await count(agents.filter(({ name }) => !replaced.has(name)));
    }
    return shortages;
  }

  /** Who could approve, by subject. */
  private async candidatesFor(
    subjects: ReadonlySet<string>,
    team: string | null,
    declared: readonly PolicyAgent[],
  ): Promise<ReadonlyMap<string, ApproverCandidates>> {
    const patterns = Array.from(subjects, parseSubject);
    const idsOrNames = patterns.flatMap((pattern) => (pattern.kind === 'agent' ? [pattern.idOrName] : []));
    const agents = await this.namedAgents(new Set(idsOrNames), team, declared);
    const people = declared.filter(({ kind }) => kind === 'human');
    const rolesInUse = await this.held(
      new Set(patterns.flatMap((pattern) => (pattern.kind === 'role' ? pattern.role : []))),
      declared,
    );
    const isMatched = async (pattern: SubjectPattern): Promise<boolean> => {
      switch (pattern.kind) {
        case 'agent':
          return agents.get(pattern.idOrName)?.status === 'active';
        case 'agentKind':
          return (
            declared.some((agent) => agent.kind === pattern.agentKind && isSeenFrom(team, agent)) ||
            (pattern.agentKind === 'human'
              ? this.isAny([PERSON])
              : this.isAny([MACHINE, ...(team === null ? [] : teamConditions(AGENT, team))]))
          );
        case 'role':
          return rolesInUse.has(pattern.role);
        case 'anyRole':
          return people.some(({ roles }) => roles.length > 0) || this.isAny([PERSON], ({ roles }) => roles.length > 0);
        case 'everyone':
        case 'anyAgent':
          return people.length > 0 || this.isAny([PERSON]);
        case 'other':
          return false;
      }
    };
    const candidates = new Map<string, ApproverCandidates>();
    for await (const subject of yieldBetween(subjects)) {
      const pattern = parseSubject(subject);
      const isNamed = pattern.kind === 'agent' && agents.get(pattern.idOrName)?.kind === 'machine';
      // Only a request says who the principal is: some person.
      if (subject === PRINCIPAL) candidates.set(subject, { isMatched: true, byMachines: false });
      else
        candidates.set(subject, {
          isMatched: await isMatched(pattern),
          byMachines: isNamed || subject === 'kind:machine',
        });
    }
    return candidates;
  }

  /** Those of the roles that some active person has. */
  private async held(roles: ReadonlySet<string>, declared: readonly PolicyAgent[]): Promise<ReadonlySet<string>> {
    const held = new Set<string>();
    if (roles.size === 0) return held;
    const add = (agents: readonly Pick<PolicyAgent, 'roles'>[]): void => {
      for (const role of agents.flatMap((agent) => agent.roles)) if (roles.has(role)) held.add(role);
    };
    const replaced = new Set(declared.map(({ name }) => name));
    add(declared.filter(({ kind }) => kind === 'human'));
    const people = { conditions: [PERSON, ACTIVE], order: 'asc', position: null, atOnce: CHUNK } as const;
    for await (const chunk of this.records.columns(AGENT, ['name', 'roles'], people)) {
      if (held.size === roles.size) break;
      add(chunk.filter(({ name }) => !replaced.has(name)));
    }
    return held;
  }

  /** The signed groups that nobody with a passkey belongs to. */
  private async unheld(groups: readonly ApproverGroup[]): Promise<ReadonlySet<ApproverGroup>> {
    const signedGroups = groups.filter(({ signed, subjects }) => signed === true && !subjects.includes(PRINCIPAL));
    const unheld = new Set(signedGroups);
    if (signedGroups.length === 0) return unheld;
    const members = new ApproverGroups(signedGroups);
    for await (const ids of this.holders.all()) {
      const keys = [...ids].map((id) => [id]);
      for (const agent of await this.records.allAmong(AGENT, ['id'], keys))
        if (agent.status === 'active')
          for (const group of members.groupsFor(agent).flatMap((index) => signedGroups[index] ?? []))
            unheld.delete(group);
      if (unheld.size === 0) break;
    }
    return unheld;
  }

  private async namedAgents(
    idsOrNames: ReadonlySet<string>,
    team: string | null,
    declared: readonly PolicyAgent[],
  ): Promise<ReadonlyMap<string, Pick<Agent, 'kind' | 'status' | 'team'>>> {
    const agents = await findAgents(this.records, idsOrNames);
    const declaredByName = new Map(declared.map((agent) => [agent.name, agent]));
    const declaredAgents = [...idsOrNames].flatMap((idOrName) => {
      const agent = declaredByName.get(normaliseAgentName(idOrName));
      return agent === undefined ? [] : [[idOrName, { ...agent, status: 'active' }] as const];
    });
    const all: (readonly [string, Pick<Agent, 'kind' | 'status' | 'team'>])[] = [...agents, ...declaredAgents];
    return new Map(all.filter(([, agent]) => isSeenFrom(team, agent)));
  }

  private async isAny(conditions: readonly Condition[], isMeant?: (agent: Agent) => boolean): Promise<boolean> {
    const atOnce = isMeant === undefined ? 1 : CHUNK;
    for await (const agents of this.records.chunks(AGENT, [...conditions, ACTIVE], atOnce))
      if (agents.some(isMeant ?? (() => true))) return true;
    return false;
  }
}

function hasClaim({ conditions }: PolicyContent): boolean {
  return conditions.some((condition) => 'claim' in condition);
}

type Names = Pick<PolicyContent, 'name' | 'version' | 'subjects' | 'actions' | 'approval'>;

function namesIn({ name, version, subjects, actions, approval }: PolicyContent): Names {
  return { name, version, subjects, actions, approval };
}

function shortageWarnings(shortage: ApproverShortage | undefined): string[] {
  if (shortage === undefined || shortage.isOver) return [];
  const { needed, possible } = shortage;
  return [
    `approval.approvers need ${needed} approvals, each of another reviewer, and the active agents that match can give ${possible} of them: ` +
      'no request can be approved.',
  ];
}

/** Says if currently nobody could approve for a group, or sign for it, or if a machine could. */
function approverWarnings(
  { subjects }: ApproverGroup,
  index: number,
  candidates: readonly ApproverCandidates[],
  isUnheld: boolean,
): string[] {
  const group = `approval.approvers[${index}] (${subjects.join(', ')})`;
  return [
    ...(candidates.some(({ isMatched }) => isMatched) ? [] : [`No active agent matches ${group}.`]),
    ...(isUnheld ? [`Nobody with a passkey matches ${group}, which is signed.`] : []),
    ...(candidates.some(({ byMachines }) => byMachines) ? [`Machines can approve for ${group}.`] : []),
  ];
}

/**
 * Names what in a policy matches nothing, and why. Only policies stored by an earlier version can have such resources
 * or types: new ones are refused.
 */
export function policyWarnings({ subjects, actions, resources, resourceTypes }: PolicyContent): string[] {
  return [
    ...subjects.flatMap((subject) => subjectWarning(subject) ?? []),
    ...actions.flatMap((action) => deadWarning(action, 'an action', labelFault(action)) ?? []),
    ...resources.flatMap((resource) => deadWarning(resource, 'a resource', resourcePatternFault(resource)) ?? []),
    ...resourceTypes.flatMap((type) => deadWarning(type, 'a resource type', listedTypeFault(type)) ?? []),
  ];
}

/**
 * Warns that a policy which forbids also applies to actions that lack the parameters its conditions refer to, and of
 * conditions that seem to check a path, a host or a command, or to limit an amount, and do not.
 */
function conditionWarnings(policy: PolicyContent): string[] {
  const ofPrefixes = policy.conditions.flatMap((condition, index) => {
    const warning = condition.op === 'prefix' ? prefixWarning(condition.parameter, condition.value) : undefined;
    return warning === undefined ? [] : `conditions[${index}] ${warning}`;
  });
  return [...lackWarnings(policy), ...ofPrefixes, ...amountWarnings(policy)];
}

const BOUNDS: Readonly<Record<string, 'upper' | 'lower' | 'both' | undefined>> = {
  lt: 'upper',
  lte: 'upper',
  gt: 'lower',
  gte: 'lower',
  eq: 'both',
  in: 'both',
};

/** Of parameters that an allow limits at the top only. */
function amountWarnings({ effect, conditions, limits }: PolicyContent): string[] {
  if (effect !== 'allow') return [];
  const bounds = conditions.flatMap((one) => (isOnParameter(one) ? [{ ...one, bound: BOUNDS[one.op] }] : []));
  const below = new Set(bounds.flatMap(({ bound, parameter }) => (bound === 'upper' ? parameter : [])));
  for (const { bound, parameter } of bounds) if (bound === 'lower' || bound === 'both') below.delete(parameter);
  // A limit counts no negative amount, and so keeps it from matching.
  for (const { of } of limits) if (of !== undefined) below.delete(of);
  return [...below].map(
    (parameter) =>
      `${parameter} has an upper bound and no lower one: zero and negative numbers are allowed. Add a condition with "gt" or "gte".`,
  );
}

function lackWarnings({ effect, actions, conditions }: PolicyContent): string[] {
  if (effect === 'allow' || !actions.includes('*')) return [];
  const parameters = [...new Set(conditions.flatMap(parametersOf))];
  const lacked = parameters.filter(
    (parameter) => !conditions.some((condition) => isFalseWithout(condition, parameter)),
  );
  if (lacked.length === 0) return [];
  return [`The action "*" with conditions: this holds for every action whose parameters lack ${lacked.join(', ')}.`];
}

function parametersOf(condition: PolicyCondition): string[] {
  const own = isOnParameter(condition) ? [condition.parameter] : [];
  const { value } = condition;
  return isReference(value) && 'parameter' in value ? [...own, value.parameter] : own;
}

/** True if the condition requires the parameter, or a member of it, to exist. */
function isFalseWithout(condition: PolicyCondition, parameter: string): boolean {
  if (!isOnParameter(condition) || condition.op !== 'exists' || !condition.value) return false;
  return condition.parameter === parameter || condition.parameter.startsWith(`${parameter}/`);
}

/**
 * The name that a subject would have as an agent. Null where it cannot be mistaken for one: only `<type>:<id>` can, which
 * is read as a subject that is not an agent.
 */
function mistakenName(subject: string): string | null {
  const pattern = parseSubject(subject);
  return pattern.kind === 'other' && pattern.id !== '*' ? normaliseAgentName(subject) : null;
}

/** Names the subjects that were probably meant as an agent. @param agents names that agents have. */
function mistakenSubjects(subjects: readonly string[], agents: ReadonlySet<string>): string[] {
  const mistaken = subjects.filter((subject) => agents.has(mistakenName(subject) ?? ''));
  return mistaken.map((subject) => {
    const { type, id } = splitSubject(subject);
    return `"${subject}" means "${id}" of the type "${type}", not the agent with that name, which is "agent:${subject}".`;
  });
}
