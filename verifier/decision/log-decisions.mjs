import { isErased } from '../entry-check.mjs';
import { isStopping } from '../evaluation/stops.mjs';
import { ZONES } from '../evaluation/zone-data.mjs';
import { ACCESS_DENIED, RECORD_ACTIONS } from '../record-actions.mjs';
import { expectAuditForm } from './audit-form.mjs';
import { BindingRejections } from './binding-rejections.mjs';
import { changeFaults, REVIEWED } from './change-log.mjs';
import { recomputeMade } from './changes.mjs';
import { ConstantMembers } from './constant-members.mjs';
import { delegateFaults } from './delegations.mjs';
import { ErasedAuthority } from './erased-authority.mjs';
import { ErasedGrounds } from './erased-grounds.mjs';
import { GrantUses } from './grant-uses.mjs';
import { recomputeWithGuesses } from './guesses.mjs';
import { AUTHORISING, BEGINNINGS } from './history.mjs';
import { KeyRegistry } from './key-registry.mjs';
import { erasedFaults, expectLasting } from './lasting-records.mjs';
import { LogFacts } from './log-facts.mjs';
import { LogHistory } from './log-history.mjs';
import { LogNotes } from './log-notes.mjs';
import { malformedFault, withAnyForm } from './malformed.mjs';
import { OpenEmergencies } from './open-emergencies.mjs';
import { OpenRequests } from './open-requests.mjs';
import { PasskeyRegistry } from './passkey-registry.mjs';
import { policyFaults } from './policy-entries.mjs';
import { premiseFaults } from './premises.mjs';
import { expectKnown } from './recompute.mjs';
import { Report } from './report.mjs';
import { asAgent } from './reviewer.mjs';
import { isOfOneReview, SecondPerson } from './second-person.mjs';
import { endedKeyFaults, senderFaults } from './senders.mjs';
import { UnknownOutcomes } from './unknown-outcomes.mjs';

/**
 * Recomputes every execution, decision, grant and delegation of a log, as those of a decision file are, and what only a
 * log shows: that nothing in force is left out. Of a log nothing is missing but what was erased, and what rests on that.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./report.mjs').Difference} Difference
 */

/** Every agent. */
const ALL = { has: () => true };
const RECOMPUTED = ['execution', 'decision', 'grant', 'delegation'];
/** A difference of an entry's facts from those that its policies look up. */
const FACTS_DIFFER = /^details\.(?:earlier|claims) is recorded/;
/** Kinds of records, and details of entries, that came with or after the second form. */
const LATER_KINDS = ['delegation', 'erasure', 'grant', 'passkey', 'stop'];
const LATER_DETAILS = ['rules', 'agentRevision', 'approverRevision', 'used', 'firstSequence'];
const STOPPED = ['stopped', 'agent_suspended'];

export class LogDecisions {
  #history = new LogHistory();
  #keys = new KeyRegistry();
  #passkeys = new PasskeyRegistry();
  #rejections = new BindingRejections(ALL);
  #unknownOutcomes = new UnknownOutcomes(ALL);
  #emergencies = new OpenEmergencies();
  #facts = new LogFacts();
  #secondPerson = new SecondPerson();
  #erasedGrounds = new ErasedGrounds();
  /** Checks of records that also know what is left of erased ones. */
  #allRecords = [new ConstantMembers(), new ErasedAuthority(), new OpenRequests(), new GrantUses()];
  /** Active stops, by id. @type {Map<string, Json>} */
  #stops = new Map();
  /** The entries of the last time. @type {Json[]} */
  #entries = [];
  /** Entries about which the hour between two versions of the time zones may have decided. @type {Json[]} */
  undecided = [];
  #notes = new LogNotes();

  /**
   * @param {Json} entry the next one of the log
   * @returns {Promise<Difference[]>} of the entries before, once all of their time are known
   */
  async add(entry) {
    // A refused caller is no record, whatever the entry is filed under.
    if (entry['action'] === ACCESS_DENIED) return [];
    const isSameTime = this.#entries[0]?.['timestamp'] === entry['timestamp'];
    const differences = isSameTime ? [] : await this.end();
    this.#entries.push(entry);
    return differences;
  }

