/**
 * The versions of the sealed form that are known; a chain may hold both. They are frozen: docs/adr/0003-hash-format.md.
 */
export const VERSIONS = [1, 2];

/**
 * Members that `detailsHash` of version 2 covers, with its salt. `auditHash` covers them only through `detailsHash`.
 */
export const DETAILS = ['details', 'ip', 'reason', 'requestId'];

/** Further members of an entry, which `hash` does not cover itself. Services before version 2 did not write them. */
export const UNSEALED = ['detailsHash', 'salts'];

/** Members that `hash` covers. */
export const SEALED = [
  'v',
  'sequence',
  'id',
  'timestamp',
  'action',
  'subjectType',
  'subjectId',
  'auditId',
  'auditHash',
  'stateHash',
  'previousHash',
];

/** Members of an audit entry; in version 1, `auditHash` covers them. */
export const AUDIT = [
  'id',
  'sequence',
  'timestamp',
  'action',
  'actor',
  'agentId',
  'entityId',
  'subjectType',
  'subjectId',
  'outcome',
  'reason',
  'details',
  'requestId',
  'ip',
];

export const ACTOR = ['type', 'id'];

/** Members that an entry and its audit entry both have, under these names. */
export const SHARED = ['sequence', 'timestamp', 'action', 'subjectType', 'subjectId'];

/**
 * The members that `stateHash` covers, the table of the records, its columns that contain JSON, and the owner with
 * which a record is removed: its kind, and the column with its id. `later` are members that were added later, each with
 * the stored value that represents its absence: while a record has that value, its state lacks the member.
 * @typedef {{ members: string[], later?: Readonly<Record<string, string | null>>, table: string, json: string[],
 * owner?: { kind: string, column: string } }} HashedForm
 * @type {Record<string, HashedForm>}
 */
export const KINDS = {
  entity: {
    members: ['id', 'type', 'name', 'properties', 'createdAt', 'updatedAt', 'revision'],
    table: 'entities',
    json: ['properties'],
  },
  claim: {
    members: ['id', 'entityId', 'predicate', 'value', 'context', 'createdAt'],
    table: 'claims',
    json: ['value', 'context'],
    owner: { kind: 'entity', column: 'entityId' },
  },
  agent: {
    members: ['id', 'name', 'description', 'capabilities', 'roles', 'status', 'createdAt', 'updatedAt', 'revision'],
    later: { kind: 'machine', observeUntil: null, slackId: null, directory: null, team: null },
    table: 'agents',
    json: ['capabilities', 'roles'],
  },
  decision: {
    members: [
      'id',
      'type',
      'title',
      'description',
      'context',
      'proposedBy',
      'riskLevel',
      'status',
      'requiredApprovals',
      'reviews',
      'expiresAt',
      'createdAt',
      'updatedAt',
      'resolvedAt',
    ],
    later: {
      executionId: null,
      actionHash: null,
      approvers: null,
      executeWithin: null,
      erased: 'false',
      traceId: null,
      grant: null,
      change: null,
      actor: null,
    },
    table: 'decisions',
    json: ['context', 'reviews', 'approvers', 'erased', 'grant', 'change', 'actor'],
  },
  policy: {
    members: [
      'id',
      'name',
      'version',
      'description',
      'effect',
      'subjects',
      'actions',
      'resources',
      'resourceTypes',
      'priority',
      'status',
      'warnings',
      'createdAt',
    ],
    later: { approval: null, conditions: '[]', limits: '[]', onBehalfOf: '[]', team: null },
    table: 'policies',
    json: [
      'subjects',
      'actions',
      'resources',
      'resourceTypes',
      'warnings',
      'approval',
      'conditions',
      'limits',
      'onBehalfOf',
    ],
  },
  execution: {
    members: [
      'id',
      'agentId',
      'agentName',
      'action',
      'resourceType',
      'resourceId',
      'parameters',
      'outcome',
      'policies',
      'decisionId',
      'result',
      'failureReason',
      'createdAt',
      'completedAt',
    ],
    later: {
      reason: null,
      actionHash: null,
      approvedUntil: null,
      erased: 'false',
      traceId: null,
      onBehalfOf: null,
      run: null,
      via: null,
      observed: 'false',
      grantId: null,
      instead: null,
    },
    table: 'executions',
    json: ['parameters', 'policies', 'result', 'erased', 'onBehalfOf', 'observed', 'instead'],
  },
  api_key: {
    members: [
      'id',
      'name',
      'scopes',
      'agentId',
      'prefix',
      'secretHash',
      'status',
      'createdAt',
      'expiresAt',
      'revokedAt',
    ],
    later: { principals: '[]', team: null },
    table: 'api_keys',
    json: ['scopes', 'principals'],
  },
  webhook: {
    members: ['id', 'url', 'actions', 'agentId', 'description', 'secretHash', 'status', 'createdAt', 'updatedAt'],
    later: { format: 'event', detail: 'full', buttons: 'false', approvers: '[]' },
    table: 'webhooks',
    json: ['actions', 'buttons', 'approvers'],
  },
  restoration: {
    members: [
      'id',
      'acceptedSize',
      'acceptedRootHash',
      'givenUpSize',
      'givenUpRootHash',
      'givenUpCheckpoint',
      'createdAt',
    ],
    table: 'restorations',
    json: [],
  },
  stop: {
    members: ['id', 'agentId', 'role', 'actions', 'reason', 'status', 'createdAt', 'liftedAt'],
    table: 'stops',
    json: ['actions'],
  },
  grant: {
    members: [
      'id',
      'agentId',
      'decisionId',
      'action',
      'resourceType',
      'resourceId',
      'resources',
      'parametersHash',
      'onBehalfOf',
      'until',
      'uses',
      'status',
      'createdAt',
    ],
    table: 'grants',
    json: ['resources'],
  },
  passkey: {
    members: ['id', 'agentId', 'name', 'credentialId', 'publicKey', 'rpId', 'createdAt'],
    table: 'passkeys',
    json: [],
  },
  delegation: {
    members: ['id', 'agentId', 'to', 'from', 'until', 'status', 'createdAt', 'endedAt'],
    table: 'delegations',
    json: [],
  },
  erasure: {
    members: ['id', 'subjects', 'reason', 'createdAt'],
    table: 'erasures',
    json: ['subjects'],
  },
};

