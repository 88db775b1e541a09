import { exactLabelFault, labelFault } from '../../../core/values/label-fault';
import { marksFault, normalFormC } from '../../../core/values/normal-form';

/** A principal as it is stored: roles in order, and absent if there are none. */
export interface OnBehalfOf {
  /** `<type>:<id>`, or `agent:<id>` of a registered person, whose own roles count. */
  readonly subject: string;
  readonly roles?: readonly string[];
}

const MAX_TYPE_CHARACTERS = 100;
const MAX_ID_CHARACTERS = 500;
/** Most characters of a subject, and of a pattern. */
export const MAX_PRINCIPAL_CHARACTERS = MAX_TYPE_CHARACTERS + 1 + MAX_ID_CHARACTERS;
/** Types that mean something else in patterns. */
const RESERVED_TYPES: ReadonlySet<string> = new Set(['role', 'kind', 'principal']);
const CONTROL_OR_FORMAT_CHARACTER = /[\p{Cc}\p{Cf}\p{Surrogate}]/u;

/** Returns the fault of a pattern of principals; undefined if it is valid. */
export function principalPatternFault(text: string): string | undefined {
  if (text === '*') return undefined;
  const { type, id } = splitSubject(text);
  if (type === 'role') return id === '' ? 'must have a name after "role:"' : (starFault(id) ?? exactLabelFault(id));
  return principalSubjectFault(text) ?? (id === '*' ? undefined : starFault(id));
}

/** Returns the fault of the subject of a principal; undefined if it is valid. */
export function principalSubjectFault(text: string): string | undefined {
  const { type, id } = splitSubject(text);
  if (type === '' || id === '') return 'must be <type>:<id>, such as user:4711, or agent:<id or name>';
  if (RESERVED_TYPES.has(type)) return `must not be of the type ${type}`;
  if (type.includes('*')) return 'must not contain "*" in its type';
  if (Array.from(type).length > MAX_TYPE_CHARACTERS)
    return `must have a type of at most ${MAX_TYPE_CHARACTERS} characters`;
  if (charactersFault(type) !== undefined) return charactersFault(type);
  if (type === 'agent' && labelFault(id) !== undefined) return `names no agent: a name ${labelFault(id) ?? ''}`;
  return principalIdFault(id);
}

/** Returns the fault of the id in `<type>:<id>`; undefined if it is valid. */
export function principalIdFault(id: string): string | undefined {
  const length = Array.from(id).length;
  if (length === 0 || length > MAX_ID_CHARACTERS) return `must have an id of 1 to ${MAX_ID_CHARACTERS} characters`;
  return charactersFault(id);
}

/** Returns other faults of a text that may begin and end with white space. */
export function charactersFault(text: string): string | undefined {
  return CONTROL_OR_FORMAT_CHARACTER.test(text) ? 'must not contain control or format characters' : marksFault(text);
}

/** Splits a subject into type and id, which may contain further colons; both in Unicode normal form C. */
export function splitSubject(text: string): { readonly type: string; readonly id: string } {
  const colon = text.indexOf(':');
  if (colon < 0) return { type: '', id: text };
  return { type: normalFormC(text.slice(0, colon)), id: normalFormC(text.slice(colon + 1)) };
}

function starFault(id: string): string | undefined {
  return id.includes('*') ? 'may contain "*" only as "*", or alone behind a type, as in "user:*"' : undefined;
}
