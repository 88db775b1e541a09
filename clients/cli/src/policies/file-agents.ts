import { isDeepStrictEqual } from 'node:util';
import { GovernanceError, type GovernanceClient, type Schemas } from '../../../typescript/src/index.js';
import { overlap } from '../action-patterns.js';
import { plain } from '../output.js';
import { SettingsError } from '../settings.js';
import { type ApproverGroup, possibleApprovals } from './file-approvers.js';
import { line, type PlanLine } from './plan-text.js';
import type { PolicyFiles, PolicyTest } from './policy-files.js';
import { isSlip } from '../similar-names.js';

type Agent = Schemas['AgentResponse'];
type Plan = Schemas['PolicyPlanResponse'];
type FailedTest = NonNullable<Plan['tests']>['failed'][number];

const MEMBERS = ['description', 'roles', 'capabilities'] as const;
type Member = (typeof MEMBERS)[number];
type Declared = Pick<Agent, 'name' | 'kind' | Member>;

/** What makes an agent what its file says. */
export interface AgentChange {
  readonly change: 'create' | 'update' | 'keep';
  readonly agent: Declared;
  readonly registered: Agent | null;
  /** Members that an update changes. */
  readonly members: readonly Member[];
  /** Of what is to be registered: a registered agent of a similar name, if any, that was probably meant. */
  readonly near: string | null;
}

const LONGEST_PAGE = 1_000;

/** Of the agents in the files; others stay as they are. @throws SettingsError where a kind would have to change. */
export async function agentChanges(governance: GovernanceClient, set: PolicyFiles): Promise<AgentChange[]> {
  const wanted = set.agents.map(declared);
  const { registered, others } = await registeredAmong(
    governance,
    wanted.map(({ name }) => name),
  );
  return wanted.map((agent, index) => {
    const found = registered.get(agent.name) ?? null;
    if (found === null) {
      const near = others.find((name) => isSlip(agent.name, name)) ?? null;
      return { change: 'create', agent, registered: null, members: [], near };
    }
    if (found.kind !== agent.kind) {
      const message = `cannot become ${agent.kind}: "${agent.name}" is registered as ${found.kind}, and that never changes`;
      throw new SettingsError(plain(set.located({ field: `agents[${index}].kind`, message })));
    }
    const members = MEMBERS.filter((member) => !isDeepStrictEqual(agent[member], found[member]));
    return { change: members.length > 0 ? 'update' : 'keep', agent, registered: found, members, near: null };
  });
}

/** With the defaults of the service, and with the name as it keeps it. */
function declared({ name, kind, description, roles, capabilities }: Schemas['CreateAgentRequest']): Declared {
  return {
    name: name.normalize('NFC'),
    kind: kind ?? 'machine',
    description: description ?? '',
    roles: roles ?? [],
    capabilities: capabilities ?? [],
  };
}

interface Registered {
  readonly registered: ReadonlyMap<string, Agent>;
  /** Names of others; all of them where an agent is not registered. */
  readonly others: readonly string[];
}

async function registeredAmong(governance: GovernanceClient, names: readonly string[]): Promise<Registered> {
  const left = new Set(names);
  const registered = new Map<string, Agent>();
  const others: string[] = [];
  if (left.size === 0) return { registered, others };
  for await (const agent of governance.pages('/api/v1/agents', { query: { limit: LONGEST_PAGE } })) {
    if (left.delete(agent.name)) registered.set(agent.name, agent);
    else others.push(agent.name);
    if (left.size === 0) break;
  }
  return { registered, others };
}

/** Of agents that would be registered next to one that was probably meant. */
export function secondAgents(set: PolicyFiles, changes: readonly AgentChange[]): string[] {
  return changes.flatMap(({ agent: { name }, near }, index) => {
    const message = `is "${name}": did you mean "${String(near)}", which is registered? This would register a second one`;
    return near === null ? [] : set.located({ field: `agents[${index}].name`, message });
  });
}

