/**
 * The passkeys by the entries of a log so far. A decision file shows one registration of a passkey; only the log shows
 * that there is no second one, and no removal.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */
export class PasskeyRegistry {
  /** The person for whom each passkey is registered, by the id of the passkey. @type {Map<string, string>} */
  #people = new Map();
  /** The ids of passkeys that were registered more than once. @type {Set<string>} */
  #repeated = new Set();
  /** The ids of passkeys that were removed. @type {Set<string>} */
  #removed = new Set();
  /** Maps public keys to the passkeys that have each and were not removed. @type {Map<string, Set<string>>} */
  #holders = new Map();
  /** The public key of each passkey, by id. @type {Map<string, string>} */
  #publicKeys = new Map();
  /**
   * Maps passkeys to another person for whom a passkey with the same key was registered then.
   * @type {Map<string, string>}
   */
  #firstPeople = new Map();

  /**
   * @param {string} action
   * @param {string} id of the passkey
   * @param {Json | null | undefined} state nothing if the passkey was removed
   */
  add(action, id, state) {
    if (action === 'passkey.removed') this.#remove(id);
    if (action !== 'passkey.registered' || !state) return;
    const { agentId, publicKey } = state;
    if (this.#people.has(id)) this.#repeated.add(id);
    const holders = this.#holders.get(publicKey) ?? new Set();
    const others = [...holders].map((holder) => this.#people.get(holder)).filter((person) => person !== agentId);
    if (others[0] !== undefined) this.#firstPeople.set(id, others[0]);
    this.#people.set(id, agentId);
    this.#publicKeys.set(id, publicKey);
    this.#holders.set(publicKey, holders.add(id));
  }

  /**
   * Others may register the key once no passkey has it.
   * @param {string} id
   */
  #remove(id) {
    this.#removed.add(id);
    this.#holders.get(this.#publicKeys.get(id) ?? '')?.delete(id);
  }

  /**
   * Returns the person for whom a passkey is registered; undefined if it is not there.
   * @param {string} id
   */
  personOf(id) {
    return this.#removed.has(id) ? undefined : this.#people.get(id);
  }

  /**
   * @param {string} id of the passkey that signed
   * @param {string} reviewerId the person who is said to have signed with it
   * @returns {string | undefined} why the passkey could not sign for this person now
   */
  faultOf(id, reviewerId) {
    const person = this.#people.get(id);
    const firstPerson = this.#firstPeople.get(id);
    if (person === undefined) return `the passkey ${id} had not been registered`;
    if (this.#removed.has(id)) return `the passkey ${id} had been removed`;
    if (this.#repeated.has(id)) return `the passkey ${id} was registered more than once`;
    if (person !== reviewerId) return `the passkey ${id} is registered for ${person}, not for ${reviewerId}`;
    if (firstPerson !== undefined) return `the key of the passkey ${id} was registered for ${firstPerson} before`;
    return undefined;
  }
}
