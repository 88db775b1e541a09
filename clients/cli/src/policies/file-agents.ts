import { isDeepStrictEqual } from 'node:util';
import { GovernanceError, type GovernanceClient, type Schemas } from '../../../typescript/src/index.js';
import { overlap } from '../action-patterns.js';
import { plain } from '../output.js';
import { SettingsError } from '../settings.js';
import { type ApproverGroup, hasPrincipal, possibleApprovals } from './file-approvers.js';
import { line, type PlanLine } from './plan-text.js';
import type { PolicyFiles, PolicyTest } from './policy-files.js';
import { isSlip } from '../similar-names.js';

type Agent = Schemas['AgentResponse'];
type Plan = Schemas['PolicyPlanResponse'];
type FailedTest = NonNullable<Plan['tests']>['failed'][number];

const MEMBERS = ['description', 'roles', 'capabilities'] as const;
type Member = (typeof MEMBERS)[number];
type DeclaredAgent = Pick<Agent, 'name' | 'kind' | Member> & { readonly team?: string };

/** The change that makes an agent as its file has it. */
export interface AgentChange {
  readonly change: 'create' | 'update' | 'keep';
  readonly agent: DeclaredAgent;
  readonly registered: Agent | null;
  /** Members that an update changes. */
  readonly members: readonly (Member | 'team')[];
  /** Name of a registered agent that was probably meant in place of a new one; null if there is none. */
  readonly near: string | null;
}

const MAX_PAGE_SIZE = 1_000;

/**
 * Returns the changes of the agents in the files; others stay as they are. @throws SettingsError if a kind would have
 * to change.
 */
export async function agentChanges(governance: GovernanceClient, set: PolicyFiles): Promise<AgentChange[]> {
  const declaredAgents = set.agents.map(declaredAgent);
  const { registered, others } = await registeredAmong(
    governance,
    declaredAgents.map(({ name }) => name),
  );
  return declaredAgents.map((agent, index) => {
    const registeredAgent = registered.get(agent.name) ?? null;
    if (registeredAgent === null) {
      const near = others.find((name) => isSlip(agent.name, name)) ?? null;
      return { change: 'create', agent, registered: null, members: [], near };
    }
    if (registeredAgent.kind !== agent.kind) {
      const message = `cannot become ${agent.kind}: "${agent.name}" is registered as ${registeredAgent.kind}, and that never changes`;
      throw new SettingsError(plain(set.withLocation({ field: `agents[${index}].kind`, message })));
    }
    const isMoved = agent.team !== undefined && agent.team !== registeredAgent.team;
    const changed = MEMBERS.filter((member) => !isDeepStrictEqual(agent[member], registeredAgent[member]));
    const members = [...changed, ...(isMoved ? ['team' as const] : [])];
    return { change: members.length > 0 ? 'update' : 'keep', agent, registered: registeredAgent, members, near: null };
  });
}

/** Returns an agent with the defaults of the service, and with its name in the form in which the service stores it. */
function declaredAgent({
  name,
  kind,
  description,
  roles,
  capabilities,
  team,
}: Schemas['CreateAgentRequest']): DeclaredAgent {
  return {
    name: name.normalize('NFC'),
    kind: kind ?? 'machine',
    description: description ?? '',
    roles: roles ?? [],
    capabilities: capabilities ?? [],
    ...(typeof team === 'string' && { team }),
  };
}

interface RegisteredAgents {
  readonly registered: ReadonlyMap<string, Agent>;
  /** Names of other agents: all of them if an agent of the files is not registered. */
  readonly others: readonly string[];
}

async function registeredAmong(governance: GovernanceClient, names: readonly string[]): Promise<RegisteredAgents> {
  const missingNames = new Set(names);
  const registered = new Map<string, Agent>();
  const others: string[] = [];
  if (missingNames.size === 0) return { registered, others };
  for await (const agent of governance.pages('/api/v1/agents', { query: { limit: MAX_PAGE_SIZE } })) {
    if (missingNames.delete(agent.name)) registered.set(agent.name, agent);
    else others.push(agent.name);
    if (missingNames.size === 0) break;
  }
  return { registered, others };
}

