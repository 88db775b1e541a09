import { short } from './decision/report.mjs';
import { isObject } from './entry-check.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

const SUPERSEDED = 'policy.superseded';
/** Records that a limit of a policy is nearly used, and changes nothing. */
const WARNED = 'policy.limit_warned';

/**
 * Checks that at most one version of a policy is in force, that a version gives way only to another one of its name, in
 * the next entry, and that the versions of a name have one team.
 */
export class PolicyVersions {
  /** Maps names to the id of the version in force. @type {Map<unknown, unknown>} */
  #inForce = new Map();
  /** Maps names to the team of their versions. @type {Map<unknown, unknown>} */
  #teams = new Map();
  /** Maps names and versions to the id of the policy. @type {Map<string, unknown>} */
  #ids = new Map();
  /**
   * The policy that has to take the place of the one that gave way in the entry before.
   * @type {{ id: unknown, name: unknown } | undefined}
   */
  #successor;

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add({ subjectType, subjectId: id, action, audit, state }) {
    if (subjectType !== 'policy' || action === WARNED || !isObject(state)) return [];
    const { name, version, team = null, status } = state;
    const successor = this.#successor;
    const details = isObject(audit) && isObject(audit['details']) ? audit['details'] : {};
    this.#successor = action === SUPERSEDED ? { id: details['supersededBy'], name } : undefined;
    const key = JSON.stringify([name, version]);
    const [sameId, firstTeam] = [this.#ids.get(key) ?? id, this.#teams.has(name) ? this.#teams.get(name) : team];
    this.#ids.set(key, sameId);
    this.#teams.set(name, firstTeam);
    const label = `the policy ${short(name)}`;
    return [
      ...(successor === undefined || (successor.id === id && successor.name === name && status === 'active')
        ? []
        : [`${label} does not take the place of ${short(successor.name)}, which gave way to ${short(successor.id)}`]),
      ...(sameId === id ? [] : [`${label} has the version ${short(version)} already: ${short(sameId)}`]),
      ...(firstTeam === team ? [] : [`${label} is of the team ${short(firstTeam)}, not ${short(team)}`]),
      ...this.#forceFaults(label, { id, name, isInForce: status === 'active' }),
    ];
  }

  /** @returns {string[]} faults that show once all entries are read */
  end() {
    return this.#successor === undefined
      ? []
      : [`the policy ${short(this.#successor.name)} gave way to ${short(this.#successor.id)}, which did not follow`];
  }

  /**
   * @param {string} label
   * @param {{ id: unknown, name: unknown, isInForce: boolean }} policy
   * @returns {string[]}
   */
  #forceFaults(label, { id, name, isInForce }) {
    const current = this.#inForce.get(name);
    if (!isInForce) {
      if (current === id) this.#inForce.delete(name);
      return [];
    }
    this.#inForce.set(name, id);
    return current === undefined || current === id
      ? []
      : [`${label} is in force in another version, ${short(current)}`];
  }
}
