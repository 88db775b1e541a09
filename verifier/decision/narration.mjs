import { short } from './report.mjs';

/**
 * Texts about agents, policies and groups for the sentences of a report.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {import('../evaluation/evaluate.mjs').Verdict} Verdict
 * @typedef {import('../evaluation/requirement.mjs').Group} Group
 */

const SHOWN = 10;
/** The id of the key that the service was started with. */
export const OPERATOR = 'env';
/** A text that cannot be taken for a part of the sentence around it. */
const ONE_WORD = /^[\p{L}\p{M}\p{N}._:@/*#+-]+$/u;

/**
 * Puts a text from a record in quotation marks, unless it is one word.
 * @param {unknown} text
 */
export function quoted(text) {
  return ONE_WORD.test(String(text)) ? String(text) : JSON.stringify(text);
}

/** @param {Json} agent */
export function agentText({ name, id, kind = 'machine', roles, status, revision }) {
  const rolesText = roles.length === 0 ? 'no roles' : `the roles ${listText(roles.map(quoted))}`;
  return `${quoted(name)} (${id}, revision ${revision}: ${status} ${kind} with ${rolesText})`;
}

/** @param {Json} state of an execution */
export function requestText({ action, resourceType, resourceId, parameters }) {
  return `${quoted(action)} on ${quoted(`${resourceType}/${resourceId}`)} with the parameters ${short(parameters)}`;
}

/** @param {Json} stop */
export function stopText({ id, agentId, role, actions, reason, createdAt }) {
  const scope = [
    ...(agentId === null ? [] : [`the agent ${agentId}`]),
    ...(role === null ? [] : [`the role ${quoted(role)}`]),
    ...(actions.length === 0 ? [] : [`the actions ${listText(actions.map(quoted))}`]),
  ];
  const scopeText = scope.length === 0 ? 'everything' : listText(scope);
  return `The stop ${id} of ${createdAt} covered ${scopeText}, for the reason ${JSON.stringify(reason)}; no policy was consulted.`;
}

/**
 * @param {Verdict} verdict
 * @param {readonly Policy[]} matches
 * @param {{ policies: readonly Policy[], defaultEffect: string }} rules
 */
export function verdictSentences(verdict, matches, { policies, defaultEffect }) {
  const inForce = `${countText(policies.length, 'policy', 'policies')} in force`;
  if (verdict.reason === 'agent_suspended') return ['The agent was suspended, so no policy was consulted.'];
  if (verdict.reason === 'principal_suspended')
    return ['The person on whose behalf it acted was suspended, so no policy was consulted.'];
  if (verdict.reason === 'stopped') return [];
  if (verdict.reason === 'capability_missing')
    return ['The action is not among the agent’s capabilities, so no policy was consulted.'];
  if (verdict.isObserved)
    return [`None of the ${inForce} allows it; the agent was observed, so it was let through and noted.`];
  if (verdict.reason === 'limit_reached') return [`None of the ${inForce} matches, because of their limits.`];
  if (matches.length === 0) return [`None of the ${inForce} matches, so the default effect decides: ${defaultEffect}.`];
  const outweighedCount = matches.length - verdict.policies.length;
  const beginning = `Of the ${inForce}, ${countText(matches.length, 'matches', 'match')}`;
  if (outweighedCount === 0)
    return [`${beginning} and ${matches.length === 1 ? 'decides' : 'decide'}: ${sampleText(matches)}.`];
  return [
    `${beginning}: ${sampleText(matches)}.`,
    `Decided by ${sampleText(verdict.policies)}; ${countText(outweighedCount, 'other has', 'others have')} a lower priority or a weaker effect.`,
  ];
}

/** @param {readonly Policy[]} policies */
function sampleText(policies) {
  const texts = policies
    .slice(0, SHOWN)
    .map(
      ({ name, version, effect, priority }) => `${quoted(name)} ${quoted(version)} (${effect}, priority ${priority})`,
    );
  return listText(policies.length > SHOWN ? [...texts, `${policies.length - SHOWN} more`] : texts);
}

/** @param {readonly Group[]} groups */
export function requirementText(groups) {
  return listText(
    groups.map(
      ({ subjects, approvals, signed }) =>
        `${approvals} of ${alternativesText(subjects)}${signed === true ? ', signed' : ''}`,
    ),
  );
}

/** @param {readonly string[]} subjects of a group */
export function alternativesText(subjects) {
  return subjects.map(quoted).join(' or ');
}

/** @param {Json} actor who sent a request */
export function senderText({ type, id }) {
  if (type === 'token') return `the token of ${quoted(id)}`;
  return id === OPERATOR ? `the operator’s key (${OPERATOR})` : `the key ${quoted(id)}`;
}

/** @param {readonly string[]} items */
export function listText(items) {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

/**
 * @param {number} number
 * @param {string} singular
 * @param {string} plural
 */
export function countText(number, singular, plural) {
  return `${number} ${number === 1 ? singular : plural}`;
}
