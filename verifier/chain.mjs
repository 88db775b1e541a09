import { AgentRevisions } from './agent-revisions.mjs';
import { Creations } from './creations.mjs';
import { LogDecisions } from './decision/log-decisions.mjs';
import { withAnyForm } from './decision/malformed.mjs';
import { disagreements } from './doubled-members.mjs';
import { entryFaults, isObject } from './entry-check.mjs';
import { ErasedPairs } from './erased-pairs.mjs';
import { ErasureSubjects } from './erasure-subjects.mjs';
import { Erasures } from './erasures.mjs';
import { TakenUses } from './limit-uses.mjs';
import { Makings } from './makings.mjs';
import { MerkleTree } from './merkle-tree.mjs';
import { PolicyVersions } from './policy-versions.mjs';
import { RecordStates } from './record-states.mjs';

const HASH = /^[0-9a-f]{64}$/;
const NOT_THERE = 'erased contents of earlier entries, which name it, and is missing';

/**
 * @typedef {import('./findings.mjs').Findings} Findings
 * @typedef {import('./decision/read-file.mjs').Json} Json
 * @typedef {import('./decision/report.mjs').Difference} Difference
 */

/** Checks entries given one after another, and grows the Merkle tree over them. */
export class Chain {
  tree = new MerkleTree();
  erasures = new Erasures();
  uses = new TakenUses();
  #pairs = new ErasedPairs();
  #subjects = new ErasureSubjects();
  #creations = new Creations();
  #revisions = new AgentRevisions();
  #states = new RecordStates();
  #versions = new PolicyVersions();
  #makings = new Makings();
  #decisions = new LogDecisions();
  /** Sequence of the last entry. */
  sequence = 0;
  hash = '0'.repeat(64);
  #timestamp = '';
  #version = 0;
  /** Roots at the requested sizes, in hex. @type {Map<number, string>} */
  roots = new Map();

  /**
   * @param {Findings} findings
   * @param {ReadonlySet<number>} sizes whose roots are needed
   * @param {object} [receivers]
   * @param {(node: { level: number, position: number, hash: Buffer }) => void} [receivers.onSubtree]
   * @param {(difference: Difference) => void} [receivers.onDifference] of what was decided; by default a finding
   * @param {(entry: Json) => Json} [receivers.ownOf] returns what a decision file says of an entry, if it has the entry
   */
  constructor(findings, sizes, { onSubtree, onDifference, ownOf = (entry) => entry } = {}) {
    this.findings = findings;
    this.sizes = sizes;
    this.onSubtree = onSubtree;
    this.ownOf = ownOf;
    this.onDifference =
      onDifference ?? (({ sequence, difference }) => findings.add('decision', `entry ${sequence}`, difference));
    this.#noteRoot();
  }

