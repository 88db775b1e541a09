import { short } from './report.mjs';

/**
 * Sentences about agents, policies and groups.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {import('../evaluation/evaluate.mjs').Verdict} Verdict
 * @typedef {import('../evaluation/requirement.mjs').Group} Group
 */

const SHOWN = 10;
/** The id of the key that the service was started with. */
export const OPERATOR = 'env';
/** What cannot be taken for a part of the sentence around it. */
const ONE_WORD = /^[\p{L}\p{M}\p{N}._:@/*#+-]+$/u;

/**
 * A text from a record within a sentence: in quotation marks, unless it is one word.
 * @param {unknown} text
 */
export function named(text) {
  return ONE_WORD.test(String(text)) ? String(text) : JSON.stringify(text);
}

/** @param {Json} agent */
export function described({ name, id, kind = 'machine', roles, status, revision }) {
  const shown = roles.length === 0 ? 'no roles' : `the roles ${listed(roles.map(named))}`;
  return `${named(name)} (${id}, revision ${revision}: ${status} ${kind} with ${shown})`;
}

/** @param {Json} state of an execution */
export function request({ action, resourceType, resourceId, parameters }) {
  return `${named(action)} on ${named(`${resourceType}/${resourceId}`)} with the parameters ${short(parameters)}`;
}

/** @param {Json} stop */
export function stopped({ id, agentId, role, actions, reason, createdAt }) {
  const scope = [
    ...(agentId === null ? [] : [`the agent ${agentId}`]),
    ...(role === null ? [] : [`the role ${named(role)}`]),
    ...(actions.length === 0 ? [] : [`the actions ${listed(actions.map(named))}`]),
  ];
  const covered = scope.length === 0 ? 'everything' : listed(scope);
  return `The stop ${id} of ${createdAt} covered ${covered}, for the reason ${JSON.stringify(reason)}; no policy was asked.`;
}

/**
 * @param {Verdict} verdict
 * @param {readonly Policy[]} matched
 * @param {{ policies: readonly Policy[], defaultEffect: string }} rules
 */
export function reasons(verdict, matched, { policies, defaultEffect }) {
  const inForce = `${count(policies.length, 'policy', 'policies')} in force`;
  if (verdict.reason === 'agent_suspended') return ['The agent was suspended, so no policy was asked.'];
  if (verdict.reason === 'principal_suspended')
    return ['The person on whose behalf it acted was suspended, so no policy was asked.'];
  if (verdict.reason === 'stopped') return [];
  if (verdict.reason === 'capability_missing')
    return ['The action is not among the agent’s capabilities, so no policy was asked.'];
  if (verdict.isObserved)
    return [`None of the ${inForce} allows it; the agent was observed, so it was let through and noted.`];
  if (verdict.reason === 'limit_reached') return [`None of the ${inForce} matches but for its limits.`];
  if (matched.length === 0) return [`None of the ${inForce} matches, so the default effect decides: ${defaultEffect}.`];
  const lost = matched.length - verdict.policies.length;
  const of = `Of the ${inForce}, ${count(matched.length, 'matches', 'match')}`;
  if (lost === 0) return [`${of} and ${matched.length === 1 ? 'decides' : 'decide'}: ${sample(matched)}.`];
  return [
    `${of}: ${sample(matched)}.`,
    `Decided by ${sample(verdict.policies)}; ${count(lost, 'other has', 'others have')} a lower priority or a weaker effect.`,
  ];
}

/** @param {readonly Policy[]} policies */
function sample(policies) {
  const shown = policies
    .slice(0, SHOWN)
    .map(({ name, version, effect, priority }) => `${named(name)} ${named(version)} (${effect}, priority ${priority})`);
  return listed(policies.length > SHOWN ? [...shown, `${policies.length - SHOWN} more`] : shown);
}

/** @param {readonly Group[]} groups */
export function required(groups) {
  return listed(
    groups.map(
      ({ subjects, approvals, signed }) =>
        `${approvals} of ${alternatives(subjects)}${signed === true ? ', signed' : ''}`,
    ),
  );
}

/** @param {readonly string[]} subjects of a group */
export function alternatives(subjects) {
  return subjects.map(named).join(' or ');
}

/** @param {Json} actor who sent a request */
export function sender({ type, id }) {
  if (type === 'token') return `the token of ${named(id)}`;
  return id === OPERATOR ? `the operator’s key (${OPERATOR})` : `the key ${named(id)}`;
}

/** @param {readonly string[]} items */
export function listed(items) {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

/**
 * @param {number} number
 * @param {string} one
 * @param {string} several
 */
export function count(number, one, several) {
  return `${number} ${number === 1 ? one : several}`;
}