  /** @returns {Promise<Difference[]>} of the last entries */
  async end() {
    const entries = this.#entries;
    this.#entries = [];
    try {
      await this.#history.begin(entries);
      const differences = entries.flatMap((entry) => this.#differencesOf(entry));
      this.#history.end();
      return differences;
    } catch (error) {
      return [{ sequence: entries[0]?.['sequence'], difference: malformedFault(error) }];
    }
  }

  /** Sentences about what could not be recomputed, and why. */
  get notes() {
    return this.#notes.texts;
  }

  /**
   * @param {Json} entry
   * @returns {Difference[]}
   */
  #differencesOf(entry) {
    const report = new Report();
    report.begin(entry, true);
    withAnyForm(
      () => {
        this.#history.turnTo(entry);
        this.#recompute(entry, report);
        this.#note(entry, report);
      },
      (fault) => report.differ(fault, entry['sequence']),
    );
    return [...report.differences, ...report.gaps];
  }

  /**
   * @param {Json} entry
   * @param {Report} report
   */
  #recompute(entry, report) {
    const history = this.#history;
    if (history.isMade(entry)) {
      this.#keepRules(entry, report);
      recomputeMade(entry, history, report);
    }
    if (entry['v'] === 1) {
      if (isRecomputed(entry)) this.#notes.count('firstForm');
      for (const fault of firstFormFaults(entry)) report.differ(fault);
      return;
    }
    if (this.#secondPerson.isAlone(entry, (id, time) => this.#keys.get(id, time))) this.#notes.count('alone');
    if (isErased(entry)) return;
    if (isOfModule(entry)) {
      for (const fault of endedKeyFaults(entry, this.#before(entry))) report.differ(fault);
      if (isRecomputed(entry)) expectLasting(entry, history, report);
      return;
    }
    for (const fault of erasedFaults(entry, history)) report.differ(fault);
    if (isRecomputed(entry) || !isByService(entry)) expectAuditForm(entry, history, report);
    if (isRecomputed(entry) && history.restsOnLost(entry)) {
      this.#notes.count('lost');
      // What an execution begins with rests on erased records in a few facts only.
      if (!BEGINNINGS.includes(entry['action'])) return;
    } else if (this.#erasedGrounds.mayDecide(entry, history)) this.#notes.count('lost');
    for (const fault of this.#callerFaults(entry)) report.differ(fault);
    if (!isRecomputed(entry)) {
      if (report.differences.length > 0) return;
      for (const fault of endedKeyFaults(entry, this.#before(entry))) report.differ(fault);
      return;
    }
    expectKnown(entry, history, report);
    const { rules } = entry['audit'].details;
    if (rules !== undefined) for (const fault of history.ruleSets.faultsOf(rules)) report.differ(fault);
    if (rules !== undefined && history.ruleSets.isOld(rules)) this.#notes.count('oldRules');
    this.#keepRules(entry, report);
    const isUndecided = this.#lacksZones() || recomputeWithGuesses(entry, history, report);
    if (isUndecided) {
      this.#notes.count('otherZones');
      this.undecided.push(placeOf(entry));
    }
    if (isByDefault(entry)) this.#notes.count('defaultEffect');
    if (isOfOneReview(entry)) this.#notes.count('oneReview');
    if (this.#isByUnboundKey(entry)) this.#notes.count('unboundKey');
    if (entry['audit'].reason === 'extension_refused') this.#notes.count('module');
    if (report.hasUnknownBody) this.#notes.count('unknownBody');
    // An entry whose facts differ already may name any number of them, so they are not compared one by one.
    const hasOtherFacts = report.differences.some(({ difference }) => FACTS_DIFFER.test(difference));
    for (const fault of [
      ...(hasOtherFacts ? [] : this.#facts.faults(entry, history.ruleSets.policies)),
      ...(entry['state'].change === undefined ? [] : changeFaults(entry, this.#before(entry))),
      ...this.#omissionFaults(entry),
    ])
      report.differ(fault);
  }

  /**
   * True for a review in somebody's name that only the holder of a key vouches for.
   * @param {Json} entry
   */
  #isByUnboundKey({ action, timestamp, audit: { actor }, state }) {
    if (!REVIEWED.includes(action) || actor.type !== 'api_key') return false;
    const { approverId, signature } = state.reviews.at(-1) ?? {};
    const isBound = this.#keys.get(actor.id, timestamp)?.agentId !== null;
    return !isBound && (approverId ?? null) !== null && signature === undefined;
  }

  /** True if the verifier has no time zones, and policies in force read clocks. */
  #lacksZones() {
    return ZONES.zones.length === 0 && this.#history.ruleSets.policies.some(readsClock);
  }

  /**
   * Notes what the next entries may rest on.
   * @param {Json} entry
   * @param {Report} report
   */
  #note(entry, report) {
    const { action, subjectType, subjectId, state } = entry;
    const history = this.#history;
    history.note(entry);
    this.#keys.add(entry, state);
    this.#rejections.add(entry, state);
    this.#unknownOutcomes.add(entry, state);
    if (subjectType === 'passkey') this.#passkeys.add(action, subjectId, state);
    if (subjectType === 'stop' && state?.status === 'active') this.#stops.set(subjectId, state);
    else if (subjectType === 'stop') this.#stops.delete(subjectId);
    this.#emergencies.add(entry, state);
    this.#erasedGrounds.add(entry);
    this.#facts.note(entry, history.stateBefore(history.entriesAbout(subjectType, subjectId), entry['sequence']));
    const isPlain = entry['v'] !== 1 && !isErased(entry) && !history.isMade(entry);
    if (isPlain) for (const fault of policyFaults(entry, history)) report.differ(fault);
    for (const check of this.#allRecords) for (const fault of check.faults(entry, state)) report.differ(fault);
  }

  /**
   * Finds callers who could not do what the entry says.
   * @param {Json} entry
   * @returns {string[]}
   */
  #callerFaults(entry) {
    const { audit, state } = entry;
    const before = this.#before(entry);
    const isSuspended = (/** @type {string} */ id) => before.agents.get(id)?.['status'] === 'suspended';
    const isApproved = audit.details.verdict === 'approve' && audit.action !== 'decision.approval_denied';
    return [
      ...senderFaults(entry, { ...before, suspendedIds: { has: isSuspended } }),
      ...delegateFaults(entry, before.agents),
      ...(isApproved && isSuspended(state?.proposedBy)
        ? ['it was approved while the agent that requested it was suspended']
        : []),
      ...(audit.action === 'decision.proposed' && isSuspended(state.proposedBy)
        ? ['it was proposed while the agent that proposed it was suspended']
        : []),
      // A rejection gives a grant, too, for other parameters: only if the reviewer could have approved.
      ...(audit.action === 'grant.created' && isSuspended(state.agentId)
        ? ['the grant was made while the agent that requested it was suspended']
        : []),
      ...this.#signerFaults(entry),
      ...premiseFaults(entry, { ...before, passkeys: this.#passkeys }),
    ];
  }

  /**
   * Returns the log before an entry.
   * @param {Json} entry
   */
  #before({ sequence }) {
    const history = this.#history;
    const agents = { get: (/** @type {string} */ id) => history.agentBefore(id, sequence) };
    return { keys: this.#keys, agents, emergencies: this.#emergencies, history };
  }

  /**
   * Finds a passkey that could not sign for the reviewer.
   * @param {Json} entry
   * @returns {string[]}
   */
  #signerFaults({ action, state }) {
    const { signature, approverId } = (REVIEWED.includes(action) ? state.reviews.at(-1) : undefined) ?? {};
    return signature === undefined ? [] : [this.#passkeys.faultOf(signature.passkeyId, approverId) ?? []].flat();
  }

  /**
   * Finds what counted and is left out: a stop, a rejection, or an unknown outcome.
   * @param {Json} entry
   * @returns {string[]}
   */
  #omissionFaults(entry) {
    return [...this.#stopFaults(entry), ...this.#rejectionFaults(entry), ...this.#unknownOutcomes.faultsBefore(entry)];
  }

  /**
   * @param {Json} entry
   * @returns {string[]}
   */
  #stopFaults({ sequence, audit, state }) {
    const { agentRevision, stopId } = audit.details;
    const agent = this.#history.agentBefore(state.agentId, sequence);
    if (agentRevision === undefined || agent === undefined) return [];
    const stop = [...this.#stops.values()].find((one) =>
      isStopping(one, asAgent(/** @type {any} */ (agent)), state.action),
    );
    return [
      ...(stop !== undefined && !STOPPED.includes(audit.reason)
        ? [`the stop ${stop['id']} covered it, and it was not refused`]
        : []),
      ...(stopId !== undefined && !this.#stops.has(stopId) ? [`the stop ${stopId} was not active`] : []),
    ];
  }

  /**
   * Finds a rejected action that was requested again or granted while the rejection held, whoever has to approve it by
   * then.
   * @param {Json} entry
   * @returns {string[]}
   */
  #rejectionFaults({ timestamp, audit, state }) {
    const isGranted = audit.action === 'execution.authorized' && state.grantId !== undefined;
    if (!isGranted && audit.action !== 'execution.approval_requested') return [];
    const grant = isGranted ? this.#history.entriesAbout('grant', state.grantId)[0]?.['state'] : undefined;
    // What an erased grant was for is not known.
    const isWide = Boolean(grant) && (grant?.['resources'] !== null || grant['parametersHash'] === null);
    const exact = this.#rejections.findExact(state, timestamp);
    if (exact !== undefined) return [`the rejection of the same action by ${exact} held`];
    const otherSpelling = isWide ? this.#rejections.findAnySpelling(state, timestamp) : undefined;
    return otherSpelling === undefined
      ? []
      : [`the rejection by ${otherSpelling} held, which keeps out every spelling of the resource`];
  }

  /**
   * Keeps the rules that a change names, as they were when it was proposed, and before its first entry.
   * @param {Json} entry
   * @param {Report} report
   */
  #keepRules(entry, report) {
    const { makingEntry, madeEntries, ruleSets } = this.#history;
    const isFirst = entry === (madeEntries[0] ?? makingEntry);
    const isProposal = entry['action'] === 'decision.proposed' && makingEntry === undefined;
    const decision = isFirst ? makingEntry?.['state'] : isProposal ? entry['state'] : undefined;
    const hash = decision?.change?.rules;
    if (hash === undefined) return;
    if (ruleSets.inForce(hash) === undefined)
      report.differ(`other policies were in force than the change names: the log has ${ruleSets.policies.length}`);
    ruleSets.keep(decision.id, hash);
  }
}

/** @param {import('./read-file.mjs').Policy} policy */
function readsClock({ conditions = [], limits = [] }) {
  return conditions.some(({ clock }) => clock !== undefined) || limits.some(({ zone }) => zone !== undefined);
}

/**
 * Returns when an entry was written, and about which execution of whom.
 * @param {Json} entry
 * @returns {Json}
 */
function placeOf({ sequence, timestamp, subjectId, audit }) {
  return { sequence, timestamp, subjectId, audit: { agentId: audit.agentId } };
}

/**
 * Finds what services that wrote the first form did not have: it would not be recomputed.
 * @param {Json} entry
 * @returns {string[]}
 */
function firstFormFaults({ subjectType, action, audit }) {
  const name = LATER_DETAILS.find((one) => audit.details?.[one] !== undefined);
  return [
    ...(LATER_KINDS.includes(subjectType) ? [`version 1 has no ${action}`] : []),
    ...(name !== undefined && Object.hasOwn(RECORD_ACTIONS, action) ? [`version 1 has no details.${name}`] : []),
  ];
}

/**
 * True for an execution that was authorised and that no policy let through, nor an observation.
 * @param {Json} entry
 */
function isByDefault({ action, state }) {
  return AUTHORISING.includes(action) && state.policies.length === 0 && state.observed !== true;
}

/**
 * True for an entry that only a module writes, or that records an erasure.
 * @param {Json} entry
 */
function isOfModule({ action, subjectType }) {
  return !Object.hasOwn(RECORD_ACTIONS, action) || action === `${subjectType}.erased`;
}

/**
 * True for an entry that the service wrote itself: a module may let it write any record.
 * @param {Json} entry
 */
function isByService({ audit }) {
  return audit.actor.type === 'system';
}

/**
 * True for an entry about a record that is recomputed.
 * @param {Json} entry
 */
function isRecomputed({ subjectType }) {
  return RECOMPUTED.includes(subjectType);
}
