import { isErased, isObject } from './entry-check.mjs';
import { sha256 } from './primitives.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/**
 * Number of possible marks (24 bits). One number stores a mark plus `MARK_COUNT` times the number of entries that have
 * this mark.
 */
const MARK_COUNT = 2 ** 24;

/**
 * @typedef {object} ErasureCounts numbers of entries and records whose contents an erasure removed
 * @property {number} entries
 * @property {number} records
 */

/**
 * Checks that erased entries name the entry that erased their record, and that each erasure states the right counts.
 * Stores one number per erased record until the entry that erased the record is read, because a log may have millions
 * of records.
 */
export class Erasures {
  /** Number of entries that lost their contents. */
  erasedCount = 0;
  /** Number of those that have version 1; only their `hash` can still be checked. */
  unsalted = 0;
  /**
   * Maps the sequence of an expected erasure entry to a packed number: the mark of the record that it must erase, and
   * the number of entries that name it.
   * @type {Map<number, number>}
   */
  #expectedErasures = new Map();
  /**
   * Maps the id of each erasure that has begun and is not complete to its counts so far.
   * @type {Map<string, ErasureCounts>}
   */
  #openErasures = new Map();
  /**
   * True after the first part of an export. Counts are then not compared, because an earlier part may still contain
   * contents that were erased before the later part was exported.
   */
  #isInParts = false;
  /**
   * Random salt of the marks. The author of a file does not know it, so cannot choose two records with the same mark.
   */
  #salt = String(Math.random());

  /**
   * @param {JsonObject} entry the next entry of the chain
   * @returns {string[]} its faults
   */
  add(entry) {
    if (entry['action'] === 'erasure.begun')
      this.#openErasures.set(String(entry['subjectId']), { entries: 0, records: 0 });
    return [
      ...this.#erasureFaults(entry),
      ...(isErased(entry) ? this.#erasedEntryFaults(entry) : []),
      ...(isErased(entry) && isErasureEntry(entry) ? ['records an erasure, and lost its contents'] : []),
      ...(entry['action'] === 'erasure.completed' ? this.#completionFaults(entry) : []),
    ];
  }

  /** Ends a part of an export; the following entries were exported later. */
  endPart() {
    this.#isInParts = true;
  }

  /** @returns {number[]} sequences of erasure entries that erased entries name and that are not read yet */
  get unreadSequences() {
    return [...this.#expectedErasures.keys()];
  }

  /**
   * True if erased entries name this entry and this entry erased their record.
   * @param {JsonObject} entry
   */
  isNamedErasure(entry) {
    const { sequence } = entry;
    const packed = this.#expectedErasures.get(Number(sequence)) ?? NaN;
    return isErasureEntry(entry) && packed % MARK_COUNT === this.#markOf(entry);
  }

  /** @param {JsonObject} entry */
  #erasureFaults(entry) {
    const sequence = Number(entry['sequence']);
    const packed = this.#expectedErasures.get(sequence);
    const faults = isErasureEntry(entry) ? this.#countRecord(entry, Math.floor((packed ?? 0) / MARK_COUNT)) : [];
    if (packed === undefined) return faults;
    const isNamedErasure = this.isNamedErasure(entry);
    this.#expectedErasures.delete(sequence);
    if (!isNamedErasure)
      faults.push('is named by other entries as the one that erased their record, but did not erase it');
    return faults;
  }

  /**
   * Adds an erased record to the counts of its erasure.
   * @param {JsonObject} entry the entry that records the erasure
   * @param {number} emptiedEntries number of entries that lost their contents
   * @returns {string[]} faults of the entry
   */
  #countRecord(entry, emptiedEntries) {
    const { erasureId: id } = detailsOf(entry);
    // The service erased the record when its RETAIN_CONTENT period ended, so no requested erasure counts the record.
    if (id === null) return [];
    const counts = typeof id === 'string' ? this.#openErasures.get(id) : undefined;
    if (typeof id !== 'string' || counts === undefined)
      return [`details.erasureId is ${JSON.stringify(id)}, which is no erasure under way`];
    this.#openErasures.set(id, { entries: counts.entries + emptiedEntries, records: counts.records + 1 });
    return [];
  }

  /** @param {JsonObject} entry */
  #completionFaults(entry) {
    const id = String(entry['subjectId']);
    const counts = this.#openErasures.get(id) ?? { entries: 0, records: 0 };
    this.#openErasures.delete(id);
    const { entries, records } = detailsOf(entry);
    if (this.#isInParts || (entries === counts.entries && records === counts.records)) return [];
    return [
      `says that ${String(entries)} entries of ${String(records)} records lost their contents, but ${counts.entries} of ${counts.records} have`,
    ];
  }

  /** @param {JsonObject} entry */
  #erasedEntryFaults(entry) {
    const [erasureSequence, sequence] = [Number(entry['erased']), Number(entry['sequence'])];
    this.erasedCount += 1;
    if (entry['v'] === 1) this.unsalted += 1;
    if (typeof entry['erased'] !== 'number' || !Number.isSafeInteger(erasureSequence) || erasureSequence <= sequence)
      return [`erased is ${JSON.stringify(entry['erased'])}, which is no later entry`];
    const mark = this.#markOf(entry);
    const packed = this.#expectedErasures.get(erasureSequence) ?? mark;
    this.#expectedErasures.set(erasureSequence, packed + MARK_COUNT);
    return packed % MARK_COUNT === mark
      ? []
      : [`erased is ${erasureSequence}, which other entries name for another record`];
  }

  /**
   * Computes the mark of an entry's record. For a claim, computes the mark of its entity, because a claim is erased
   * with its entity.
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

/** Types of records that can be erased; a claim is erased with its entity. */
export const ERASABLE_TYPES = ['entity', 'decision', 'execution', 'grant'];

/**
 * True if the entry states that the contents of its record were erased. Contents of other records, such as policies,
 * agents and keys, are never erased.
 * @param {JsonObject} entry
 */
export function isErasureEntry({ action, subjectType }) {
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
