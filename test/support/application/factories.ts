import { createHash } from 'node:crypto';
import type { AgentResponse } from '../../../src/governance/agents/dto/agent.dto';
import type { IssuedApiKeyResponse } from '../../../src/governance/api-keys/dto/api-key.dto';
import type { AuditEntryResponse } from '../../../src/evidence/audit/dto/audit-entry.response';
import type { DecisionResponse } from '../../../src/governance/decisions/dto/decision.response';
import type { ClaimResponse, EntityResponse } from '../../../src/governance/entities/dto/entity.dto';
import type { PolicyResponse } from '../../../src/governance/policies/dto/policy.dto';
import type { TestApp } from './create-test-app';
import { keepSecret } from './secret-watch';
import { send } from './send';

/** An application in this process or in a separate one. */
type ServedApp = Pick<TestApp, 'url'>;
type Members = Readonly<Record<string, unknown>>;

/** Creates an entity and returns the record. */
export async function createEntity(app: ServedApp, body: Members = {}): Promise<EntityResponse> {
  return created(app, '/api/v1/entities', { type: 'service', name: 'Payment gateway', ...body });
}

/** Adds a claim to an entity and returns the record. */
export async function addClaim(app: ServedApp, entityId: string, body: Members = {}): Promise<ClaimResponse> {
  return created(app, `/api/v1/entities/${entityId}/claims`, { predicate: 'owner', value: 'team-payments', ...body });
}

/** Proposes a decision of low risk and returns the record. */
export async function propose(app: ServedApp, proposedBy: string, body: Members = {}): Promise<DecisionResponse> {
  const decision = { type: 'deployment', title: 'Deploy release 4.2', proposedBy, riskLevel: 'low' };
  return created(app, '/api/v1/decisions', { ...decision, ...body });
}

/** Creates an agent and returns the record. */
export async function createAgent(app: ServedApp, body: Readonly<Record<string, unknown>>): Promise<AgentResponse> {
  return created(app, '/api/v1/agents', body);
}

/**
 * Creates a policy that allows everything to everyone unless `body` says otherwise; every policy gets a unique name.
 */
export async function createPolicy(
  app: ServedApp,
  body: Readonly<Record<string, unknown>> = {},
): Promise<PolicyResponse> {
  policies += 1;
  const everything = { subjects: ['*'], actions: ['*'], resources: ['*'] };
  return created(app, '/api/v1/policies', {
    name: `policy ${policies}`,
    version: '1.0',
    effect: 'allow',
    ...everything,
    ...body,
  });
}

/** Issues a key that may only read unless `body` says otherwise; from then on tests watch for its secret. */
export async function issueKey(app: ServedApp, body: Members = {}): Promise<IssuedApiKeyResponse> {
  const key: IssuedApiKeyResponse = await created(app, '/api/v1/api-keys', {
    name: 'a key',
    scopes: ['read'],
    ...body,
  });
  keepSecret(key.secret);
  return key;
}

let policies = 0;

/** The audit entries about a record, oldest first. */
export async function auditOf(app: ServedApp, subjectId: string): Promise<AuditEntryResponse[]> {
  const answer = await send(app, 'GET', `/api/v1/audit?order=asc&limit=1000&subjectId=${subjectId}`);
  return answer.body.data;
}

/** The actions of the audit entries about a record, oldest first. */
export async function actionsOf(app: ServedApp, subjectId: string): Promise<string[]> {
  return (await auditOf(app, subjectId)).map(({ action }) => action);
}

/** The policies in force in the form that `policySet` hashes. */
export async function policySetOf(app: ServedApp): Promise<string> {
  const { data } = (await send(app, 'GET', '/api/v1/policies?status=active&limit=1000')).body;
  const ids = data.map(({ id }: { id: string }) => id).sort();
  return createHash('sha256').update(JSON.stringify(ids)).digest('hex');
}

/** Fails the test if the chain does not verify, or the records disagree with it. */
export async function chainIsValid(app: ServedApp): Promise<void> {
  const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
  const { firstInvalid, firstInvalidRecords, firstInvalidDerived } = body;
  expect({ firstInvalid, firstInvalidRecords, firstInvalidDerived }).toEqual({
    firstInvalid: null,
    firstInvalidRecords: [],
    firstInvalidDerived: [],
  });
  expect(body).toMatchObject({ valid: true, brokenLinks: 0, invalidHashes: 0, invalidRecords: 0, invalidDerived: 0 });
}

async function created<Body>(app: ServedApp, path: string, body: unknown): Promise<Body> {
  const answer = await send(app, 'POST', path, { body });
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
  return answer.body as Body;
}
