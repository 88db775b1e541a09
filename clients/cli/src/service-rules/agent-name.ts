import { labelFault } from './label-fault.js';

/**
 * Longest text, in UTF-16 units, that is normalised. Normal form C combines at most four code points into one, so a
 * longer text remains too long.
 */
const MAX_NORMALISED_CHARACTERS = 8 * 200;
/** Prefixes of ids and of policy subjects. */
const RESERVED_PREFIXES = ['agt_', 'agent:', 'role:', 'kind:'];

/**
 * Returns Unicode normal form C, in which names are stored, compared and looked up, so that names that look the same
 * are the same. Does not normalise a text too long for a name: long runs of combining characters take quadratic time.
 */
export function normaliseAgentName(name: string): string {
  return name.length > MAX_NORMALISED_CHARACTERS ? name : name.normalize('NFC');
}

/** Returns the fault of a normalised name of valid length; undefined if it is valid. */
export function agentNameFault(name: string): string | undefined {
  const fault = labelFault(name);
  if (fault !== undefined) return fault;
  if (/[/*]/.test(name)) return 'must not contain "/" or "*"';
  if (name === '.' || name === '..') return 'must not be "." or ".."';
  const prefix = RESERVED_PREFIXES.find((reserved) => name.startsWith(reserved));
  return prefix === undefined ? undefined : `must not begin with "${prefix}"`;
}

export const AGENT_KINDS = ['machine', 'human'] as const;
export type AgentKind = (typeof AGENT_KINDS)[number];
