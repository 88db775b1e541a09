import { isErased, isObject } from './entry-check.mjs';
import { sha256 } from './primitives.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/** More than any mark of a record: a number has a mark and how many entries have named its record. */
const MARKS = 2 ** 24;

/**
 * @typedef {object} Emptied what an erasure has taken
 * @property {number} entries
 * @property {number} records
 */

/**
 * Holds what erased entries say against the entries that they name, and what is gone against what an erasure says. Of
 * each erased record one small number is kept until its `….erased` is read, since a log may have millions of them.
 */
export class Erasures {
  /** How many entries have lost their contents. */
  count = 0;
  /** Of these, those of version 1: nothing but `hash` is left to check of them. */
  unsalted = 0;
  /**
   * By the sequence that was named, the mark of the record that its entry should be about, and how many entries have
   * named it.
   * @type {Map<number, number>}
   */
  #named = new Map();
  /** By the erasure that has not said yet that it is complete. @type {Map<string, Emptied>} */
  #begun = new Map();
  /** A later part of an export may say that contents are gone which an earlier one has. */
  #isInParts = false;
  /** Nobody who writes a file knows it, so that no two records can be chosen to have one mark. */
  #salt = String(Math.random());

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add(entry) {
    return [
      ...this.#metFaults(entry),
      ...(isErased(entry) ? this.#namedFaults(entry) : []),
      ...(entry['action'] === 'erasure.completed' ? this.#completedFaults(entry) : []),
    ];
  }

  /** What follows was exported later than what was read so far. */
  endPart() {
    this.#isInParts = true;
  }

  /** @returns {number[]} the sequences that were named, and have not been read */
  get awaited() {
    return [...this.#named.keys()];
  }

  /**
   * Whether an entry is the one that entries have named as theirs.
   * @param {JsonObject} entry
   */
  isNamed(entry) {
    const { sequence } = entry;
    const named = this.#named.get(Number(sequence)) ?? NaN;
    return isErasing(entry) && named % MARKS === this.#markOf(entry);
  }

  /** @param {JsonObject} entry */
  #metFaults(entry) {
    const sequence = Number(entry['sequence']);
    const named = this.#named.get(sequence);
    if (isErasing(entry)) this.#countRecord(entry, Math.floor((named ?? 0) / MARKS));
    if (named === undefined) return [];
    const isIt = this.isNamed(entry);
    this.#named.delete(sequence);
    return isIt ? [] : ['is named by others as the one that erased their record, which it is not'];
  }

  /**
   * @param {JsonObject} entry that erased a record
   * @param {number} emptied how many entries have lost their contents by it
   */
  #countRecord(entry, emptied) {
    const id = detailsOf(entry)['erasureId'];
    if (typeof id !== 'string') return;
    const { entries, records } = this.#begun.get(id) ?? { entries: 0, records: 0 };
    this.#begun.set(id, { entries: entries + emptied, records: records + 1 });
  }

  /** @param {JsonObject} entry */
  #completedFaults(entry) {
    const id = String(entry['subjectId']);
    const found = this.#begun.get(id) ?? { entries: 0, records: 0 };
    this.#begun.delete(id);
    const { entries, records } = detailsOf(entry);
    if (this.#isInParts || (entries === found.entries && records === found.records)) return [];
    return [
      `says that ${String(entries)} entries of ${String(records)} records lost their contents, but ${found.entries} of ${found.records} have`,
    ];
  }

  /** @param {JsonObject} entry */
  #namedFaults(entry) {
    const [erased, sequence] = [Number(entry['erased']), Number(entry['sequence'])];
    this.count += 1;
    if (entry['v'] === 1) this.unsalted += 1;
    if (typeof entry['erased'] !== 'number' || !Number.isSafeInteger(erased) || erased <= sequence)
      return [`erased is ${JSON.stringify(entry['erased'])}, which is no later entry`];
    const mark = this.#markOf(entry);
    const known = this.#named.get(erased) ?? mark;
    this.#named.set(erased, known + MARKS);
    return known % MARKS === mark ? [] : [`erased is ${erased}, which others name for another record`];
  }

  /**
   * Of the record that is erased as a whole: of a claim, its entity.
   * @param {JsonObject} entry
   */
  #markOf({ subjectType, subjectId, audit }) {
    const isClaim = subjectType === 'claim';
    const id = isClaim ? isObject(audit) && audit['entityId'] : subjectId;
    const [one = 0, two = 0, three = 0] = sha256(
      `${this.#salt} ${isClaim ? 'entity' : String(subjectType)} ${String(id)}`,
    );
    return (one << 16) | (two << 8) | three;
  }
}

/**
 * Whether it says that the contents of its record are gone.
 * @param {JsonObject} entry
 */
function isErasing({ action, subjectType }) {
  return action === `${String(subjectType)}.erased`;
}

/**
 * @param {JsonObject} entry
 * @returns {JsonObject}
 */
function detailsOf({ audit }) {
  const details = isObject(audit) ? audit['details'] : undefined;
  return isObject(details) ? details : {};
}
