import { hashOf } from './canonical-json.mjs';
import { isObject } from './entry-check.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/**
 * Checks that each change of an agent raises its revision by one, because decisions refer to revisions, and that no
 * change alters its kind.
 */
export class AgentRevisions {
  /** Maps ids to the last revision, the hash of its state and the kind. @type {Map<string, { revision: unknown, stateHash: string, kind: unknown }>} */
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
    const { kind = 'machine' } = state;
    this.#last.set(id, { revision, stateHash, kind });
    const isUnchanged = last?.stateHash === stateHash;
    const isOfKind = last === undefined || last.kind === kind;
    const kindFaults = isOfKind
      ? []
      : [`the kind ${JSON.stringify(kind)} of the agent was ${JSON.stringify(last.kind)} before`];
    if (isUnchanged || revision === Number(last?.revision ?? 0) + 1) return kindFaults;
    return [
      ...kindFaults,
      `the revision ${JSON.stringify(revision)} of the agent does not follow ${JSON.stringify(last?.revision ?? 0)}`,
    ];
  }
}
