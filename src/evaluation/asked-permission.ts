import type { RequestedAction } from '../authorization/permission';
import type { AgentSubject, EvaluationSubject } from '../policies/patterns/subject';
import { normaliseAgentName } from '../agents/agent-name';
import type { AgentKind } from '../agents/agent-kind';
import type { JsonObject } from '../json/json-value';

/** One question: whether somebody may do something. */
export interface AskedPermission extends RequestedAction {
  readonly who: AskedAgent | EvaluationSubject;
}

/** A registered agent. */
export interface AskedAgent {
  readonly agent: string;
  /** The path of the field that names it, for the fault if there is no such agent. */
  readonly field: string;
}

/** Members of a question as sent in a request; null counts as left out. */
export interface GivenQuestion {
  readonly agent?: string | null | undefined;
  readonly subject?: GivenSubject | null | undefined;
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
export function askedPermissions(
  defaults: GivenQuestion,
  requests: readonly GivenQuestion[] | undefined,
): AskedPermission[] {
  if (requests === undefined) return [askedPermission(defaults, {}, '')];
  const usual = whoOf(defaults, '');
  return requests.map((given, index) => askedPermission(given, defaults, `requests[${index}].`, usual));
}

/** @param prefix of its members' paths in the request. */
export function askedPermission(
  given: GivenQuestion,
  defaults: GivenQuestion,
  prefix: string,
  usual?: AskedPermission['who'],
): AskedPermission {
  const who = whoOf(given, prefix) ?? usual;
  const action = given.action ?? defaults.action;
  const resourceType = given.resourceType ?? defaults.resourceType;
  const resourceId = given.resourceId ?? defaults.resourceId;
  if (who === undefined || !isGiven(action) || !isGiven(resourceType) || !isGiven(resourceId))
    throw new Error('A question with a missing part was not refused.');
  return { who, action, resourceType, resourceId, parameters: given.parameters ?? defaults.parameters ?? {} };
}

function whoOf({ agent, subject }: GivenQuestion, prefix: string): AskedPermission['who'] | undefined {
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