/** Returns warnings of agents that would be registered next to one that was probably meant. */
export function secondAgents(set: PolicyFiles, changes: readonly AgentChange[]): string[] {
  return changes.flatMap(({ agent: { name }, near }, index) => {
    const message = `is "${name}": did you mean "${String(near)}", which is registered? This would register a second one`;
    return near === null ? [] : set.withLocation({ field: `agents[${index}].name`, message });
  });
}

/** Registers new agents. Nobody can act as one yet, so they may come before the policies that name them. */
export async function register(
  governance: GovernanceClient,
  set: PolicyFiles,
  changes: readonly AgentChange[],
): Promise<void> {
  for (const [index, { change, agent }] of changes.entries())
    if (change === 'create') await withLocation(set, index, governance.post('/api/v1/agents', { body: agent }));
}

/** Changes registered agents, unless somebody else has changed them since the plan. */
export async function update(
  governance: GovernanceClient,
  set: PolicyFiles,
  changes: readonly AgentChange[],
): Promise<void> {
  for (const [index, { change, agent, registered, members }] of changes.entries()) {
    if (change !== 'update' || registered === null) continue;
    const body = Object.fromEntries(members.map((member) => [member, agent[member]]));
    const headers = { 'If-Match': `"${registered.revision}"` };
    await withLocation(
      set,
      index,
      governance.patch('/api/v1/agents/{id}', { path: { id: registered.id }, body, headers }),
    );
  }
}

async function withLocation(set: PolicyFiles, index: number, answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    // An error that is no refusal, such as a change that waits for a second person, concerns no line of a file.
    if (!(error instanceof GovernanceError) || (error.status ?? 0) < 400) throw error;
    const { details, message } = error;
    const faults = details.length === 0 ? [{ field: '', message }] : details;
    const texts = faults.map((fault) => {
      const field = `agents[${index}]${fault.field === '' ? '' : `.${fault.field}`}`;
      return set.withLocation({ field, message: fault.message });
    });
    throw new SettingsError(...texts);
  }
}

/** A plan of policies knows agents as they are registered, and others by the roles and names that policies list. */
export const UNLISTED_RIGHTS =
  'The effects are those for agents as they are registered now. For what an agent of these files may do, write a test.';

/** True if agents would be able to do, or be allowed, something else. */
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

function listed(value: string | readonly string[] | null = ''): string {
  return [value ?? ''].flat().join(', ') || 'none';
}

/** Returns the tests, with agents as the files make them: the service knows only registered agents, as they are now. */
export function testsForPlan(set: PolicyFiles, changes: readonly AgentChange[]): PolicyTest[] {
  return set.tests.map((test) => {
    const agent = changedAgent(test, changes);
    if (agent === undefined) return test;
    const { name, kind, roles, team } = agent;
    const { agent: _, ...members } = test;
    return { ...members, subject: { name, kind, roles, ...(team !== undefined && { team }) } };
  });
}

/**
 * Returns the plan with the results of tests whose agents lack the capability, which the service does not require of a
 * subject.
 */
export function withTestResults(set: PolicyFiles, changes: readonly AgentChange[], plan: Plan): Plan {
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
  failed.sort((left, right) => left.index - right.index);
  return { ...plan, tests: { passed: set.tests.length - failed.length, failed } };
}

/**
 * Returns the agent of a test as the files make it; undefined if they do not change it. Its team stays unless they name
 * one.
 */
function changedAgent({ agent }: PolicyTest, changes: readonly AgentChange[]): DeclaredAgent | undefined {
  const name = agent?.normalize('NFC');
  const isMeant = ({ change: kind, registered, agent: { name: declaredName } }: AgentChange): boolean =>
    kind !== 'keep' && declaredName === name && registered?.status !== 'suspended';
  const change = changes.find(isMeant);
  const team = change?.agent.team ?? change?.registered?.team;
  return change && { ...change.agent, ...(typeof team === 'string' && { team }) };
}

