import { agentText, alternativesText, listText, quoted } from './narration.mjs';

/**
 * What changes have made, in words.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

/** @param {Json} state of a policy */
const policyText = ({ name, version }) => `the policy ${quoted(name)}, version ${quoted(version)},`;

/** Maps actions to sentences. @type {Readonly<Record<string, (entry: Json) => string>>} */
const TEXTS = {
  'policy.created': ({ state }) => {
    const { effect, priority, subjects, actions, resources } = state;
    const cover = `${alternativesText(subjects)}, ${alternativesText(actions)}, ${alternativesText(resources)}`;
    return `${policyText(state)} was created and came into force: ${effect}, priority ${priority}, for ${cover}.`;
  },
  'policy.superseded': ({ state, audit }) => `${policyText(state)} gave way to ${quoted(audit.details.supersededBy)}.`,
  'policy.activated': ({ state }) => `${policyText(state)} came into force again.`,
  'policy.deactivated': ({ state }) => `${policyText(state)} was taken out of force.`,
  'agent.created': ({ state }) => `${agentText(state)} was registered.`,
  'agent.updated': ({ state, audit }) => `${agentText(state)} had ${wordsText(audit.details.fields)} changed.`,
  'agent.resumed': ({ state }) => `${agentText(state)} was resumed.`,
  'api_key.created': ({ state: { id, name, scopes, agentId } }) =>
    `the key ${quoted(name)} (${id}) was issued with the scopes ${wordsText(scopes)}, ${agentId === null ? 'bound to nobody' : `for ${agentId}`}.`,
  'webhook.created': ({ state: { id, url } }) => `the webhook ${id} to ${quoted(url)} was created.`,
  'webhook.updated': ({ state: { id }, audit }) => `the webhook ${id} had ${wordsText(audit.details.fields)} changed.`,
  'webhook.deleted': ({ subjectId }) => `the webhook ${subjectId} was deleted.`,
  'passkey.removed': ({ subjectId }) => `the passkey ${subjectId} was removed.`,
  'stop.lifted': ({ subjectId }) => `the stop ${subjectId} was lifted.`,
  'erasure.begun': ({ subjectId, state: { subjects } }) =>
    `the erasure ${subjectId} began, of ${listText(subjects.map((/** @type {Json} */ { type, id }) => `the ${type} ${id}`))}.`,
};

/** @param {Json} entry */
export function madeText(entry) {
  const { action, subjectId } = entry;
  const textOf = Object.hasOwn(TEXTS, action) ? TEXTS[action] : undefined;
  return textOf === undefined ? `${quoted(action)} of ${quoted(subjectId)}.` : textOf(entry);
}

/** @param {unknown} list of texts */
function wordsText(list) {
  return listText([list ?? []].flat().map(quoted));
}
