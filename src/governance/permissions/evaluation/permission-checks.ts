import type { RequestedAction } from '../permissions';
import {
  type PrincipalInput,
  ON_BEHALF_OF,
  RUN,
  isVouched,
  namedPeople,
  type Principal,
  principalOf,
  unknownPersonFault,
  type Vouches,
} from '../principals';
import type { AgentSubject, EvaluationSubject } from '../../policies/patterns/subjects';
import { type AgentKind, AGENT_KINDS, agentNameFault, normaliseAgentName } from '../../agents/agent-name';
import { NAMED_AGENT } from '../../agents/dto/agent.dto';
import { reservedFaults } from '../../secrets/replacement';
import { SECRET_POINTERS } from '../../secrets/secret-field';
import type { JsonObject } from '../../../core/json/json-value';
import { agentsAsOf, findAgents, type NamedAgents } from '../../agents/find-agent';
import { callerRefused, type FieldFault } from '../../../core/errors/domain-error';
import type { Moment, RecordHistory } from '../../../ledger/record-history';
import type { Caller, Scope } from '../../../ledger/kinds/caller';
import { TEAM, writtenTeam } from '../../agents/team';
import {
  type Members,
  choiceShape,
  freeFormShape,
  isObject,
  listShape,
  member,
  objectShape,
  textShape,
  textsShape,
  type TextLimits,
} from '../../../http/validation/shapes';
import { resourcePathFault, resourceTypeFault } from '../../policies/patterns/resources';
import { exactLabelFault, notComposedFault } from '../../../core/values/label-fault';

/** A check whether a subject may use an action on a resource. */
export interface PermissionCheck extends RequestedAction, CheckParties {
  /** Pointers to secrets in the parameters, in addition to the usual ones. */
  readonly secret?: readonly string[] | undefined;
}

/** The agent or subject that would act, and the principal. */
export interface CheckParties {
  /** A registered agent, with the path of the field that names it, or a subject. */
  readonly who: { readonly agent: string; readonly field: string } | EvaluationSubject;
  /** The principal, with the path of the field that names it. */
  readonly onBehalfOf?: (PrincipalInput & { readonly field: string }) | undefined;
}

/** A check as a client sends it; a member that is null counts as left out. */
export interface CheckInput {
  readonly agent?: string | null | undefined;
  readonly subject?: SubjectInput | null | undefined;
  readonly onBehalfOf?: PrincipalInput | null | undefined;
  readonly run?: string | null | undefined;
  readonly action?: string | null | undefined;
  readonly resourceType?: string | null | undefined;
  readonly resourceId?: string | null | undefined;
  readonly parameters?: JsonObject | null | undefined;
  /** Pointers to secrets in the parameters. */
  readonly secret?: readonly string[] | null | undefined;
}

/** An agent that is not registered. */
export interface SubjectInput {
  readonly name?: string | null;
  readonly roles?: readonly string[] | null;
  readonly kind?: AgentKind | null;
  readonly team?: string | null;
}

/**
 * Returns the checks of a valid request: those of its list, with defaults from the members next to it, or the single
 * one.
 */
export function permissionChecks(defaults: CheckInput, requests: readonly CheckInput[] | undefined): PermissionCheck[] {
  if (requests === undefined) return [permissionCheck(defaults, {}, '')];
  const usual = whoOf(defaults, '');
  return requests.map((input, index) => permissionCheck(input, defaults, `requests[${index}].`, usual));
}

/**
 * Returns a check with defaults for the members that its input leaves out.
 * @param prefix path of the input in the request, for faults
 * @param usual subject or agent if the input names none
 */
export function permissionCheck(
  input: CheckInput,
  defaults: CheckInput,
  prefix: string,
  usual?: PermissionCheck['who'],
): PermissionCheck {
  const who = whoOf(input, prefix) ?? usual;
  const action = input.action ?? defaults.action;
  const resourceType = input.resourceType ?? defaults.resourceType;
  const resourceId = input.resourceId ?? defaults.resourceId;
  if (who === undefined || !isGiven(action) || !isGiven(resourceType) || !isGiven(resourceId))
    throw new Error('A question with a missing part was not refused.');
  const onBehalfOf = principalIn(input, prefix) ?? principalIn(defaults, '');
  const parameters = input.parameters ?? defaults.parameters ?? {};
  const run = input.run ?? defaults.run;
  const secret = input.secret ?? defaults.secret ?? undefined;
  return {
    who,
    ...(onBehalfOf !== undefined && { onBehalfOf }),
    ...(secret !== undefined && { secret }),
    action,
    resourceType,
    resourceId,
    parameters,
    run,
  };
}

function principalIn({ onBehalfOf }: CheckInput, prefix: string): CheckParties['onBehalfOf'] {
  return isGiven(onBehalfOf) ? { ...onBehalfOf, field: `${prefix}onBehalfOf` } : undefined;
}

