import { AGENT_KINDS, type AgentKind, agentNameFault } from './agent-name.js';
import { labelFault, notComposedFault } from './label-fault.js';
import { normalFormC } from './normal-form.js';

/** The agent that wants to act. The name is in Unicode normal form C, as agents are stored. */
export interface AgentSubject {
  readonly agentId: string;
  readonly agentName: string;
  readonly kind: AgentKind;
  readonly roles: readonly string[];
  /** Team; null or absent if it is in none. */
  readonly team?: string | null;
}

/** Somebody who is not an agent, such as a user of another system. Both texts are in Unicode normal form C. */
export interface OtherSubject {
  readonly type: string;
  readonly id: string;
  readonly roles: readonly string[];
}

export type EvaluationSubject = AgentSubject | OtherSubject;

/** The members of an agent that policies use. */
export interface PolicyAgent {
  readonly id: string;
  readonly name: string;
  readonly kind: AgentKind;
  readonly roles: readonly string[];
  readonly team: string | null;
}

/** Returns the agent as policies see it; a role that is no longer valid is ignored. */
export function subjectOf({ id, name, kind, roles, team }: PolicyAgent): AgentSubject {
  return { agentId: id, agentName: name, kind, roles: roles.filter((role) => labelFault(role) === undefined), team };
}

/** The meaning of one string of a policy's `subjects`. */
export type SubjectPattern =
  | { readonly kind: 'everyone' }
  | { readonly kind: 'anyAgent' }
  | { readonly kind: 'anyRole' }
  | { readonly kind: 'role'; readonly role: string }
  | { readonly kind: 'agentKind'; readonly agentKind: AgentKind }
  | { readonly kind: 'agent'; readonly idOrName: string }
  /** A subject that is not an agent; `id` is `*` for all of the type. */
  | { readonly kind: 'other'; readonly type: string; readonly id: string };

/** Parses a subject that {@link subjectFault} has accepted. A prefix takes precedence over a bare name. */
export function parseSubject(text: string): SubjectPattern {
  if (text === '*') return { kind: 'everyone' };
  if (text === 'agent:*') return { kind: 'anyAgent' };
  if (text === 'role:*') return { kind: 'anyRole' };
  const { prefix, name } = splitPrefix(text);
  if (prefix === 'role') return { kind: 'role', role: name };
  if (prefix === 'agent' || prefix === null) return { kind: 'agent', idOrName: normalFormC(name) };
  const agentKind = prefix === 'kind' ? agentKindOf(name) : undefined;
  if (agentKind !== undefined) return { kind: 'agentKind', agentKind };
  return { kind: 'other', type: normalFormC(prefix), id: normalFormC(name) };
}

/** Returns equal texts for patterns that match the same subjects. */
export function subjectText(text: string): string {
  const pattern = parseSubject(text);
  if (pattern.kind === 'agent') return `agent:${pattern.idOrName}`;
  return pattern.kind === 'other' ? `${pattern.type}:${pattern.id}` : text;
}

/** Returns the team whose policies apply to a subject; null if only those of no team do. */
export function teamOf(subject: EvaluationSubject): string | null {
  return 'agentId' in subject ? (subject.team ?? null) : null;
}

/**
 * Returns the texts by which patterns may name a subject, except `*`, as {@link subjectText} writes them. They are
 * unambiguous, because no type contains a `:`.
 */
export function textsOf(subject: EvaluationSubject): string[] {
  const texts =
    'agentId' in subject
      ? [`agent:${subject.agentId}`, `agent:${subject.agentName}`, `kind:${subject.kind}`, 'agent:*']
      : [`${subject.type}:${subject.id}`, `${subject.type}:*`];
  if (subject.roles.length > 0) texts.push('role:*');
  for (const role of subject.roles) texts.push(`role:${role}`);
  return texts;
}

/** Returns the fault of a subject; undefined if it is valid. */
export function subjectFault(text: string): string | undefined {
  if (text === '*') return undefined;
  const { prefix, name } = splitPrefix(text);
  if (name.trim() === '') return prefix === null ? 'must not be blank' : `must have a name after "${prefix}:"`;
  if (prefix === 'kind')
    return agentKindOf(name) === undefined ? `must be one of ${KIND_SUBJECTS.join(', ')}` : undefined;
  if (prefix === 'role' && notComposedFault(name) !== undefined) return notComposedFault(name);
  if (prefix !== null && !prefix.includes('*') && name === '*') return undefined;
  if (text.includes('*')) return 'may contain "*" only as "*", or alone behind a prefix, as in "role:*"';
  return undefined;
}

/** Warns that a stored subject matches nobody; undefined if it can match somebody. */
export function subjectWarning(text: string): string | undefined {
  const pattern = parseSubject(text);
  if (pattern.kind === 'agent') return deadNameWarning(text, pattern.idOrName);
  if (pattern.kind === 'role') return deadWarning(text, 'a role', labelFault(pattern.role));
  if (pattern.kind !== 'other') return undefined;
  // White space at the ends is allowed here: only invisible characters are refused.
  return deadWarning(text, 'a subject', labelFault(`"${text}"`));
}

const KIND_SUBJECTS = AGENT_KINDS.map((kind) => `kind:${kind}`);

/**
 * Warns of a slip in a name, such as an invisible character copied with it, which must not disable a deny unnoticed.
 */
function deadNameWarning(text: string, idOrName: string): string | undefined {
  // Earlier versions accepted names that begin with "kind:".
  const mayBe = idOrName.startsWith('agt_') || idOrName.startsWith('kind:');
  return mayBe ? undefined : deadWarning(text, 'the name of an agent', agentNameFault(idOrName));
}

/** Warns that a text can match nothing; undefined if it has no fault. */
export function deadWarning(text: string, what: string, fault: string | undefined): string | undefined {
  return fault === undefined ? undefined : `"${text}" matches nothing: ${what} ${fault}.`;
}

function agentKindOf(name: string): AgentKind | undefined {
  return AGENT_KINDS.find((kind) => kind === name);
}

function splitPrefix(text: string): { prefix: string | null; name: string } {
  const colon = text.indexOf(':');
  if (colon <= 0) return { prefix: null, name: text };
  return { prefix: text.slice(0, colon), name: text.slice(colon + 1) };
}
