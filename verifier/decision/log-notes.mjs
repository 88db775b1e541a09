/** The sentences about what a log leaves open, and how often it does. */

/** Maps what is open to what a note says of it. @type {Readonly<Record<string, (count: number) => string>>} */
const TEXTS = {
  lost: (count) => `${count} entries rest on contents that are not there: what they decided cannot be checked in full.`,
  otherZones: (count) =>
    `${count} entries were decided by another version of the time zones, or the verifier has none, and an hour more or less may decide otherwise: they cannot be checked.`,
  firstForm: (count) => `${count} entries are of version 1, which does not say what decided: they were not recomputed.`,
  defaultEffect: (count) =>
    `${count} executions were let through by the default effect alone: that it was to allow rests on the operator’s word.`,
  oldRules: (count) =>
    `${count} entries were decided by rules of an evaluation that is not the current one: that the service was of an older version rests on the operator’s word.`,
  unknownBody: (count) =>
    `Of ${count} changes the body that was approved does not follow from the entries: that they are what it asked for rests on the service’s word.`,
  unboundKey: (count) =>
    `${count} reviews were sent with a key that is bound to nobody, and nobody signed them: that they are of the reviewers whom they name rests on the word of its holder.`,
  alone: (count) =>
    `${count} changes of the rules were made by one person or key, after others had needed a second person: that these needed none rests on the operator’s word.`,
  oneReview: (count) =>
    `The review of ${count} emergencies took one person: that the service was of an older version, or a person broke the glass, rests on the operator’s word.`,
  module: (count) => `${count} requests were refused by a module of the operator: why rests on the operator’s word.`,
};

export class LogNotes {
  /** @type {Map<string, number>} */
  #counts = new Map();

  /** @param {keyof typeof TEXTS} name of what an entry leaves open */
  count(name) {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** The notes, in the order above. */
  get texts() {
    return Object.entries(TEXTS).flatMap(([name, text]) => {
      const count = this.#counts.get(name);
      return count === undefined ? [] : text(count);
    });
  }
}
