import { milliseconds } from '../evaluation/requirement.mjs';

/**
 * The terms of a grant: what it covers, and for how long.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/requirement.mjs').Allowance} Allowance
 */

/**
 * @param {Json} given by a reviewer
 * @param {Allowance} allowance
 */
export function isWithinAllowance({ for: length, uses, resources, parameters }, allowance) {
  const isWider = resources !== null || parameters === 'any';
  return (
    milliseconds(length) <= milliseconds(allowance.for) &&
    isFewer(uses ?? allowance.uses, allowance.uses) &&
    (allowance.wider || !isWider)
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
export function termsText({ for: length, uses, resources, parameters }) {
  const resourceText = resources === null ? 'the same resource' : `the resources ${JSON.stringify(resources)}`;
  return `for ${length}, ${times(uses)}, ${resourceText} and ${parameters === 'any' ? 'any' : 'the same'} parameters`;
}

/** @param {number | null} uses */
export function times(uses) {
  return uses === null ? 'any number of times' : uses === 1 ? 'once' : `${uses} times`;
}

/**
 * Returns the terms with defaults and sorted resources, so that equal terms are equal as JSON.
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
