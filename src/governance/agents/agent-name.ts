import { labelFault } from '../../core/values/label-fault';
import { normalFormC } from '../../core/values/normal-form';

/** Prefixes of ids and of policy subjects. */
const RESERVED_PREFIXES = ['agt_', 'agent:', 'role:', 'kind:'];

/**
 * Returns Unicode normal form C, in which names are stored, compared and looked up, so that names that look the same
 * are the same.
 */
export function normaliseAgentName(name: string): string {
  return normalFormC(name);
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
