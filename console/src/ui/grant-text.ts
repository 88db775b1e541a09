import type { Grant, Review } from '../api/types.js';
import { counted, isoDurationText, listText, numberText, revealed } from './format.js';

/** What a reviewer gave: `1 hour, 3 times, a/* and b/*, any parameters`. */
export function givenText({ for: length, uses, resources, parameters }: NonNullable<Review['grant']>): string {
  return [
    isoDurationText(length),
    ...(uses === null ? [] : [counted(uses, 'time')]),
    ...(resources === null ? [] : [listText(resources.map(revealed), 'and')]),
    ...(parameters === 'any' ? ['any parameters'] : []),
  ].join(', ');
}

/** What a grant is good for. */
export function grantText({ action, resourceType, resourceId, resources, parametersHash }: Grant): string {
  // Only an erased grant has an empty one.
  if (resourceId === '') return `${revealed(action)} on ${revealed(resourceType)} (contents erased)`;
  const places = resources === null ? revealed(resourceId) : listText(resources.map(revealed), 'or');
  const width = parametersHash === null ? 'any parameters' : 'the same parameters';
  return `${revealed(action)} on ${revealed(resourceType)} ${places}, with ${width}`;
}

/** How often it served: `2 of 5`. */
export function usedText({ used, uses }: Grant): string {
  return uses === null ? `used ${counted(used, 'time')}` : `used ${numberText(used)} of ${numberText(uses)} times`;
}
