import { agentNameFault } from './agent-name.mjs';
import { hashOf } from './canonical-json.mjs';
import { isObject } from './entry-check.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */
/**
 * @typedef {object} LastState of an agent
 * @property {unknown} revision
 * @property {string} stateHash
 * @property {unknown} name
 * @property {unknown} kind
 * @property {unknown} status
 * @property {unknown} observeUntil
 * @property {unknown} slackId
 */

/**
 * The actions that alone change the status of an agent, by the status that they give.
 * @type {Readonly<Record<string, string>>}
 */
const ACTION_OF_STATUS = { active: 'agent.resumed', suspended: 'agent.suspended' };
const UPDATED = 'agent.updated';
/** The longest observation, and a minute by which the machine's clock may be ahead of the entry. */
const MAX_OBSERVATION_MS = 30 * 86_400_000 + 60_000;

/**
 * Checks the entries of agents against those before: names are unique, follow the rule of names and never change, nor
 * does the kind; no two people have one id in Slack; each change raises the revision by one, because decisions refer to
 * revisions; and the status and the observation change only as the service changes them.
 */
export class AgentRevisions {
  /** Maps ids to the state of the last entry. @type {Map<string, LastState>} */
  #last = new Map();
  /** Maps names to the ids of their agents. @type {Map<string, string>} */
  #idByName = new Map();
  /** Maps ids in Slack to the ids of the people who have them. @type {Map<unknown, string>} */
  #idBySlackId = new Map();

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add(entry) {
    const { subjectType, subjectId, state } = entry;
    if (subjectType !== 'agent' || !isObject(state)) return [];
    const id = String(subjectId);
    const last = this.#last.get(id);
    const { revision, name, kind = 'machine', status, observeUntil = null, slackId = null } = state;
    const next = { stateHash: hashOf(state), revision, name, kind, status, observeUntil, slackId };
    this.#last.set(id, next);
    const holder = this.#idByName.get(String(name));
    if (holder === undefined) this.#idByName.set(String(name), id);
    const nameFault = last === undefined ? agentNameFault(name, entry['v'] === 1) : undefined;
    return [
      ...(nameFault === undefined ? [] : [`the name ${JSON.stringify(name)} of the agent ${nameFault}`]),
      ...(holder === undefined || holder === id
        ? []
        : [`the name ${JSON.stringify(name)} is that of the agent ${holder}`]),
      ...changeFaults(entry, next, last),
      ...observationFaults(entry, next, last),
      ...this.#slackFaults(id, next, last),
    ];
  }

  /**
   * @param {string} id of the agent
   * @param {LastState} next
   * @param {LastState | undefined} last
   * @returns {string[]}
   */
  #slackFaults(id, { kind, slackId }, last) {
    if (last !== undefined && this.#idBySlackId.get(last.slackId) === id) this.#idBySlackId.delete(last.slackId);
    if (slackId === null) return [];
    const holder = this.#idBySlackId.get(slackId);
    if (holder === undefined) this.#idBySlackId.set(slackId, id);
    return [
      ...(kind === 'human' ? [] : [`the agent has the Slack id ${JSON.stringify(slackId)}, and is no person`]),
      ...(holder === undefined ? [] : [`the Slack id ${JSON.stringify(slackId)} is that of the agent ${holder}`]),
    ];
  }
}

/**
 * @param {JsonObject} entry
 * @param {LastState} next
 * @param {LastState | undefined} last
 * @returns {string[]}
 */
function changeFaults({ action }, next, last) {
  const { revision, stateHash, status } = next;
  const constant = last === undefined ? [] : /** @type {const} */ (['name', 'kind']);
  const changedNames = constant.filter((name) => last?.[name] !== next[name]);
  const isByStatusAction = last === undefined || last.status === status || action === ACTION_OF_STATUS[String(status)];
  const isFollowing = last?.stateHash === stateHash || revision === Number(last?.revision ?? 0) + 1;
  return [
    ...changedNames.map(
      (name) => `the ${name} ${JSON.stringify(next[name])} of the agent was ${JSON.stringify(last?.[name])} before`,
    ),
    ...(isByStatusAction ? [] : [`${String(action)} gives the agent the status ${JSON.stringify(status)}`]),
    ...(isFollowing
      ? []
      : [
          `the revision ${JSON.stringify(revision)} of the agent does not follow ${JSON.stringify(last?.revision ?? 0)}`,
        ]),
  ];
}

/**
 * Finds faults of an observation that an entry begins or prolongs.
 * @param {JsonObject} entry
 * @param {LastState} next
 * @param {LastState | undefined} last
 * @returns {string[]}
 */
function observationFaults({ action, timestamp }, { kind, observeUntil }, last) {
  if (observeUntil === null || observeUntil === last?.observeUntil) return [];
  const until = JSON.stringify(observeUntil);
  const length = typeof observeUntil === 'string' ? Date.parse(observeUntil) - Date.parse(String(timestamp)) : NaN;
  return [
    ...(kind === 'machine' ? [] : [`a person is observed until ${until}`]),
    ...(action === UPDATED ? [] : [`${String(action)} has the agent observed until ${until}`]),
    ...(length <= MAX_OBSERVATION_MS ? [] : [`the agent is observed until ${until}, for more than 30 days`]),
  ];
}
