import { AUTHORISING } from './decision/history.mjs';
import { isObject } from './entry-check.mjs';
import { ExpectedUses } from './expected-uses.mjs';
import { isAmount, textOf, unitsOf } from './evaluation/limits.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */
/** @typedef {{ from: bigint, to: bigint }} Step from the amount used before a use to the amount used after it */

/** Compares the uses of limits that entries state with the uses by earlier entries. */
export class TakenUses {
  /** Maps policy ids to the name of the sum that each limit of the policy adds to. @type {Map<string, string[]>} */
  #limits = new Map();
  /** Maps sums to the amount that is used so far. @type {Map<string, bigint>} */
  #used = new Map();
  /** Maps sums to the steps that erased entries must have made. @type {Map<string, Step[]>} */
  #missing = new Map();
  /**
   * Maps sums to the steps of erased entries, as the entries of their erasure state them.
   * @type {Map<string, Step[]>}
   */
  #erased = new Map();
  /** Number of erased entries that may have used a limit. */
  #unknown = 0;
  #expected = new ExpectedUses();

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add(entry) {
    const { subjectType, action, audit, state } = entry;
    const policyFaults = subjectType === 'policy' && isObject(state) ? this.#note(state) : [];
    // Members of the same names in a record of a module are no uses of limits.
    if (subjectType !== 'execution' || !isObject(audit)) return policyFaults;
    const { details } = audit;
    if (!isObject(details)) {
      if (AUTHORISING.includes(String(action))) {
        this.#unknown += 1;
        this.#expected.noteErased(entry);
      }
      return policyFaults;
    }
    const { used = [], limited = [] } = details;
    if (!Array.isArray(used) || !Array.isArray(limited)) return ['details.used or limited is not a list'];
    const faults = [...policyFaults, ...this.#expected.faults(entry, { used, limited })];
    if (action === 'execution.erased') return [...faults, ...used.flatMap((use) => this.#eraseFaults(use))];
    return [
      ...faults,
      ...used.flatMap((use) => this.#useFaults('used', use, true)),
      ...limited.flatMap((use) => this.#useFaults('limited', use, false)),
    ];
  }

  /** Number of uses in windows of zones by another version of the IANA database than the verifier has. */
  get foreignWindows() {
    return this.#expected.foreignWindows;
  }

  /** Number of uses whose request has another digest than an equal one in the same window. */
  get otherDigests() {
    return this.#expected.otherDigests;
  }

  /** @returns {string[]} faults that show once all entries are read */
  end() {
    const faults = [];
    for (const sum of new Set([...this.#missing.keys(), ...this.#erased.keys()])) {
      const end = this.#used.get(sum) ?? 0n;
      if (!areFilled(this.#missing.get(sum) ?? [], this.#erased.get(sum) ?? [], end))
        faults.push(`what erased entries have used of ${sum} does not lead from one use to the next`);
    }
    return faults;
  }

  /** @param {JsonObject} policy */
  #note(policy) {
    const { id, name, limits = [] } = policy;
    const faults = this.#expected.notePolicy(policy);
    if (!Array.isArray(limits) || limits.length === 0) return faults;
    const sums = limits.map((limit) =>
      isObject(limit) ? JSON.stringify([name, limit['of'] ?? null, limit['per'], limit['by'], zoneOf(limit)]) : '',
    );
    this.#limits.set(String(id), sums);
    return faults;
  }

  /**
   * @param {unknown} use
   * @returns {{ sum: string, from: bigint, to: bigint } | undefined}
   */
  #stepOf(use) {
    if (!isObject(use)) return undefined;
    const { policyId, limit, window, key, before, amount } = use;
    const rule = this.#limits.get(String(policyId))?.[Number(limit)];
    if (rule === undefined || !isAmount(before) || !(amount === null || isAmount(amount))) return undefined;
    const from = unitsOf(before);
    const to = from + (amount === null ? 0n : unitsOf(amount));
    return { sum: JSON.stringify([rule, window, key]), from, to };
  }

  /**
   * @param {string} list
   * @param {unknown} use
   * @param {boolean} isTaken
   */
  #useFaults(list, use, isTaken) {
    const step = this.#stepOf(use);
    if (step === undefined) return [`details.${list} has an item that is no use of a limit`];
    const { sum, from, to } = step;
    const sumBefore = this.#used.get(sum) ?? 0n;
    if (from < sumBefore || (from > sumBefore && this.#unknown === 0))
      return [
        `details.${list} says that ${textOf(from)} were used before of ${sum}; the entries have ${textOf(sumBefore)}`,
      ];
    if (from > sumBefore) this.#push(this.#missing, sum, { from: sumBefore, to: from });
    this.#used.set(sum, isTaken ? to : from);
    return [];
  }

  /** @param {unknown} use */
  #eraseFaults(use) {
    const step = this.#stepOf(use);
    if (step === undefined) return ['details.used has an item that is no use of a limit'];
    this.#push(this.#erased, step.sum, step);
    return [];
  }

  /**
   * @param {Map<string, Step[]>} steps
   * @param {string} sum
   * @param {Step} step
   */
  #push(steps, sum, { from, to }) {
    const list = steps.get(sum);
    if (list === undefined) steps.set(sum, [{ from, to }]);
    else list.push({ from, to });
  }
}

/** @param {JsonObject} limit */
function zoneOf({ zone }) {
  return typeof zone === 'string' ? zone.toLowerCase() : null;
}

/**
 * True if steps lead through all gaps, and further steps lead on from `end`. While an erasure is under way, the other
 * steps belong to entries that still have their contents.
 * @param {readonly Step[]} gaps in order
 * @param {readonly Step[]} steps
 * @param {bigint} end
 */
function areFilled(gaps, steps, end) {
  /** @type {Map<bigint, Step[]>} */
  const byStart = new Map();
  for (const step of steps.filter(({ from, to }) => to > from)) {
    const list = byStart.get(step.from);
    if (list === undefined) byStart.set(step.from, [step]);
    else list.push(step);
  }
  for (const { from, to } of gaps) {
    let reached = from;
    while (reached < to) {
      const step = byStart.get(reached)?.pop();
      if (step === undefined) return false;
      reached = step.to;
    }
    if (reached !== to) return false;
  }
  let last = end;
  for (let step = byStart.get(last)?.pop(); step !== undefined; step = byStart.get(last)?.pop()) last = step.to;
  return [...byStart.values()].flat().every(({ to }) => to <= last);
}