function whoOf({ agent, subject }: CheckInput, prefix: string): PermissionCheck['who'] | undefined {
  if (isGiven(agent)) return { agent, field: `${prefix}agent` };
  return isGiven(subject) ? unregistered(subject) : undefined;
}

/** Returns the subject of an agent that is not registered. Its id is empty, because no pattern names an empty id. */
function unregistered({ name, roles, kind, team }: SubjectInput): AgentSubject {
  const agentName = normaliseAgentName(name ?? '');
  return { agentId: '', agentName, kind: kind ?? 'machine', roles: roles ?? [], team: team ?? null };
}

/** True unless the value is left out; null counts as left out. */
export function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

/**
 * Returns the checks with the team of their subject: for a caller of a team its own, unless an agent is named.
 * @throws PERMISSION_DENIED for a subject of another team
 */
export function ofCallersTeam(caller: Pick<Caller, 'team'>, checks: readonly PermissionCheck[]): PermissionCheck[] {
  return checks.map((check) => {
    const { who } = check;
    return 'agentId' in who ? { ...check, who: { ...who, team: writtenTeam(caller, who.team) } } : check;
  });
}

/** Loads the agents that checks name, and the people for whom they act, as they are now or were at a moment. */
export async function agentsOf(
  history: RecordHistory,
  caller: Inquirer,
  everybody: readonly CheckParties[],
  asOf?: Moment,
): Promise<NamedAgents> {
  const acting = new Set(everybody.flatMap(({ who }) => ('agent' in who ? who.agent : [])));
  const people = new Set(everybody.flatMap(({ onBehalfOf }) => namedPeople(caller, onBehalfOf)));
  const { team } = caller;
  if (team === undefined) return findAgents(agentsAsOf(history, asOf), new Set([...acting, ...people]));
  // People are in no team, but a caller of one may act for them.
  const principals = await findAgents(agentsAsOf(history, asOf), people);
  const viewer = { agentId: null, effectiveScopes: new Set<Scope>(), team };
  return new Map([
    ...[...principals].filter(([, { kind }]) => kind === 'human'),
    ...(await findAgents(agentsAsOf(history, asOf, viewer), acting)),
  ]);
}

/** The members of a caller that decide which checks it may send. */
export type Inquirer = Vouches & Partial<Pick<Caller, 'agentId' | 'effectiveScopes' | 'team'>>;

/**
 * Returns the principals for whom a caller vouches in a check. A caller with the scopes review and read sees on whose
 * behalf others act, and may check as they do. For its own agent, a caller vouches as in execute.
 */
function vouchesFor(caller: Inquirer, { who, onBehalfOf }: CheckParties, agents: NamedAgents): Vouches {
  const { agentId, effectiveScopes } = caller;
  const reviews = effectiveScopes?.has('review') === true && effectiveScopes.has('read');
  const isOther = 'agent' in who && agents.get(who.agent)?.id !== agentId;
  return onBehalfOf !== undefined && reviews && isOther ? { principals: 'anybody' } : caller;
}

/** Returns the principal of a check, by the rules of {@link principalOf}. */
export function principalOfCheck(
  caller: Inquirer,
  parties: CheckParties,
  agents: NamedAgents,
): Principal | null | undefined {
  return principalOf(vouchesFor(caller, parties, agents), parties.onBehalfOf, agents);
}

/** True if a caller may name the principal of a check. */
export function mayNamePrincipal(caller: Inquirer, parties: CheckParties, agents: NamedAgents): boolean {
  return isVouched(vouchesFor(caller, parties, agents), parties.onBehalfOf, agents);
}

/**
 * True if a check names no agent, or one that the caller may ask about. People are loaded as principals also for a
 * caller of a team, which may not ask about them.
 */
export function isKnownAgent({ team }: Inquirer, { who }: CheckParties, agents: NamedAgents): boolean {
  if (!('agent' in who)) return true;
  const agent = agents.get(who.agent);
  return agent !== undefined && (team === undefined || agent.kind !== 'human');
}

/** Returns faults of a check about an agent, or on behalf of a person, who does not exist. */
export function unknownFaults(caller: Inquirer, parties: CheckParties, agents: NamedAgents): FieldFault[] {
  const { who, onBehalfOf } = parties;
  const faults: FieldFault[] = [];
  if ('agent' in who && !isKnownAgent(caller, parties, agents))
    faults.push({ field: who.field, message: 'must be the id or the name of an existing agent' });
  if (onBehalfOf !== undefined && principalOfCheck(caller, parties, agents) === undefined)
    faults.push(unknownPersonFault(onBehalfOf.field));
  return faults;
}

/**
 * Requires that a caller only checks what {@link requireOwnAgent} admits, for principals that it vouches for.
 * @param agents agents of the checks
 * @throws PERMISSION_DENIED
 */
export function requireMayCheck(caller: Caller, everybody: readonly CheckParties[], agents: NamedAgents): void {
  requireOwnAgent(caller, everybody, agents);
  for (const parties of everybody) principalOfCheck(caller, parties, agents);
}

