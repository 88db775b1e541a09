/** The version of the hashed forms below. They are frozen: docs/adr/0003-hash-format.md. */
export const VERSION = 1;

/** What `hash` covers. */
export const SEALED = [
  ...['v', 'sequence', 'id', 'timestamp', 'action', 'subjectType', 'subjectId'],
  ...['auditId', 'auditHash', 'stateHash', 'previousHash'],
];

/** What `auditHash` covers. */
export const AUDIT = [
  ...['id', 'sequence', 'timestamp', 'action', 'actor', 'agentId', 'entityId', 'subjectType', 'subjectId'],
  ...['outcome', 'reason', 'details', 'requestId', 'ip'],
];

export const ACTOR = ['type', 'id'];

/** Members that an entry and its audit entry both have, under these names. */
export const SHARED = ['sequence', 'timestamp', 'action', 'subjectType', 'subjectId'];

/**
 * What `stateHash` covers, the table of the records, its columns that contain JSON, and the column with the id of the
 * owner with which a record is removed. `later` are members that were added later, each with the stored value that
 * represents its absence: while a record has that value, its state lacks the member.
 * @typedef {{ members: string[], later?: Readonly<Record<string, string | null>>, table: string, json: string[],
 * owner?: string }} HashedForm
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
    owner: 'entityId',
  },
  agent: {
    members: ['id', 'name', 'description', 'capabilities', 'roles', 'status', 'createdAt', 'updatedAt', 'revision'],
    later: { kind: 'machine' },
    table: 'agents',
    json: ['capabilities', 'roles'],
  },
  decision: {
    members: [
      ...['id', 'type', 'title', 'description', 'context', 'proposedBy', 'riskLevel', 'status'],
      ...['requiredApprovals', 'reviews', 'expiresAt', 'createdAt', 'updatedAt', 'resolvedAt'],
    ],
    later: { executionId: null, actionHash: null, approvers: null, executeWithin: null },
    table: 'decisions',
    json: ['context', 'reviews', 'approvers'],
  },
  policy: {
    members: [
      ...['id', 'name', 'version', 'description', 'effect', 'subjects', 'actions', 'resources'],
      ...['resourceTypes', 'priority', 'status', 'warnings', 'createdAt'],
    ],
    later: { approval: null, conditions: '[]' },
    table: 'policies',
    json: ['subjects', 'actions', 'resources', 'resourceTypes', 'warnings', 'approval', 'conditions'],
  },
  execution: {
    members: [
      ...['id', 'agentId', 'agentName', 'action', 'resourceType', 'resourceId', 'parameters', 'outcome'],
      ...['policies', 'decisionId', 'result', 'failureReason', 'createdAt', 'completedAt'],
    ],
    later: { reason: null, actionHash: null, approvedUntil: null },
    table: 'executions',
    json: ['parameters', 'policies', 'result'],
  },
  api_key: {
    members: [
      ...['id', 'name', 'scopes', 'agentId', 'prefix', 'secretHash', 'status', 'createdAt', 'expiresAt', 'revokedAt'],
    ],
    table: 'api_keys',
    json: ['scopes'],
  },
  webhook: {
    members: ['id', 'url', 'actions', 'agentId', 'description', 'secretHash', 'status', 'createdAt', 'updatedAt'],
    table: 'webhooks',
    json: ['actions'],
  },
  restoration: {
    members: [
      ...['id', 'acceptedSize', 'acceptedRootHash', 'givenUpSize', 'givenUpRootHash'],
      ...['givenUpCheckpoint', 'createdAt'],
    ],
    table: 'restorations',
    json: [],
  },
};

const NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;

/**
 * Adds the kinds of modules that a file describes.
 * @param {unknown} given
 * @throws if its shape is not that of `KINDS`.
 */
export function addKinds(given) {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new Error('it must be an object');
  for (const [subjectType, form] of Object.entries(given)) {
    const { members, table, json = [], later = {} } = form;
    const names = [subjectType, table, ...lists(members, json), ...Object.keys(later)];
    if (Object.hasOwn(KINDS, subjectType)) throw new Error(`the kind ${subjectType} is known already`);
    if (!names.every((name) => typeof name === 'string' && NAME.test(name)))
      throw new Error(`the kind ${subjectType} must have members, a table and json, all of them names`);
    KINDS[subjectType] = { members, table, json, later };
  }
}

/** @param {unknown[]} given */
function lists(...given) {
  return given.flatMap((list) => (Array.isArray(list) ? list : [undefined]));
}
