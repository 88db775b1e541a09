import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntryResponse } from '../../../src/evidence/audit/dto/audit-entry.response';
import type { PolicyReference } from '../../../src/core/errors/domain-error';
import type { JsonObject } from '../../../src/core/json/json-value';
import type { TestApp } from '../application/create-test-app';
import { policySetOf } from '../application/factories';
import { rulesOf } from '../oracles/rules-oracle';
import { send, type Answer } from '../application/send';
import { WebhookEndpoint } from '../application/webhook-endpoint';

/** An audit entry without its generated values. */
export type ExpectedEntry = Omit<AuditEntryResponse, 'id' | 'sequence' | 'timestamp'>;

type EntryExpectation = Partial<ExpectedEntry> & Pick<ExpectedEntry, 'action' | 'subjectType' | 'subjectId'>;

const OPERATOR = { type: 'api_key', id: 'env' };
const SERVICE = { type: 'system', id: 'service' };

/** The settings that `doEverything` expects of the application, in addition to `ActionsModule`. */
export const EVERY_ACTION_ENVIRONMENT = {
  REQUIRED_APPROVALS: 'medium=2',
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOW_PRIVATE: 'true',
};

/**
 * Makes the service do everything that leaves an entry, except what requires a restart, in a new database. Returns the
 * entries it must have left, in order.
 */
