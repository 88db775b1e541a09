import type { Schemas } from '../../typescript/src/index.js';

export type Grant = Schemas['GrantResponse'];
type Allowance = NonNullable<Schemas['DecisionResponse']['grant']>;
type GrantTerms = NonNullable<Schemas['ReviewResponse']['grant']>;

/** Describes the most that the approvers of a decision may give. */
export function allowanceText({ for: length, uses, wider }: Allowance): string {
  const width = wider ? ', for other resources and any parameters, too' : '';
  return `for ${length} at most, ${timesText(uses)}${width}: --for ${length}`;
}

/** Returns the terms that a reviewer gave, as options that give the same. */
export function givenText({ for: length, uses, resources, parameters }: GrantTerms): string {
  return [
    `--for ${length}`,
    ...(uses === null ? [] : [`--uses ${uses}`]),
    ...(resources === null ? [] : [`--resources '${resources.join(',')}'`]),
    ...(parameters === 'any' ? ['--any-parameters'] : []),
  ].join(' ');
}

/** Describes what a grant covers, in a few words. */
export function grantText(
  grant: Pick<Grant, 'action' | 'resourceType' | 'resourceId' | 'resources' | 'parametersHash'>,
): string {
  const { action, resourceType, resourceId, resources, parametersHash } = grant;
  const places = resources === null ? `${resourceType}/${resourceId}` : `${resourceType}: ${resources.join(', ')}`;
  return `${action} on ${places}, with ${parametersHash === null ? 'any' : 'the same'} parameters`;
}

function timesText(uses: number | null): string {
  return uses === null ? 'any number of times' : `${uses} times at most`;
}
