import type { Grant, Review } from '../api/types.js';
import { countText, isoDurationText, listText, numberText, showInvisible } from './format.js';

/** Describes the grant of a reviewer: `1 hour, 3 times, a/* and b/*, any parameters`. */
export function givenText({ for: length, uses, resources, parameters }: NonNullable<Review['grant']>): string {
  return [
    isoDurationText(length),
    ...(uses === null ? [] : [countText(uses, 'time')]),
    ...(resources === null ? [] : [listText(resources.map(showInvisible), 'and')]),
    ...(parameters === 'any' ? ['any parameters'] : []),
  ].join(', ');
}

/** Describes the actions that a grant allows. */
export function grantText({ action, resourceType, resourceId, resources, parametersHash }: Grant): string {
  // Only an erased grant has an empty list.
  if (resourceId === '') return `${showInvisible(action)} on ${showInvisible(resourceType)} (contents erased)`;
  const places = resources === null ? showInvisible(resourceId) : listText(resources.map(showInvisible), 'or');
  const width = parametersHash === null ? 'any parameters' : 'the same parameters';
  return `${showInvisible(action)} on ${showInvisible(resourceType)} ${places}, with ${width}`;
}

/** Describes how often a grant was used: `2 of 5`. */
export function usedText({ used, uses }: Grant): string {
  return uses === null ? `used ${countText(used, 'time')}` : `used ${numberText(used)} of ${numberText(uses)} times`;
}