export async function doEverything(app: TestApp): Promise<ExpectedEntry[]> {
  const story = new Story(app);
  await story.keepEntities();
  await story.keepAgents();
  await story.keepPolicies();
  await story.keepStops();
  await story.execute();
  await story.decide();
  await story.keepKeys();
  await story.keepWebhooks();
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
    this.expect({ action: 'entity.created', ...about });
    await this.request('PUT', `entities/${this.entityId}`, { name: 'Gateway (EU)', properties: {} });
    this.expect({ action: 'entity.updated', ...about, details: { fields: ['name', 'properties'] } });
    const claims = `entities/${this.entityId}/claims`;
    const claim = await this.post(claims, { predicate: 'owner', value: 'x', context: { confidence: 0.5 } });
    this.expect({ action: 'claim.added', subjectType: 'claim', subjectId: claim.id, entityId: this.entityId });
    await this.request('DELETE', `${claims}/${claim.id}`);
    this.expect({ action: 'claim.removed', subjectType: 'claim', subjectId: claim.id, entityId: this.entityId });
    for (const value of [0.1, true]) {
      const { id } = await this.post(claims, { predicate: 'tier', value });
      this.expect({ action: 'claim.added', subjectType: 'claim', subjectId: id, entityId: this.entityId });
    }
  }

  async keepAgents(): Promise<void> {
    const capabilities = ['look', 'succeed', 'fail', 'forbidden'];
    this.agentId = await this.agent('bot', capabilities);
    this.reviewerId = await this.agent('reviewer', []);
    this.thirdId = await this.agent('third', []);
    await this.request('PATCH', `agents/${this.agentId}`, { description: 'Does things.', roles: ['worker'] });
    this.expectAboutAgent('agent.updated', { details: { fields: ['description', 'roles'] } });
    await this.request('POST', `agents/${this.agentId}/suspend`, { reason: 'On leave.' });
    this.expectAboutAgent('agent.suspended', { reason: 'On leave.' });
    await this.refused('decisions', { type: 'a', title: 'b', proposedBy: this.agentId, riskLevel: 'high' });
    const refusal = { outcome: 'denied', reason: 'agent_suspended', details: { riskLevel: 'high' } };
    this.expectAboutAgent('decision.proposal_denied', refusal);
    await this.refused(`agents/${this.agentId}/execute`, { action: 'look', resourceType: 'entity', resourceId: 'x' });
    await this.expectAboutExecution('execution.denied', { outcome: 'denied', reason: 'agent_suspended' });
    await this.request('POST', `agents/${this.agentId}/resume`);
    this.expectAboutAgent('agent.resumed', {});
  }

  async keepPolicies(): Promise<void> {
    const everything = { name: 'open', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };
    const first = await this.post('policies', { ...everything, version: '1.0' });
    await this.expectAboutPolicy('policy.created', first);
    const next = await this.post('policies', { ...everything, version: '1.1' });
    await this.expectAboutPolicy('policy.superseded', first, { supersededBy: next.id });
    await this.expectAboutPolicy('policy.created', next);
    await this.request('POST', `policies/${first.id}/activate`);
    await this.expectAboutPolicy('policy.superseded', next, { supersededBy: first.id });
    await this.expectAboutPolicy('policy.activated', first);
    await this.request('POST', `policies/${first.id}/deactivate`);
    await this.expectAboutPolicy('policy.deactivated', first);
    await this.request('POST', `policies/${next.id}/activate`);
    await this.expectAboutPolicy('policy.activated', next);
  }

  async keepStops(): Promise<void> {
    const stop = { agentId: this.agentId, actions: ['look'], reason: 'It looks too often.' };
    const { id } = await this.post('stops', stop);
    const about = { subjectType: 'stop', subjectId: id };
    this.expect({ action: 'stop.created', ...about });
    await this.refused(`agents/${this.agentId}/execute`, { action: 'look', resourceType: 'entity', resourceId: 'x' });
    const requestDetails = { action: 'look', resourceType: 'entity', resourceId: 'x', policies: [], stopId: id };
    await this.expectAboutExecution('execution.denied', {
      outcome: 'denied',
      reason: 'stopped',
      details: requestDetails,
    });
    await this.request('POST', `stops/${id}/lift`, { reason: 'It has seen enough.' });
    this.expect({ action: 'stop.lifted', ...about, reason: 'It has seen enough.' });
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
      const members = { entityId: this.entityId, details: { action, ...resource, policies: [referenceTo(allowing)] } };
      await this.expectAboutExecution('execution.authorized', members);
      if (outcome !== null) await this.expectAboutExecution('execution.completed', { ...members, outcome });
    }
    const rules = { effect: 'deny', subjects: ['agent:bot'], resources: ['vault/*', 'decisions/low/*'], priority: 9 };
    const denying = await this.post('policies', {
      name: 'closed',
      version: '1',
      ...rules,
      actions: ['forbidden', 'decision:reject'],
    });
    await this.expectAboutPolicy('policy.created', denying);
    const vault = { resourceType: 'file', resourceId: '/vault/gold' };
    await this.refused(execute, { action: 'forbidden', ...vault });
    const details = { action: 'forbidden', ...vault, policies: [referenceTo(denying)] };
    await this.expectAboutExecution('execution.denied', { outcome: 'denied', reason: 'policy_denied', details });
    await this.refused(execute, { action: 'unknown', ...vault });
    const lacking = { action: 'unknown', ...vault, policies: [] };
    await this.expectAboutExecution('execution.denied', {
      outcome: 'denied',
      reason: 'capability_missing',
      details: lacking,
    });
  }

  async decide(): Promise<void> {
    const { id: approved } = await this.propose({ riskLevel: 'medium' }, 2);
    await this.review(approved, 'approve', this.reviewerId);
    await this.expectAboutReview('decision.reviewed', approved, this.reviewerId, 'approve', 1, 2);
    await this.refused(`decisions/${approved}/approve`, { approverId: this.agentId });
    this.expectAboutDecision('decision.approval_denied', approved, {
      agentId: this.agentId,
      outcome: 'denied',
      reason: 'self_approval',
      details: { verdict: 'approve', policies: [] },
    });
    await this.review(approved, 'approve', this.thirdId);
    await this.expectAboutReview('decision.approved', approved, this.thirdId, 'approve', 2, 2);

    const { id: rejected } = await this.propose({ riskLevel: 'low' }, 1);
    const [denying] = (await send(this.app, 'GET', '/api/v1/policies?name=closed')).body.data;
    await this.refused(`decisions/${rejected}/reject`, { approverId: this.agentId });
    this.expectAboutDecision('decision.rejection_denied', rejected, {
      agentId: this.agentId,
      outcome: 'denied',
      reason: 'policy_denied',
      details: { verdict: 'reject', policies: [referenceTo(denying)] },
    });
    await this.request('POST', `decisions/${rejected}/reject`, { reason: 'Too risky.' });
    await this.expectAboutReview('decision.rejected', rejected, null, 'reject', 0, 1);

    const expiresAt = new Date(Date.now() + 1_000).toISOString();
    const expired = await this.propose({ riskLevel: 'critical', expiresAt }, 1);
    while ((await this.request('GET', `decisions/${expired.id}`)).body.status === 'proposed') await sleep(20);
    this.expectAboutDecision('decision.expired', expired.id, {
      actor: SERVICE,
      requestId: null,
      ip: null,
      details: { expiresAt, approvals: 0, requiredApprovals: 1 },
    });
  }

  async keepKeys(): Promise<void> {
    const scopes = ['read', 'execute'];
    const key = await this.issueKey({ scopes, agentId: this.agentId });
    const about = { subjectType: 'api_key', agentId: this.agentId };
    this.expect({ action: 'api_key.created', ...about, subjectId: key, details: { scopes, expiresAt: null } });
    await this.request('POST', `api-keys/${key}/revoke`, { reason: 'It was lost.' });
    this.expect({ action: 'api_key.revoked', ...about, subjectId: key, reason: 'It was lost.' });
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    const expired = await this.issueKey({ scopes, agentId: this.agentId, expiresAt });
    this.expect({ action: 'api_key.created', ...about, subjectId: expired, details: { scopes, expiresAt } });
    while ((await this.request('GET', `api-keys/${expired}`)).body.status === 'active') await sleep(20);
    const unasked = { actor: SERVICE, requestId: null, ip: null, details: { expiresAt } };
    this.expect({ action: 'api_key.expired', ...about, subjectId: expired, ...unasked });
  }

  async keepWebhooks(): Promise<void> {
    const gone = await WebhookEndpoint.start((response) => response.writeHead(410).end());
    const { id } = await this.post('webhooks', { url: gone.url, actions: ['webhook.updated'] });
    const about = { subjectType: 'webhook', subjectId: id };
    this.expect({ action: 'webhook.created', ...about, details: { actions: ['webhook.updated'] } });
    await this.request('PATCH', `webhooks/${id}`, { description: 'Is gone.' });
    this.expect({ action: 'webhook.updated', ...about, details: { fields: ['description'] } });
    while ((await this.request('GET', `webhooks/${id}`)).body.status === 'active') await sleep(20);
    const unasked = { actor: SERVICE, requestId: null, ip: null, details: { status: 410 } };
    this.expect({ action: 'webhook.failing', ...about, ...unasked });
    const removed = (await this.post('webhooks', { url: gone.url, actions: ['none'] })).id;
    const aboutRemoved = { subjectType: 'webhook', subjectId: removed };
    this.expect({ action: 'webhook.created', ...aboutRemoved, details: { actions: ['none'] } });
    await this.request('DELETE', `webhooks/${removed}`);
    this.expect({ action: 'webhook.deleted', ...aboutRemoved });
    await gone.close();
  }

  async end(): Promise<void> {
    await this.request('DELETE', `entities/${this.entityId}`);
    const about = { subjectType: 'entity', subjectId: this.entityId, entityId: this.entityId };
    this.expect({ action: 'entity.deleted', ...about, details: { claims: 2 } });
  }

  private async agent(name: string, capabilities: string[]): Promise<string> {
    const { id } = await this.post('agents', { name, capabilities });
    this.expect({ action: 'agent.created', subjectType: 'agent', subjectId: id, agentId: id });
    return id;
  }

  private async issueKey(members: object): Promise<string> {
    return (await this.post('api-keys', { name: 'a key', ...members })).id;
  }

  private async propose(members: object, requiredApprovals: number): Promise<{ id: string }> {
    const decision = await this.post('decisions', {
      type: 'deployment',
      title: 'Deploy',
      proposedBy: this.agentId,
      ...members,
    });
    const details = { riskLevel: decision.riskLevel, requiredApprovals };
    this.expectAboutDecision('decision.proposed', decision.id, { agentId: this.agentId, details });
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

  private expectAboutAgent(action: string, members: Partial<ExpectedEntry>): void {
    this.expect({ action, subjectType: 'agent', subjectId: this.agentId, agentId: this.agentId, ...members });
  }

  /** Must be called before the next change of policies. */
  private async expectAboutPolicy(action: string, policy: PolicyReference, more: JsonObject = {}): Promise<void> {
    const details = { policies: [referenceTo(policy)], policySet: await policySetOf(this.app), ...more };
    this.expect({ action, subjectType: 'policy', subjectId: policy.id, details });
  }

  private expectAboutDecision(action: string, subjectId: string, members: Partial<ExpectedEntry>): void {
    this.expect({ action, subjectType: 'decision', subjectId, ...members });
  }

  private async expectAboutReview(
    action: string,
    subjectId: string,
    agentId: string | null,
    verdict: string,
    approvals: number,
    requiredApprovals: number,
  ): Promise<void> {
    const approverRevision = agentId === null ? null : await this.revisionOf(agentId);
    const basis = { rules: await rulesOf(this.app), approverRevision };
    const details = { verdict, approvals, requiredApprovals, ...basis };
    this.expectAboutDecision(action, subjectId, { agentId, details });
  }

  /** The subject is the newest execution. */
  private async expectAboutExecution(action: string, members: Partial<ExpectedEntry>): Promise<void> {
    const [{ id }] = (await send(this.app, 'GET', '/api/v1/executions?order=desc&limit=1')).body.data;
    const decided = action === 'execution.completed' ? {} : await this.basis();
    const requestDetails = members.details ?? { action: 'look', resourceType: 'entity', resourceId: 'x', policies: [] };
    const details = { ...requestDetails, ...decided };
    this.expect({ action, subjectType: 'execution', subjectId: id, agentId: this.agentId, ...members, details });
  }

  private async basis(): Promise<JsonObject> {
    const [policySet, rules] = [await policySetOf(this.app), await rulesOf(this.app)];
    return { policySet, rules, agentRevision: await this.revisionOf(this.agentId) };
  }

  private async revisionOf(agentId: string): Promise<number> {
    return (await send(this.app, 'GET', `/api/v1/agents/${agentId}`)).body.revision;
  }

  private expect(entry: EntryExpectation): void {
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
