import { yieldBetween } from '../../core/concurrency/time-slice';
import type { PolicyDefaultEffect } from '../../core/config/variables/governance-variables';
import { actionPatternFault, matchesAction, patternsAround } from '../../core/values/action-pattern';
import type { Agent } from '../agents/agent.entity';
import { type PlannedPolicy, type PlannedSides, plannedPolicy } from '../policy-plans/effects/planned-match';
import type { PolicyRules } from '../policies/evaluation/compiled-policy';
import { subjectOf, subjectText, textsOf } from '../policies/patterns/subjects';

/** Basis of what an agent may do: the agent, and the policies in force. */
export interface AccessBasis {
  readonly agent: Pick<Agent, 'id' | 'name' | 'kind' | 'roles' | 'capabilities' | 'status' | 'team'>;
  readonly policies: readonly PolicyRules[];
}

const BEFORE: PlannedSides = { isBefore: true, isAfter: false, isNew: false };
const AFTER: PlannedSides = { isBefore: false, isAfter: true, isNew: false };
const BOTH: PlannedSides = { isBefore: true, isAfter: true, isNew: false };

/** Lower than any priority of a policy. */
const LAST = -(2 ** 31) - 2;

/** Id of the default effect in a plan; no policy has it. */
const DEFAULT_ID = '';

/** True for the id of a policy that stands for the default effect. */
export function isDefault(id: string | null): boolean {
  return id === DEFAULT_ID;
}

/**
 * Returns the plan from nothing allowed to the policies in force, whose effects are what the agent may do. With the
 * default effect `allow`, these include all that no policy is about.
 */
export async function accessPlan(
  { agent, policies }: AccessBasis,
  defaultEffect: PolicyDefaultEffect,
): Promise<PlannedPolicy[]> {
  const capabilities = capabilitiesOf(agent);
  const isDenied = defaultEffect === 'deny';
  const plan = [
    byDefault(agent, 'deny', isDenied ? ['*'] : [...capabilities], isDenied ? BOTH : BEFORE),
    ...(await applicablePolicies({ agent, policies }, capabilities)).map((policy) =>
      plannedPolicy(policy, policy.id, AFTER),
    ),
  ];
  return capabilities.size === 0 ? [] : plan;
}

/** Returns the plan whose effects are the changes for an agent. @param before undefined if the agent did not exist */
export async function accessChange(
  before: AccessBasis | undefined,
  after: AccessBasis,
  defaultEffect: PolicyDefaultEffect,
): Promise<PlannedPolicy[]> {
  const plan = new Map<string, PlannedPolicy>();
  for (const [basis, sides] of [[before, BEFORE] as const, [after, AFTER] as const]) {
    if (basis?.agent.status !== 'active') continue;
    const capabilities = capabilitiesOf(basis.agent);
    const allowed = byDefault(after.agent, 'allow', [...capabilities], sides);
    const policies = await applicablePolicies(basis, capabilities);
    const planned = policies.map((policy) => plannedPolicy(policy, policy.id, sides));
    for (const policy of defaultEffect === 'allow' ? [allowed, ...planned] : planned) {
      // Policies on both sides are no change. A policy never changes, but the agent's capabilities do.
      const key = JSON.stringify([policy.id, policy.actions]);
      plan.set(key, plan.has(key) ? { ...policy, ...BOTH } : policy);
    }
  }
  return [byDefault(after.agent, 'deny', ['*'], BOTH), ...plan.values()];
}

function byDefault(
  agent: AccessBasis['agent'],
  effect: PolicyDefaultEffect,
  actions: readonly string[],
  sides: PlannedSides,
): PlannedPolicy {
  const priority = effect === 'deny' ? LAST : LAST + 1;
  const everything = { subjects: subjectsFor(agent), actions, resources: ['*'], resourceTypes: [] };
  const unconditional = { conditions: [], limits: [], onBehalfOf: [], approval: null, team: null };
  return { id: DEFAULT_ID, name: '', version: '', effect, priority, ...everything, ...unconditional, ...sides };
}

/** Returns the policies about the agent, each for this agent alone and for the actions that its capabilities cover. */
async function applicablePolicies(
  { agent, policies }: AccessBasis,
  capabilities: ReadonlySet<string>,
): Promise<PolicyRules[]> {
  const names = new Set(['*', ...textsOf(subjectOf(agent))]);
  const subjects = subjectsFor(agent);
  const applicable: PolicyRules[] = [];
  for await (const policy of yieldBetween(policies)) {
    if (policy.team !== null && policy.team !== agent.team) continue;
    if (!policy.subjects.some((subject) => names.has(subjectText(subject)))) continue;
    const actions = commonActions(policy.actions, capabilities);
    if (actions.length > 0) applicable.push({ ...policy, subjects, actions, team: null });
  }
  return applicable;
}

function subjectsFor({ id }: AccessBasis['agent']): string[] {
  return [`agent:${id}`];
}

/** Returns the valid capabilities. A stored capability that would be refused today matches nothing. */
function capabilitiesOf({ capabilities }: AccessBasis['agent']): ReadonlySet<string> {
  return new Set(capabilities.filter((pattern) => actionPatternFault(pattern) === undefined));
}

/** Returns the patterns of the actions that both lists match. Two patterns are nested or disjoint. */
function commonActions(actions: readonly string[], capabilities: ReadonlySet<string>): string[] {
  const common = actions.flatMap((action) =>
    [action, ...patternsAround(action)].some((pattern) => capabilities.has(pattern))
      ? action
      : [...capabilities].filter((capability) => matchesAction(action, capability)),
  );
  return [...new Set(common)];
}