/** New agents: nobody can act as one yet, so they may come before the policies that name them. */
export async function register(
  governance: GovernanceClient,
  set: PolicyFiles,
  changes: readonly AgentChange[],
): Promise<void> {
  for (const [index, { change, agent }] of changes.entries())
    if (change === 'create') await located(set, index, governance.post('/api/v1/agents', { body: agent }));
}

/** Agents that are registered, unless somebody else has changed them since the plan. */
export async function update(
  governance: GovernanceClient,
  set: PolicyFiles,
  changes: readonly AgentChange[],
): Promise<void> {
  for (const [index, { change, agent, registered, members }] of changes.entries()) {
    if (change !== 'update' || registered === null) continue;
    const body = Object.fromEntries(members.map((member) => [member, agent[member]]));
    const headers = { 'If-Match': `"${registered.revision}"` };
    await located(set, index, governance.patch('/api/v1/agents/{id}', { path: { id: registered.id }, body, headers }));
  }
}

async function located(set: PolicyFiles, index: number, answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof GovernanceError)) throw error;
    const { details, message } = error;
    const faults = details.length === 0 ? [{ field: '', message }] : details;
    const texts = faults.map((fault) => {
      const field = `agents[${index}]${fault.field === '' ? '' : `.${fault.field}`}`;
      return set.located({ field, message: fault.message });
    });
    throw new SettingsError(...texts);
  }
}

/** A plan of policies knows agents as they are registered, and others by the roles and names that policies list. */
export const UNLISTED_RIGHTS =
  'The effects are those for agents as they are registered now. For what an agent of these files may do, write a test.';

/** Whether agents would be able to do, or be allowed, something else. */
export function areRightsChanged(changes: readonly AgentChange[]): boolean {
  return changes.some(
    ({ change, members }) => change === 'create' || members.some((member) => member !== 'description'),
  );
}

export function agentLines(changes: readonly AgentChange[]): PlanLine[] {
  const lines = changes.flatMap(({ change, agent, registered, members }) => {
    const { name, kind, roles, capabilities } = agent;
    if (change === 'create') {
      const has = `roles ${listed(roles)}; capabilities ${listed(capabilities)}`;
      return line('+', `register   ${name} (${kind}): ${has}`);
    }
    const parts = members.map((member) => `${member} ${listed(registered?.[member])} → ${listed(agent[member])}`);
    return change === 'update' ? line('!', `change     ${name}: ${parts.join('; ')}`) : [];
  });
  return areRightsChanged(changes) ? [...lines, line('!', UNLISTED_RIGHTS)] : lines;
}

function listed(value: string | readonly string[] = ''): string {
  return [value].flat().join(', ') || 'none';
}

/** Tests of an agent as the files make it: the service knows it as it is registered, if at all. */
export function askedTests(set: PolicyFiles, changes: readonly AgentChange[]): PolicyTest[] {
  return set.tests.map((test) => {
    const changed = changedAgent(test, changes);
    if (changed === undefined) return test;
    const { name, kind, roles } = changed;
    const { agent: _, ...others } = test;
    return { ...others, subject: { name, kind, roles } };
  });
}

/** The plan with the answers to tests of agents that lack the capability, which the service does not ask of a subject. */
export function judged(set: PolicyFiles, changes: readonly AgentChange[], plan: Plan): Plan {
  const { tests } = plan;
  if (tests === undefined) return plan;
  const unable = new Set(
    set.tests.flatMap((test, index) => {
      const agent = changedAgent(test, changes);
      return agent === undefined || agent.capabilities.some((capability) => overlap(capability, test.action))
        ? []
        : index;
    }),
  );
  const denied = [...unable].flatMap((index): FailedTest[] => {
    const { expect = 'deny', by = null } = set.tests[index] ?? {};
    if (expect === 'deny' && by === null) return [];
    return [{ index, expect, effect: 'deny', reason: 'capability_missing', policies: [] }];
  });
  const failed = [...tests.failed.filter(({ index }) => !unable.has(index)), ...denied];
  failed.sort((one, other) => one.index - other.index);
  return { ...plan, tests: { passed: set.tests.length - failed.length, failed } };
}

