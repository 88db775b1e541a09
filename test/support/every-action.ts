import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntryResponse } from '../../src/audit/dto/audit-entry.response';
import type { PolicyReference } from '../../src/errors/domain-error';
import type { JsonObject } from '../../src/json/json-value';
import type { TestApp } from './create-test-app';
import { send, type Answer } from './send';

/** An audit entry without what is minted for it. */
export type ExpectedEntry = Omit<AuditEntryResponse, 'id' | 'sequence' | 'timestamp'>;

type Told = Partial<ExpectedEntry> & Pick<ExpectedEntry, 'action' | 'subjectType' | 'subjectId'>;

const OPERATOR = { type: 'api_key', id: 'env' };
const SERVICE = { type: 'system', id: 'service' };

/** What makes the records that `doEverything` expects: start the application with it, and with `ActionsModule`. */
export const EVERY_ACTION_ENVIRONMENT = { REQUIRED_APPROVALS: 'medium=2' };

/**
 * Has the service do everything that leaves an entry, but for what takes a restart, in a fresh database. Answers the
 * entries it must have left, in their order.
 */
export async function doEverything(app: TestApp): Promise<ExpectedEntry[]> {
  const story = new Story(app);
  await story.keepEntities();
  await story.keepAgents();
  await story.keepPolicies();
  await story.execute();
  await story.decide();
  await story.end();
  return story.entries;
}

class Story {
  readonly entries: ExpectedEntry[] = [];
  private requests = 0;
  private entityId = '';
  private agentId = '';
  private reviewerId = '';
  private thirdId = '';

  constructor(private readonly app: TestApp) {}

  async keepEntities(): Promise<void> {
    this.entityId = (await this.post('entities', { type: 'service', name: 'Gateway', properties: { tier: 1 } })).id;
    const about = { subjectType: 'entity', subjectId: this.entityId, entityId: this.entityId };
    this.told({ action: 'entity.created', ...about });
    await this.request('PUT', `entities/${this.entityId}`, { name: 'Gateway (EU)', properties: {} });
    this.told({ action: 'entity.updated', ...about, details: { fields: ['name', 'properties'] } });
    const claims = `entities/${this.entityId}/claims`;
    const claim = await this.post(claims, { predicate: 'owner', value: 'x', context: { confidence: 0.5 } });
    this.told({ action: 'claim.added', subjectType: 'claim', subjectId: claim.id, entityId: this.entityId });
    await this.request('DELETE', `${claims}/${claim.id}`);
    this.told({ action: 'claim.removed', subjectType: 'claim', subjectId: claim.id, entityId: this.entityId });
    for (const value of [0.1, true]) {
      const { id } = await this.post(claims, { predicate: 'tier', value });
      this.told({ action: 'claim.added', subjectType: 'claim', subjectId: id, entityId: this.entityId });
    }
  }

  async keepAgents(): Promise<void> {
    const capabilities = ['look', 'succeed', 'fail', 'forbidden'];
    this.agentId = await this.agent('bot', capabilities);
    this.reviewerId = await this.agent('reviewer', []);
    this.thirdId = await this.agent('third', []);
    await this.request('PATCH', `agents/${this.agentId}`, { description: 'Does things.', roles: ['worker'] });
    this.toldOfAgent('agent.updated', { details: { fields: ['description', 'roles'] } });
    await this.request('POST', `agents/${this.agentId}/suspend`, { reason: 'On leave.' });
    this.toldOfAgent('agent.suspended', { reason: 'On leave.' });
    await this.refused('decisions', { type: 'a', title: 'b', proposedBy: this.agentId, riskLevel: 'high' });
    const refusal = { outcome: 'denied', reason: 'agent_suspended', details: { riskLevel: 'high' } };
    this.toldOfAgent('decision.proposal_denied', refusal);
    await this.refused(`agents/${this.agentId}/execute`, { action: 'look', resourceType: 'entity', resourceId: 'x' });
    await this.toldOfExecution('execution.denied', { outcome: 'denied', reason: 'agent_suspended' });
    await this.request('POST', `agents/${this.agentId}/resume`);
    this.toldOfAgent('agent.resumed', {});
  }

