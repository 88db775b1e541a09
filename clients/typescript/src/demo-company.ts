import type { Execution, Schemas } from './api-types.js';
import { GovernanceClient } from './client.js';
import { GovernanceError } from './governance-error.js';
import type { TransportOptions } from './transport.js';

/**
 * A company for trying the service, in the form of `examples/demo.json`. Its members are request bodies of the API,
 * except that they refer to each other: to an entity by its `key`, to an agent by its name.
 */
export interface DemoCompany {
  readonly name: string;
  /** A text about the company, for people. */
  readonly about: string;
  readonly agents: readonly Schemas['CreateAgentRequest'][];
  readonly entities: readonly DemoEntity[];
  /** Applied in one request, as the whole set. */
  readonly policies: readonly Schemas['CreatePolicyRequest'][];
  readonly keys: readonly DemoKey[];
  /** Requests that are sent in this order, each with the key of its agent. */
  readonly executions: readonly DemoExecution[];
  /** Proposals that are not about an execution, each with the key of its proposer. */
  readonly decisions: readonly Schemas['ProposeDecisionRequest'][];
}

type DemoEntity = Schemas['CreateEntityRequest'] & {
  /** Its name in executions. */
  readonly key: string;
  readonly claims: readonly Schemas['CreateClaimRequest'][];
};

interface DemoKey {
  readonly name: string;
  /** Name of the agent to which the key is bound. */
  readonly agent: string;
  readonly scopes: Schemas['CreateApiKeyRequest']['scopes'];
  /** The principals on whose behalf the key may act; none if left out. */
  readonly principals?: string[];
}

type DemoExecution = Schemas['ExecuteActionRequest'] & {
  /** Name of the requesting agent; in `resourceId`, `{key}` stands for the id of that entity. */
  readonly agent: string;
  /** Given in this order, each with the key of the reviewer. */
  readonly reviews?: readonly {
    readonly by: string;
    readonly verdict: 'approve' | 'reject';
    readonly comment?: string;
    /** With an approval: the grant that it gives besides. */
    readonly grant?: Schemas['ApproveDecisionRequest']['grant'];
  }[];
  /** The outcome to report. If an approval was needed, the execution is resumed first. */
  readonly report?: Schemas['ReportResultRequest'];
};

/** A key of the company. The service does not return its secret again. */
export interface IssuedDemoKey {
  readonly name: string;
  readonly agent: string;
  readonly secret: string;
}

/** The company cannot be created in this service, or something is missing in its file. The message says which. */
export class DemoCompanyError extends Error {
  override readonly name = 'DemoCompanyError';
}

export interface DemoOptions {
  /** Called as each part begins, such as "Policies". */
  readonly onPart?: (part: string) => void;
  /** Called with each key as it is issued: the key stays valid even if a later request fails. */
  readonly onKey?: (key: IssuedDemoKey) => void;
}

/**
 * Creates the company in a service that has no records yet, with a key or token that has the scope `admin`, through the
 * public interface only. This takes several requests: if one fails, the records and keys (`onKey`) that were created
 * before remain.
 * @throws DemoCompanyError if there are records already, the scope is missing, or the company refers to something it
 *   does not contain.
 * @throws GovernanceError as every request does
 */
export async function makeDemoCompany(
  connection: TransportOptions,
  company: DemoCompany,
  { onPart = () => undefined, onKey = () => undefined }: DemoOptions = {},
): Promise<readonly IssuedDemoKey[]> {
  const operator = new GovernanceClient(connection);
  await refuseUnlessPossible(operator);
  onPart('Agents and people');
  for (const agent of company.agents) await operator.post('/api/v1/agents', { body: agent });
  onPart('Entities and claims');
  const entityIds = await makeEntities(operator, company);
  onPart('Policies');
  const { policies } = company;
  const { base } = await operator.post('/api/v1/policies/plan', { body: { policies: [...policies] } });
  await operator.post('/api/v1/policies/apply', { body: { base, policies: [...policies] } });
  onPart('Keys');
  const keys = await issueKeys(operator, company, onKey);
  onPart('Requests, reviews and results');
  const clients = new Map(
    keys.map(({ agent, secret }) => [agent, new GovernanceClient({ ...connection, key: secret })]),
  );
  const clientOf = (agent: string): GovernanceClient => requireNamed(clients, agent, 'key of the agent');
  for (const execution of company.executions) await play(execution, entityIds, clientOf);
  for (const decision of company.decisions) {
    await clientOf(decision.proposedBy).post('/api/v1/decisions', { body: decision });
  }
  return keys;
}

