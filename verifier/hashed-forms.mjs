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
 * What `stateHash` covers, the table that has the records, the columns of it that hold JSON, and the column with the id of
 * the record that a record belongs to and goes with.
 * @type {Readonly<Record<string, { members: string[], table: string, json: string[], owner?: string }>>}
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
    table: 'agents',
    json: ['capabilities', 'roles'],
  },
  decision: {
    members: [
      ...['id', 'type', 'title', 'description', 'context', 'proposedBy', 'riskLevel', 'status'],
      ...['requiredApprovals', 'reviews', 'expiresAt', 'createdAt', 'updatedAt', 'resolvedAt'],
    ],
    table: 'decisions',
    json: ['context', 'reviews'],
  },
  policy: {
    members: [
      ...['id', 'name', 'version', 'description', 'effect', 'subjects', 'actions', 'resources'],
      ...['resourceTypes', 'priority', 'status', 'warnings', 'createdAt'],
    ],
    table: 'policies',
    json: ['subjects', 'actions', 'resources', 'resourceTypes', 'warnings'],
  },
  execution: {
    members: [
      ...['id', 'agentId', 'agentName', 'action', 'resourceType', 'resourceId', 'parameters', 'outcome'],
      ...['policies', 'decisionId', 'result', 'failureReason', 'createdAt', 'completedAt'],
    ],
    table: 'executions',
    json: ['parameters', 'policies', 'result'],
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
