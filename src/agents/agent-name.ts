import { labelFault } from '../shared/label-fault';

/** UTF-16 units. Four code points at most become one in normal form C, so what is longer is too long in it as well. */
const LONGEST_NORMALISED = 8 * 200;
/** What an id, and the subjects of a policy, begin with. */
const RESERVED_PREFIXES = ['agt_', 'agent:', 'role:', 'kind:'];

/**
 * Names that look the same are the same: they are stored, compared and looked up in Unicode normal form C. What is too long
 * for a name stays as it is: long runs of combining characters take a time that grows with their square.
 */
export function normaliseAgentName(name: string): string {
  return name.length > LONGEST_NORMALISED ? name : name.normalize('NFC');
}

/** Says what a normalised name of allowed length would have to be, or undefined when it is one. */
export function agentNameFault(name: string): string | undefined {
  const fault = labelFault(name);
  if (fault !== undefined) return fault;
  if (/[/*]/.test(name)) return 'must not contain "/" or "*"';
  if (name === '.' || name === '..') return 'must not be "." or ".."';
  const prefix = RESERVED_PREFIXES.find((reserved) => name.startsWith(reserved));
  return prefix === undefined ? undefined : `must not begin with "${prefix}"`;
}
