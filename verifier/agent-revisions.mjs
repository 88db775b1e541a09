import { hashOf } from './canonical-json.mjs';
import { isObject } from './entry-check.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/** Checks that each change of an agent raises its revision by one: decisions name agents by their revisions. */
export class AgentRevisions {
  /** Maps ids to the last revision and the hash of its state. @type {Map<string, { revision: unknown, stateHash: string }>} */
  #last = new Map();

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add({ subjectType, subjectId, state }) {
    if (subjectType !== 'agent' || !isObject(state)) return [];
    const id = String(subjectId);
    const [revision, stateHash] = [state['revision'], hashOf(state)];
    const last = this.#last.get(id);
    this.#last.set(id, { revision, stateHash });
    const isUnchanged = last?.stateHash === stateHash;
    if (isUnchanged || revision === Number(last?.revision ?? 0) + 1) return [];
    return [
      `the revision ${JSON.stringify(revision)} of the agent does not follow ${JSON.stringify(last?.revision ?? 0)}`,
    ];
  }
}
