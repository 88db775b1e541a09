import { isUrl, plainForm } from './spelling.mjs';

/**
 * Matches the resources that a policy names: docs/policies.md, Resources.
 *
 * @typedef {{ resourceType: string, resourceId: string }} Resource
 * @typedef {{ effect: string, resources: readonly string[], resourceTypes: readonly string[] }} ResourceRule
 */

/**
 * @param {ResourceRule} policy
 * @param {Resource} resource
 */
export function matchesResource({ effect, resources, resourceTypes }, { resourceType, resourceId }) {
  if (resourceTypes.length > 0 && !resourceTypes.includes(resourceType)) return false;
  const isAllow = effect === 'allow';
  // A policy that denies means the resource in any spelling; one that allows means this spelling.
  const form = isAllow ? normalized : plainForm;
  const id = form(withoutSlash(resourceId));
  const isBehindType =
    !isUrl(id) && (!isAllow || !withoutSlash(resourceId).includes('/') || resourceTypes.includes(resourceType));
  const names = isBehindType ? [id, `${form(resourceType)}/${id}`] : [id];
  return resources.some((pattern) => isOneMet(form(withoutSlash(pattern)), names));
}

/**
 * @param {string} pattern
 * @param {readonly string[]} names of the resource
 */
function isOneMet(pattern, names) {
  if (pattern === '*') return true;
  const [id = '', ...behindType] = names;
  if (!pattern.includes('/')) return pattern === id;
  if (isUrl(id) !== isUrl(pattern)) return false;
  return [id, ...behindType].some((name) =>
    pattern.endsWith('/*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

const ENTITY_ID = /^ent_[0-7][0-9A-HJKMNP-TV-Z]{25}$/u;

/**
 * Returns the entity that a resource names: its last segment that has the form of an entity's id.
 * @param {string} resourceId
 * @returns {string | undefined}
 */
export function entityIn(resourceId) {
  return resourceId.split('/').findLast((segment) => ENTITY_ID.test(segment));
}

/**
 * Returns the entity whose claims count. Since the third version of the rules, a resource with several such segments names none.
 * @param {string} resourceId
 * @param {number} evaluation
 * @returns {string | undefined}
 */
export function claimedEntityIn(resourceId, evaluation) {
  const isSeveral = resourceId.split('/').filter((segment) => ENTITY_ID.test(segment)).length > 1;
  return evaluation >= 3 && isSeveral ? undefined : entityIn(resourceId);
}

/** @param {string} text */
export function withoutSlash(text) {
  return text.startsWith('/') ? text.slice(1) : text;
}

/** @param {string} text */
function normalized(text) {
  return text.normalize();
}
