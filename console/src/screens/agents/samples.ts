import type { Policy } from '../../api/types.js';

/** A request that stands for all that a pattern of a policy covers. */
export interface Sample {
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  /** The pattern, for people. */
  readonly shown: string;
}

const MOST = 200;

/** One request for each capability and each pattern of resources that a policy for it names. */
export function samples(capabilities: readonly string[], policies: readonly Policy[]): readonly Sample[] {
  const actions = capabilities.filter((capability) => capability !== '*');
  const found = new Map<string, Sample>();
  for (const action of actions) {
    for (const { actions: patterns, resources, resourceTypes } of policies) {
      if (!patterns.some((pattern) => covers(pattern, action))) continue;
      for (const pattern of resources) {
        const type = resourceTypes[0];
        const shown = type === undefined ? pattern : `${type} ${pattern}`;
        const resourceId = pattern.replace(/\*$/, 'any');
        found.set(`${action} ${shown}`, { action, resourceType: type ?? 'any', resourceId, shown });
      }
    }
  }
  return [...found.values()].slice(0, MOST);
}

function covers(pattern: string, action: string): boolean {
  return pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : pattern === action;
}