/**
 * Requires that a caller bound to an agent, without the scope read, only checks for that agent. @throws
 * PERMISSION_DENIED
 */
export function requireOwnAgent(caller: Caller, everybody: readonly CheckParties[], agents: NamedAgents): void {
  const { agentId, effectiveScopes } = caller;
  const isOwn = ({ who }: CheckParties): boolean => 'agent' in who && agents.get(who.agent)?.id === agentId;
  if (agentId !== null && !effectiveScopes.has('read') && !everybody.every(isOwn))
    throw callerRefused('not_this_agent');
}

const MAX_REQUESTS = 1_000;
const MAX_EXPLAINED = 50;

/** Limits of an action, as in execute. */
export const ACTION: TextLimits = { max: 100, rule: notComposedFault };
export const RESOURCE_TYPE: TextLimits = { max: 100, rule: resourceTypeFault };
export const RESOURCE_ID: TextLimits = { max: 500, rule: resourcePathFault };

const OPTIONAL = { optional: true };
const EITHER = 'must be left out: agent is given';

/** An agent that is not registered, with the limits of agents; the length of a name counts in normal form C. */
export const SUBJECT = objectShape({
  name: member(textShape({ ...NAMED_AGENT, rule: agentNameFault }), OPTIONAL),
  roles: member(textsShape({ maxItems: 50, item: { max: 100, rule: exactLabelFault } }), { ...OPTIONAL, default: [] }),
  kind: member(choiceShape(AGENT_KINDS), { ...OPTIONAL, default: 'machine' }),
  team: member(textShape(TEAM), OPTIONAL),
});

const QUESTION = objectShape(
  {
    agent: member(textShape(NAMED_AGENT), OPTIONAL),
    subject: member(SUBJECT, OPTIONAL),
    onBehalfOf: member(ON_BEHALF_OF, OPTIONAL),
    run: member(textShape(RUN), OPTIONAL),
    action: member(textShape(ACTION), OPTIONAL),
    resourceType: member(textShape(RESOURCE_TYPE), OPTIONAL),
    resourceId: member(textShape(RESOURCE_ID), OPTIONAL),
    parameters: member(freeFormShape(reservedFaults), OPTIONAL),
    secret: member(SECRET_POINTERS, OPTIONAL),
  },
  (input) => (hasBoth(input) ? [{ at: '.subject', message: EITHER }] : []),
);

export const REQUESTS = listShape(QUESTION, 1, MAX_REQUESTS, 'requests');

export const REQUESTS_DESCRIPTION =
  `Up to ${MAX_REQUESTS} questions (${MAX_EXPLAINED} with \`explain\`), all answered by the same set of policies. Members that a ` +
  'question leaves out are taken from those next to the list; its `agent` or `subject` replaces both of these.';

/** Faults if a check names no subject, or two. */
export function whoFaults(members: Members): readonly FieldFault[] {
  return [...conflictFaults(members), ...missingWho(members, {}, '')];
}

/** Faults if members are missing, or exclude each other. */
export function togetherFaults(members: Members): readonly FieldFault[] {
  const { requests, explain, open } = members;
  const [isOpen, isExplained] = [open === true, explain === true];
  const conflict = [
    ...conflictFaults(members),
    ...(isOpen && requests === undefined ? [{ field: 'open', message: 'goes with requests only' }] : []),
    ...(isOpen && isExplained ? [{ field: 'open', message: 'must be left out: explain is given' }] : []),
  ];
  if (requests === undefined) return [...conflict, ...missingFrom(members, {}, '')];
  if (!Array.isArray(requests)) return conflict;
  const tooMany = isExplained && requests.length > MAX_EXPLAINED;
  return [
    ...conflict,
    ...(tooMany ? [{ field: 'requests', message: `must be at most ${MAX_EXPLAINED} with explain` }] : []),
    ...requests.flatMap((input: unknown, index) =>
      isObject(input) ? missingFrom(input, members, `requests[${index}].`) : [],
    ),
  ];
}

const REQUIRED = ['action', 'resourceType', 'resourceId'] as const;

function missingFrom(input: Members, defaults: Members, prefix: string): FieldFault[] {
  const missing = REQUIRED.filter((name) => !isGiven(input[name]) && !isGiven(defaults[name]));
  return [
    ...missingWho(input, defaults, prefix),
    ...missing.map((name) => ({ field: `${prefix}${name}`, message: 'is required' })),
  ];
}

function missingWho(input: Members, defaults: Members, prefix: string): FieldFault[] {
  const isNamed = [input, defaults].some(({ agent, subject }) => isGiven(agent) || isGiven(subject));
  return isNamed ? [] : [{ field: `${prefix}agent`, message: 'is required, or subject' }];
}

function conflictFaults(members: Members): FieldFault[] {
  return hasBoth(members) ? [{ field: 'subject', message: EITHER }] : [];
}

function hasBoth({ agent, subject }: Members): boolean {
  return isGiven(agent) && isGiven(subject);
}