/** Matches a warning of a plan that nobody has a role or name, or is capable of an action. */
const NOBODY = /: "(.*)" is an? (role|name|action) that no agent (?:has|is capable of)/;

/** Matches a warning of a plan that nobody could approve. */
const NO_APPROVER = /No active agent matches approval\.approvers\[(\d+)\] \(.*\)\.$/;

/** Returns the groups of approvers of the policy that a warning is about. */
function groupsOf(set: PolicyFiles, warning: string): readonly ApproverGroup[] {
  const policy = set.policies.find(({ name, version }) => warning.startsWith(`${name} (version ${version}): `));
  return policy?.approval?.approvers ?? [];
}

/**
 * Returns the warning of a group that no registered agent matches, as it reads with the agents of the files; null if
 * they fill the group.
 */
function warningWithFiles(warning: string, set: PolicyFiles, changes: readonly AgentChange[]): string | null {
  const [, index] = NO_APPROVER.exec(warning) ?? [];
  const group = index === undefined ? undefined : groupsOf(set, warning)[Number(index)];
  if (group === undefined) return warning;
  const agents = changes.filter(isActive).map(({ agent }) => agent);
  const { subjects } = group;
  const approvals = group.approvals ?? 1;
  // Another warning says who has a passkey.
  const possible = possibleApprovals([{ subjects, approvals }], agents);
  if (possible >= approvals) return null;
  if (possible === 0) return warning;
  const few = `approval.approvers[${index}] needs ${approvals} approvals, each of another reviewer, and the agents of the files can give ${possible} of them: no request can be approved.`;
  return warning.replace(NO_APPROVER, few);
}

/** Matches a warning of a plan that too few agents could approve. */
const TOO_FEW =
  /need (\d+) approvals, each of another reviewer, and the active agents that match can give (\d+) of them/;

function isActive({ registered }: AgentChange): boolean {
  return registered?.status !== 'suspended';
}

/**
 * True if the agents of the files end a shortage: by themselves, or, in the only group, together with those who filled
 * it before. Groups that the principal may fill are not added up, because only one person is the principal. The groups
 * that other registered agents fill are not known here.
 */
function isEnded(warning: string, set: PolicyFiles, changes: readonly AgentChange[]): boolean {
  const [, neededText = '', possible = ''] = TOO_FEW.exec(warning) ?? [];
  if (neededText === '') return false;
  const groups = groupsOf(set, warning);
  const active = changes.filter(isActive);
  const agents = active.map(({ agent }) => agent);
  if (possibleApprovals(groups, agents) >= Number(neededText)) return true;
  const newAgents = active.filter(
    ({ registered }) => registered === null || possibleApprovals(groups, [registered]) === 0,
  );
  const isOnly = groups.length === 1 && !hasPrincipal(groups);
  const more = possibleApprovals(
    groups,
    newAgents.map(({ agent }) => agent),
  );
  return isOnly && Number(possible) + more >= Number(neededText);
}

/** Returns the warnings of a plan, except those that the agents of the files make untrue. */
export function remainingWarnings(
  set: PolicyFiles,
  warnings: readonly string[],
  changes: readonly AgentChange[],
): string[] {
  const agents = changes.map(({ agent }) => agent);
  const withFiles = warnings.flatMap((warning) => warningWithFiles(warning, set, changes) ?? []);
  return withFiles.filter((warning) => {
    if (isEnded(warning, set, changes)) return false;
    const [, text = '', subject] = NOBODY.exec(warning) ?? [];
    if (subject === 'role') return !agents.some(({ roles }) => roles.some((role) => `role:${role}` === text));
    if (subject === 'name') return !agents.some(({ name }) => name === text.replace(/^agent:/, '').normalize('NFC'));
    const able = agents.flatMap(({ capabilities }) => capabilities);
    return subject === undefined || !able.some((capability) => overlap(capability, text));
  });
}
