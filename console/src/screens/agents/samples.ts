import type { Agent, Policy } from '../../api/types.js';

/** A request that represents everything a policy's pattern covers. */
export interface Sample {
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  /** The pattern in words. */
  readonly resourceText: string;
  /** Policies with conditions, limits or `onBehalfOf`: they may answer another request differently. */
  readonly conditional: readonly Policy[];
}

/** Stands for a type or resource that no policy names. */
const ANY = 'any';

/**
 * Returns a request for each capability and each pattern of resources that a policy for it names, and one for any other
 * resource, which the service's default may allow.
 */
export function samples({ capabilities, ...agent }: Agent, policies: readonly Policy[]): readonly Sample[] {
  return capabilities.flatMap((action) => {
    const relevantPolicies = policies.filter(
      ({ actions, subjects }) =>
        actions.some((pattern) => covers(pattern, action)) && subjects.some((subject) => means(subject, agent)),
    );
    const samplesByKey = new Map<string, Sample>();
    for (const { resources, resourceTypes } of relevantPolicies) {
      for (const resourceType of resourceTypes.length === 0 ? [ANY] : resourceTypes) {
        for (const pattern of resources) {
          const resourceText = resourceType === ANY ? pattern : `${resourceType} ${pattern}`;
          const resourceId = pattern.replace(/\*$/, ANY);
          if (resourceText !== '*')
            samplesByKey.set(resourceText, { action, resourceType, resourceId, resourceText, conditional: [] });
        }
      }
    }
    const otherSample = {
      action,
      resourceType: ANY,
      resourceId: ANY,
      resourceText: samplesByKey.size === 0 ? 'anything' : 'anything else',
    };
    const all = [...samplesByKey.values(), { ...otherSample, conditional: [] }];
    return all.map((sample) => ({
      ...sample,
      conditional: relevantPolicies.filter((policy) => isConditionalFor(policy, sample)),
    }));
  });
}

function isConditionalFor({ conditions, limits, onBehalfOf, ...policy }: Policy, sample: Sample): boolean {
  const { resources, resourceTypes } = policy;
  return (
    (conditions.length + limits.length > 0 || onBehalfOf !== null) &&
    (resourceTypes.length === 0 || resourceTypes.includes(sample.resourceType)) &&
    resources.some((pattern) => covers(pattern, sample.resourceId))
  );
}

/** True if a subject of a policy is the agent, its kind or one of its roles. */
export function means(subject: string, { id, name, kind, roles }: Omit<Agent, 'capabilities'>): boolean {
  const own = ['*', 'agent:*', id, name, `agent:${id}`, `agent:${name}`, `kind:${kind}`];
  const ofRoles = roles.length === 0 ? [] : ['role:*', ...roles.map((role) => `role:${role}`)];
  return [...own, ...ofRoles].includes(subject);
}

function covers(pattern: string, text: string): boolean {
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : pattern === text;
}
