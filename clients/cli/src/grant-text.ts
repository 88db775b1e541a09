import type { Schemas } from '../../typescript/src/index.js';

export type Grant = Schemas['GrantResponse'];
type Allowance = NonNullable<Schemas['DecisionResponse']['grant']>;
type Given = NonNullable<Schemas['ReviewResponse']['grant']>;

/** The most that the approvers of a decision may give. */
export function allowanceText({ for: length, uses, wider }: Allowance): string {
  const width = wider ? ', for other resources and any parameters, too' : '';
  return `for ${length} at most, ${timesText(uses)}${width}: --for ${length}`;
}

/** What a reviewer gave, as the options that give the same. */
export function givenText({ for: length, uses, resources, parameters }: Given): string {
  return [
    `--for ${length}`,
    ...(uses === null ? [] : [`--uses ${uses}`]),
    ...(resources === null ? [] : [`--resources '${resources.join(',')}'`]),
    ...(parameters === 'any' ? ['--any-parameters'] : []),
  ].join(' ');
}

/** What a grant is good for, in a few words. */
export function grantText(grant: Grant): string {
  const { action, resourceType, resourceId, resources, parametersHash } = grant;
  const places = resources === null ? `${resourceType}/${resourceId}` : `${resourceType}: ${resources.join(', ')}`;
  return `${action} on ${places}, with ${parametersHash === null ? 'any' : 'the same'} parameters`;
}

function timesText(uses: number | null): string {
  return uses === null ? 'any number of times' : `${uses} times at most`;
}
