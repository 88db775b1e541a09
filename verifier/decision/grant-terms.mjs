import { milliseconds } from '../evaluation/requirement.mjs';

/**
 * What a grant is good for, and how long.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/requirement.mjs').Allowance} Allowance
 */

/**
 * @param {Json} given by a reviewer
 * @param {Allowance} allowed
 */
export function isWithin({ for: length, uses, resources, parameters }, allowed) {
  const isWider = resources !== null || parameters === 'any';
  return (
    milliseconds(length) <= milliseconds(allowed.for) &&
    isFewer(uses ?? allowed.uses, allowed.uses) &&
    (allowed.wider || !isWider)
  );
}

/**
 * @param {number | null} uses null: any number
 * @param {number | null} most
 */
export function isFewer(uses, most) {
  return most === null || (uses !== null && uses <= most);
}

/** @param {Json} given by a reviewer */
export function givenText({ for: length, uses, resources, parameters }) {
  const what = resources === null ? 'the same resource' : `the resources ${JSON.stringify(resources)}`;
  return `for ${length}, ${times(uses)}, ${what} and ${parameters === 'any' ? 'any' : 'the same'} parameters`;
}

/** @param {number | null} uses */
export function times(uses) {
  return uses === null ? 'any number of times' : uses === 1 ? 'once' : `${uses} times`;
}

/**
 * With defaults, resources as a set.
 * @param {Json} given
 * @param {number | null} most
 */
export function comparable({ for: length, uses, resources, parameters }, most) {
  return [length, uses ?? most, resources && [...new Set(resources)].sort(), parameters];
}

/**
 * @param {string} time
 * @param {string} duration
 */
export function after(time, duration) {
  const end = new Date(Date.parse(time) + milliseconds(duration));
  return Number.isNaN(end.getTime()) ? null : end.toISOString();
}
