import { normalFormC } from './normal-form.mjs';
import { isUrl, plainForm } from './spelling.mjs';

/**
 * Matches the resources that a policy names: docs/policies.md, Resources.
 *
 * @typedef {{ resourceType: string, resourceId: string }} Resource
 * @typedef {{ effect: string, resources: readonly string[], resourceTypes: readonly string[] }} ResourceRule
 */

/**
 * The patterns of a policy, in the form in which they are compared.
 * @typedef {object} Patterns
 * @property {boolean} hasAll true if one of them is `*`
 * @property {ReadonlySet<string>} exact
 * @property {ReadonlySet<string>} above the beginnings of what patterns with a final `*` match, each with its final `/`
 */

/**
 * UTF-16 code units of the 500 characters that a pattern has at most. A longer one, stored by an earlier version,
 * matches nothing.
 */
const MAX_PATTERN_UNITS = 1_000;

/** Maps lists of patterns to their forms: the patterns of a policy are read once, not once for each request. */
const READ = { spelled: new WeakMap(), plain: new WeakMap() };

/**
 * @param {ResourceRule} policy
 * @param {Resource} resource
 */
export function matchesResource({ effect, resources, resourceTypes }, { resourceType, resourceId }) {
  if (resourceTypes.length > 0 && !resourceTypes.includes(resourceType)) return false;
  const isAllow = effect === 'allow';
  // A policy that denies means the resource in any spelling; one that allows means this spelling.
  const form = isAllow ? normalFormC : plainForm;
  const patterns = patternsOf(resources, isAllow);
  if (patterns.hasAll) return true;
  const id = form(withoutSlash(resourceId));
  const isBehindType =
    !isUrl(id) && (!isAllow || !withoutSlash(resourceId).includes('/') || resourceTypes.includes(resourceType));
  const names = isBehindType ? [id, `${form(resourceType)}/${id}`] : [id];
  return names.some((name) => isMet(name, patterns));
}

/**
 * @param {readonly string[]} resources of a policy
 * @param {boolean} isAllow
 * @returns {Patterns}
 */
function patternsOf(resources, isAllow) {
  const read = isAllow ? READ.spelled : READ.plain;
  const earlier = /** @type {Patterns | undefined} */ (read.get(resources));
  if (earlier !== undefined) return earlier;
  const form = isAllow ? normalFormC : plainForm;
  const forms = resources
    .filter((pattern) => pattern.length <= MAX_PATTERN_UNITS)
    .map((pattern) => form(withoutSlash(pattern)));
  const isBeginning = (/** @type {string} */ pattern) => pattern.endsWith('/*');
  const patterns = {
    hasAll: forms.includes('*'),
    exact: new Set(forms.filter((pattern) => !isBeginning(pattern))),
    above: new Set(forms.filter(isBeginning).map((pattern) => pattern.slice(0, -1))),
  };
  read.set(resources, patterns);
  return patterns;
}

/**
 * @param {string} name of the resource
 * @param {Patterns} patterns
 */
function isMet(name, { exact, above }) {
  if (exact.has(name)) return true;
  if (above.size === 0) return false;
  for (let slash = name.indexOf('/'); slash !== -1; slash = name.indexOf('/', slash + 1)) {
    const beginning = name.slice(0, slash + 1);
    // A path such as `https:/*` matches no URL.
    if (above.has(beginning) && isUrl(beginning) === isUrl(name)) return true;
  }
  return false;
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
 * Returns the entity whose claims count. Since the third version of the rules, a resource with several such segments
 * names none.
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
