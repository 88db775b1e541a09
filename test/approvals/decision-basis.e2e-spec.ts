import { createHash } from 'node:crypto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, createPolicy } from '../support/application/factories';
import { rulesFrom, rulesOf } from '../support/oracles/rules-oracle';
import { type Parsed, send } from '../support/application/send';
import { approvalStage, ask, EXECUTIONS, order, pending, requireApproval, resume } from './support';

describe('What entries say an execution was decided by', () => {
  const stage = approvalStage();

  async function detailsOf(subjectId: string, action: string): Promise<Parsed> {
    const entries = await auditOf(stage.app, subjectId);
    return entries.findLast((entry) => entry.action === action)?.details;
  }

  function approve(decisionId: string | null, approverId: string): Promise<Parsed> {
    return send(stage.app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId } });
  }

  async function changed(agentId: string): Promise<void> {
    const body = { description: `changed ${Math.random()}` };
    expect((await send(stage.app, 'PATCH', `/api/v1/agents/${agentId}`, { body })).status).toBe(200);
  }

  it('follows every change of policies, conditions and approvals included', async () => {
    const { app, people } = stage;
    const place = order();
    const conditions = [{ parameter: '/amount', op: 'gt', value: 50 }];
    const seen: string[] = [];
    const decided = async (): Promise<void> => {
      const { id } = await pending(app, people.bot, { ...place, parameters: { amount: seen.length + 60 } });
      const { rules, policySet } = await detailsOf(id, 'execution.approval_requested');
      expect(rules).toBe(await rulesOf(app));
      expect(rules).not.toBe(policySet);
      seen.push(rules);
    };
    await decided();
    const { id } = await requireApproval(app, {}, { name: 'more', ...{ conditions, resources: [place.resourceId] } });
    await decided();
    await createPolicy(app, { name: 'more', version: '2', actions: ['nothing'] });
    await decided();
    await send(app, 'POST', `/api/v1/policies/${id}/activate`);
    await decided();
    await send(app, 'POST', `/api/v1/policies/${id}/deactivate`);
    await decided();
    expect([seen[3], seen[4]]).toEqual([seen[1], seen[0]]);
    expect(new Set(seen).size).toBe(3);
  });

  it('names the agent and its approvers as they were', async () => {
    const { app, people } = stage;
    const { id, decisionId } = await pending(app, people.bot, order());
    const requestDetails = await detailsOf(id, 'execution.approval_requested');
    await changed(people.ann.id);
    const annRevision = Number((await send(app, 'GET', `/api/v1/agents/${people.ann.id}`)).body.revision);
    await approve(decisionId, people.ann.id);
    expect(await detailsOf(String(decisionId), 'decision.approved')).toMatchObject({
      rules: await rulesOf(app),
      approverRevision: annRevision,
    });
    await changed(people.bot.id);
    await send(app, 'POST', `/api/v1/agents/${people.ann.id}/suspend`);
    expect((await resume(app, id)).body.error.reason).toBe('approval_insufficient');
    const denied = await detailsOf(id, 'execution.resume_denied');
    expect(denied).toMatchObject({
      rules: await rulesOf(app),
      agentRevision: Number(requestDetails.agentRevision) + 1,
      approvers: [{ agentId: people.ann.id, revision: annRevision + 1 }],
    });
    await send(app, 'POST', `/api/v1/agents/${people.ann.id}/resume`);
    expect((await resume(app, id)).status).toBe(200);
    expect((await detailsOf(id, 'execution.resumed')).approvers).toEqual([
      { agentId: people.ann.id, revision: annRevision + 2 },
    ]);
  });

  it('names no approvers where no approval was considered, and no revision without a reviewer', async () => {
    const { app, people } = stage;
    const place = order();
    const { id, decisionId } = await pending(app, people.bot, place);
    await approve(decisionId, people.ben.id);
    const deny = await createPolicy(app, { effect: 'deny', actions: ['refund'], resources: [place.resourceId] });
    expect((await resume(app, id)).status).toBe(403);
    expect(await detailsOf(id, 'execution.resume_denied')).not.toHaveProperty('approvers');
    await send(app, 'POST', `/api/v1/policies/${deny.id}/deactivate`);
    const other = await pending(app, people.bot, order());
    await send(app, 'POST', `/api/v1/decisions/${other.decisionId}/reject`, { body: {} });
    expect(await detailsOf(String(other.decisionId), 'decision.rejected')).toMatchObject({
      rules: await rulesOf(app),
      approverRevision: null,
    });
  });
});

describe('The rules of decisions', () => {
  const requestedBy = async (app: TestApp, name: string): Promise<string> => {
    await send(app, 'POST', '/api/v1/agents', { body: { name } });
    await ask(app, { name });
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?agentId=${name}`)).body;
    return (await auditOf(app, data[0].id))[0]?.details?.['rules'] as string;
  };

  it('are the RFC 8785 form of the default effect, the version of evaluation, and the policies with their contents', async () => {
    const app = await createTestApp();
    const text = '{"defaultEffect":"deny","evaluation":4,"policies":[]}';
    expect(await requestedBy(app, 'first')).toBe(createHash('sha256').update(text).digest('hex'));
    const policy = await createPolicy(app, { effect: 'allow', priority: -0, description: 'ä "quoted" \u{1F600}' });
    expect(await requestedBy(app, 'second')).toBe(await rulesOf(app));
    await send(app, 'POST', `/api/v1/policies/${policy.id}/deactivate`);
    expect(await requestedBy(app, 'third')).toBe(rulesFrom([]));
    await app.close();
  });

  it('depend on the default effect', async () => {
    const app = await createTestApp({ environment: { POLICY_DEFAULT_EFFECT: 'allow' } });
    expect(await requestedBy(app, 'bot')).toBe(rulesFrom([], 'allow'));
    await app.close();
  });
});
