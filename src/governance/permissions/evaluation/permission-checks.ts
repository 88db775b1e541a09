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
import type { JsonObject } from '../../../core/json/json-value';
import { agentsAsOf, findAgents, type NamedAgents } from '../../agents/find-agent';
import { callerRefused, type FieldFault } from '../../../core/errors/domain-error';
import type { Moment, RecordHistory } from '../../../ledger/record-history';
import type { Caller } from '../../../ledger/caller';
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

/** One question: whether somebody may do something. */
export interface PermissionCheck extends RequestedAction, CheckParties {}

/** Who asks, and for whom. */
export interface CheckParties {
  /** A registered agent, with the path of the field that names it; or a subject. */
  readonly who: { readonly agent: string; readonly field: string } | EvaluationSubject;
  /** With the path of the field that names it. */
  readonly onBehalfOf?: (PrincipalInput & { readonly field: string }) | undefined;
}

/** Members of a question as sent in a request; null counts as left out. */
export interface CheckInput {
  readonly agent?: string | null | undefined;
  readonly subject?: GivenSubject | null | undefined;
  readonly onBehalfOf?: PrincipalInput | null | undefined;
  readonly run?: string | null | undefined;
  readonly action?: string | null | undefined;
  readonly resourceType?: string | null | undefined;
  readonly resourceId?: string | null | undefined;
  readonly parameters?: JsonObject | null | undefined;
}

/** An agent that is not registered. */
export interface GivenSubject {
  readonly name?: string | null;
  readonly roles?: readonly string[] | null;
  readonly kind?: AgentKind | null;
}

/**
 * The questions of a valid request: those of its list, with defaults from the members next to it, or the single one.
 */
export function askedPermissions(defaults: CheckInput, requests: readonly CheckInput[] | undefined): PermissionCheck[] {
  if (requests === undefined) return [askedPermission(defaults, {}, '')];
  const usual = whoOf(defaults, '');
  return requests.map((given, index) => askedPermission(given, defaults, `requests[${index}].`, usual));
}

/** @param prefix of its members' paths in the request. */
export function askedPermission(
  given: CheckInput,
  defaults: CheckInput,
  prefix: string,
  usual?: PermissionCheck['who'],
): PermissionCheck {
  const who = whoOf(given, prefix) ?? usual;
  const action = given.action ?? defaults.action;
  const resourceType = given.resourceType ?? defaults.resourceType;
  const resourceId = given.resourceId ?? defaults.resourceId;
  if (who === undefined || !isGiven(action) || !isGiven(resourceType) || !isGiven(resourceId))
    throw new Error('A question with a missing part was not refused.');
  const onBehalfOf = principalIn(given, prefix) ?? principalIn(defaults, '');
  const parameters = given.parameters ?? defaults.parameters ?? {};
  const run = given.run ?? defaults.run;
  return { who, ...(onBehalfOf !== undefined && { onBehalfOf }), action, resourceType, resourceId, parameters, run };
}

function principalIn({ onBehalfOf }: CheckInput, prefix: string): CheckParties['onBehalfOf'] {
  return isGiven(onBehalfOf) ? { ...onBehalfOf, field: `${prefix}onBehalfOf` } : undefined;
}

function whoOf({ agent, subject }: CheckInput, prefix: string): PermissionCheck['who'] | undefined {
  if (isGiven(agent)) return { agent, field: `${prefix}agent` };
  return isGiven(subject) ? unregistered(subject) : undefined;
}

/** Without an id: no pattern names an empty one. */
function unregistered({ name, roles, kind }: GivenSubject): AgentSubject {
  return { agentId: '', agentName: normaliseAgentName(name ?? ''), kind: kind ?? 'machine', roles: roles ?? [] };
}

/** Null counts as left out. */
export function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

/** The agents that questions are about, and the people for whom they act, as they are now or were at a moment. */
export async function agentsOf(
  history: RecordHistory,
  caller: Vouches,
  everybody: readonly CheckParties[],
  asOf?: Moment,
): Promise<NamedAgents> {
  const named = new Set<string>();
  for (const { who, onBehalfOf } of everybody) {
    if ('agent' in who) named.add(who.agent);
    for (const name of namedPeople(caller, onBehalfOf)) named.add(name);
  }
  return findAgents(agentsAsOf(history, asOf), named);
}

/** A caller, as far as it matters what it may ask. */
export type Inquirer = Vouches & Partial<Pick<Caller, 'agentId' | 'effectiveScopes'>>;

/**
 * Who reviews and reads sees on whose behalf others act, and may ask as they do. For its own agent, a caller vouches as
 * execute demands.
 */
function vouchesFor(caller: Inquirer, { who, onBehalfOf }: CheckParties, agents: NamedAgents): Vouches {
  const { agentId, effectiveScopes } = caller;
  const reviews = effectiveScopes?.has('review') === true && effectiveScopes.has('read');
  const isOther = 'agent' in who && agents.get(who.agent)?.id !== agentId;
  return onBehalfOf !== undefined && reviews && isOther ? { principals: 'anybody' } : caller;
}