function changedAgent({ agent }: PolicyTest, changes: readonly AgentChange[]): Declared | undefined {
  const name = agent?.normalize('NFC');
  const isMeant = ({ change, registered, agent: { name: declaredName } }: AgentChange): boolean =>
    change !== 'keep' && declaredName === name && registered?.status !== 'suspended';
  return changes.find(isMeant)?.agent;
}

/** A warning of a plan that nobody has a role or name, or is capable of an action. */
const NOBODY = /: "(.*)" is an? (role|name|action) that no agent (?:has|is capable of)/;

/** A warning of a plan that nobody could approve. */
const NO_APPROVER = /No active agent matches approval\.approvers\[(\d+)\] \(.*\)\.$/;

/** The groups of approvers of the policy that a warning is about. */
function groupsOf(set: PolicyFiles, warning: string): readonly ApproverGroup[] {
  const policy = set.policies.find(({ name, version }) => warning.startsWith(`${name} (version ${version}): `));
  return policy?.approval?.approvers ?? [];
}

/** True if the agents of the files fill the group that no registered agent matches. */
function isFilled(warning: string, set: PolicyFiles, changes: readonly AgentChange[]): boolean {
  const [, index] = NO_APPROVER.exec(warning) ?? [];
  const group = index === undefined ? undefined : groupsOf(set, warning)[Number(index)];
  if (group === undefined) return false;
  const agents = changes.filter(isActive).map(({ agent }) => agent);
  // Who has a passkey is said by a warning of its own.
  return possibleApprovals([{ ...group, signed: false }], agents) >= (group.approvals ?? 1);
}

/** A warning of a plan that too few agents could approve. */
const TOO_FEW =
  /need (\d+) approvals, each of another reviewer, and the active agents that match can give (\d+) of them/;

function isActive({ registered }: AgentChange): boolean {
  return registered?.status !== 'suspended';
}

/**
 * True if the agents of the files end a shortage: by themselves, or by those that fill the only group and did not before.
 * Which groups other registered agents fill is not known here.
 */
function isEnded(warning: string, set: PolicyFiles, changes: readonly AgentChange[]): boolean {
  const [, needed = '', possible = ''] = TOO_FEW.exec(warning) ?? [];
  if (needed === '') return false;
  const groups = groupsOf(set, warning);
  const active = changes.filter(isActive);
  const agents = active.map(({ agent }) => agent);
  if (possibleApprovals(groups, agents) >= Number(needed)) return true;
  const added = active.filter(({ registered }) => registered === null || possibleApprovals(groups, [registered]) === 0);
  const isOnly = groups.length === 1;
  const more = possibleApprovals(
    groups,
    added.map(({ agent }) => agent),
  );
  return isOnly && Number(possible) + more >= Number(needed);
}

/** The warnings of a plan except those that the agents of the files make untrue. */
export function remaining(set: PolicyFiles, warnings: readonly string[], changes: readonly AgentChange[]): string[] {
  const agents = changes.map(({ agent }) => agent);
  return warnings.filter((warning) => {
    if (isFilled(warning, set, changes) || isEnded(warning, set, changes)) return false;
    const [, text = '', what] = NOBODY.exec(warning) ?? [];
    if (what === 'role') return !agents.some(({ roles }) => roles.some((role) => `role:${role}` === text));
    if (what === 'name') return !agents.some(({ name }) => name === text.replace(/^agent:/, '').normalize('NFC'));
    const able = agents.flatMap(({ capabilities }) => capabilities);
    return what === undefined || !able.some((capability) => overlap(capability, text));
  });
}