  async keepPolicies(): Promise<void> {
    const everything = { name: 'open', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };
    const first = await this.post('policies', { ...everything, version: '1.0' });
    this.toldOfPolicy('policy.created', first);
    const next = await this.post('policies', { ...everything, version: '1.1' });
    this.toldOfPolicy('policy.superseded', first, { supersededBy: next.id });
    this.toldOfPolicy('policy.created', next);
    await this.request('POST', `policies/${first.id}/activate`);
    this.toldOfPolicy('policy.superseded', next, { supersededBy: first.id });
    this.toldOfPolicy('policy.activated', first);
    await this.request('POST', `policies/${first.id}/deactivate`);
    this.toldOfPolicy('policy.deactivated', first);
    await this.request('POST', `policies/${next.id}/activate`);
    this.toldOfPolicy('policy.activated', next);
  }

  async execute(): Promise<void> {
    const [allowing] = (await send(this.app, 'GET', '/api/v1/policies?status=active')).body.data;
    const execute = `agents/bot/execute`;
    const resource = { resourceType: 'entity', resourceId: `entities/${this.entityId}` };
    for (const [action, outcome] of [
      ['look', null],
      ['succeed', 'success'],
      ['fail', 'failed'],
    ] as const) {
      await this.request('POST', execute, { action, ...resource, parameters: { secret: 'x' } });
      const told = { entityId: this.entityId, details: { action, ...resource, policies: [referenceTo(allowing)] } };
      await this.toldOfExecution('execution.authorized', told);
      if (outcome !== null) await this.toldOfExecution('execution.completed', { ...told, outcome });
    }
    const rules = { effect: 'deny', subjects: ['agent:bot'], resources: ['vault/*', 'decisions/low/*'], priority: 9 };
    const denying = await this.post('policies', {
      name: 'closed',
      version: '1',
      ...rules,
      actions: ['forbidden', 'decision:reject'],
    });
    this.toldOfPolicy('policy.created', denying);
    const vault = { resourceType: 'file', resourceId: '/vault/gold' };
    await this.refused(execute, { action: 'forbidden', ...vault });
    const details = { action: 'forbidden', ...vault, policies: [referenceTo(denying)] };
    await this.toldOfExecution('execution.denied', { outcome: 'denied', reason: 'policy_denied', details });
    await this.refused(execute, { action: 'unknown', ...vault });
    const lacking = { action: 'unknown', ...vault, policies: [] };
    await this.toldOfExecution('execution.denied', {
      outcome: 'denied',
      reason: 'capability_missing',
      details: lacking,
    });
  }

  async decide(): Promise<void> {
    const { id: approved } = await this.propose({ riskLevel: 'medium' }, 2);
    await this.review(approved, 'approve', this.reviewerId);
    this.toldOfReview('decision.reviewed', approved, this.reviewerId, 'approve', 1, 2);
    await this.refused(`decisions/${approved}/approve`, { approverId: this.agentId });
    this.toldOfDecision('decision.approval_denied', approved, {
      agentId: this.agentId,
      outcome: 'denied',
      reason: 'self_approval',
      details: { verdict: 'approve', policies: [] },
    });
    await this.review(approved, 'approve', this.thirdId);
    this.toldOfReview('decision.approved', approved, this.thirdId, 'approve', 2, 2);

    const { id: rejected } = await this.propose({ riskLevel: 'low' }, 1);
    const [denying] = (await send(this.app, 'GET', '/api/v1/policies?name=closed')).body.data;
    await this.refused(`decisions/${rejected}/reject`, { approverId: this.agentId });
    this.toldOfDecision('decision.rejection_denied', rejected, {
      agentId: this.agentId,
      outcome: 'denied',
      reason: 'policy_denied',
      details: { verdict: 'reject', policies: [referenceTo(denying)] },
    });
    await this.request('POST', `decisions/${rejected}/reject`, { reason: 'Too risky.' });
    this.toldOfReview('decision.rejected', rejected, null, 'reject', 0, 1);

    const expiresAt = new Date(Date.now() + 1_000).toISOString();
    const expired = await this.propose({ riskLevel: 'critical', expiresAt }, 1);
    while ((await this.request('GET', `decisions/${expired.id}`)).body.status === 'proposed') await sleep(20);
    this.toldOfDecision('decision.expired', expired.id, {
      actor: SERVICE,
      requestId: null,
      ip: null,
      details: { expiresAt, approvals: 0, requiredApprovals: 1 },
    });
  }