/** Checks the company before any part of it is created. */
async function refuseUnlessPossible(operator: GovernanceClient): Promise<void> {
  const { scopes } = await operator.get('/api/v1/me');
  if (!scopes.includes('admin'))
    throw new DemoCompanyError('Making the demo company needs a key with the scope admin.');
  const { entities, claims, agents, decisions, policies } = await operator.get('/api/v1/stats');
  if (entities + claims + agents + decisions + policies === 0) return;
  throw new DemoCompanyError(
    'The service already has records. The demo company can be made in an empty service only: ' +
      'start one with a database of its own, such as DATABASE_URL=sqlite:./data/demo.db.',
  );
}

async function makeEntities(operator: GovernanceClient, company: DemoCompany): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  for (const { key, claims, ...entity } of company.entities) {
    const { id } = await operator.post('/api/v1/entities', { body: entity });
    ids.set(key, id);
    for (const claim of claims) await operator.post('/api/v1/entities/{id}/claims', { path: { id }, body: claim });
  }
  return ids;
}

async function issueKeys(
  operator: GovernanceClient,
  company: DemoCompany,
  onKey: (key: IssuedDemoKey) => void,
): Promise<readonly IssuedDemoKey[]> {
  const issuedKeys: IssuedDemoKey[] = [];
  for (const { agent, ...key } of company.keys) {
    const body = { ...key, agentId: agent };
    const { secret } = await operator.post('/api/v1/api-keys', { body });
    const issuedKey = { name: key.name, agent, secret };
    issuedKeys.push(issuedKey);
    onKey(issuedKey);
  }
  return issuedKeys;
}

async function play(
  { agent, reviews = [], report, ...body }: DemoExecution,
  entityIds: ReadonlyMap<string, string>,
  clientOf: (agent: string) => GovernanceClient,
): Promise<void> {
  const resourceId = body.resourceId.replace(/\{([^}]*)\}/g, (_, key: string) =>
    requireNamed(entityIds, key, 'entity'),
  );
  const execution = await ask(clientOf(agent), agent, { ...body, resourceId });
  if (execution === null) return;
  const { id, decisionId } = execution;
  if (decisionId !== null) {
    for (const { by, verdict, ...body } of reviews) {
      await clientOf(by).post(`/api/v1/decisions/{id}/${verdict}`, { path: { id: decisionId }, body });
    }
  }
  if (report === undefined) return;
  if (execution.outcome !== 'authorized')
    await clientOf(agent).post('/api/v1/executions/{id}/resume', { path: { id } });
  await clientOf(agent).post('/api/v1/executions/{id}/result', { path: { id }, body: report });
}

/** Requests an execution; null if it is denied, which is recorded and part of the demo. */
async function ask(
  client: GovernanceClient,
  agent: string,
  body: Schemas['ExecuteActionRequest'],
): Promise<Execution | null> {
  try {
    return await client.post('/api/v1/agents/{id}/execute', { path: { id: agent }, body });
  } catch (error) {
    if (error instanceof GovernanceError && error.code === 'POLICY_DENIED') return null;
    throw error;
  }
}

/** @throws DemoCompanyError that names what is missing. */
function requireNamed<Value>(values: ReadonlyMap<string, Value>, name: string, kind: string): Value {
  const value = values.get(name);
  if (value === undefined) throw new DemoCompanyError(`The demo company has no ${kind} "${name}".`);
  return value;
}
