import { agentNameFault } from '../../agents/agent-name';
import { labelFault } from '../../text/label-fault';

/** What one string of a policy's `subjects` stands for. */
export type SubjectPattern =
  | { readonly kind: 'everyone' }
  | { readonly kind: 'anyRole' }
  | { readonly kind: 'role'; readonly role: string }
  | { readonly kind: 'agent'; readonly idOrName: string }
  | { readonly kind: 'unknown'; readonly prefix: string };

/** Reads a subject that {@link subjectFault} found nothing wrong with. A prefix is read before a bare name. */
export function parseSubject(text: string): SubjectPattern {
  if (text === '*' || text === 'agent:*') return { kind: 'everyone' };
  if (text === 'role:*') return { kind: 'anyRole' };
  const { prefix, name } = splitPrefix(text);
  if (prefix === 'role') return { kind: 'role', role: name };
  if (prefix === 'agent' || prefix === null) return { kind: 'agent', idOrName: name.normalize('NFC') };
  return { kind: 'unknown', prefix };
}

/** Says what a subject would have to be, or undefined when it is one. */
export function subjectFault(text: string): string | undefined {
  if (text === '*' || text === 'agent:*' || text === 'role:*') return undefined;
  const { prefix, name } = splitPrefix(text);
  if (name.trim() === '') return prefix === null ? 'must not be blank' : `must have a name after "${prefix}:"`;
  if (text.includes('*')) return 'may contain "*" only as "*", "role:*" or "agent:*"';
  return undefined;
}

/** Says that a subject is stored but matches no agent, or undefined when it can match one. */
export function subjectWarning(text: string): string | undefined {
  const pattern = parseSubject(text);
  if (pattern.kind === 'agent') return deadNameWarning(text, pattern.idOrName);
  if (pattern.kind === 'role') return deadRoleWarning(text, pattern.role);
  if (pattern.kind !== 'unknown') return undefined;
  return (
    `"${text}" matches nothing: subjects of the kind "${pattern.prefix}:" are not known. ` +
    'Use role:<role>, agent:<id or name>, or an agent id or name without ":".'
  );
}

/** A slip in a name, such as an invisible character that was copied with it, must not switch a deny off unseen. */
function deadNameWarning(text: string, idOrName: string): string | undefined {
  const fault = idOrName.startsWith('agt_') ? undefined : agentNameFault(idOrName);
  return fault === undefined ? undefined : `"${text}" matches nothing: the name of an agent ${fault}.`;
}

function deadRoleWarning(text: string, role: string): string | undefined {
  const fault = labelFault(role);
  return fault === undefined ? undefined : `"${text}" matches nothing: a role ${fault}.`;
}

function splitPrefix(text: string): { prefix: string | null; name: string } {
  const colon = text.indexOf(':');
  if (colon <= 0) return { prefix: null, name: text };
  return { prefix: text.slice(0, colon), name: text.slice(colon + 1) };
}
