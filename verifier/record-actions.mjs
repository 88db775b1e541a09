/**
 * What each action of the service does to the record that its entry is about: docs/api-decisions.md. Whatever an action
 * does not change stays as it was in the entry before.
 *
 * @typedef {import('./entry-check.mjs').JsonObject} JsonObject
 * @typedef {object} RecordAction
 * @property {readonly string[]} [subjects] the subject types of its entries, if they are not the kind after which it is
 *   named
 * @property {boolean} [begins] true if it makes the record
 * @property {boolean} [isStateless] true if its entries have no state: it removes the record, or its subject need not
 *   be one
 * @property {readonly string[]} [changes] the members that it may change
 * @property {Readonly<Record<string, string>>} [fields] further members that it may change, each with its name in
 *   `details.fields`
 * @property {Readonly<Record<string, readonly unknown[]>>} [state] the values that members can have after it; null:
 *   they are absent
 * @property {Readonly<Record<string, readonly string[]>>} [before] the values that members have before it: what is
 *   settled is final
 */

const PROPOSED = { status: ['proposed'] };
const PENDING = { outcome: ['pending_approval'] };

/** @param {readonly string[]} names members that `details.fields` calls as they are */
const sameNames = (...names) => Object.fromEntries(names.map((name) => [name, name]));
/** @param {string} status */
const statusChange = (status) => ({ changes: ['status'], state: { status: [status] } });
/** @param {string} status */
const agentStatus = (status) => ({ changes: ['status', 'updatedAt', 'revision'], state: { status: [status] } });
/** @param {string} status */
const lastReview = (status) => ({
  changes: ['reviews', 'updatedAt', 'status', 'resolvedAt'],
  state: { status: [status] },
  before: PROPOSED,
});
/** @param {string} status */
const decisionEnd = (status) => ({
  changes: ['updatedAt', 'status', 'resolvedAt'],
  state: { status: [status] },
  before: PROPOSED,
});
/** @param {string} outcome */
const executionEnd = (outcome) => ({
  changes: ['outcome', 'completedAt'],
  state: { outcome: [outcome] },
  before: { outcome: ['pending_approval', 'approved'] },
});
/** @param {string} status */
const grantEnd = (status) => ({ ...statusChange(status), before: { status: ['active'] } });

/**
 * Returns what an erasure does to a record.
 * @param {readonly string[]} names of the members of which it leaves something
 * @param {Readonly<Record<string, readonly unknown[]>>} state what it leaves of others
 */
const emptied = (names, state) => ({ changes: [...names, ...Object.keys(state)], state });

/** The refusal of a caller, which says nothing about what it is filed under. */
export const ACCESS_DENIED = 'access.denied';
const AUTHORISED = ['authorized', 'running'];