  async end(): Promise<void> {
    await this.request('DELETE', `entities/${this.entityId}`);
    const about = { subjectType: 'entity', subjectId: this.entityId, entityId: this.entityId };
    this.told({ action: 'entity.deleted', ...about, details: { claims: 2 } });
  }

  private async agent(name: string, capabilities: string[]): Promise<string> {
    const { id } = await this.post('agents', { name, capabilities });
    this.told({ action: 'agent.created', subjectType: 'agent', subjectId: id, agentId: id });
    return id;
  }

  private async propose(members: object, requiredApprovals: number): Promise<{ id: string }> {
    const decision = await this.post('decisions', {
      type: 'deployment',
      title: 'Deploy',
      proposedBy: this.agentId,
      ...members,
    });
    const details = { riskLevel: decision.riskLevel, requiredApprovals };
    this.toldOfDecision('decision.proposed', decision.id, { agentId: this.agentId, details });
    return decision;
  }

  private async review(id: string, verdict: string, approverId: string): Promise<void> {
    await this.request('POST', `decisions/${id}/${verdict}`, { approverId, comment: 'Seen.' });
  }

  private async post(path: string, body: object): Promise<Answer['body']> {
    return (await this.request('POST', path, body)).body;
  }

  private async request(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await this.ask(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return answer;
  }

  private async refused(path: string, body: object): Promise<void> {
    const answer = await this.ask('POST', path, body);
    if (answer.status !== 403) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
  }

  private ask(method: string, path: string, body: object | undefined): Promise<Answer> {
    this.requests += 1;
    const headers = { 'X-Request-Id': `request-${this.requests}` };
    return send(this.app, method, `/api/v1/${path}`, { body, headers });
  }

  private toldOfAgent(action: string, told: Partial<ExpectedEntry>): void {
    this.told({ action, subjectType: 'agent', subjectId: this.agentId, agentId: this.agentId, ...told });
  }

  private toldOfPolicy(action: string, policy: PolicyReference, more: JsonObject = {}): void {
    const details = { policies: [referenceTo(policy)], ...more };
    this.told({ action, subjectType: 'policy', subjectId: policy.id, details });
  }

  private toldOfDecision(action: string, subjectId: string, told: Partial<ExpectedEntry>): void {
    this.told({ action, subjectType: 'decision', subjectId, ...told });
  }

  private toldOfReview(
    action: string,
    subjectId: string,
    agentId: string | null,
    verdict: string,
    approvals: number,
    requiredApprovals: number,
  ): void {
    this.toldOfDecision(action, subjectId, { agentId, details: { verdict, approvals, requiredApprovals } });
  }

  /** The subject is the newest execution. */
  private async toldOfExecution(action: string, told: Partial<ExpectedEntry>): Promise<void> {
    const [{ id }] = (await send(this.app, 'GET', '/api/v1/executions?order=desc&limit=1')).body.data;
    const details = { action: 'look', resourceType: 'entity', resourceId: 'x', policies: [] };
    this.told({ action, subjectType: 'execution', subjectId: id, agentId: this.agentId, details, ...told });
  }

  private told(entry: Told): void {
    this.entries.push({
      actor: OPERATOR,
      agentId: null,
      entityId: null,
      outcome: 'success',
      reason: null,
      details: {},
      requestId: `request-${this.requests}`,
      ip: '127.0.0.1',
      ...entry,
    });
  }
}

function referenceTo({ id, name, version }: PolicyReference): JsonObject {
  return { id, name, version };
}
