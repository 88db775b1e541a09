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
  /**
   * The person for whom each public key was registered first, until that passkey is removed.
   * @type {Map<string, string>}
   */
  #firstPeople = new Map();
  /** The public key of each passkey, by id. @type {Map<string, string>} */
  #publicKeys = new Map();

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
    this.#people.set(id, agentId);
    this.#publicKeys.set(id, publicKey);
    if (!this.#firstPeople.has(publicKey)) this.#firstPeople.set(publicKey, agentId);
  }

  /**
   * Others may register the key from then on.
   * @param {string} id
   */
  #remove(id) {
    this.#removed.add(id);
    const publicKey = this.#publicKeys.get(id) ?? '';
    if (this.#firstPeople.get(publicKey) === this.#people.get(id)) this.#firstPeople.delete(publicKey);
  }

  /**
   * @param {string} id of the passkey that signed
   * @param {string} reviewerId the person who is said to have signed with it
   * @returns {string | undefined} why the passkey could not sign for this person now
   */
  faultOf(id, reviewerId) {
    const person = this.#people.get(id);
    const firstPerson = this.#firstPeople.get(this.#publicKeys.get(id) ?? '');
    if (person === undefined) return `the passkey ${id} had not been registered`;
    if (this.#removed.has(id)) return `the passkey ${id} had been removed`;
    if (this.#repeated.has(id)) return `the passkey ${id} was registered more than once`;
    if (person !== reviewerId) return `the passkey ${id} is registered for ${person}, not for ${reviewerId}`;
    if (firstPerson !== person) return `the key of the passkey ${id} was registered for ${firstPerson} before`;
    return undefined;
  }
}
