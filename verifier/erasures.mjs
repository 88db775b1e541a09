import { isErased, isObject } from './entry-check.mjs';
import { sha256 } from './primitives.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/** More than any mark of a record: a number has a mark and how many entries have named its record. */
const MARKS = 2 ** 24;

/**
 * @typedef {object} ErasureCounts entries and records whose contents an erasure removed
 * @property {number} entries
 * @property {number} records
 */

/**
 * Compares erased entries with the entries that they name, and missing contents with the counts of their erasure. Of
 * each erased record one small number is kept until its `….erased` is read, since a log may have millions of records.
 */
export class Erasures {
  /** How many entries have lost their contents. */
  count = 0;
  /** Of these, those of version 1: nothing but `hash` is left to check of them. */
  unsalted = 0;
  /**
   * Maps the sequence that was named to the mark of the record that its entry should be about, and how many entries have
   * named it.
   * @type {Map<number, number>}
   */
  #erasureMarks = new Map();
  /** Counts by the id of an erasure that is not complete yet. @type {Map<string, ErasureCounts>} */
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
    if (entry['action'] === 'erasure.begun') this.#begun.set(String(entry['subjectId']), { entries: 0, records: 0 });
    return [
      ...this.#metFaults(entry),
      ...(isErased(entry) ? this.#namedFaults(entry) : []),
      ...(isErased(entry) && isErasing(entry) ? ['records an erasure, and lost its contents'] : []),
      ...(entry['action'] === 'erasure.completed' ? this.#completedFaults(entry) : []),
    ];
  }

  /** What follows was exported later than what was read so far. */
  endPart() {
    this.#isInParts = true;
  }

  /** @returns {number[]} sequences that erased entries name, and that have not been read */
  get unreadSequences() {
    return [...this.#erasureMarks.keys()];
  }

  /**
   * True if erased entries name this entry, and it erased their record.
   * @param {JsonObject} entry
   */
  isNamed(entry) {
    const { sequence } = entry;
    const mark = this.#erasureMarks.get(Number(sequence)) ?? NaN;
    return isErasing(entry) && mark % MARKS === this.#markOf(entry);
  }

  /** @param {JsonObject} entry */
  #metFaults(entry) {
    const sequence = Number(entry['sequence']);
    const mark = this.#erasureMarks.get(sequence);
    const faults = isErasing(entry) ? this.#countRecord(entry, Math.floor((mark ?? 0) / MARKS)) : [];
    if (mark === undefined) return faults;
    const isIt = this.isNamed(entry);
    this.#erasureMarks.delete(sequence);
    if (!isIt) faults.push('is named by other entries as the one that erased their record, but did not erase it');
    return faults;
  }

  /**
   * @param {JsonObject} entry that erased a record
   * @param {number} emptiedEntries number of entries that lost their contents
   */
  #countRecord(entry, emptiedEntries) {
    const { erasureId: id } = detailsOf(entry);
    // The service itself erased the record when RETAIN_CONTENT was over.
    if (id === null) return [];
    const counts = typeof id === 'string' ? this.#begun.get(id) : undefined;
    if (typeof id !== 'string' || counts === undefined)
      return [`details.erasureId is ${JSON.stringify(id)}, which is no erasure under way`];
    this.#begun.set(id, { entries: counts.entries + emptiedEntries, records: counts.records + 1 });
    return [];
  }

  /** @param {JsonObject} entry */
  #completedFaults(entry) {
    const id = String(entry['subjectId']);
    const counts = this.#begun.get(id) ?? { entries: 0, records: 0 };
    this.#begun.delete(id);
    const { entries, records } = detailsOf(entry);
    if (this.#isInParts || (entries === counts.entries && records === counts.records)) return [];
    return [
      `says that ${String(entries)} entries of ${String(records)} records lost their contents, but ${counts.entries} of ${counts.records} have`,
    ];
  }

  /** @param {JsonObject} entry */
  #namedFaults(entry) {
    const [erasureSequence, sequence] = [Number(entry['erased']), Number(entry['sequence'])];
    this.count += 1;
    if (entry['v'] === 1) this.unsalted += 1;
    if (typeof entry['erased'] !== 'number' || !Number.isSafeInteger(erasureSequence) || erasureSequence <= sequence)
      return [`erased is ${JSON.stringify(entry['erased'])}, which is no later entry`];
    const mark = this.#markOf(entry);
    const noted = this.#erasureMarks.get(erasureSequence) ?? mark;
    this.#erasureMarks.set(erasureSequence, noted + MARKS);
    return noted % MARKS === mark ? [] : [`erased is ${erasureSequence}, which other entries name for another record`];
  }

  /**
   * Computes the mark of the record that is erased as a whole: for a claim, its entity.
   * @param {JsonObject} entry
   */
  #markOf({ subjectType, subjectId, audit }) {
    const isClaim = subjectType === 'claim';
    const id = isClaim ? isObject(audit) && audit['entityId'] : subjectId;
    const [first = 0, second = 0, third = 0] = sha256(
      `${this.#salt} ${isClaim ? 'entity' : String(subjectType)} ${String(id)}`,
    );
    return (first << 16) | (second << 8) | third;
  }
}

/** What can be erased; a claim is erased with its entity. */
export const ERASABLE_TYPES = ['entity', 'decision', 'execution', 'grant'];

/**
 * True if the entry says that the contents of its record are erased. Those of policies, agents, keys and others never are.
 * @param {JsonObject} entry
 */
export function isErasing({ action, subjectType }) {
  return ERASABLE_TYPES.includes(String(subjectType)) && action === `${String(subjectType)}.erased`;
}

/**
 * @param {JsonObject} entry
 * @returns {JsonObject}
 */
function detailsOf({ audit }) {
  const details = isObject(audit) ? audit['details'] : undefined;
  return isObject(details) ? details : {};
}
