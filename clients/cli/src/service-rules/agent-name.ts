import { labelFault } from './label-fault.js';

/**
 * UTF-16 units. Normal form C combines at most four code points into one, so a longer text is too long in it as well.
 */
const MAX_NORMALISED_CHARACTERS = 8 * 200;
/** Prefixes of ids and of policy subjects. */
const RESERVED_PREFIXES = ['agt_', 'agent:', 'role:', 'kind:'];

/**
 * Names that look the same are the same: they are stored, compared and looked up in Unicode normal form C. A text too
 * long for a name is not normalised: long runs of combining characters take quadratic time.
 */
export function normaliseAgentName(name: string): string {
  return name.length > MAX_NORMALISED_CHARACTERS ? name : name.normalize('NFC');
}

/** What a normalised name of valid length has to be, or undefined if it is valid. */
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
