import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { IssuedKeys } from '../../http/authentication/authentication';
import { RecordReader } from '../../ledger/reading/record-reader';
import { teamConditions } from '../../ledger/records/visibility';
import { AGENT } from '../agents/agent.entity';
import { SecretRedaction } from '../secrets/secret-redaction';
import { agentsNamed, ApproverWarnings } from './approver-warnings';
import {
  conditionWarnings,
  mistakenName,
  mistakenSubjects,
  policyWarnings,
  retentionWarnings,
} from './content-warnings';
import { type AgentSubject, type PolicyAgent, subjectOf } from './patterns/subjects';
import type { PolicyContent } from './policy-content';
import { secretWarnings } from './secret-warnings';
import { isSeenFrom } from './team-policies';
import { MAX_CAPABILITIES, unknownNames } from './unknown-names';

/** Number of agents that one query reads. */
const CHUNK_SIZE = 1_000;
const MAX_NAME_WARNINGS = 20;
/** If more agents are registered, a created policy is not compared with their names. */
const MAX_NAMED_AGENTS = 10_000;
/** Scopes with which an agent can execute actions and write the claims that conditions ask for. */
const CLAIM_WRITING_SCOPES = ['execute', 'entities'] as const;
const OWN_CLAIMS =
  'Conditions on claims, while a key bound to an agent has both scopes, execute and entities: an agent could write the claims itself.';
const UNSIGNED_CRITICAL =
  "approval.riskLevel is critical and no group is signed: whoever has taken over a reviewer's session, or drives their browser, can approve.";

/**
 * Finds what is wrong with policies that are created: parts that match nothing, or more than they seem to, and
 * approvals that nobody can give.
 */
@Injectable()
export class CreationWarnings {
  constructor(
    private readonly records: RecordReader,
    private readonly approvers: ApproverWarnings,
    private readonly keys: IssuedKeys,
    private readonly secrets: SecretRedaction,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Returns the warnings of each policy. Few queries read the rows for all policies.
   * @param team team of all policies. Only agents of this team and people without a team are considered; null considers
   *   all agents.
   * @param declaredAgents active agents that the same commit registers or changes
   */
  async warningsFor(
    policies: readonly PolicyContent[],
    team: string | null,
    declaredAgents: readonly PolicyAgent[] = [],
  ): Promise<ReadonlyMap<PolicyContent, string[]>> {
    const agents = { team, declared: new Map(declaredAgents.map((agent) => [agent.name, agent])) };
    const mistakenNames = new Set<string>();
    for await (const { subjects } of yieldBetween(policies))
      for (const name of subjects.flatMap((subject) => mistakenName(subject) ?? [])) mistakenNames.add(name);
    const registeredNames = new Set((await agentsNamed(this.records, mistakenNames, agents)).keys());
    const canAgentWriteClaims = policies.some(hasClaim) && (await this.keys.hasBoundKeyWith(CLAIM_WRITING_SCOPES));
    const approverWarnings = await this.approvers.warningsFor(policies, agents);
    const warnings = new Map<PolicyContent, string[]>();
    for await (const policy of yieldBetween(policies))
      warnings.set(policy, [
        ...policyWarnings(policy),
        ...mistakenSubjects(policy.subjects, registeredNames),
        ...conditionWarnings(policy),
        ...retentionWarnings(policy, this.configuration.retainContent),
        ...secretWarnings(policy, (path) => this.secrets.covers(path)),
        ...(approverWarnings.get(policy) ?? []),
        ...(isCriticalUnsigned(policy) ? [UNSIGNED_CRITICAL] : []),
        ...(canAgentWriteClaims && hasClaim(policy) ? [OWN_CLAIMS] : []),
      ]);
    return warnings;
  }

  /**
   * Returns warnings about names and roles in a created policy that no agent has, and about actions that no capability
   * covers and no other policy names.
   * @param policiesInForce policies, one of which the created policy may replace
   */
  async nameWarnings(policy: PolicyContent, policiesInForce: readonly PolicyContent[]): Promise<string[]> {
    const agents: AgentSubject[] = [];
    const capabilities = new Set<string>();
    const conditions = policy.team === null ? [] : teamConditions(AGENT, policy.team);
    const range = { conditions, order: 'asc', position: null, atOnce: CHUNK_SIZE } as const;
    const columns = ['name', 'kind', 'roles', 'team', 'capabilities'] as const;
    for await (const chunk of this.records.columns(AGENT, columns, range)) {
      if (agents.length + chunk.length > MAX_NAMED_AGENTS) return [];
      for (const agent of chunk) {
        agents.push(subjectOf(agent));
        for (const capability of agent.capabilities) capabilities.add(capability);
      }
    }
    const others = policiesInForce.flatMap((other) =>
      other.name === policy.name || !isSeenFrom(policy.team, other)
        ? []
        : { ...namesIn(other), isBefore: true, isAfter: true },
    );
    const registered = { agents, capabilities: capabilities.size > MAX_CAPABILITIES ? null : capabilities };
    const all = [...others, { ...namesIn(policy), isBefore: false, isAfter: true }];
    const warnings = await unknownNames(all, registered, MAX_NAME_WARNINGS);
    return warnings.map(({ sentence }) => sentence);
  }
}

function hasClaim({ conditions }: PolicyContent): boolean {
  return conditions.some((condition) => 'claim' in condition);
}

function isCriticalUnsigned({ approval }: PolicyContent): boolean {
  return approval?.riskLevel === 'critical' && !approval.approvers.some(({ signed }) => signed === true);
}

type Names = Pick<PolicyContent, 'name' | 'version' | 'subjects' | 'actions' | 'approval'>;

function namesIn({ name, version, subjects, actions, approval }: PolicyContent): Names {
  return { name, version, subjects, actions, approval };
}