/**
 * Returns the form of a kind; undefined if the kind is not known. A kind may have the name of a member of every object.
 * @param {unknown} kind
 * @returns {HashedForm | undefined}
 */
export function formOf(kind) {
  const name = String(kind);
  return Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
}

const FORM_MEMBERS = ['members', 'later', 'table', 'json', 'owner'];
const OWNER_MEMBERS = ['kind', 'column'];
const NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;

/**
 * Adds the kinds of modules that a file describes.
 * @param {unknown} description
 * @throws if its shape does not match `KINDS`.
 */
export function addKinds(description) {
  const kinds = Object.entries(membersOf(description, 'it'));
  for (const [subjectType, form] of kinds) {
    const label = `the kind ${subjectType}`;
    if (Object.hasOwn(KINDS, subjectType)) throw new Error(`${label} is known already`);
    const { members, table, json = [], later = {}, owner } = membersOf(form, label, FORM_MEMBERS);
    const names = [subjectType, table, ...lists(members, json), ...Object.keys(later)];
    if (!names.every(isName)) throw new Error(`${label} must have members, a table and json, all of them names`);
    KINDS[subjectType] = {
      members,
      table,
      json,
      later,
      ...(owner === undefined ? {} : { owner: ownerIn(owner, label) }),
    };
  }
  for (const [subjectType] of kinds) requireOwner(subjectType);
}

/**
 * @param {unknown} description
 * @param {string} label
 */
function ownerIn(description, label) {
  const { kind, column } = membersOf(description, `the owner of ${label}`, OWNER_MEMBERS);
  if (!isName(kind) || !isName(column)) throw new Error(`the owner of ${label} must have a kind and a column`);
  return { kind, column };
}

/**
 * Checks the owner of a kind after all kinds of the file have been added, so that their order does not matter.
 * @param {string} subjectType
 */
function requireOwner(subjectType) {
  const { members = [], owner } = formOf(subjectType) ?? {};
  if (owner === undefined) return;
  if (!Object.hasOwn(KINDS, owner.kind))
    throw new Error(`the kind ${subjectType} belongs to ${owner.kind}, which is not a known kind`);
  if (!members.includes(owner.column))
    throw new Error(`the kind ${subjectType} has no member ${owner.column}, which should name its owner`);
}

/**
 * Returns the members of an object; they are `any`, since the file may hold anything.
 * @param {unknown} description
 * @param {string} label
 * @param {readonly string[]} [allowedNames] if no others are allowed
 * @returns {Record<string, any>}
 * @throws if it is no object, or has a member whose meaning would be ignored.
 */
function membersOf(description, label, allowedNames) {
  if (typeof description !== 'object' || description === null || Array.isArray(description))
    throw new Error(
      `${label} must be an object${allowedNames === undefined ? '' : ` with ${allowedNames.join(', ')}`}`,
    );
  const unknown = Object.keys(description).find((name) => allowedNames?.includes(name) === false);
  if (unknown !== undefined) throw new Error(`${label} has an unknown member: ${unknown}`);
  return description;
}

/**
 * @param {unknown} value
 * @returns {value is string}
 */
function isName(value) {
  return typeof value === 'string' && NAME.test(value);
}

/** @param {unknown[]} values */
function lists(...values) {
  return values.flatMap((list) => (Array.isArray(list) ? list : [undefined]));
}
