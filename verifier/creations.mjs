import { AUTHORISING } from './decision/history.mjs';
import { isObject } from './entry-check.mjs';
import { ACCESS_DENIED } from './record-actions.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/**
 * The actions that create records on which decisions rest, by kind, each with the beginning of the ids that they give.
 * @type {Readonly<Record<string, { actions: readonly string[], prefix: string }>>}
 */
const CREATING = {
  agent: { actions: ['agent.created'], prefix: 'agt_' },
  api_key: { actions: ['api_key.created'], prefix: 'key_' },
  claim: { actions: ['claim.added'], prefix: 'clm_' },
  decision: { actions: ['decision.proposed'], prefix: 'dec_' },
  delegation: { actions: ['delegation.created'], prefix: 'dlg_' },
  entity: { actions: ['entity.created'], prefix: 'ent_' },
  execution: {
    actions: ['execution.authorized', 'execution.denied', 'execution.approval_requested'],
    prefix: 'exe_',
  },
  grant: { actions: ['grant.created'], prefix: 'grt_' },
  passkey: { actions: ['passkey.registered'], prefix: 'psk_' },
  policy: { actions: ['policy.created'], prefix: 'pol_' },
  erasure: { actions: ['erasure.begun'], prefix: 'ers_' },
  stop: { actions: ['stop.created'], prefix: 'stp_' },
  webhook: { actions: ['webhook.created'], prefix: 'whk_' },
};
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/u;

/** Kinds whose entries are counted by their actions. A record that another action had made would not be counted. */
const COUNTED = ['decision', 'execution', 'grant'];
/** The outcomes of an execution that was authorised. */
const AUTHORISED = ['authorized', 'running', 'executed', 'failed', 'interrupted'];
/** The actions after which nothing more happens to an execution that was authorised. */
const ENDING = ['execution.completed', 'execution.interrupted'];

/**
 * Checks that no record is created twice, and that its id is one of its kind: the service gives each id once, also
 * after the record was removed. Checks also that decisions, executions and grants are created before anything else is
 * said of them, and that an execution which says that it was authorised has one entry that authorised it, and ends
 * once: by these entries, uses and rejections are counted.
 */
export class Creations {
  /** @type {Set<unknown>} */
  #ids = new Set();
  /** The ids of executions that were authorised. @type {Set<unknown>} */
  #authorised = new Set();
  /** The ids of those that ended. @type {Set<unknown>} */
  #ended = new Set();

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add(entry) {
    const { action, subjectType, subjectId } = entry;
    const [kind, name] = [String(subjectType), String(action)];
    const { actions = [], prefix = '' } = (Object.hasOwn(CREATING, kind) ? CREATING[kind] : undefined) ?? {};
    const id = String(subjectId);
    const isAgain = name === 'execution.resumed' && this.#authorised.has(id);
    if (kind === 'execution' && AUTHORISING.includes(name)) this.#authorised.add(id);
    if (isAgain) return [`${name} of ${id}, which was authorised before`];
    if (kind === 'execution' && ENDING.includes(name)) {
      if (this.#ended.has(id)) return [`${name} of ${id}, which had ended before`];
      this.#ended.add(id);
    }
    if (!actions.includes(name)) return this.#faultsOfOther(entry, kind);
    const isBefore = this.#ids.has(id);
    this.#ids.add(id);
    return [
      ...(isBefore ? [`${name} of the id ${id}, which was created before`] : []),
      ...(id.startsWith(prefix) && ULID.test(id.slice(prefix.length))
        ? []
        : [`${name} of the id ${id}, which no ${kind} has`]),
    ];
  }

  /**
   * @param {JsonObject} entry that creates nothing
   * @param {string} kind
   * @returns {string[]}
   */
  #faultsOfOther({ action, subjectId, state }, kind) {
    if (!COUNTED.includes(kind) || action === ACCESS_DENIED) return [];
    const id = String(subjectId);
    const outcome = kind === 'execution' && isObject(state) ? String(state['outcome']) : '';
    const isUnauthorised = AUTHORISED.includes(outcome) && !this.#authorised.has(id);
    return [
      ...(this.#ids.has(id) ? [] : [`${String(action)} is the first entry of its ${kind}, which nothing has made`]),
      ...(isUnauthorised ? [`${String(action)} leaves the execution ${outcome}, which nothing has authorised`] : []),
    ];
  }
}
