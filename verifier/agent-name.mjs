import { hasManyMarks, normalFormC } from './evaluation/normal-form.mjs';

/**
 * The rule of the names of agents: docs/openapi.json, CreateAgentRequest. A name in another form could be taken for a
 * pattern, an id or another name.
 */

const UNSEEN = /[\p{Cc}\p{Cf}]/u;
const RESERVED = /^(?:agt_|agent:|role:)/u;
/** Reserved since version 2 of the sealed form. */
const RESERVED_SINCE = /^kind:/u;
const MAX_LENGTH = 200;

/**
 * @param {unknown} name
 * @param {boolean} [isOld] true if the agent may be of version 1, which knew fewer rules
 * @returns {string | undefined} why the service gives no such name
 */
export function agentNameFault(name, isOld = false) {
  if (typeof name !== 'string') return 'is no text';
  if (name === '' || [...name].length > MAX_LENGTH) return `has not 1 to ${MAX_LENGTH} characters`;
  if (name.trim() !== name) return 'begins or ends with white space';
  if (UNSEEN.test(name)) return 'has control or format characters';
  if (/[/*]/u.test(name) || name === '.' || name === '..') return 'is no single segment of a path';
  if (RESERVED.test(name) || (!isOld && RESERVED_SINCE.test(name))) return 'begins as an id or a subject does';
  if (hasManyMarks(name)) return isOld ? undefined : 'has too many combining characters';
  return name === normalFormC(name) ? undefined : 'is not in normal form C';
}
