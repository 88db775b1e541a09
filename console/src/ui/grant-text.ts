import type { Grant, Review } from '../api/types.js';
import { countText, isoDurationText, listText, numberText, showInvisible } from './format.js';

/** What a reviewer gave: `1 hour, 3 times, a/* and b/*, any parameters`. */
export function givenText({ for: length, uses, resources, parameters }: NonNullable<Review['grant']>): string {
  return [
    isoDurationText(length),
    ...(uses === null ? [] : [countText(uses, 'time')]),
    ...(resources === null ? [] : [listText(resources.map(showInvisible), 'and')]),
    ...(parameters === 'any' ? ['any parameters'] : []),
  ].join(', ');
}

/** What a grant is good for. */
export function grantText({ action, resourceType, resourceId, resources, parametersHash }: Grant): string {
  // Only an erased grant has an empty one.
  if (resourceId === '') return `${showInvisible(action)} on ${showInvisible(resourceType)} (contents erased)`;
  const places = resources === null ? showInvisible(resourceId) : listText(resources.map(showInvisible), 'or');
  const width = parametersHash === null ? 'any parameters' : 'the same parameters';
  return `${showInvisible(action)} on ${showInvisible(resourceType)} ${places}, with ${width}`;
}

/** How often it served: `2 of 5`. */
export function usedText({ used, uses }: Grant): string {
  return uses === null ? `used ${countText(used, 'time')}` : `used ${numberText(used)} of ${numberText(uses)} times`;
}