/** @type {Readonly<Record<string, RecordAction>>} */
export const RECORD_ACTIONS = {
  [ACCESS_DENIED]: { subjects: ['api_key', 'token'], isStateless: true },
  'entity.created': { begins: true },
  'entity.updated': { changes: ['updatedAt', 'revision'], fields: sameNames('name', 'properties') },
  'entity.deleted': { isStateless: true },
  'entity.erased': { isStateless: true },
  'claim.added': { begins: true },
  'claim.removed': { isStateless: true },
  'agent.created': {
    begins: true,
    state: { status: ['active'], revision: [1], observeUntil: [null], slackId: [null] },
  },
  'agent.updated': {
    changes: ['updatedAt', 'revision'],
    fields: sameNames('description', 'capabilities', 'roles', 'observeUntil', 'slackId', 'directory', 'team'),
  },
  'agent.suspended': agentStatus('suspended'),
  'agent.resumed': agentStatus('active'),
  'agent.access_reviewed': {},
  'policy.created': { begins: true, state: { status: ['active'] } },
  'policy.superseded': statusChange('superseded'),
  'policy.activated': statusChange('active'),
  'policy.deactivated': statusChange('inactive'),
  'policy.limit_warned': {},
  'api_key.created': { begins: true, state: { status: ['active'], revokedAt: [null] } },
  'api_key.revoked': { changes: ['status', 'revokedAt'], state: { status: ['revoked'] } },
  'api_key.expired': statusChange('expired'),
  'webhook.created': { begins: true, state: { status: ['active'] } },
  'webhook.updated': {
    changes: ['updatedAt'],
    fields: { ...sameNames('url', 'actions', 'agentId', 'description', 'status'), secretHash: 'secret' },
  },
  'webhook.failing': { changes: ['status', 'updatedAt'], state: { status: ['failing'] } },
  'webhook.deleted': { isStateless: true },
  'stop.created': { begins: true, state: { status: ['active'], liftedAt: [null] } },
  'stop.lifted': { changes: ['status', 'liftedAt'], state: { status: ['lifted'] } },
  'passkey.registered': { begins: true },
  'passkey.removed': { isStateless: true },
  'delegation.created': { begins: true, state: { status: ['waiting', 'active'], endedAt: [null] } },
  'delegation.started': statusChange('active'),
  'delegation.ended': { changes: ['status', 'endedAt'], state: { status: ['ended'] } },
  'delegation.expired': { changes: ['status', 'endedAt'], state: { status: ['expired'] } },
  'grant.created': { begins: true, state: { status: ['active'] } },
  'grant.used_up': grantEnd('used_up'),
  'grant.expired': grantEnd('expired'),
  'grant.revoked': grantEnd('revoked'),
  'grant.erased': emptied([], { resourceId: [''], resources: [null], parametersHash: [null], onBehalfOf: [null] }),
  'decision.proposed': { begins: true, state: { status: ['proposed'], resolvedAt: [null] } },
  'decision.reviewed': { changes: ['reviews', 'updatedAt'], state: PROPOSED, before: PROPOSED },
  'decision.approved': lastReview('approved'),
  'decision.rejected': lastReview('rejected'),
  'decision.expired': decisionEnd('expired'),
  'decision.cancelled': decisionEnd('cancelled'),
  'decision.escalated': { changes: ['updatedAt', 'approvers'], state: PROPOSED, before: PROPOSED },
  'decision.change_made': {
    changes: ['updatedAt', 'change'],
    state: { status: ['approved'] },
    before: { status: ['approved'] },
  },
  'decision.proposal_denied': { subjects: ['agent'] },
  'decision.approval_denied': {},
  'decision.rejection_denied': {},
  'decision.erased': emptied(['context', 'reviews', 'change'], {
    title: [''],
    description: [''],
    actionHash: [null],
    erased: [true],
  }),
  'execution.authorized': { begins: true, state: { outcome: AUTHORISED } },
  'execution.denied': { begins: true, state: { outcome: ['denied'] } },
  'execution.approval_requested': { begins: true, state: { outcome: ['pending_approval'] } },
  'execution.approved': { changes: ['outcome', 'approvedUntil'], state: { outcome: ['approved'] }, before: PENDING },
  'execution.rejected': {
    changes: ['outcome', 'completedAt', 'instead'],
    state: { outcome: ['rejected'] },
    before: PENDING,
  },
  'execution.expired': executionEnd('expired'),
  'execution.cancelled': executionEnd('cancelled'),
  'execution.resumed': {
    changes: ['outcome', 'policies', 'observed', 'via'],
    state: { outcome: AUTHORISED },
    before: { outcome: ['approved'] },
  },
  'execution.resume_denied': {},
  'execution.completed': {
    changes: ['outcome', 'completedAt', 'result', 'failureReason', 'reason'],
    state: { outcome: ['executed', 'failed'] },
  },
  'execution.interrupted': {
    changes: ['outcome', 'completedAt', 'failureReason'],
    state: { outcome: ['interrupted'] },
  },
  'execution.erased': emptied(['parameters'], {
    resourceId: [''],
    result: [null],
    failureReason: [null],
    actionHash: [null],
    onBehalfOf: [null],
    run: [null],
    instead: [null],
    erased: [true],
  }),
  'erasure.begun': { begins: true },
  'erasure.completed': {},
  'ledger.restored': { subjects: ['restoration'], begins: true },
};

