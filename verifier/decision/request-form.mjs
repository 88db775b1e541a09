import { isObject } from '../entry-check.mjs';
import { normalFormC } from '../evaluation/normal-form.mjs';
import { isUnmistakable } from '../evaluation/spelling.mjs';

/**
 * The form of a request for an execution. The service refuses every other one with 400, before anything is recorded:
 * docs/policies.md, "Spelling", and docs/api-decisions.md, "On whose behalf".
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

const MAX_ACTION = 100;
const MAX_RESOURCE_TYPE = 100;
const MAX_RESOURCE_ID = 500;
const MAX_RUN = 200;
const MAX_PRINCIPAL = 601;
const UNSEEN = /[\p{Cc}\p{Cf}]/u;
const VIA = /^[a-z][a-z0-9-]{0,39}$/u;
/** Types of subjects that no principal has. */
const RESERVED_TYPES = ['role', 'kind', 'principal'];

/**
 * Returns why no request can have led to this execution; undefined if one can.
 * @param {Json} execution its state
 * @returns {string | undefined}
 */
export function requestFault(execution) {
  return (
    resourceFault(execution) ??
    (isObject(execution['parameters']) ? undefined : 'the parameters are no object') ??
    principalFault(execution['onBehalfOf']) ??
    contextFault(execution)
  );
}

/**
 * Returns why no request can name this action and resource; undefined if one can.
 * @param {Json} execution its state
 * @returns {string | undefined}
 */
export function resourceFault({ action, resourceType, resourceId }) {
  if (!isText(action, MAX_ACTION) || action !== normalFormC(action)) return 'the action is not spelled as one can be';
  const isType = isText(resourceType, MAX_RESOURCE_TYPE) && !resourceType.includes('/');
  if (!isType || resourceType !== normalFormC(resourceType) || !isUnmistakable(resourceType))
    return 'the resource type is not spelled as one can be';
  if (!isText(resourceId, MAX_RESOURCE_ID) || !isUnmistakable(resourceId))
    return 'the resource is not spelled as one can be: it could be read as another one';
  return undefined;
}

/**
 * @param {unknown} onBehalfOf
 * @returns {string | undefined}
 */
function principalFault(onBehalfOf) {
  if (onBehalfOf === undefined) return undefined;
  const fault = 'the principal is in no form that one can have';
  if (!isObject(onBehalfOf)) return fault;
  const { subject, roles = [], ...others } = onBehalfOf;
  if (Object.keys(others).length > 0 || !isText(subject, MAX_PRINCIPAL)) return fault;
  const isSpelled = subject === normalFormC(subject) && !UNSEEN.test(subject);
  const [type = ''] = subject.split(':', 1);
  const hasParts = type !== '' && !type.includes('*') && subject.length > type.length + 1;
  if (!isSpelled || !hasParts || RESERVED_TYPES.includes(type)) return fault;
  return Array.isArray(roles) && roles.every((role) => typeof role === 'string') ? undefined : fault;
}

/** @param {Json} execution */
function contextFault({ run, via }) {
  if (run !== undefined && (!isText(run, MAX_RUN) || UNSEEN.test(run)))
    return 'the run is in no form that one can have';
  return via === undefined || (typeof via === 'string' && VIA.test(via)) ? undefined : 'via names no upstream';
}

/**
 * True if a value is a text that is not blank, with this many characters at most.
 * @param {unknown} value
 * @param {number} max
 * @returns {value is string}
 */
function isText(value, max) {
  if (typeof value !== 'string' || value.trim() === '' || value.length > 2 * max) return false;
  return value.length <= max || [...value].length <= max;
}