/** On whose behalf a question is, as {@link principalOf} says. */
export function principalAsked(
  caller: Inquirer,
  asker: CheckParties,
  agents: NamedAgents,
): Principal | null | undefined {
  return principalOf(vouchesFor(caller, asker, agents), asker.onBehalfOf, agents);
}

/** Whether a caller may name the principal of a question. */
export function mayNamePrincipal(caller: Inquirer, asker: CheckParties, agents: NamedAgents): boolean {
  return isVouched(vouchesFor(caller, asker, agents), asker.onBehalfOf, agents);
}

/** Faults of a question about an agent, or on behalf of a person, who does not exist. */
export function unknownFaults(caller: Inquirer, asker: CheckParties, agents: NamedAgents): FieldFault[] {
  const { who, onBehalfOf } = asker;
  const faults: FieldFault[] = [];
  if ('agent' in who && !agents.has(who.agent))
    faults.push({ field: who.field, message: 'must be the id or the name of an existing agent' });
  if (onBehalfOf !== undefined && principalAsked(caller, asker, agents) === undefined)
    faults.push(unknownPersonFault(onBehalfOf.field));
  return faults;
}

/**
 * A caller can only ask as {@link requireOwnAgent} says, and for principals that it vouches for.
 * @param agents of the questions.
 * @throws PERMISSION_DENIED
 */
export function requireMayAsk(caller: Caller, everybody: readonly CheckParties[], agents: NamedAgents): void {
  requireOwnAgent(caller, everybody, agents);
  for (const asker of everybody) principalAsked(caller, asker, agents);
}

/** A caller that is bound to an agent and may not read can only ask for that agent. @throws PERMISSION_DENIED */
export function requireOwnAgent(caller: Caller, everybody: readonly CheckParties[], agents: NamedAgents): void {
  const { agentId, effectiveScopes } = caller;
  const isOwn = ({ who }: CheckParties): boolean => 'agent' in who && agents.get(who.agent)?.id === agentId;
  if (agentId !== null && !effectiveScopes.has('read') && !everybody.every(isOwn))
    throw callerRefused('not_this_agent');
}

const MOST_REQUESTS = 1_000;
const MOST_EXPLAINED = 50;

/** The same limits as in execute. */
export const ACTION: TextLimits = { max: 100, rule: notComposedFault };
export const RESOURCE_TYPE: TextLimits = { max: 100, rule: resourceTypeFault };
export const RESOURCE_ID: TextLimits = { max: 500, rule: resourcePathFault };

const OPTIONAL = { optional: true };
const EITHER = 'must be left out: agent is given';

/** An agent that is not registered. The same limits as for agents; the length of a name counts in normal form C. */
export const SUBJECT = objectShape({
  name: member(textShape({ ...NAMED_AGENT, rule: agentNameFault }), OPTIONAL),
  roles: member(textsShape({ maxItems: 50, item: { max: 100, rule: exactLabelFault } }), { ...OPTIONAL, default: [] }),
  kind: member(choiceShape(AGENT_KINDS), { ...OPTIONAL, default: 'machine' }),
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
    parameters: member(freeFormShape(), OPTIONAL),
  },
  (given) => (hasBoth(given) ? [{ at: '.subject', message: EITHER }] : []),
);

export const REQUESTS = listShape(QUESTION, 1, MOST_REQUESTS, 'requests');

export const REQUESTS_DESCRIPTION =
  `Up to ${MOST_REQUESTS} questions (${MOST_EXPLAINED} with \`explain\`), all answered by the same set of policies. Members that a ` +
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
  const tooMany = isExplained && requests.length > MOST_EXPLAINED;
  return [
    ...conflict,
    ...(tooMany ? [{ field: 'requests', message: `must be at most ${MOST_EXPLAINED} with explain` }] : []),
    ...requests.flatMap((given: unknown, index) =>
      isObject(given) ? missingFrom(given, members, `requests[${index}].`) : [],
    ),
  ];
}

const REQUIRED = ['action', 'resourceType', 'resourceId'] as const;

function missingFrom(given: Members, defaults: Members, prefix: string): FieldFault[] {
  const missing = REQUIRED.filter((name) => !isGiven(given[name]) && !isGiven(defaults[name]));
  return [
    ...missingWho(given, defaults, prefix),
    ...missing.map((name) => ({ field: `${prefix}${name}`, message: 'is required' })),
  ];
}

function missingWho(given: Members, defaults: Members, prefix: string): FieldFault[] {
  const isNamed = [given, defaults].some(({ agent, subject }) => isGiven(agent) || isGiven(subject));
  return isNamed ? [] : [{ field: `${prefix}agent`, message: 'is required, or subject' }];
}

function conflictFaults(members: Members): FieldFault[] {
  return hasBoth(members) ? [{ field: 'subject', message: EITHER }] : [];
}

function hasBoth({ agent, subject }: Members): boolean {
  return isGiven(agent) && isGiven(subject);
}