/** The kinds of the service's records, whose entries have a state. */
const STATED = new Set(
  Object.entries(RECORD_ACTIONS).flatMap(([name, { subjects, isStateless }]) =>
    isStateless === true ? [] : subjectsOf(name, subjects),
  ),
);

/**
 * Finds an action of the service on a kind of subject that it never has, and a state that is missing where the service
 * writes one, or present where it writes none. An entry without a state would hide what the ones before it say of their
 * record.
 * @param {JsonObject} entry
 * @returns {string[]}
 */
export function subjectFaults({ action, subjectType, stateHash }) {
  const [name, type] = [String(action), String(subjectType)];
  const definition = definitionOf(name);
  const subjects = definition === undefined ? [type] : subjectsOf(name, definition.subjects);
  // A module may file a refusal under a record of its own.
  if (!subjects.includes(type) && (name !== ACCESS_DENIED || STATED.has(type)))
    return [`${name} is about a ${type}, and the service writes it of ${subjects.join(' or ')}`];
  if (definition?.isStateless === true) return stateHash === null ? [] : [`${name} leaves the ${type} with a state`];
  return stateHash === null && STATED.has(type) ? [`${name} leaves the ${type} without a state`] : [];
}

/**
 * @param {string} action
 * @returns {RecordAction | undefined} undefined for an action of a module
 */
function definitionOf(action) {
  return Object.hasOwn(RECORD_ACTIONS, action) ? RECORD_ACTIONS[action] : undefined;
}

/**
 * @param {string} action
 * @param {readonly string[]} [subjects]
 */
function subjectsOf(action, subjects = action.split('.').slice(0, 1)) {
  return subjects;
}

/**
 * Returns what an entry does to its record: nothing, if its action is of another kind, and only names the record.
 * @param {JsonObject} entry
 * @returns {RecordAction}
 */
export function recordAction({ action, subjectType }) {
  const name = String(action);
  const definition = definitionOf(name);
  return definition !== undefined && subjectsOf(name, definition.subjects).includes(String(subjectType))
    ? definition
    : {};
}

/**
 * Returns the names of the members that an entry may change.
 * @param {JsonObject} entry
 * @returns {string[]}
 */
export function changeableMembers(entry) {
  const { changes = [], fields = {} } = recordAction(entry);
  const audit = /** @type {JsonObject | undefined} */ (entry['audit']);
  const details = /** @type {JsonObject | null | undefined} */ (audit?.['details']);
  const names = Array.isArray(details?.['fields']) ? details['fields'] : [];
  return [...changes, ...Object.keys(fields).filter((name) => names.includes(fields[name]))];
}

/**
 * Returns the members that no action on records of a kind changes.
 * @param {string} kind
 * @param {JsonObject} state
 * @returns {string[]}
 */
export function constantMembers(kind, state) {
  const changing = membersChangedBy(actionNames(kind));
  return Object.keys(state).filter((name) => !changing.has(name));
}

/**
 * Returns the members that actions on records of a kind change, except by an erasure.
 * @param {string} kind
 * @returns {ReadonlySet<string>}
 */
export function variableMembers(kind) {
  return membersChangedBy(actionNames(kind).filter((name) => name !== `${kind}.erased`));
}

/** @param {string} kind */
function actionNames(kind) {
  return Object.keys(RECORD_ACTIONS).filter((name) => name.startsWith(`${kind}.`));
}

/** @param {readonly string[]} names of actions */
function membersChangedBy(names) {
  const actions = names.flatMap((name) => RECORD_ACTIONS[name] ?? []);
  return new Set(actions.flatMap(({ changes = [], fields = {} }) => [...changes, ...Object.keys(fields)]));
}