  /** @param {unknown} entry */
  async add(entry) {
    const { sequence, previousHash, hash, timestamp, v } = isObject(entry) ? entry : {};
    const place = `entry ${String(sequence)}`;
    for (const fault of entryFaults(entry)) this.findings.add('chain', place, fault);
    if (isObject(entry))
      for (const fault of [...disagreements(entry), ...this.#faultsAmongOthers(entry)])
        this.findings.add('chain', place, fault);
    if (sequence !== this.sequence + 1) this.findings.add('chain', place, `does not follow entry ${this.sequence}`);
    if (previousHash !== this.hash)
      this.findings.add('chain', place, 'previousHash is not the hash of the entry before');
    if (String(timestamp) < this.#timestamp)
      this.findings.add('chain', place, 'timestamp is before that of the entry before');
    if (Number(v) < this.#version)
      this.findings.add('chain', place, `v is ${String(v)}, and the entry before has ${this.#version}`);
    this.sequence = Number(sequence);
    this.#version = Number(v);
    this.hash = String(hash);
    this.#timestamp = String(timestamp);
    this.#grow();
    if (isObject(entry)) await this.#recompute(entry);
  }

  /** @param {Json} entry */
  async #recompute(entry) {
    (await this.#decisions.add(this.ownOf(entry))).forEach(this.onDifference);
  }

  /**
   * Returns the faults of an entry that only a comparison with earlier entries shows.
   * @param {import('./entry-check.mjs').JsonObject} entry
   */
  #faultsAmongOthers(entry) {
    this.#pairs.add(entry);
    const checks = [
      this.erasures,
      this.#subjects,
      this.uses,
      this.#creations,
      this.#revisions,
      this.#states,
      this.#versions,
      this.#makings,
    ];
    return checks.flatMap((check) =>
      withAnyForm(
        () => [...check.add(entry)],
        (fault) => [fault],
      ),
    );
  }

  /**
   * Checks the last line of an export, which states where the export ends.
   * @param {{ end: unknown }} line
   */
  end({ end }) {
    this.erasures.endPart();
    for (const fault of this.#subjects.end()) this.findings.add('chain', `after entry ${this.sequence}`, fault);
    const place = `end after entry ${this.sequence}`;
    if (!isObject(end) || Object.keys(end).sort().join() !== 'hash,sequence') {
      this.findings.add('chain', place, 'an end has a sequence and a hash, and nothing else');
    } else if (end['sequence'] !== this.sequence || end['hash'] !== this.hash) {
      this.findings.add(
        'head',
        place,
        `the export says that the chain ends at ${String(end['sequence'])}, ${String(end['hash'])}`,
      );
    }
  }

  /**
   * Adds the faults that show only after the last entry. Contents may be missing only if an erasure entry states it;
   * that entry also has the uses of limits that the contents had.
   * @param {(sequence: number) => Promise<import('./erasures.mjs').JsonObject | undefined>} [later] finds entries that
   *   a running service has written since
   */
  async requireErasures(later) {
    (await this.#decisions.end()).forEach(this.onDifference);
    for (const sequence of this.erasures.unreadSequences) {
      const entry = await later?.(sequence);
      const place = `entry ${sequence}`;
      if (entry === undefined || !this.erasures.isNamedErasure(entry)) {
        const isBeyond = later === undefined && sequence > this.sequence;
        this.findings.add('chain', place, isBeyond ? this.#missingPart() : NOT_THERE);
        continue;
      }
      for (const fault of this.uses.add(entry)) this.findings.add('chain', place, fault);
    }
    for (const fault of [...this.uses.end(), ...this.#pairs.end(), ...this.#versions.end()])
      this.findings.add('chain', `after entry ${this.sequence}`, fault);
    this.#note();
  }

  /**
   * Ends an export that was cut off. Entries that follow may have erased contents, and may be of the last commit: so
   * what shows only after the last entry is no fault.
   */
  endCut() {
    this.findings.note(
      `What follows entry ${this.sequence} is missing, so what the last entries before it decided was not checked, nor what erased the contents that are not there.`,
    );
    this.#note();
  }

  #note() {
    this.#noteForeignWindows();
    this.#noteOtherDigests();
    for (const note of this.#decisions.notes) this.findings.note(note);
  }

  #noteForeignWindows() {
    const count = this.uses.foreignWindows;
    if (count > 0)
      this.findings.note(
        `${count} uses of limits were counted in windows of another version of the time zones than this verifier has: when those windows began cannot be checked.`,
      );
  }

  #noteOtherDigests() {
    const count = this.uses.otherDigests;
    if (count > 0)
      this.findings.note(
        `${count} uses of limits are of requests that had another digest in the same window, as after a change of API_KEY: whether the equal requests before count cannot be checked.`,
      );
  }

  /** Entries about which the hour between two versions of the time zones decides. */
  get undecided() {
    return this.#decisions.undecided;
  }

  /** An erasure may have begun while the export was made. */
  #missingPart() {
    return `erased contents of earlier entries, which name it, and comes after the end: add the export of what follows (after=${this.sequence})`;
  }

  /** @param {string} fault of something that is not an entry */
  addUnreadable(fault) {
    this.findings.add('chain', `after entry ${this.sequence}`, fault);
  }

  #grow() {
    const isHash = HASH.test(this.hash);
    const completed = this.tree.add(isHash ? Buffer.from(this.hash, 'hex') : Buffer.from(this.hash));
    if (this.onSubtree !== undefined) completed.forEach(this.onSubtree);
    this.#noteRoot();
  }

  #noteRoot() {
    if (this.sizes.has(this.tree.size)) this.roots.set(this.tree.size, this.tree.root.toString('hex'));
  }
}
